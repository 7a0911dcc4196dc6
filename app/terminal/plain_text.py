"""Make untrusted text - of run files, campaign files, programs - harmless for a terminal."""

from __future__ import annotations

import re
import sys
from typing import Final

from app import COMMAND

# Controls (C0, DEL, C1), invisible characters and those that change the writing direction, lone surrogates. A
# terminal obeys the first; the second can make two names look the same; the third cannot be encoded.
_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
_HARMFUL_OR_BREAK: Final = re.compile(_HARMFUL.pattern[:-1] + "\t\n\u2028\u2029]")


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


_IN_ASCII: Final = {
    **dict.fromkeys((0x201C, 0x201D, 0x201E), '"'),
    **dict.fromkeys((0x2018, 0x2019), "'"),
    **dict.fromkeys((0x2013, 0x2014), "-"),
    0xA0: " ",
    0xB5: "u",
    0xB7: "-",
    0xD7: "x",
    0x2026: "...",
    0x2192: "->",
    0x2265: ">=",
}
"""What our own sentences have besides ASCII, for a terminal that lacks it."""


def plain(text: object) -> str:
    """Return a text in one line, with everything that a terminal would obey escaped as in Python.

    For a terminal without Unicode, quotation marks and the like are written in ASCII.
    """
    line = _HARMFUL_OR_BREAK.sub(_escape, str(text))
    has_unicode = (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    return line if has_unicode else line.translate(_IN_ASCII)


def plain_lines(text: object) -> str:
    """Return a text as `plain` does, but keep its line breaks and tabs."""
    return _HARMFUL.sub(_escape, str(text))


def json_text(text: str) -> str:
    """Return a JSON document with the controls that JSON allows in strings (DEL, C1 ...) escaped."""
    return _HARMFUL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_left_out(sentence: str) -> None:
    """Print on standard error that one of several items is skipped."""
    sys.stderr.write(f"{COMMAND}: {plain(sentence)}\n")
