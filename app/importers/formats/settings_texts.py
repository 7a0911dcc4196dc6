"""Parse settings and build of a server from the output of psql and pg_config, and from postgresql.conf."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Final

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
    """Return whether a file starts like a table of pg_settings."""
    first = head.split(b"\n", 1)[0]
    return (
        re.fullmatch(
            rb'\s*"?name"?\s*[|,;\t](?:.*[|,;\t])?\s*"?(?:current_)?setting"?\s*(?:[|,;\t].*)?', first
        )
        is not None
    )


def parse_settings(text: str) -> ServerSettings:
    """Return the settings of a table: psql's aligned or unaligned format, or CSV.

    Rows with more or fewer cells than the header are skipped.
    """
    first = text.split("\n", 1)[0]
    separator = max("|,;\t", key=first.count)
    rows = (
        list(csv.reader(io.StringIO(text), delimiter=separator))
        if separator != "|"
        else [line.split("|") for line in text.split("\n")]
    )
    header = [cell.strip() for cell in rows[0]] if rows else []
    header = ["setting" if cell == "current_setting" else cell for cell in header]
    if "name" not in header or "setting" not in header:
        return ServerSettings((), {})
    values: dict[str, str] = {}
    chosen: list[tuple[str, str]] = []
    for row in rows[1:]:
        if len(row) != len(header):
            continue
        cells_by_name = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
        values[cells_by_name["name"]] = value = _value(
            cells_by_name["setting"], cells_by_name.get("unit", "")
        )
        if cells_by_name.get("source") in _CHOSEN and not _BY_INITDB.fullmatch(cells_by_name["name"]):
            chosen.append((cells_by_name["name"], value))
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
    digits = setting.removeprefix("-")
    if not digits.isdigit() or setting.startswith("-") or int(setting) == 0:
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
