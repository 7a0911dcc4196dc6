"""Parse settings and build of a server from the output of psql and pg_config, and from postgresql.conf."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Final, Literal

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
_COLUMNS: Final = {"current_setting": "setting", "Parameter": "name", "Value": "setting"}
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
    header = [_COLUMNS.get(cell.strip(), cell.strip()) for cell in rows[0]]
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
