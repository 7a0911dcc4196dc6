"""Parse a small table of seconds for any other results: CSV that a spreadsheet or a short script can write.

::

    # name: ext4 on four disks
    # tps: 7707.1
    # filesystem: ext4
    # raid: stripe
    # scale: 1000
    # clients: 16
    t_s,tps,latency_mean_ms,latency_p99_ms
    1,7712,2.07,9.1
    2,7689,2.08,9.4

Lines ``# key: value`` come first (`KEYS`; every key is optional), then a header, then the rows. ``t_s`` is
the end of each second (or longer interval) since the start, ascending; `COLUMNS` are the others. The
separator is a comma, semicolon or tab; an empty cell means "not known". Lines that start with ``#`` without a
key are comments. Nothing is guessed: an unknown key or column, a value that is not a number, a negative one,
or times that are not seconds are errors with their line. The mean TPS come from ``tps``, else from the
column.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ForeignDataError, did_you_mean
from app.domain.text import tr
from app.importers.files.members import Readable, read_lines

Array = NDArray[np.float64]

COLUMNS: Final[Mapping[str, str]] = {
    "tps": "pgbench.tps",
    "latency_mean_ms": "pgbench.latency_mean",
    "latency_stddev_ms": "pgbench.latency_stddev",
    "latency_p50_ms": "latency.p50",
    "latency_p95_ms": "latency.p95",
    "latency_p99_ms": "latency.p99",
    "failed": "pgbench.failed",
    "wal_bytes_per_s": "wal.bytes",
    "read_bytes_per_s": "storage.read_bytes",
    "write_bytes_per_s": "storage.write_bytes",
    "reads_per_s": "storage.reads",
    "writes_per_s": "storage.writes",
    "flushes_per_s": "storage.flushes",
}
"""Columns in addition to ``t_s``, and their metrics."""

KEYS: Final[Mapping[str, str]] = {
    "name": "text",
    "tps": "number",
    "transactions": "whole number",
    "started": "seconds since 1970",
    "duration_s": "number",
    "filesystem": "text",
    "mount_options": "text",
    "raid": "text",
    "scale": "whole number",
    "clients": "whole number",
    "threads": "whole number",
    "workload": "text",
    "postgresql": "text",
    "machine": "text",
    "processor": "text",
    "kernel": "text",
    "storage": "text",
    "note": "text",
}
"""Keys of the lines above the header, and the types of their values."""

_KEY: Final = re.compile(r"#\s*([a-z_]+)\s*:\s*(.*\S)\s*")
_HEADER: Final = re.compile(rb"(?:#[^\n]*\n|\s*\n)*\"?t_s\"?\s*[,;\t]")
_SEPARATORS: Final = ",;\t"
_LONGEST_STEP_S: Final = 900.0
_MOST: Final = 1e15
_MOST_ROWS: Final = 31 * 86_400


@dataclass(frozen=True, slots=True)
class TimeTable:
    """One run.

    Attributes:
        given: the given keys, as text, numbers checked.
        t_s: end of each interval since the start, ascending.
        series: values by metric, NaN for an empty cell.
    """

    given: Mapping[str, str]
    t_s: Array
    series: Mapping[str, Array]


def is_time_table(head: bytes) -> bool:
    """Return whether a file starts like such a table."""
    return _HEADER.match(head) is not None


def read_time_table(stream: Readable, file: str) -> TimeTable:
    """Return the table of a file.

    Raises:
        ForeignDataError: it deviates from the format; names file and line.
    """
    reader = _Reader(file)
    for lines in read_lines(stream, file):
        for number, line in enumerate(lines.text.decode("utf-8", "replace").splitlines(), lines.first):
            if line.strip():
                reader.feed(number, line.removeprefix("\ufeff"))
    return reader.table()


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._given: dict[str, str] = {}
        self._names: list[str] = []
        self._separator = ","
        self._times = array("d")
        self._values: list[array[float]] = []

    def feed(self, number: int, line: str) -> None:
        if not self._names and line.startswith("#"):
            self._feed_key(number, line)
        elif not self._names:
            self._feed_header(number, line)
        else:
            self._feed_row(number, line)

    def table(self) -> TimeTable:
        if not self._times:
            raise self._wrong(None, tr("no rows"))
        series = {
            COLUMNS[name]: np.array(values)
            for name, values in zip(self._names[1:], self._values, strict=True)
        }
        return TimeTable(self._given, np.array(self._times), series)

    def _feed_key(self, number: int, line: str) -> None:
        match = _KEY.fullmatch(line.strip())
        if match is None:  # a comment
            return
        key, value = match[1], match[2]
        if key not in KEYS:
            raise self._wrong(number, tr("“{name}” is unknown").format(name=key), did_you_mean(key, KEYS))
        if KEYS[key] == "whole number" and not re.fullmatch(r"\d{1,15}", value, re.ASCII):
            raise self._wrong(number, tr("{name} cannot be {value}").format(name=key, value=value))
        if KEYS[key] in {"number", "seconds since 1970"}:
            self._number(number, key, value)
        self._given[key] = value

    def _feed_header(self, number: int, line: str) -> None:
        self._separator = max(_SEPARATORS, key=line.count)
        self._names = [name.strip().strip('"') for name in line.split(self._separator)]
        for name in self._names[1:]:
            if name not in COLUMNS:
                hint = did_you_mean(name, COLUMNS) or tr("Known: {names}.").format(names=", ".join(COLUMNS))
                raise self._wrong(number, tr("“{name}” is unknown").format(name=name), hint)
        if len(set(self._names)) < len(self._names):
            raise self._wrong(number, tr("a column occurs twice"))
        self._values = [array("d") for _ in self._names[1:]]

    def _feed_row(self, number: int, line: str) -> None:
        cells = [cell.strip().strip('"') for cell in line.split(self._separator)]
        if len(cells) != len(self._names):
            message = tr("{count} cells instead of {expected}")
            raise self._wrong(number, message.format(count=len(cells), expected=len(self._names)))
        t_s = self._number(number, "t_s", cells[0])
        last_s = self._times[-1] if self._times else 0.0
        if t_s <= last_s:
            raise self._wrong(
                number, tr("t_s does not increase: {new} after {old}").format(new=cells[0], old=last_s)
            )
        if t_s - last_s >= _LONGEST_STEP_S:
            hint = tr("t_s must be seconds since the start, not milliseconds or Unix time.")
            raise self._wrong(
                number, tr("t_s jumps from {old} to {new}").format(old=last_s, new=cells[0]), hint
            )
        if len(self._times) >= _MOST_ROWS:
            raise self._wrong(number, tr("more than 2,678,400 rows (one a second for 31 days)"))
        self._times.append(t_s)
        for name, cell, values in zip(self._names[1:], cells[1:], self._values, strict=True):
            values.append(self._number(number, name, cell) if cell else math.nan)

    def _number(self, number: int, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError as error:
            hint = tr("Write numbers with a decimal point.") if "," in text else ""
            raise self._wrong(
                number, tr("{name} cannot be {value}").format(name=name, value=text[:40]), hint
            ) from error
        if not 0 <= value <= _MOST:
            raise self._wrong(number, tr("{name} cannot be {value}").format(name=name, value=text[:40]))
        return value

    def _wrong(self, number: int | None, what: str, hint: str = "") -> ForeignDataError:
        place = (
            self._file if number is None else tr("{file}, line {line}").format(file=self._file, line=number)
        )
        return ForeignDataError(f"{place}: {what}.", hint=hint)
