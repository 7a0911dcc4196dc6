"""Parse events of a foreign server log, with its own log_line_prefix.

Supported are the default of PostgreSQL 10 and newer, ``%m [%p] ``, and ours, ``%n [%p] ``; time zones by the
offset in statistics of the same machine, by the setting log_timezone, or UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.probes.sources.server_log import RecordReader, ServerEvent

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
