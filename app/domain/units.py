"""Sizes and durations for people and campaign files; the only module that converts KiB and kB."""

from __future__ import annotations

import re
from typing import Final

from app.domain.text import number_text

KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
TIB: Final = 1024**4

_SIZE_UNITS: Final = {
    "": 1,
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
}
_DURATION_UNITS: Final = {
    "": 1.0,
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_QUANTITY: Final = re.compile(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([a-zA-Z]{0,3})\s*", re.ASCII)


def _parse(text: str, units: dict[str, float] | dict[str, int]) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise ValueError(text)
    return float(match[1]) * units[match[2].lower()]


def parse_size(text: str) -> int:
    """Return bytes for text such as ``200 MB`` (10^6), ``2GiB`` (2^30) or ``4096``.

    Raises:
        ValueError: not a non-negative number with one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    """
    return round(_parse(text, _SIZE_UNITS))


def parse_duration(text: str) -> float:
    """Return seconds for text such as ``90``, ``90s``, ``250ms``, ``5 min`` or ``1h``.

    Raises:
        ValueError: not a non-negative number with one of ms, s, min, h.
    """
    return _parse(text, _DURATION_UNITS)


def format_size(size_bytes: float) -> str:
    """Return a size for people with three significant digits and a binary unit, such as ``1.46 GiB``."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 999.5:  # from there on three digits would be written 1e+03
            return f"{number_text(value, '.3g')} {unit}"
        value /= KIB
    return f"{number_text(value, '.3g')} TiB" if abs(value) < 999.5 else f"{number_text(value, '.0f')} TiB"


def format_duration(seconds: float) -> str:
    """Return ``mm:ss``, or ``h:mm:ss`` from one hour on."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes:02}:{secs:02}"
