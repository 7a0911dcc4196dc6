"""Texts that others wrote - run files, campaign files, programs - made harmless for a terminal."""

from __future__ import annotations

import re
import sys
from typing import Final

from app import COMMAND

# Controls (C0, DEL, C1), marks that turn the direction of writing or are not seen, lone surrogates. A
# terminal obeys the first; the second let a name look like another; the third cannot be encoded.
_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
_HARMFUL_OR_BREAK: Final = re.compile(_HARMFUL.pattern[:-1] + "\t\n\u2028\u2029]")


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def plain(text: object) -> str:
    """Return a text in one line; what a terminal would obey is written as an escape, as Python does."""
    return _HARMFUL_OR_BREAK.sub(_escape, str(text))


def plain_lines(text: object) -> str:
    """Return a text as `plain` does, but with its line breaks and tabs."""
    return _HARMFUL.sub(_escape, str(text))


def json_text(text: str) -> str:
    """Return a JSON document with the controls that JSON allows in strings (DEL, C1 ...) escaped."""
    return _HARMFUL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def tell_left_out(sentence: str) -> None:
    """Say on standard error that something is left out of what is done with several."""
    sys.stderr.write(f"{COMMAND}: {plain(sentence)}\n")
