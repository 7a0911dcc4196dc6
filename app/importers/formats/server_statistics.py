"""Parse what psql and a server wrote to files: statistics views as rates, settings, the server log.

A header with the names of columns, then rows, separated by ``|``, ``;``, comma or tab. A column ``epoch``
(seconds since 1970) is required. Counters of pg_stat_database lag: a backend reports at most once a second
(PGSTAT_MIN_INTERVAL); commits of other sessions count too.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ForeignDataError
from app.domain.text import tr
from app.importers.files.members import BadLines, Readable, read_lines
from app.probes.sources.server_log import RecordReader, ServerEvent

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
        raise ForeignDataError(tr("{file}: fewer than two rows").format(file=shown_path))
    databases = reader.databases
    chosen = max(databases, key=lambda name: databases[name].growth(), default="")
    columns = databases[chosen].columns if databases else {"epoch": array("d")}
    if len(columns["epoch"]) < 2:
        return None
    note = ""
    if len(databases) > 1:
        note = tr("{file} contains {count} databases; imported {name}, which has the most commits").format(
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


# Parse settings and build of a server from the output of psql and pg_config, and from postgresql.conf.


_UNITS: Final = {"B": 1, "kB": 1 << 10, "MB": 1 << 20} | {
    f"{count}kB": count << 10 for count in (1, 2, 4, 8, 16, 32, 64)
}
"""Bytes by unit, including data pages (--with-blocksize, 1 to 32) and WAL pages (--with-wal-blocksize, 1 to
64).
"""
_NAMES: Final = (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1))
_MILLISECONDS: Final = {"ms": 1, "s": 1000, "min": 60_000}
_TIMES: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
_CHOSEN: Final = frozenset({"configuration file", "command line", "environment variable", "database", "user"})
_BY_INITDB: Final = re.compile(
    r"DateStyle|TimeZone|log_timezone|lc_\w+|default_text_search_config|dynamic_shared_memory_type"
)
_FEW: Final = 100
"""Largest number of settings in a selective table; SHOW ALL shows more than three hundred."""
_SHOWN_ONLY: Final = frozenset({"server_version", "server_version_num", "block_size", "data_checksums"})
"""Settings that cannot be set."""
_HEADING: Final = re.compile(
    r'[\s|]*(?:"?name"?\s*[|,;\t](?:.*[|,;\t])?\s*"?(?:current_)?setting"?|Parameter\s*\|\s*Value)'
    r"\s*(?:[|,;\t].*)?"
)
_HEADINGS: Final = {"current_setting": "setting", "Parameter": "name", "Value": "setting"}
"""Other headings: of a function, and of ``\\dconfig``."""
_BEFORE_ROWS: Final = 4
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_CONFIGURATION_LINE: Final = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_][\w.]*)(?:\s*=\s*|\s+)"
    r"(?:'(?P<quoted>(?:[^'\\]|''|\\.)*)'|(?P<plain>[^\s#']+))\s*)?(?:#.*)?"
)
_OWN_NAMES: Final = re.compile(
    r"fsync|full_page_writes|synchronous_commit|(?:max|min)_wal_size|wal_(?:level|buffers|compression|sync_method)"
    r"|(?:shared|temp)_buffers|(?:maintenance_)?work_mem|effective_(?:cache_size|io_concurrency)|autovacuum"
    r"|checkpoint_(?:timeout|completion_target|segments)|random_page_cost|max_connections|shared_preload_libraries"
)
_CONFIG: Final = re.compile(r"^([A-Z_-]+) = (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Contents of a table of pg_settings or a configuration file.

    Attributes:
        chosen: (name, value) of settings that were set, as postgresql.conf writes them; without initdb's.
            From a table without their source, all if they are few: then they were selected.
        values: every named setting.
    """

    chosen: tuple[tuple[str, str], ...]
    values: dict[str, str]


def is_settings(head: bytes) -> bool:
    """Return whether a file starts like a table of pg_settings, below a title or psql's prompt at most."""
    return _heading_of(head.decode("utf-8", "replace")) is not None


def _heading_of(text: str) -> int | None:
    """Return the place of the heading among the first lines of a table; None if there is none."""
    first = text.split("\n", _BEFORE_ROWS)[:_BEFORE_ROWS]
    return next((at for at, line in enumerate(first) if _HEADING.fullmatch(line)), None)


