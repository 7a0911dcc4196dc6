"""Reading a run file: finished, growing, left behind, or from somebody else.

A run file is foreign input: it is opened read-only, with SQLite's trusted_schema off and limits on
what one value may hold; every damage becomes a `CorruptRunFileError`, never a traceback.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import CorruptRunFileError, NewerRunFileError, NotARunFileError, RunFileError
from app.domain.text import tr
from app.runs.runfile import APPLICATION_ID, FORMAT, Json, LatencySecond, Phase, RunState

_SQLITE_HEADER = b"SQLite format 3\0"
_VALUE_LIMIT_BYTES = 64 * 1024 * 1024

# The view `samples` of the file is for people; with trusted_schema off SQLite 3.40 refuses the JSON
# functions inside it, and a foreign file might define it differently anyway.
_SAMPLES = """(
    SELECT series.metric, series.instance, sample.t_ms, sample.value
    FROM sample JOIN series ON series.id = sample.series
    UNION ALL
    SELECT series.metric, series.instance,
           json_extract(entry.value, '$[1]') AS t_ms, json_extract(entry.value, '$[2]') AS value
    FROM tick, json_each(tick.live) AS entry
    JOIN series ON series.id = json_extract(entry.value, '$[0]')
    WHERE tick.live IS NOT NULL
)"""


@dataclass(frozen=True, slots=True)
class Series:
    """A series of a run file: metric, instance and unit."""

    metric: str
    instance: str
    unit: str
    label: str
    source: str


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """When a phase was, in ms of the run's clock; `ended_ms` is None while it lasts."""

    phase: Phase
    started_ms: int
    ended_ms: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a moment."""

    t_ms: int
    kind: str
    message: str
    data: dict[str, Json]


@dataclass(frozen=True, slots=True)
class LiveTick:
    """The samples of one second of a file that grows: (number of the series, t_ms, value)."""

    number: int
    t_ms: int
    samples: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """An executed program as stored."""

    started_ms: int
    duration_ms: int
    account: str
    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


def _check_header(path: Path) -> bool:
    """Check the first 100 bytes before SQLite sees the file; return whether it is in WAL mode.

    Offsets from SQLite's "Database File Format", section 1.3.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
            size_bytes = os.fstat(file.fileno()).st_size
    except OSError as error:
        message = tr("The run file {path} cannot be read: {reason}.")
        raise RunFileError(message.format(path=path, reason=error.strerror)) from error
    if len(header) < 100 or not header.startswith(_SQLITE_HEADER):
        raise NotARunFileError(tr("{path} is not a pgFooting run file.").format(path=path))
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        message = tr("{path} is an SQLite database, but not a pgFooting run file.")
        raise NotARunFileError(message.format(path=path))
    version = int.from_bytes(header[60:64], "big")
    if version > FORMAT:
        message = tr("{path} has format {version}; this pgFooting reads formats up to {known}.")
        hint = tr("Open it with a newer pgFooting.")
        raise NewerRunFileError(message.format(path=path, version=version, known=FORMAT), hint=hint)
    in_wal_mode = header[18] == 2
    pages, page_bytes = int.from_bytes(header[28:32], "big"), int.from_bytes(header[16:18], "big")
    if not in_wal_mode and pages * (65536 if page_bytes == 1 else page_bytes) > size_bytes:
        raise CorruptRunFileError(
            tr("{path} is cut off: {size} bytes of {expected}.").format(
                path=path, size=size_bytes, expected=pages * page_bytes
            )
        )
    return in_wal_mode


