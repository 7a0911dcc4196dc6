"""Write a run file: create it, append seconds. The formats are described in schema.sql, schema_phases.sql.

A live file is in WAL mode with one synchronised transaction a second; a finished one is a single file without
a journal, its samples clustered by series (`app.runfile.finalize`).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from app.domain.errors import RunFileError
from app.domain.json_value import Json
from app.domain.metrics import METRICS, Sample
from app.domain.run import Phase, PhaseName
from app.domain.text import tr
from app.process.starter import CommandOutcome

APPLICATION_ID: Final = 0x5047464F
FORMAT: Final = 2
"""The newest format: for a workload with several phases. Earlier versions read format 1."""
ONE_PHASE_FORMAT: Final = 1
"""Format of all other runs."""
SUFFIX: Final = ".footing"
SCHEMA: Final = Path(__file__).with_name("schema.sql")
PHASES_SCHEMA: Final = Path(__file__).with_name("schema_phases.sql")
SCHEMAS: Final = {ONE_PHASE_FORMAT: (SCHEMA,), FORMAT: (SCHEMA, PHASES_SCHEMA)}
"""The files that define a run file, by format, in order. Those of old formats stay."""

SERVER_DEFAULTS: Final = "server_defaults"
"""Name of the fact with the server's default settings, by name."""
WHOLE_PHASE: Final = "whole"
"""Moment of the facts from the kernel's counters over the whole measured phase."""


@dataclass(frozen=True, slots=True)
class LatencySecond:
    """One second of the transaction log, as stored in table `histogram`.

    Attributes:
        t_ms: start of the second on the run's clock.
        transactions: lines with a latency (times the sampling factor gives the estimate).
        latency_sum_us: sum of their latencies.
        skipped: transactions skipped by the latency limit.
        failed: failed transactions.
        partial: lines may be missing.
        buckets: encoded histogram.
    """

    t_ms: int
    transactions: int
    latency_sum_us: int
    skipped: int
    failed: int
    partial: bool
    buckets: bytes


def schema_script(version: int) -> str:
    """Return the statements that create an empty run file of a format.

    Raises:
        KeyError: there is no such format.
    """
    return "".join(path.read_text(encoding="utf-8") for path in SCHEMAS[version])


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one sentence with the path."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        message = tr("{path} cannot be written: {reason}. Complete seconds so far are kept.")
        hint = tr("Free some space there, or choose another folder with --library.")
        raise RunFileError(message.format(path=path, reason=error), hint=hint) from error


