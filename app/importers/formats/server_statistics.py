"""Parse statistics views of PostgreSQL that a loop of psql wrote to a file: counters as rates.

A header with the names of columns, then rows, separated by ``|``, ``;``, comma or tab. A column ``epoch``
(seconds since 1970) is required. Counters of pg_stat_database lag: a backend reports at most once a second
(PGSTAT_MIN_INTERVAL); commits of other sessions count too.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ForeignDataError
from app.domain.text import tr
from app.importers.files.lines import BadLines, Readable, read_lines

Array = NDArray[np.float64]

COMMITS: Final = "server.commits"
_LSN: Final = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_RATES: Final = {
    "xact_commit": COMMITS,
    "blks_hit": "server.blocks_hit",
    "blks_read": "server.blocks_read",
    "lsn": "wal.bytes",
    "buffers_checkpoint": "server.buffers_checkpoint",
    "buffers_clean": "server.buffers_clean",
    "buffers_backend": "server.buffers_backend",
}
_RARE_RATES: Final = {"temp_bytes": "server.temp_bytes", "buffers_backend_fsync": "server.backend_syncs"}
_COUNTS: Final = {
    "checkpoints_timed": "server.checkpoints_timed",
    "checkpoints_req": "server.checkpoints_requested",
}
_COLUMNS: Final = (*_RATES, *_RARE_RATES, *_COUNTS)
_VIEWS: Final = {"xact_commit": "pg_stat_database", "lsn": "pg_current_wal_lsn()"}
_LAST_S: Final = 4.2e9
_MOST: Final = 2.0**63
"""A counter of PostgreSQL is a bigint."""
_SEPARATORS: Final = "|;,\t"
_HEADER: Final = re.compile(rb"[^\n]*\bepoch\b[^\n]*\b(?:xact_commit|lsn|buffers_checkpoint)\b[^\n]*\n")


@dataclass(frozen=True, slots=True)
class Rates:
    """One series.

    Attributes:
        metric: see app/domain/metrics.py.
        epoch_s: end of each interval.
        values: in the metric's unit.
        source: view.
    """

    metric: str
    epoch_s: Array
    values: Array
    source: str


@dataclass(frozen=True, slots=True)
class ServerStatistics:
    """A file of statistics.

    Attributes:
        series: all that its columns allow.
        begin_s: time of the first row.
        end_s: time of the last row.
        utc_offset_s: of the clock in the server's log, from column ts; None without it.
        note: which of several databases was chosen; empty for one.
    """

    series: tuple[Rates, ...]
    begin_s: float
    end_s: float
    utc_offset_s: float | None = None
    note: str = ""


def is_statistics(head: bytes) -> bool:
    """Return whether a file starts like such a table."""
    return _HEADER.match(head.replace(b"\r\n", b"\n")) is not None


class _Rows:
    """The wanted columns of one database."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.columns = {name: array("d") for name in ("epoch", *names)}

    def growth(self) -> float:
        commits = self.columns.get("xact_commit")
        return commits[-1] - commits[0] if commits else 0.0


def read_statistics(stream: Readable, shown_path: str, bad: BadLines) -> ServerStatistics | None:
    """Return the series of a file; None if it has fewer than two rows.

    Raises:
        ForeignDataError: too many invalid rows, or no header.
    """
    reader = _Reader(shown_path, bad)
    for number, line in _numbered(stream, shown_path):
        reader.feed(number, line)
    if not reader.header:
        raise ForeignDataError(tr("{file} is empty.").format(file=shown_path))
    databases = reader.databases
    chosen = max(databases, key=lambda name: databases[name].growth(), default="")
    columns = databases[chosen].columns if databases else {"epoch": array("d")}
    if len(columns["epoch"]) < 2:
        return None
    note = ""
    if len(databases) > 1:
        note = tr("{file}: of {count} databases, {name} with the most commits").format(
            file=shown_path, count=len(databases), name=chosen
        )
    epoch_s = np.array(columns["epoch"])
    series = tuple(_rates(epoch_s, columns))
    return ServerStatistics(series, float(epoch_s[0]), float(epoch_s[-1]), reader.offset_s, note)


class _Reader:
    """Parses the lines of a table.

    Attributes:
        header: names of all columns; empty before the first line.
        databases: the wanted columns by database.
        offset_s: of the clock in column ts.
    """

    def __init__(self, shown_path: str, bad: BadLines) -> None:
        self.header: list[str] = []
        self.databases: dict[str, _Rows] = {}
        self.offset_s: float | None = None
        self._shown_path = shown_path
        self._bad = bad
        self._separator = "|"
        self._names: tuple[str, ...] = ()

    def feed(self, number: int, line: str) -> None:
        """Add a line.

        Raises:
            ForeignDataError: too many of them are invalid.
        """
        if not self.header:
            self._separator = max(_SEPARATORS, key=line.count)
            self.header = line.split(self._separator)
            self._names = tuple(name for name in _COLUMNS if name in self.header)
            return
        cells = line.split(self._separator)
        if cells == self.header:
            return
        row = _row(self.header, cells, self._names)
        if row is None:
            self._bad.add(self._shown_path, number, line)
            return
        place = cells[self.header.index("datname")] if "datname" in self.header else ""
        rows = self.databases.setdefault(place, _Rows(self._names))
        for name, value in row.items():
            rows.columns[name].append(value)
        if self.offset_s is None and "ts" in self.header:
            self.offset_s = _offset_s(cells[self.header.index("ts")])


def _numbered(stream: Readable, shown_path: str) -> Iterator[tuple[int, str]]:
    for lines in read_lines(stream, shown_path):
        for number, line in enumerate(lines.text.decode("utf-8", "replace").splitlines(), lines.first):
            if line.strip():
                yield number, line


def _row(header: list[str], cells: list[str], names: tuple[str, ...]) -> dict[str, float] | None:
    if len(cells) != len(header):
        return None
    values = dict(zip(header, cells, strict=True))
    try:
        row = {name: _lsn(values[name]) if name == "lsn" else float(values[name]) for name in names}
        row["epoch"] = float(values["epoch"])
    except (ValueError, KeyError):
        return None
    # NaN compares false too.
    return row if row["epoch"] < _LAST_S and all(abs(each) < _MOST for each in row.values()) else None


def _lsn(text: str) -> float:
    match = _LSN.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return float((int(match[1], 16) << 32) + int(match[2], 16))


def _offset_s(text: str) -> float | None:
    try:
        offset = datetime.fromisoformat(text).utcoffset()
    except ValueError:
        return None
    return None if offset is None else offset.total_seconds()


def _rates(epoch_s: Array, columns: Mapping[str, array[float]]) -> Iterator[Rates]:
    """Yield the series, without intervals in which a counter fell (it was reset) or time did not advance."""
    lengths = np.diff(epoch_s)
    rules: tuple[tuple[Mapping[str, str], Callable[[Array], Array], bool], ...] = (
        (_RATES, lambda grown: grown / lengths, False),
        (_RARE_RATES, lambda grown: grown / lengths, True),
        (_COUNTS, lambda grown: grown, True),
    )
    for metrics, value_of, is_rare in rules:
        for name, metric in metrics.items():
            if name not in columns:
                continue
            grown = np.diff(np.array(columns[name]))
            kept = (grown >= 0) & (lengths > 0)
            kept &= (grown > 0) | (not is_rare)
            with np.errstate(divide="ignore", invalid="ignore"):
                values = value_of(grown)[kept]
            view = "pg_stat_database" if "xact_commit" in columns else "pg_stat_bgwriter"
            yield Rates(metric, epoch_s[1:][kept], values, _VIEWS.get(name, view))