class RunFile:
    """A run file open for reading. Use as a context manager; belongs to one thread.

    Raises:
        NotARunFileError: not written by pgFooting.
        NewerRunFileError: a format this program does not know.
        CorruptRunFileError: damaged, at opening or at any later reading.
        RunFileError: cannot be read at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        in_wal_mode = _check_header(path)
        # A WAL file on a read-only medium has no index of its journal and needs `immutable`.
        beside = os.access(path.resolve().parent, os.W_OK)
        flags = "mode=ro" if beside or not in_wal_mode else "mode=ro&immutable=1"
        with self._told():
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.resolve()))}?{flags}", uri=True, timeout=5, isolation_level=None
            )
            try:
                self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_LIMIT_BYTES)
                self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
                self._connection.execute("PRAGMA trusted_schema=OFF")
                self._connection.execute("PRAGMA query_only=ON")
            except BaseException:  # damaged
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, KeyError, OverflowError) as error:
            message = tr("The run file {path} is damaged: {reason}.")
            raise CorruptRunFileError(message.format(path=self.path, reason=error)) from error

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._told():
            return self._connection.execute(statement, tuple(values)).fetchall()

    @property
    def values(self) -> dict[str, Json]:
        """All keys of table `run`."""
        with self._told():
            return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM run")}

    @property
    def state(self) -> RunState:
        """The state as stored; `running` may mean that the runner died."""
        with self._told():
            return RunState(cast("str", self.values["state"]))

    def phases(self) -> tuple[PhaseTimes, ...]:
        """The phases so far, in order."""
        with self._told():
            return tuple(
                PhaseTimes(Phase(name), int(start), None if end is None else int(end))
                for name, start, end in self._rows(
                    "SELECT name, started_ms, ended_ms FROM phase ORDER BY started_ms, rowid"
                )
            )

    def phase(self, phase: Phase) -> PhaseTimes | None:
        """The times of one phase, None where it was not reached."""
        return next((times for times in self.phases() if times.phase is phase), None)

    def series(self) -> tuple[Series, ...]:
        """All series of the file."""
        with self._told():
            return tuple(
                Series(*row)
                for row in self._rows("SELECT metric, instance, unit, label, source FROM series ORDER BY id")
            )

    def samples(
        self, metric: str, instance: str = "", *, after_ms: int = -1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (t_ms, values) of one series, ascending; empty arrays where there is none.

        Args:
            metric: `Metric.id`.
            instance: device, thread ...
            after_ms: only samples later than this, to follow a growing file.
        """
        rows = self._rows(
            f"SELECT t_ms, value FROM {_SAMPLES}"
            " WHERE metric = ? AND instance = ? AND t_ms > ? ORDER BY t_ms",
            (metric, instance, after_ms),
        )
        with self._told():
            table = np.array(rows, dtype=np.float64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def live_ticks(self, *, after: int) -> tuple[LiveTick, ...]:
        """Return the seconds of a growing file later than number `after`, and those without a number.

        What pgbench said last has no tick of the sampler: its number is negative, it is always returned.
        """
        rows = self._rows(
            "SELECT number, t_ms, live FROM tick WHERE (number > ? OR number < 0) AND live IS NOT NULL"
            " ORDER BY number < 0, number",
            (after,),
        )
        with self._told():
            return tuple(
                LiveTick(
                    int(number),
                    int(t_ms),
                    tuple((int(series), int(t), float(value)) for series, t, value in json.loads(live)),
                )
                for number, t_ms, live in rows
            )

    def series_numbers(self) -> dict[int, tuple[str, str]]:
        """Return (metric, instance) by the number of the series."""
        rows = self._rows("SELECT id, metric, instance FROM series")
        return {int(number): (str(metric), str(instance)) for number, metric, instance in rows}

    def totals(self, start_ms: int, end_ms: int) -> dict[tuple[str, str], tuple[float, float, int]]:
        """Return (sum, maximum, count) of every series over start_ms < t_ms <= end_ms."""
        rows = self._rows(
            f"SELECT metric, instance, total(value), max(value), count(*) FROM {_SAMPLES}"
            " WHERE t_ms > ? AND t_ms <= ? GROUP BY metric, instance",
            (start_ms, end_ms),
        )
        with self._told():
            return {
                (str(metric), str(instance)): (float(total), float(maximum), int(count))
                for metric, instance, total, maximum, count in rows
            }

    def latency_seconds(self, *, after_ms: int = -1) -> Iterator[LatencySecond]:
        """The per-second latency histograms later than `after_ms`, ascending."""
        with self._told():
            for row in self._connection.execute(
                "SELECT t_ms, transactions, latency_sum_us, skipped, failed, partial, buckets"
                " FROM histogram WHERE t_ms > ? ORDER BY t_ms",
                (after_ms,),
            ):
                yield LatencySecond(
                    int(row[0]),
                    int(row[1]),
                    int(row[2]),
                    int(row[3]),
                    int(row[4]),
                    bool(row[5]),
                    bytes(row[6]),
                )

    def partial_latency_seconds(self) -> tuple[int, ...]:
        """The begins, in ms, of the seconds of which lines of the transaction log may be missing."""
        return tuple(
            int(row[0]) for row in self._rows("SELECT t_ms FROM histogram WHERE partial ORDER BY t_ms")
        )

    def events(self, *, after_id: int = 0) -> tuple[Event, ...]:
        """Events in the order they were recorded."""
        return tuple(event for _, event in self.numbered_events(after_id=after_id))

    def numbered_events(self, *, after_id: int = 0) -> tuple[tuple[int, Event], ...]:
        """Events with their numbers, ascending, to follow a growing file."""
        with self._told():
            return tuple(
                (int(number), Event(int(t_ms), str(kind), str(message), json.loads(data)))
                for number, t_ms, kind, message, data in self._rows(
                    "SELECT id, t_ms, kind, message, data FROM event WHERE id > ? ORDER BY id", (after_id,)
                )
            )

    def commands(self) -> tuple[CommandRecord, ...]:
        """Every program that was executed."""
        with self._told():
            return tuple(
                CommandRecord(start, duration, account, tuple(json.loads(argv)), code, out, err)
                for start, duration, account, argv, code, out, err in self._rows(
                    "SELECT started_ms, duration_ms, account, argv, exit_code, stdout, stderr"
                    " FROM command ORDER BY id"
                )
            )

    def facts(self, moment: str) -> dict[str, Json]:
        """Facts of the environment at a moment, 'before' or 'after'."""
        with self._told():
            return {
                str(name): json.loads(value)
                for name, value in self._rows("SELECT name, value FROM fact WHERE moment = ?", (moment,))
            }

    def output(self, name: str) -> str | None:
        """What a program printed, None where nothing is stored."""
        rows = self._rows("SELECT text FROM output WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def unavailable(self) -> tuple[tuple[int, str, str], ...]:
        """(t_ms, source, reason) of sources that do not exist or failed."""
        return tuple(self._rows("SELECT t_ms, source, reason FROM unavailable ORDER BY id"))

    def marks(self) -> tuple[tuple[str, str], ...]:
        """(kind, reason) labels of the run."""
        return tuple(self._rows("SELECT kind, reason FROM mark ORDER BY kind, reason"))

    def summary(self) -> dict[str, float | None]:
        """The stored figures; empty while the run lasts."""
        with self._told():
            return {
                str(name): None if value is None else float(value)
                for name, value in self._rows("SELECT name, value FROM summary")
            }

    def ticks(self) -> NDArray[np.float64]:
        """Rows of (number, t_ms, lateness_us, missed)."""
        rows = self._rows(
            "SELECT number, t_ms, lateness_us, missed FROM tick WHERE number >= 0 ORDER BY number"
        )
        with self._told():
            return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def check(self) -> None:
        """Read every page (SQLite's quick_check).

        Raises:
            CorruptRunFileError: damaged anywhere.
        """
        verdict = self._rows("PRAGMA quick_check(1)")[0][0]
        if verdict != "ok":
            message = tr("The run file {path} is damaged: {reason}.")
            raise CorruptRunFileError(message.format(path=self.path, reason=verdict))
