"""The words that pgFooting knows: those of its own source, which are English, Linux's and PostgreSQL's.

A text that others wrote may be told word by word where each word is one of these; a name that people gave to
something is none of them, or says nothing about them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Final

from app import TOP

_SOURCE: Final = TOP / "app"
_ENDINGS: Final = frozenset({".py", ".sql"})
_WORD: Final = re.compile(r"[^\W_]+")

_NUMBER: Final = re.compile(
    r"[vr]?\d{1,12}(?:[kmgtp]?i?b|[kmgt]?hz|[kmgt]|[nmu\N{MICRO SIGN}]?s|min|h|d|x|st|nd|rd|th)?",
    re.IGNORECASE,
)
_DEVICE: Final = re.compile(
    r"(?:[shv]d[a-z]{1,3}|xvd[a-z]{1,2}|nvme\d+(?:c\d+)?(?:n\d+)?|md|dm|loop|zd|ram|zram|sr|mmcblk\d+|cpu|ttys?)\d{0,5}"
    r"(?:p\d{1,3})?",
    re.IGNORECASE,
)


@cache
def known_words() -> frozenset[str]:
    """Return them in small letters; none where the source cannot be read, so that nothing is told."""
    found: set[str] = set()
    with suppress(OSError, UnicodeDecodeError):
        for path in _SOURCE.rglob("*"):
            if path.suffix in _ENDINGS:
                found.update(_WORD.findall(path.read_text(encoding="utf-8").casefold()))
    return frozenset(found)


def is_known(word: str) -> bool:
    """Return whether a word is one of these, a number with its unit, or a device as the kernel calls it."""
    return bool(word.casefold() in known_words() or _NUMBER.fullmatch(word) or _DEVICE.fullmatch(word))