class RunFileWriter:
    """The only writer of a live run file. All methods belong to one thread.

    Attributes:
        path: of the growing file.
        started_monotonic_s: the monotonic clock at t_ms = 0.
    """

    def __init__(
        self,
        path: Path,
        *,
        started_monotonic_s: float | None = None,
        is_durable: bool = True,
        has_phases: bool = False,
    ) -> None:
        """Create the file; it must not exist.

        Args:
            path: of the file.
            started_monotonic_s: the monotonic clock at t_ms = 0; None for now.
            is_durable: commits survive a power failure; otherwise nothing waits for the disk.
            has_phases: its workload has several phases.

        Raises:
            RunFileError: it exists or cannot be written.
        """
        self.path = path
        self.started_monotonic_s = time.monotonic() if started_monotonic_s is None else started_monotonic_s
        self._series: dict[tuple[str, str], int] = {}
        self._partial_from_ms: int | None = None
        with report_write_errors(path):
            path.touch(mode=0o600, exist_ok=False)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
            try:
                self._begin(FORMAT if has_phases else ONE_PHASE_FORMAT, is_durable=is_durable)
            except BaseException:  # e.g. a full disk
                self._connection.close()
                raise

    def _begin(self, version: int, *, is_durable: bool) -> None:
        if not is_durable:
            self._connection.execute("PRAGMA synchronous=OFF")
        # Before WAL mode, to have the header with the application id in the file from the start. In one
        # transaction, to avoid waiting for the disk at every statement.
        self._connection.executescript(f"BEGIN;{schema_script(version)}COMMIT;")
        # SQLite's manual, "PRAGMA synchronous": in WAL mode FULL syncs the WAL at every commit, so a
        # committed second survives a power failure.
        synchronous = "FULL" if is_durable else "OFF"
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "wal_autocheckpoint=256"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def t_ms(self, monotonic_s: float | None = None) -> int:
        """Return a monotonic time (default: now) on the run's clock, in milliseconds."""
        moment = time.monotonic() if monotonic_s is None else monotonic_s
        return round((moment - self.started_monotonic_s) * 1000)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside becomes one synchronised transaction.

        Raises:
            RunFileError: the filesystem is full or gone; nothing of the transaction is kept.
        """
        with report_write_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def set_run(self, values: Mapping[str, Json]) -> None:
        """Store keys of table `run`."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO run VALUES (?, ?)",
            [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()],
        )

    def begin_phase(self, phase: Phase, t_ms: int, number: int = 0) -> None:
        """End the current phase, if any, and start the next; `number` as in `PhaseName`."""
        self.end_phase(t_ms)
        name = PhaseName(phase, number).text
        self._connection.execute("INSERT INTO phase VALUES (?, ?, NULL)", (name, t_ms))

    def end_phase(self, t_ms: int) -> None:
        """End the current phase, if any."""
        self._connection.execute("UPDATE phase SET ended_ms = ? WHERE ended_ms IS NULL", (t_ms,))

    def set_phase(self, name: PhaseName, started_ms: int, ended_ms: int | None) -> None:
        """Correct the times of a phase, once pgbench has printed its real start and end."""
        self._connection.execute(
            "UPDATE phase SET started_ms = ?, ended_ms = ? WHERE name = ?",
            (started_ms, ended_ms, name.text),
        )

    def add_event(self, t_ms: int, kind: str, message: str, data: Mapping[str, Json] | None = None) -> None:
        """Store an event."""
        self._connection.execute(
            "INSERT INTO event (t_ms, kind, message, data) VALUES (?, ?, ?, ?)",
            (t_ms, kind, message, json.dumps(dict(data or {}), ensure_ascii=False)),
        )

    def add_command(self, outcome: CommandOutcome) -> None:
        """Store an executed program."""
        self._connection.execute(
            "INSERT INTO command (started_ms, duration_ms, account, argv, exit_code, stdout, stderr)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                self.t_ms(outcome.started_s),
                round(outcome.duration_s * 1000),
                outcome.account,
                json.dumps(list(outcome.argv), ensure_ascii=False),
                outcome.exit_code,
                outcome.stdout,
                outcome.stderr,
            ),
        )

    def series_id(self, metric: str, instance: str = "") -> int:
        """Return the number of a series, creating it at first use; the metric must be registered."""
        key = (metric, instance)
        if key not in self._series:
            spec = METRICS[metric]
            cursor = self._connection.execute(
                "INSERT INTO series (metric, instance, unit, label, source) VALUES (?, ?, ?, ?, ?)",
                (metric, instance, spec.unit, spec.label, spec.source),
            )
            self._series[key] = cursor.lastrowid or 0
        return self._series[key]

    def add_samples(
        self, metric: str, samples: Iterable[tuple[int, float]], *, source: str, instance: str = ""
    ) -> None:
        """Store a whole series of (t_ms, value) of an imported run.

        Args:
            metric: registered.
            samples: ascending.
            source: of the numbers, instead of the registered one.
            instance: device, thread ...
        """
        number = self.series_id(metric, instance)
        self._connection.execute("UPDATE series SET source = ? WHERE id = ?", (source, number))
        self._connection.executemany(
            "INSERT OR REPLACE INTO sample VALUES (?, ?, ?)",
            ((number, t_ms, value) for t_ms, value in samples),
        )

    def add_tick(
        self, number: int, t_ms: int, *, lateness_us: int, missed: int, samples: Iterable[tuple[int, Sample]]
    ) -> None:
        """Append one second: (t_ms, sample) pairs, each with its own time."""
        live = [
            [self.series_id(sample.metric, sample.instance), moment, compact(sample.value)]
            for moment, sample in samples
        ]
        self._connection.execute(
            "INSERT INTO tick VALUES (?, ?, ?, ?, ?)",
            (number, t_ms, lateness_us, missed, json.dumps(live, separators=(",", ":"))),
        )

    def put_latency_second(self, second: LatencySecond) -> None:
        """Store or replace one second of latencies."""
        if self._partial_from_ms is None or second.t_ms < self._partial_from_ms:
            self._partial_from_ms = second.t_ms
        self._connection.execute(
            "INSERT OR REPLACE INTO histogram VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                second.t_ms,
                second.transactions,
                second.latency_sum_us,
                second.skipped,
                second.failed,
                int(second.partial),
                second.buckets,
            ),
        )

    def complete_latency_seconds(self, before_ms: int | None) -> None:
        """Mark the seconds before a time as complete; None for all."""
        if before_ms is None:
            self._connection.execute("UPDATE histogram SET partial = 0 WHERE partial = 1")
        elif self._partial_from_ms is not None and self._partial_from_ms < before_ms:
            # Only those stored since: checking all seconds every second would cost more with every hour.
            self._connection.execute(
                "UPDATE histogram SET partial = 0 WHERE partial = 1 AND t_ms >= ? AND t_ms < ?",
                (self._partial_from_ms, before_ms),
            )
            self._partial_from_ms = before_ms

    def add_facts(self, moment: str, facts: Mapping[str, Json]) -> None:
        """Store facts of the environment under their moment: 'before', 'after' or `WHOLE_PHASE`."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO fact VALUES (?, ?, ?)",
            [(moment, name, json.dumps(value, ensure_ascii=False)) for name, value in facts.items()],
        )

    def set_output(self, name: str, text: str) -> None:
        """Store a program's output, verbatim."""
        self._connection.execute("INSERT OR REPLACE INTO output VALUES (?, ?)", (name, text))

    def append_output(self, name: str, text: str) -> None:
        """Append to a program's output."""
        self._connection.execute(
            "INSERT INTO output VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = text || excluded.text",
            (name, text),
        )

    def add_unavailable(self, t_ms: int, source: str, reason: str) -> None:
        """Record that a source of samples does not exist or failed."""
        self._connection.execute(
            "INSERT INTO unavailable (t_ms, source, reason) VALUES (?, ?, ?)", (t_ms, source, reason)
        )

    def add_mark(self, kind: str, reason: str) -> None:
        """Label the run."""
        self._connection.execute("INSERT OR IGNORE INTO mark VALUES (?, ?)", (kind, reason))

    def close(self) -> None:
        """Close without finishing; the file stays live for its readers and the process that finishes it."""
        self._connection.close()


