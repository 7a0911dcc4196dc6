"""Sizes and durations for people; `app.campaign_file.kinds` reads what they write."""

from __future__ import annotations

from typing import Final

from app.domain.text import number_text

KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
TIB: Final = 1024**4


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
