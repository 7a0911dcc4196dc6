"""Tables on a terminal and in a pipe: a pipe has no width, so nothing is folded or cut there."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.plain_text import plain


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: frozenset[int] = frozenset({0}),
) -> None:
    """Print rows of text under headings; columns without any text are left out.

    Args:
        console: where to.
        headings: one a column.
        rows: as many cells as headings each.
        left: columns that are aligned to the left; the others hold numbers.
    """
    rows = [tuple(plain(cell) for cell in row) for row in rows]
    columns = [index for index in range(len(headings)) if any(row[index] for row in rows)]
    if console.is_terminal:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for index in columns:
            table.add_column(headings[index], justify="left" if index in left else "right", overflow="fold")
        for row in rows:
            table.add_row(*(Text(row[index]) for index in columns))
        console.print(table)
        return
    texts = [[row[index] for index in columns] for row in (headings, *rows)]
    widths = [max(len(line[place]) for line in texts) for place in range(len(columns))]
    for line in texts:
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        )
        console.print("  ".join(cells).rstrip(), markup=False, highlight=False, soft_wrap=True)


def print_line(console: Console, text: str, *, style: str = "") -> None:
    """Print one line of text that may come from anywhere; a long one is not cut."""
    console.print(Text(plain(text), style=style), soft_wrap=True)


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
