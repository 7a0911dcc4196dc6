"""Tables on a terminal and in a pipe: a pipe has no width, so nothing is folded or cut there."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.plain_text import plain
from app.domain.text import tr

_NARROW: Final = 12
"""Characters below which a column of words is not squeezed."""
_GAP: Final = 2


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: frozenset[int] = frozenset({0}),
    words: frozenset[int] = frozenset(),
    optional: Sequence[int] = (),
) -> None:
    """Print rows of text under headings; columns without any text are left out.

    On a terminal that is too narrow, columns of words take several lines, then optional columns are left
    out and named below; numbers, identities and dates are never cut or broken.

    Args:
        console: where to.
        headings: one a column.
        rows: as many cells as headings each.
        left: columns that are aligned to the left; the others hold numbers.
        words: columns that may take several lines.
        optional: columns that may be left out, the first first.
    """
    rows = [tuple(plain(cell) for cell in row) for row in rows]
    columns = [index for index in range(len(headings)) if any(row[index] for row in rows)]
    if not console.is_terminal:
        _print_unfolded(console, headings, rows, columns, left)
        return
    widths = {index: max(cell_len(row[index]) for row in (headings, *rows)) for index in columns}
    least = {index: min(width, _NARROW) if index in words else width for index, width in widths.items()}
    hidden = []
    for index in optional:
        if index in columns and sum(least[column] + _GAP for column in columns) - _GAP > console.width:
            columns.remove(index)
            hidden.append(headings[index])
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for index in columns:
        justify: Literal["left", "right"] = "left" if index in left else "right"
        table.add_column(headings[index], justify=justify, no_wrap=index not in words, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[index]) for index in columns))
    console.print(table)
    if hidden:
        note = tr("Left out here: {columns}. A wider terminal shows them.")
        print_line(console, note.format(columns=", ".join(hidden)), style="dim")


def _print_unfolded(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: Sequence[int],
    left: frozenset[int],
) -> None:
    texts = [[row[index] for index in columns] for row in (headings, *rows)]
    widths = [max(len(line[place]) for line in texts) for place in range(len(columns))]
    for line in texts:
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        )
        console.print("  ".join(cells).rstrip(), markup=False, highlight=False, soft_wrap=True)


def print_line(console: Console, text: str, *, style: str = "") -> None:
    """Print one line of text that may come from anywhere; a terminal gets it broken between words.

    What is longer than a line, such as a path, is left whole, so that it can be copied.
    """
    line = Text(plain(text), style=style)
    if console.is_terminal:
        console.print(line, overflow="ignore", no_wrap=False, crop=False)
    else:
        console.print(line, soft_wrap=True)


def print_sentence(console: Console, text: str, *, style: str = "") -> None:
    """Print a sentence that may hold foreign words; a terminal gets it broken between words."""
    line = plain(text)
    lines = [line]
    if console.is_terminal:
        lines = textwrap.wrap(line, console.width, break_long_words=False, break_on_hyphens=False)
    for each in lines:
        print_line(console, each, style=style)


def indented(console: Console, text: str, indent: int, *, first: str | None = None) -> list[str]:
    """Return the lines of a sentence behind a margin, broken between words on a terminal, one line in a pipe.

    Args:
        console: where it will be printed.
        text: may hold foreign words.
        indent: width of the margin.
        first: what stands in the margin of the first line; None for nothing.
    """
    margin = " " * indent
    before = margin if first is None else first
    if not console.is_terminal:
        return [before + plain(text)]
    return textwrap.wrap(
        plain(text),
        console.width,
        initial_indent=before,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_indented(console: Console, text: str, indent: int, *, style: str = "") -> None:
    """Print a sentence behind a margin, as `indented` breaks it."""
    for line in indented(console, text, indent):
        print_line(console, line, style=style)


def print_grid(
    console: Console, rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()
) -> None:
    """Print rows of labels and values without headings, aligned; nothing is cut or folded.

    Args:
        console: where to.
        rows: cells, each row as many.
        right: columns of numbers, aligned to the right.
    """
    texts = [[plain(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in texts) for place in range(len(texts[0]))] if texts else []
    for row in texts:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print_line(console, "  ".join(cells).rstrip())
