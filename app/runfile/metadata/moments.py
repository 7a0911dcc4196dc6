"""Moments in a run's note: a line such as "[0:12:30] backup started" is about that second of the run."""

from __future__ import annotations

import re
from typing import Final

_MOMENT: Final = re.compile(r"\[(-?)(\d{1,6}):(\d\d):(\d\d)\]\s*(\S.*)")
_MOST: Final = 50
"""A file from elsewhere may have any number of lines."""


def moment_words(t_s: float) -> str:
    """Return the beginning of a line about a moment; its words follow."""
    minutes, seconds = divmod(abs(round(t_s)), 60)
    return f"[{'-' if round(t_s) < 0 else ''}{minutes // 60}:{minutes % 60:02}:{seconds:02}] "


def read_moments(note: str) -> tuple[tuple[float, str], ...]:
    """Return time, in s since the start of the measured phase, and words of each line about a moment."""
    found = []
    for line in filter(None, map(_MOMENT.fullmatch, note.splitlines())):
        sign, hours, minutes, seconds, words = line.groups()
        t_s = 3600.0 * int(hours) + 60 * int(minutes) + int(seconds)
        found.append((-t_s if sign else t_s, words))
    return tuple(sorted(found)[:_MOST])
