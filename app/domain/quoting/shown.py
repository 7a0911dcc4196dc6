"""A text of others in a sentence: one line of a bounded length, everything that is no sign escaped. Pure."""

from __future__ import annotations

from typing import Final

FEW: Final = 400
"""Letters: a few lines of a terminal."""


def shown(text: object, most: int = FEW) -> str:
    """Return a text whose line breaks, controls and invisible signs are escapes as Python has them.

    Args:
        text: whatever somebody said.
        most: letters of it that are shown; of a longer one the beginning.
    """
    told = str(text)
    escaped = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in told[:most]
    )
    return escaped if len(told) <= most and len(escaped) <= most else f"{escaped[:most]}…"
