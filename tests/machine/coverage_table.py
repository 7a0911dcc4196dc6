"""The table of what machine tests covered: one row each, a column for each kind of word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One test: the words of its marker `covers` ("filesystem ext4"), seconds it took, what came of it."""

    words: tuple[str, ...]
    seconds: float
    result: str


def table(rows: Sequence[Row]) -> str:
    """Return the rows as aligned text, sorted; the first word of each of `Row.words` names its column."""
    columns = list(dict.fromkeys(word.partition(" ")[0] for row in rows for word in row.words))
    lines = []
    for row in rows:
        found = {word.partition(" ")[0]: word.partition(" ")[2] for word in row.words}
        lines.append([*(found.get(column, "-") for column in columns), f"{row.seconds:.1f}", row.result])
    lines.sort()
    lines.insert(0, [*columns, "seconds", "result"])
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
