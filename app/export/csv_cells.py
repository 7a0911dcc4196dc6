"""Write CSV without cells that a spreadsheet would execute as formulas.

A spreadsheet evaluates a cell that begins like a formula, even if quoted, and in some locales splits cells at
semicolons and tabs as well (OWASP, "CSV Injection"). An apostrophe makes it text.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TextIO

_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?: ?%)?\Z", re.ASCII)
_BEGINNING: Final = frozenset("=+-@")
_MORE: Final = "\N{MINUS SIGN}"
_BLANK: Final = "\ufeff\u200b\u2060"
_PARTS: Final = re.compile(r"([;,|\t\r\n\"'`])")
"""Characters that a program may take for the end of a cell."""


def write_rows(stream: TextIO, rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV; escape text that a spreadsheet might evaluate, keep numbers."""
    csv.writer(stream).writerows(map(escape_formula, row) for row in rows)


def escape_formula(cell: object) -> object:
    """Return a cell that no spreadsheet evaluates."""
    return _escape(cell) if isinstance(cell, str) else cell


@lru_cache(1 << 15)
def _escape(text: str) -> str:
    """Escape a text; cached, because names, units and phases repeat in many rows."""
    if _NUMBER.match(text):
        return text
    escaped = "".join(map(_part, _PARTS.split(text)))
    return f"'{escaped}" if escaped[:1] in {"\t", "\r", "\n"} else escaped


def _part(text: str) -> str:
    begun = text.lstrip().lstrip(_BLANK).lstrip()
    if not begun or _NUMBER.match(begun.rstrip()):
        return text
    first = unicodedata.normalize("NFKC", begun[0])[:1]
    return "'" + text if first in _BEGINNING or first in _MORE else text
