"""The server's own statistics: WAL, checkpoints, buffers, I/O and wait events, for versions 13 to 18.

Counters: one statement over the cumulative statistics views; `COLUMNS` lists the view of each counter by
version, from the release notes and the manual's chapter "The Cumulative Statistics System". Backends report
their counters at most once a second (PGSTAT_MIN_INTERVAL, pgstat.c), so single seconds of all but
``wal.bytes`` may be uneven while sums over many seconds are right.

Wait events: states of pgbench's sessions in pg_stat_activity, once a second. The mean over a run is the mean
number of sessions in a state ("average active sessions"), so its share is a share of the clients' time. One
sample says nothing about its second; 8 clients over a minute are 480 samples, which give a share of one half
within five points. Events are grouped by the resource that limits them. Names: PostgreSQL's manual, chapter
"Monitoring Database Activity", tables of wait events; version 17 changed the spelling (``WalSync`` for
``WALSync``), so they are compared without case.

Each probe has its own connection, which is renewed with the server.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import psycopg
from psycopg.conninfo import make_conninfo
from typing_extensions import override

from app.domain.metrics import METRICS, SESSION_GROUPS, Sample
from app.domain.quoting import shown
from app.domain.text import tr
from app.probes.base.probe import (
    Clock,
    Counters,
    MissingMetric,
    Probe,
    ProbeContext,
    ProbeUnavailable,
    ReadMissed,
    rounded,
)
from app.process.metered import ANSWER_ERRORS, connect_bounded

CONNECT_TIMEOUT_S: Final = 2  # the shortest that libpq has
STATEMENT_TIMEOUT_MS: Final = 1000
APPLICATION: Final = "pgfooting "
"""Prefix of the application name of every probe's connection."""

ServerConnection = psycopg.Connection[tuple[Any, ...]]


class ServerProbe(Probe):
    """A probe with a connection to the server under test.

    Attributes:
        purpose: of the connection, the rest of its application name.
    """

    purpose: ClassVar[str]
    blocking = True
    of_machine = False

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._context: ProbeContext | None = None
        self._connection: ServerConnection | None = None
        self._conninfo: str | None = None
        self._stopping = threading.Event()

    def _begin(self, connection: ServerConnection) -> None:
        """Prepare a new connection; may raise psycopg.Error."""

    @abstractmethod
    def _ask(self, connection: ServerConnection) -> list[Sample]:
        """Return values since the last read, or current ones; may raise psycopg.Error or `ReadMissed`."""

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._context = context

    @override
    def read(self) -> list[Sample]:
        conninfo = self._context.server.conninfo if self._context is not None else None
        if conninfo != self._conninfo:
            self._disconnect()
        if conninfo is None or self._stopping.is_set():
            return []
        try:
            if self._connection is None:
                self._connection = self._connect(conninfo)
            return self._ask(self._connection)
        except ANSWER_ERRORS as err:
            self._disconnect()
            raise ProbeUnavailable(
                tr("it cannot be read: {reason}").format(reason=shown(str(err).strip()))
            ) from err

    def _connect(self, conninfo: str) -> ServerConnection:
        connection = connect_bounded(
            make_conninfo(conninfo, connect_timeout=CONNECT_TIMEOUT_S),
            timeout_s=CONNECT_TIMEOUT_S,
            statement_timeout_s=STATEMENT_TIMEOUT_MS // 1000,
            name=f"{APPLICATION}{self.purpose}",
        )
        try:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            self._begin(connection)
        except BaseException:
            connection.close()
            raise
        self._conninfo = conninfo
        return connection

    @override
    def interrupt(self) -> None:
        self._stopping.set()
        connection = self._connection
        if connection is None:
            return
        with (
            suppress(OSError, psycopg.Error),  # it may just be closing itself
            socket.socket(fileno=os.dup(connection.fileno())) as duplicate,
        ):
            duplicate.shutdown(socket.SHUT_RDWR)

    @override
    def close(self) -> None:
        self._disconnect()
        self._context = None

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._conninfo = None


OLDEST: Final = 13
NEWEST: Final = 99
LONGEST_READ_S: Final = 0.2
"""After a longer read the time of its values is too uncertain; the next read covers the interval."""


