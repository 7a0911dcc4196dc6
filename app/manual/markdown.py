"""Write Markdown for generated parts of the manual, and the anchors of headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#])")


def plain_markdown(text: str) -> str:
    """Return a text as Markdown without any markup, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def marked_markdown(text: str) -> str:
    """Return a text as Markdown on one line, with code between backquotes as the only markup."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return plain_markdown(text)
    return "".join(f"`{part}`" if at % 2 else _SPECIAL.sub(r"\\\1", part) for at, part in enumerate(parts))


def markdown_table(heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """Return a table with cells in Markdown."""
    rule = f"|{'---|' * len(heading)}"
    return "\n".join((_row(heading), rule, *map(_row, rows)))


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading: its words in lower case, joined by hyphens."""
    return "-".join(re.findall(r"[\w.]+", heading.lower()))