def compact(value: float) -> float | int:
    """Return a whole number as int and any other rounded to six significant digits, for small files."""
    if value == round(value) and abs(value) < 1e15:
        return int(value)
    return float(f"{value:.6g}")


# The schema of each run file format: its tables, their columns and indexes, its view. Nothing else.
#
# SQLite executes what a schema contains: a view instead of a table may compute for ever, a trigger may write.
# A file is therefore read only if its schema is, word for word, that of its format.


SchemaObject = tuple[str, str, str, str | None]
"""Type, name, table and SQL text, as in SQLite's table `sqlite_schema`."""

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@cache
def schema_of(version: int) -> frozenset[SchemaObject]:
    """Return the schema of a format.

    Raises:
        KeyError: there is no such format.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema_script(version))
        return frozenset(connection.execute(_OBJECTS).fetchall())


def strange_part(connection: sqlite3.Connection) -> str:
    """Return a clause about the deviation of an open file from its format; empty if there is none.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in SCHEMAS:
        return tr("its format {version} does not exist").format(version=version)
    known = schema_of(version)
    found = connection.execute(_OBJECTS).fetchmany(len(known) + 1)
    strange = sorted((row for row in found if row not in known), key=str)
    if strange:
        kind, name = (_shown(word) for word in strange[0][:2])
        message = tr("its {kind} “{name}” is not part of format {version}")
        return message.format(kind=kind, name=name, version=version)
    if len(found) != len(known) or len(set(found)) != len(known):
        missing = sorted(name for _, name, _, _ in known - set(found)) or [tr("a table")]
        return tr("{name} of format {version} is missing").format(name=missing[0], version=version)
    return ""


def _shown(word: object) -> str:
    return str(word)[:40]