@dataclass(frozen=True, slots=True)
class CounterColumn:
    """Where a range of versions has a counter.

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
    """Return the columns of a major version."""
    return tuple(column for column in COLUMNS if column.first <= major <= column.last)


def statement_of(major: int) -> str:
    """Return the one statement that reads all counters of a major version as whole numbers."""
    columns = columns_of(major)
    values = ", ".join(f"coalesce({column.expression}, 0)::bigint" for column in columns)
    sources = ", ".join(SOURCES[name] for name in dict.fromkeys(column.source for column in columns))
    return f"SELECT {values} FROM {sources}"


def omissions_of(major: int) -> tuple[MissingMetric, ...]:
    """Return the metrics that a major version lacks."""
    present = {column.metric for column in columns_of(major)}
    oldest = {
        metric: min(column.first for column in COLUMNS if column.metric == metric)
        for metric in {column.metric for column in COLUMNS} - present
    }
    sentence = tr("not counted by PostgreSQL {major}, only by {first} or newer")
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


_WAITING: Final = (
    "SELECT state, wait_event_type, wait_event, count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    f" AND application_name NOT LIKE '{APPLICATION}%'"
)
_GROUPED: Final = " GROUP BY 1, 2, 3"
STATEMENT: Final = _WAITING + _GROUPED
"""Only columns of pg_stat_get_activity: then the planner omits the view's joins."""

OF_DATABASE: Final = f"{_WAITING} AND datname = %s{_GROUPED}"
"""The same for one database, if other sessions are possible."""

WAL_LOCKS: Final = frozenset({"walwrite", "walbufmapping"})
"""LWLocks of sessions that wait until another one writes or flushes their WAL (XLogFlush, xlog.c)."""

BUFFER_IO: Final = "bufferio"
"""Waiting for a read of the same page by another session; an LWLock in 13, of type IPC since."""

INTERNALS: Final = frozenset({"procarraygroupupdate", "xactgroupupdate", "spindelay"})
"""Waiting for the leader of a group that has such a lock, or for a spinlock, of other types."""

LOCKS: Final = frozenset({"Lock", "BufferPin", "Buffer"})

_WITHOUT_EVENTS: Final = frozenset({"running", "for_client"})

ActivityRow = tuple[str | None, str | None, str | None, int]
"""state, wait_event_type, wait_event, sessions."""


def group_of(state: str, kind: str, event: str) -> str:
    """Return the group of `SESSION_GROUPS` for a session's state.

    Args:
        state: of pg_stat_activity: active, idle, idle in transaction ...; empty if there is none yet.
        kind: wait_event_type; empty for none.
        event: wait_event; empty for none.
    """
    name = event.lower()
    if kind == "Client" or state.startswith("idle"):
        return "for_client"  # a session that just became idle has no wait event yet
    if not kind:
        return "running"
    if (kind == "IO" and name.startswith("wal")) or (kind == "LWLock" and name in WAL_LOCKS):
        return "for_wal"
    if kind == "IO" or name == BUFFER_IO:
        return "for_data"
    if kind == "LWLock" or name in INTERNALS:
        return "for_internals"
    return "for_locks" if kind in LOCKS else "for_others"


def samples_of(rows: Iterable[ActivityRow]) -> list[Sample]:
    """Return the number of sessions by group, including empty groups, and by event."""
    groups = dict.fromkeys(SESSION_GROUPS, 0)
    events: Counter[str] = Counter()
    for state, kind, event, sessions in rows:
        group = group_of(state or "", kind or "", event or "")
        groups[group] += sessions
        if group not in _WITHOUT_EVENTS:
            events[f"{kind}:{event}"] += sessions
    return [
        Sample("sessions.clients", sum(groups.values())),
        *(Sample(f"sessions.{group}", count) for group, count in groups.items()),
        *(Sample("sessions.at_event", count, event) for event, count in sorted(events.items())),
    ]


class WaitEventsProbe(ServerProbe):
    """What the sessions of pgbench wait for."""

    id = "wait-events"
    label = tr("Wait events")
    purpose = "wait events"

    @override
    def _ask(self, connection: ServerConnection) -> list[Sample]:
        database = self._context.server.database if self._context is not None else None
        if database is None:
            rows: list[Any] = connection.execute(STATEMENT, prepare=True).fetchall()
        else:
            rows = connection.execute(_literal(OF_DATABASE), (database,), prepare=True).fetchall()
        return samples_of(rows)


def _literal(statement: str) -> bytes:
    """Return a statement for psycopg with parameters, with LIKE's percent sign doubled."""
    return statement.replace(f"{APPLICATION}%", f"{APPLICATION}%%").encode()
