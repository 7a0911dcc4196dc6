"""Tables on a terminal and in a pipe: a pipe has no width, and gets nothing folded or cut."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.domain.columns import Alignment, AnyColumn, CellKind, Column, RowT, texts
from app.domain.text import tr
from app.terminal.plain_text import plain

_WORD: Final = 20
"""Longer words are broken where there is no room."""
_GAP: Final = 2


def print_table(
    console: Console, columns: Sequence[Column[RowT]], rows: Iterable[RowT], *, title: str = ""
) -> None:
    """Print rows of text under headings, without empty columns.

    On a narrow terminal, headings and columns of words take several lines; then optional columns are omitted
    and named below; then there are several tables below each other. Numbers, identities and dates are never
    cut or broken.

    Args:
        console: destination.
        columns: of the table.
        rows: source of the cells.
        title: beside the headings if there is room, else above them; the first column has no heading then.
    """
    rows = list(rows)
    found = [_plain_texts(columns, row) for row in rows]
    shown = [column for column in columns if any(cells[column.id] for cells in found)]
    if title:
        first, *others = shown
        titled = replace(first, heading=plain(title))
        fits = _total(_width(each, found) for each in (titled, *others)) <= console.width
        if fits or not console.is_terminal:
            shown = [titled, *others]
        else:
            print_sentence(console, title, style="bold")
    if not console.is_terminal:
        headings = {column.id: column.heading for column in shown}
        for line in _aligned(shown, (headings, *found)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        return
    least = {column.id: _least(column, found) for column in shown}
    hidden: list[Column[RowT]] = []
    for column in sorted(shown, key=_turn):
        if column.optional is not None and _total(least[each.id] for each in shown) > console.width:
            shown.remove(column)
            hidden.append(column)
    for part in _parts(shown, least, console.width):
        console.print(_table(part, rows, found, console.width))
    if hidden:
        note = tr("Hidden columns: {columns}. A wider terminal shows them.")
        names = ", ".join(column.heading for column in hidden)
        print_sentence(console, note.format(columns=names), style="dim")


def _table(
    columns: Sequence[Column[RowT]], rows: Iterable[RowT], found: Sequence[Mapping[str, str]], width: int
) -> Table:
    """Return a table of at most this width, if its longest words let it."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    widths = {column.id: _least(column, found) for column in columns}
    room = max(0, width - _total(widths.values()))
    lacking = {column.id: _width(column, found) - widths[column.id] for column in columns}
    for name in sorted(lacking, key=lacking.__getitem__):  # most columns get all that they need
        widths[name] += min(room, lacking[name])
        room -= min(room, lacking[name])
    for column in columns:
        justify: Literal["left", "right"] = "left" if column.alignment is Alignment.LEFT else "right"
        table.add_column(column.heading, justify=justify, overflow="fold", width=widths[column.id])
    for row, cells in zip(rows, found, strict=True):
        table.add_row(*(_cell(column, row, cells[column.id]) for column in columns))
    return table


def _cell(column: Column[RowT], row: RowT, text: str) -> Text:
    return Text(text, style="bold" if column.is_best is not None and column.is_best(row) else "")


def _plain_texts(columns: Iterable[Column[RowT]], row: RowT) -> dict[str, str]:
    return {name: plain(text) for name, text in texts(columns, row).items()}


def _turn(column: AnyColumn) -> float:
    return math.inf if column.optional is None else column.optional


def _width(column: AnyColumn, found: Sequence[Mapping[str, str]]) -> int:
    return max(cell_len(column.heading), *(cell_len(cells[column.id]) for cells in found))


def _least(column: AnyColumn, found: Sequence[Mapping[str, str]]) -> int:
    """Return the least width of a column: that of the longest word that is not broken."""
    texts = [cells[column.id] for cells in found]
    words = [word for text in (column.heading, *(texts if column.breaks else ())) for word in text.split()]
    longest = min(_WORD, max(map(cell_len, words), default=0))
    return longest if column.breaks else max(longest, *map(cell_len, texts))


def _parts(
    columns: Sequence[Column[RowT]], least: Mapping[str, int], width: int
) -> Iterator[list[Column[RowT]]]:
    """Yield the columns of each table: one, or several below each other with the first column in common."""
    first, *others = columns
    part = [first]
    for column in others:
        if len(part) > 1 and _total(least[each.id] for each in (*part, column)) > width:
            yield part
            part = [first]
        part.append(column)
    yield part


def _total(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _aligned(columns: Sequence[AnyColumn], lines: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield each line with its cells aligned in columns."""
    widths = {column.id: max(len(line[column.id]) for line in lines) for column in columns}
    for line in lines:
        cells = (
            line[column.id].ljust(widths[column.id])
            if column.alignment is Alignment.LEFT
            else line[column.id].rjust(widths[column.id])
            for column in columns
        )
        yield "  ".join(cells).rstrip()


def print_line(console: Console, text: str, *, style: str = "") -> None:
    """Print one line of untrusted text, broken between words on a terminal.

    A word longer than a line, such as a path, is not broken, to remain copyable.
    """
    line = Text(plain(text), style=style)
    if console.is_terminal:
        console.print(line, overflow="ignore", no_wrap=False, crop=False)
    else:
        console.print(line, soft_wrap=True)


def print_sentence(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Print a sentence that may contain untrusted words, broken as `indented` does."""
    for line in indented(console, text, indent):
        print_line(console, line, style=style)


def indented(console: Console, text: str, indent: int, *, first: str | None = None) -> list[str]:
    """Return the lines of a sentence with a margin, broken between words on a terminal, one line in a pipe.

    Args:
        console: where it will be printed.
        text: may contain untrusted words.
        indent: width of the margin.
        first: text in the margin of the first line; None for nothing.
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


def print_grid(console: Console, columns: Sequence[Column[RowT]], rows: Iterable[RowT]) -> None:
    """Print rows without headings, aligned; nothing is cut or folded.

    Args:
        console: destination.
        columns: of the rows, all of which are shown.
        rows: source of the cells.
    """
    found = [_plain_texts(columns, row) for row in rows]
    for line in _aligned(columns, found) if found else ():
        print_line(console, line)


def print_pairs(console: Console, pairs: Iterable[tuple[str, str]]) -> None:
    """Print labels and their values, aligned; nothing is cut or folded."""
    print_grid(console, _PAIR, pairs)


def _label(pair: tuple[str, str]) -> str:
    label, _ = pair
    return label


def _value(pair: tuple[str, str]) -> str:
    _, value = pair
    return value


_PAIR: Final = (
    Column("label", "", _label, CellKind.LABEL),
    Column("value", "", _value, CellKind.LABEL),
)
