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


def plain(text: object) -> str:
    """Return a text in one line, with everything that a terminal would obey escaped as in Python."""
    return _HARMFUL_OR_BREAK.sub(_escape, str(text))


def plain_lines(text: object) -> str:
    """Return a text as `plain` does, but keep its line breaks and tabs."""
    return _HARMFUL.sub(_escape, str(text))


def json_text(text: str) -> str:
    """Return a JSON document with the controls that JSON allows in strings (DEL, C1 ...) escaped."""
    return _HARMFUL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_left_out(sentence: str) -> None:
    """Print on standard error that one of several items is skipped."""
    sys.stderr.write(f"{COMMAND}: {plain(sentence)}\n")
