"""Markdown that the program writes into chapters of the manual, and how links name their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#])")


def plain_markdown(text: str) -> str:
    """Return a text as Markdown in which nothing is a mark, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def marked_markdown(text: str) -> str:
    """Return a text as Markdown, on one line, in which code between backquotes is the only mark."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return plain_markdown(text)
    return "".join(f"`{part}`" if at % 2 else _SPECIAL.sub(r"\\\1", part) for at, part in enumerate(parts))


def markdown_table(heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """Return a table of cells that are Markdown."""
    rule = f"|{'---|' * len(heading)}"
    return "\n".join((_row(heading), rule, *map(_row, rows)))


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def anchor_of(heading: str) -> str:
    """Return how a link names a heading: its words in small letters, joined by hyphens."""
    return "-".join(re.findall(r"[\w.]+", heading.lower()))