def parse_settings(text: str) -> ServerSettings:
    """Return the settings of a table: psql's formats with columns, or CSV.

    Rows with more or fewer cells than the header are skipped, and lines of the table.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    if (start := _heading_of(text)) is None:
        return ServerSettings((), {})
    separator = max("|,;\t", key=lines[start].count)
    quoting: Literal[0, 3] = csv.QUOTE_NONE if separator == "|" else csv.QUOTE_MINIMAL
    try:
        rows = list(csv.reader(lines[start:], delimiter=separator, quoting=quoting))
    except csv.Error:
        return ServerSettings((), {})
    header = [_HEADINGS.get(cell.strip(), cell.strip()) for cell in rows[0]]
    if "name" not in header or "setting" not in header:
        return ServerSettings((), {})
    values: dict[str, str] = {}
    chosen: list[tuple[str, str]] = []
    for row in rows[1:]:
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=False)}
        if len(row) != len(header) or not _NAME.fullmatch(name := cells["name"]):
            continue
        values[name] = value = _value(cells["setting"], cells.get("unit", ""))
        if cells.get("source") in _CHOSEN and not _BY_INITDB.fullmatch(name):
            chosen.append((name, value))
    if "source" not in header and len(values) <= _FEW:
        chosen = [each for each in values.items() if each[0] not in _SHOWN_ONLY]
    return ServerSettings(tuple(chosen), values)


def is_configuration(head: bytes) -> bool:
    """Return whether a file starts like postgresql.conf: every line, and a setting only PostgreSQL has."""
    names = set()
    for line in head.decode("utf-8", "replace").splitlines():
        match = _CONFIGURATION_LINE.fullmatch(line)
        if match is None:
            return False
        names.add((match["name"] or "").lower())
    return any(map(_OWN_NAMES.fullmatch, names))


def parse_configuration(*texts: str) -> ServerSettings:
    """Return the settings of configuration files, later ones win; included files are not read."""
    values: dict[str, str] = {}
    for text in texts:
        for line in text.splitlines():
            match = _CONFIGURATION_LINE.fullmatch(line)
            if match is not None and match["name"]:
                quoted = match["quoted"]
                value = match["plain"] if quoted is None else re.sub(r"''|\\'", "'", quoted)
                values[match["name"].lower()] = value or ""
    included = ("include", "include_if_exists", "include_dir")
    values = {name: value for name, value in values.items() if name not in included}
    chosen = tuple(each for each in values.items() if not _BY_INITDB.fullmatch(each[0]))
    return ServerSettings(chosen, values)


def _value(setting: str, unit: str) -> str:
    """Return a value with the largest exact unit, as SHOW does (guc.c, convert_int_from_base_unit)."""
    if not re.fullmatch(r"[1-9][0-9]{0,17}", setting):
        return setting
    for base, names in ((_UNITS.get(unit), _NAMES), (_MILLISECONDS.get(unit), _TIMES)):
        if base is not None:
            amount = int(setting) * base
            name, size = next((name, size) for name, size in names if amount % size == 0)
            return f"{amount // size}{name}"
    return setting


def is_pg_config(head: bytes) -> bool:
    """Return whether a file starts like pg_config's output."""
    return head.startswith(b"BINDIR = ")


def parse_pg_config(text: str) -> dict[str, str]:
    """Return pg_config's output, by name."""
    return {match[1]: match[2].strip() for match in _CONFIG.finditer(text)}


# Parse events of a foreign server log, with its own log_line_prefix.
#
# Supported are the default of PostgreSQL 10 and newer, ``%m [%p] ``, and ours, ``%n [%p] ``; time zones by
# the offset in statistics of the same machine, by the setting log_timezone, or UTC.


_DATED: Final = re.compile(
    rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d{1,6})? ([A-Z][A-Za-z]{1,5}|[+-]\d\d(?::?\d\d)?) (\[\d+\] .*)",
    re.DOTALL,
)
_HEAD: Final = re.compile(
    rb"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S+|\d{9,11}\.\d{3}) \[\d+\] [A-Z]+\d?:  ", re.MULTILINE
)
_VERSION: Final = re.compile(r"starting PostgreSQL (\S+) on ([^,\n]+)")
_UTC_NAMES: Final = frozenset({"UTC", "GMT", "Z"})

Zone = Callable[[str], tzinfo | None]


def is_server_log(head: bytes) -> bool:
    """Return whether a file starts like a log of the server."""
    return _HEAD.search(head) is not None


def server_version(text: str) -> str:
    """Return the version that the server logged when it started; empty if it did not."""
    match = _VERSION.search(text)
    return match[1] if match else ""


def zone_of(offset_s: float | None, zone_name: str) -> Zone:
    """Return a function from an abbreviation such as CEST, which alone is ambiguous, to its zone.

    Args:
        offset_s: of the machine's clock, if known.
        zone_name: the setting log_timezone; empty if unknown.
    """

    def zone(name: str) -> tzinfo | None:
        if name in _UTC_NAMES:
            return UTC
        if offset_s is not None:
            return timezone(timedelta(seconds=offset_s))
        try:
            return ZoneInfo(zone_name) if zone_name else None
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None

    return zone


def server_events(lines: Iterable[bytes], zone: Zone) -> Iterator[ServerEvent]:
    """Yield the events of a log; none if the zone of its times is unknown."""
    reader = RecordReader()
    for line in lines:
        yield from reader.feed([_with_epoch(line.rstrip(b"\r\n"), zone)])
    yield from reader.flush()


def _with_epoch(line: bytes, zone: Zone) -> str:
    match = _DATED.fullmatch(line)
    if match is None:
        return line.decode("utf-8", "replace")
    rest = match[4].decode("utf-8", "replace")
    try:
        moment = datetime.fromisoformat(match[1].decode() + _offset(match[3].decode()))
        place = moment.tzinfo or zone(match[3].decode())
    except ValueError:
        return rest
    if place is None:
        return rest
    epoch_s = moment.replace(tzinfo=place).timestamp() + float(match[2] or 0)
    return f"{epoch_s:.3f} {rest}"


def _offset(name: str) -> str:
    return name if name[0] in "+-" else ""
