"""What the server counts itself: WAL, checkpoints, buffers and I/O, by version 13 to 18.

One statement over the cumulative statistics views; which view has a counter in which version is in
`COLUMNS`, from the release notes and the manual's chapter "The Cumulative Statistics System". Backends
report their counters at most once a second (PGSTAT_MIN_INTERVAL, pgstat.c), so single seconds of all
but ``wal.bytes`` may be uneven while sums over many seconds are right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from app.domain.metrics import METRICS, Sample
from app.domain.text import tr
from app.probes.base.probe import Clock, Counters, MissingMetric, ReadMissed, rounded
from app.probes.base.server_probe import ServerConnection, ServerProbe

OLDEST: Final = 13
NEWEST: Final = 99
LONGEST_READ_S: Final = 0.2
"""A longer read says too little about when its values were true; the next one covers the time."""


@dataclass(frozen=True, slots=True)
class CounterColumn:
    """Where a counter is found in a range of versions.

    Attributes:
        metric: `Metric.id`.
        expression: SQL over the aliases of `SOURCES`.
        source: key of `SOURCES`.
        first: oldest major version with it there.
        last: newest major version with it there.
    """

    metric: str
    expression: str
    source: str
    first: int = OLDEST
    last: int = NEWEST


SOURCES: Final = {
    "database": "(SELECT sum(blks_hit) AS blks_hit, sum(blks_read) AS blks_read,"
    " sum(temp_bytes) AS temp_bytes FROM pg_stat_database) AS database",
    "bgwriter": "pg_stat_bgwriter AS bgwriter",
    "checkpointer": "pg_stat_checkpointer AS checkpointer",
    "wal": "pg_stat_wal AS wal",
    "io": "(SELECT sum(reads) AS reads, sum(writes) AS writes, sum(extends) AS extends,"
    " sum(fsyncs) AS fsyncs, sum(reads * op_bytes) AS read_bytes,"
    " sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes) AS write_bytes,"
    " sum(coalesce(writes, 0) + coalesce(extends, 0)) FILTER (WHERE backend_type = 'client backend')"
    " AS backend_writes,"
    " sum(fsyncs) FILTER (WHERE backend_type = 'client backend') AS backend_fsyncs"
    " FROM pg_stat_io) AS io",
    "io18": "(SELECT sum(reads) FILTER (WHERE object <> 'wal') AS reads,"
    " sum(writes) FILTER (WHERE object <> 'wal') AS writes,"
    " sum(extends) FILTER (WHERE object <> 'wal') AS extends,"
    " sum(fsyncs) FILTER (WHERE object <> 'wal') AS fsyncs,"
    " sum(read_bytes) FILTER (WHERE object <> 'wal') AS read_bytes,"
    " sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) FILTER (WHERE object <> 'wal')"
    " AS write_bytes,"
    " sum(coalesce(writes, 0) + coalesce(extends, 0))"
    " FILTER (WHERE backend_type = 'client backend' AND object <> 'wal') AS backend_writes,"
    " sum(fsyncs) FILTER (WHERE backend_type = 'client backend' AND object <> 'wal') AS backend_fsyncs,"
    " sum(writes) FILTER (WHERE object = 'wal' AND context = 'normal') AS wal_writes,"
    " sum(fsyncs) FILTER (WHERE object = 'wal' AND context = 'normal') AS wal_fsyncs"
    " FROM pg_stat_io) AS io18",
}

COLUMNS: Final = (
    CounterColumn("server.blocks_hit", "database.blks_hit", "database"),
    CounterColumn("server.blocks_read", "database.blks_read", "database"),
    CounterColumn("server.temp_bytes", "database.temp_bytes", "database"),
    CounterColumn("wal.bytes", "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')", "database"),
    CounterColumn("wal.records", "wal.wal_records", "wal", 14),
    CounterColumn("wal.full_page_images", "wal.wal_fpi", "wal", 14),
    CounterColumn("wal.buffers_full", "wal.wal_buffers_full", "wal", 14),
    CounterColumn("wal.writes", "wal.wal_write", "wal", 14, 17),
    CounterColumn("wal.syncs", "wal.wal_sync", "wal", 14, 17),
    CounterColumn("wal.writes", "io18.wal_writes", "io18", 18),
    CounterColumn("wal.syncs", "io18.wal_fsyncs", "io18", 18),
    CounterColumn("server.checkpoints_timed", "bgwriter.checkpoints_timed", "bgwriter", 13, 16),
    CounterColumn("server.checkpoints_requested", "bgwriter.checkpoints_req", "bgwriter", 13, 16),
    CounterColumn("server.buffers_checkpoint", "bgwriter.buffers_checkpoint", "bgwriter", 13, 16),
    CounterColumn("server.checkpoints_timed", "checkpointer.num_timed", "checkpointer", 17),
    CounterColumn("server.checkpoints_requested", "checkpointer.num_requested", "checkpointer", 17),
    CounterColumn("server.buffers_checkpoint", "checkpointer.buffers_written", "checkpointer", 17),
    CounterColumn("server.buffers_clean", "bgwriter.buffers_clean", "bgwriter"),
    CounterColumn("server.buffers_backend", "bgwriter.buffers_backend", "bgwriter", 13, 16),
    CounterColumn("server.backend_syncs", "bgwriter.buffers_backend_fsync", "bgwriter", 13, 16),
    CounterColumn("server.buffers_backend", "io.backend_writes", "io", 17, 17),
    CounterColumn("server.backend_syncs", "io.backend_fsyncs", "io", 17, 17),
    CounterColumn("server.buffers_backend", "io18.backend_writes", "io18", 18),
    CounterColumn("server.backend_syncs", "io18.backend_fsyncs", "io18", 18),
    *(
        CounterColumn(f"server.io_{name}", f"{source}.{column}", source, first, last)
        for source, first, last in (("io", 16, 17), ("io18", 18, NEWEST))
        for name, column in (
            ("reads", "reads"),
            ("writes", "writes"),
            ("extends", "extends"),
            ("syncs", "fsyncs"),
            ("read_bytes", "read_bytes"),
            ("write_bytes", "write_bytes"),
        )
    ),
)


def columns_of(major: int) -> tuple[CounterColumn, ...]:
    """Return the columns that a major version has."""
    return tuple(column for column in COLUMNS if column.first <= major <= column.last)


def statement_of(major: int) -> str:
    """Return the one statement that reads all counters of a major version as whole numbers."""
    columns = columns_of(major)
    values = ", ".join(f"coalesce({column.expression}, 0)::bigint" for column in columns)
    sources = ", ".join(SOURCES[name] for name in dict.fromkeys(column.source for column in columns))
    return f"SELECT {values} FROM {sources}"


def omissions_of(major: int) -> tuple[MissingMetric, ...]:
    """Return the metrics that a major version has in no view."""
    present = {column.metric for column in columns_of(major)}
    oldest = {
        metric: min(column.first for column in COLUMNS if column.metric == metric)
        for metric in {column.metric for column in COLUMNS} - present
    }
    sentence = tr("PostgreSQL {major} does not count this; {first} and newer do")
    return tuple(
        MissingMetric(metric, sentence.format(major=major, first=first))
        for metric, first in sorted(oldest.items())
    )


class PostgresStatisticsProbe(ServerProbe):
    """Rates of the server's own counters over all databases."""

    id = "postgres-statistics"
    label = tr("PostgreSQL statistics")
    purpose = "statistics"

    def __init__(self, clock: Clock = time.monotonic) -> None:
        super().__init__(clock)
        self._counters = Counters(clock)
        self._columns: tuple[CounterColumn, ...] = ()
        self._statement: str = ""

    @override
    def _begin(self, connection: ServerConnection) -> None:
        major = connection.info.server_version // 10000
        if major >= 15:  # before, one snapshot a transaction is what "none" means in the manual
            connection.execute("SET stats_fetch_consistency = none")
        self._counters.forget()
        self._columns = columns_of(major)
        self._statement = statement_of(major)
        self.omissions = omissions_of(major)

    @override
    def _ask(self, connection: ServerConnection) -> list[Sample]:
        begun = self._clock()
        row = connection.execute(self._statement, prepare=True).fetchone()
        ended = self._clock()
        if ended - begun > LONGEST_READ_S:
            raise ReadMissed
        return self._samples(row or (), (begun + ended) / 2)

    def _samples(self, row: tuple[Any, ...], time_s: float) -> list[Sample]:
        difference = self._counters.step([int(value) for value in row], time_s)
        if difference is None:
            return []
        samples: list[Sample] = []
        for position, column in enumerate(self._columns):
            metric = METRICS[column.metric]
            gain = difference.deltas[position]
            if gain or not metric.absent_is_zero:
                is_rate = metric.unit.endswith("/s")
                value = difference.rate(position) if is_rate else rounded(gain)
                samples.append(Sample(metric.id, value))
        return samples

    @override
    def _disconnect(self) -> None:
        super()._disconnect()
        self._counters.forget()
