"""Show foreign text in a sentence: one line of limited length, special characters escaped. Pure."""

from __future__ import annotations

from typing import Final

FEW: Final = 400
"""Characters: a few lines of a terminal."""


def shown(text: object, most: int = FEW) -> str:
    """Escape line breaks, control characters and invisible characters as Python does.

    Args:
        text: any foreign value.
        most: maximum number of characters; a longer text is cut.
    """
    plain = str(text)
    escaped = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in plain[:most]
    )
    return escaped if len(plain) <= most and len(escaped) <= most else f"{escaped[:most]}…"
