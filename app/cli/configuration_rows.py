"""What a run measured, in a few lines for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from app.domain.text import tr
from app.domain.units import format_duration, format_size
from app.runs.runfile import Json


def _of(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _size(value: Json) -> str:
    number = _number(value)
    return "" if number is None else format_size(number)


def _seconds(value: Json) -> str:
    number = _number(value)
    return "" if number is None else format_duration(number)


def _started(value: Json) -> str:
    try:
        return datetime.fromtimestamp(float(str(value))).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return ""


def _words(*parts: Json) -> str:
    return " ".join(str(part) for part in parts if part is not None and part != "")


def _by_filesystem(settings: Json) -> str:
    """Return the server settings that preset or options of the filesystem gave."""
    told = [each for each in settings if isinstance(each, Mapping)] if isinstance(settings, list) else []
    pairs = [(each.get("name"), each.get("value")) for each in told if each.get("origin") == "filesystem"]
    return ", ".join(f"{name}={value}" for name, value in pairs)


def _bracketed(text: str) -> tuple[str, ...]:
    return (f"({text})",) if text else ()


def configuration_rows(described: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Return (label, value) of target, server and workload; a value is empty where it is unknown.

    Args:
        described: what `app.runs.export.describe_run` returns.
    """
    target, workload = described.get("target"), described.get("workload")
    installation, postgresql = described.get("installation"), described.get("postgresql")
    storage = _of(_of(described.get("facts"), "before"), "storage")
    length = _seconds(_of(workload, "duration_s"))
    if not length and _of(workload, "transactions") is not None:
        length = tr("{count} transactions a client").format(count=_of(workload, "transactions"))
    checksums = _of(postgresql, "checksums")
    return (
        (tr("campaign"), _words(described.get("campaign"))),
        (tr("started"), _started(described.get("started_epoch_s"))),
        (tr("target"), _words(_of(target, "kind"), _of(target, "path"))),
        (tr("filesystem"), _words(_of(_of(storage, "mount"), "filesystem"))),
        (
            tr("server"),
            _words("PostgreSQL", _of(installation, "version"), *_bracketed(str(_of(installation, "folder"))))
            if isinstance(installation, Mapping)
            else "",
        ),
        (
            tr("settings"),
            tr("preset {preset}, checksums {checksums}").format(
                preset=_of(postgresql, "preset"), checksums=tr("on") if checksums else tr("off")
            )
            if isinstance(postgresql, Mapping)
            else "",
        ),
        (tr("by the filesystem"), _by_filesystem(described.get("settings"))),
        (
            tr("workload"),
            tr("{label}, protocol {protocol}").format(
                label=_of(workload, "label"), protocol=_of(workload, "protocol")
            )
            if isinstance(workload, Mapping)
            else "",
        ),
        (tr("scale"), _words(described.get("scale"), *_bracketed(_size(described.get("data_bytes"))))),
        (
            tr("clients"),
            tr("{clients} in {threads} threads").format(
                clients=_of(workload, "clients"), threads=_of(workload, "threads")
            )
            if isinstance(workload, Mapping)
            else "",
        ),
        (tr("length"), length),
        (tr("warm-up"), _seconds(_of(workload, "warmup_s"))),
    )
