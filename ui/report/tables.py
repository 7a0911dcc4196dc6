"""Set tables and lists of facts on paper: words may wrap, numbers never do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from app.domain.columns import Alignment, AnyColumn
from app.report.blocks import Facts, ReportTable, TableRow, TableSize, letters
from ui.report.canvas import Canvas, TextStyle
from ui.report.flow import Flowable, gap

_GAP_MM: Final = 3.0
_LEAST_MM: Final = 16.0
"""Least width of a column of words."""

_KEPT_TOGETHER: Final = 8
"""Most rows of a table that is not split between pages."""

_MANY_LINES: Final = 50
_LOST_LINES: Final = 0.3
"""Estimated share of a line lost at its end to a word that does not fit."""

_MOST_SPARE_MM: Final = 6.0

_POINTS: Final = {
    TableSize.NORMAL: (9.0, 8.0, 7.0, 6.2),
    TableSize.SMALL: (7.5, 6.8, 6.2),
    TableSize.DENSE: (6.5, 6.2, 6.0),
}
"""Type sizes, the first that fits is used."""

_ROW_MM: Final = {TableSize.NORMAL: 1.3, TableSize.SMALL: 0.6, TableSize.DENSE: 0.45}
_SAMPLE_MM: Final = 6.0
_FACT: Final = TextStyle(7.2)
_FACT_NAME: Final = TextStyle(7.2, colour="muted")
_LONG_FACT: Final = 150
_LEAST_VALUE: Final = 0.4
"""Least share of the column for the value of a fact next to a long name."""


class _Break(Enum):
    """The parts of a table that may wrap, from the best to the last resort."""

    NOTHING = auto()
    HEADINGS = auto()
    WORDS = auto()


@dataclass(frozen=True)
class _Column:
    """A column as set: left edge and width in mm."""

    of: AnyColumn
    x: float
    width: float

    @property
    def left(self) -> bool:
        """Whether it is left-aligned."""
        return self.of.alignment is Alignment.LEFT


@dataclass(frozen=True)
class _Setting:
    """The type and columns of a table."""

    columns: tuple[_Column, ...]
    body: TextStyle
    head: TextStyle
    tag_mm: float
    row_mm: float
    lines: int | None

    def warned(self) -> TextStyle:
        """Return the type of highlighted cells."""
        return replace(self.body, bold=True, colour="warning")


def table_pieces(canvas: Canvas, table: ReportTable, width: float) -> list[Flowable]:
    """Return a table row by row; its headings are repeated on every page."""
    setting = _set(canvas, table, width)
    head = _head_piece(canvas, setting, width)
    rows = [_row_piece(canvas, row, setting, width, head) for row in table.rows]
    if len(rows) <= _KEPT_TOGETHER:
        rows[:-1] = [replace(row, with_next=True) for row in rows[:-1]]
    return [head, *rows, gap(2.5)]


def _set(canvas: Canvas, table: ReportTable, width: float) -> _Setting:
    """Return the largest type in which all fits; else the largest in which numbers fit next to words."""
    used = [column for column in table.columns if any(row.cells[column.id] for row in table.rows)]
    broken_columns = [column for column in used if column.breaks]
    words = [column.id for column in broken_columns]
    sizes = _POINTS[table.size]
    tries = [*_unbroken(sizes), *((points, _Break.WORDS) for points in sizes)]
    for points, broken in tries:
        body = TextStyle(points)
        head = replace(body, bold=True)
        tagged = any(row.look is not None for row in table.rows)
        tag_mm = _tag_mm(canvas, table.rows, head) if tagged else 0.0
        room = width - tag_mm - _GAP_MM * (len(used) - 1)
        natural = {column.id: _natural(canvas, table, column, body, broken) for column in used}
        squeeze = broken is _Break.WORDS
        least = {each.id: _least_mm(canvas, each, head) for each in broken_columns}
        widths = _squeeze(natural, least, room) if squeeze else _spread(natural, words, room)
        last = (points, broken) == tries[-1]
        if widths is None and last:
            widths = {column.id: room / len(used) for column in used}
        if widths is not None and (last or not _shortens(natural, widths, table)):
            columns = _columns(widths, used, tag_mm)
            return _Setting(columns, body, head, tag_mm, _ROW_MM[table.size], table.lines)
    raise AssertionError


def _shortens(natural: dict[str, float], widths: dict[str, float], table: ReportTable) -> bool:
    """Return whether a cell would probably be shortened; numbers never are."""
    lines = table.lines or _MANY_LINES
    return any(
        natural[name] > width * (lines - _LOST_LINES) + 0.1
        for name, width in widths.items()
        if width < natural[name]
    )


def _tag_mm(canvas: Canvas, rows: Sequence[TableRow], kind: TextStyle) -> float:
    widest = max(canvas.width(letters(row.look), kind) for row in rows if row.look is not None)
    return _SAMPLE_MM + widest + 3.2


def _unbroken(sizes: Sequence[float]) -> list[tuple[float, _Break]]:
    return [(points, broken) for points in sizes[:2] for broken in (_Break.NOTHING, _Break.HEADINGS)]


def _natural(canvas: Canvas, table: ReportTable, column: AnyColumn, body: TextStyle, broken: _Break) -> float:
    """Return the preferred width of a column."""
    bold, heading = replace(body, bold=True), column.heading
    words = [heading] if broken is _Break.NOTHING else heading.split() or [""]
    cells = (
        canvas.width(row.cells[column.id], bold if column.id in row.warned else body) for row in table.rows
    )
    return max(*(canvas.width(word, bold) for word in words), 0.0, *cells)


def _spread(natural: dict[str, float], words: Sequence[str], room: float) -> dict[str, float] | None:
    """Return the widths if nothing needs to wrap; else None.

    The rest goes to the first column if that has words before numbers, else a little to each.
    """
    spare = room - sum(natural.values())
    if spare < 0:
        return None
    first = next(iter(natural))
    if first in words and len(words) < len(natural) - 1:
        return natural | {first: natural[first] + spare}
    each = min(spare / len(natural), _MOST_SPARE_MM)
    return {name: width + each for name, width in natural.items()}


def _least_mm(canvas: Canvas, column: AnyColumn, head: TextStyle) -> float:
    """Return the least width of a column of words: no word of its heading is broken."""
    widest = max(canvas.width(word, head) for word in column.heading.split() or [""])
    return min(max(_LEAST_MM, widest), 2 * _LEAST_MM)  # headings may be foreign names


def _squeeze(natural: dict[str, float], least: dict[str, float], room: float) -> dict[str, float] | None:
    """Return the widths with narrower columns of words; None where numbers leave too little to them.

    Args:
        natural: preferred width of each column.
        least: least width of each column of words.
        room: total width.
    """
    left = room - sum(width for name, width in natural.items() if name not in least)
    narrow = [name for name in least if natural[name] <= least[name]]
    wide = {name: natural[name] for name in least if name not in narrow}
    left -= sum(natural[name] for name in narrow) + sum(least[name] for name in wide)
    if left < 0 or not wide:
        return natural if left >= 0 else None
    over = sum(width - least[name] for name, width in wide.items())
    share = min(1.0, left / over)
    return natural | {name: least[name] + share * (width - least[name]) for name, width in wide.items()}


def _columns(widths: dict[str, float], used: Sequence[AnyColumn], tag_mm: float) -> tuple[_Column, ...]:
    columns, x = [], tag_mm
    for column in used:
        columns.append(_Column(column, x, widths[column.id]))
        x += widths[column.id] + _GAP_MM
    return tuple(columns)


def _head_piece(canvas: Canvas, setting: _Setting, width: float) -> Flowable:
    cells = [
        (column, canvas.wrap(column.of.heading, setting.head, column.width)) for column in setting.columns
    ]
    lines = max(len(texts) for _, texts in cells)
    height = lines * setting.head.line_mm + setting.row_mm

    def draw(on: Canvas, x: float, y: float) -> None:
        for column, texts in cells:
            for number, text in enumerate(texts, lines - len(texts)):
                _put(on, column, x, y + number * setting.head.line_mm, text, setting.head)
        on.rule(x, y + height - 0.4, x + width, y + height - 0.4, "frame", 0.3)

    return Flowable(height + 0.4, draw, with_next=True)


def _row_piece(canvas: Canvas, row: TableRow, setting: _Setting, width: float, head: Flowable) -> Flowable:
    cells = []
    for column in setting.columns:
        kind = setting.warned() if column.of.id in row.warned else setting.body
        most = setting.lines if column.left else 1
        text = row.cells[column.of.id]
        texts = canvas.wrap(text, kind, column.width, most) if column.left else [text]
        cells.append((column, texts, kind))
    lines = max(len(texts) for _, texts, _ in cells)
    height = lines * setting.body.line_mm + setting.row_mm

    def draw(on: Canvas, x: float, y: float) -> None:
        if row.look is not None:
            _paint_tag(on, row.look, setting, x, y)
        for column, texts, kind in cells:
            for number, text in enumerate(texts):
                _put(on, column, x, y + setting.row_mm / 2 + number * kind.line_mm, text, kind)
        on.rule(x, y + height, x + width, y + height)

    return Flowable(height, draw, head=head)


def _put(canvas: Canvas, column: _Column, x: float, y: float, text: str, kind: TextStyle) -> None:
    if column.left:
        canvas.text(x + column.x, y, text, kind)
    else:
        canvas.text(x + column.x + column.width, y, text, kind, right=True)


def _paint_tag(canvas: Canvas, look: int, setting: _Setting, x: float, y: float) -> None:
    middle = y + setting.row_mm / 2 + setting.body.line_mm / 2
    canvas.sample(look, x, middle, _SAMPLE_MM)
    canvas.text(x + _SAMPLE_MM + 1.2, y + setting.row_mm / 2, letters(look), setting.head)


def facts_pieces(canvas: Canvas, facts: Facts, width: float) -> list[Flowable]:
    """Return names and values, two per row; a long value has its own row."""
    half = (width - _GAP_MM) / 2
    pieces: list[Flowable] = []
    waiting: list[tuple[str, str]] = []
    for name, value in facts.pairs:
        if len(name) + len(value) > _LONG_FACT:
            if waiting:
                pieces.append(_facts_row(canvas, waiting, half))
                waiting = []
            pieces += _long_fact(canvas, name, value, width)
            continue
        waiting.append((name, value))
        if len(waiting) == 2:
            pieces.append(_facts_row(canvas, waiting, half))
            waiting = []
    if waiting:
        pieces.append(_facts_row(canvas, waiting, half))
    return [*pieces, gap(2.0)]


def _facts_row(canvas: Canvas, pairs: Sequence[tuple[str, str]], half: float) -> Flowable:
    found = []
    for name, value in pairs:
        room = half - 2.0 - min(canvas.width(value, _FACT), half * _LEAST_VALUE)
        name_mm = min(canvas.width(name, _FACT_NAME), room)
        names = canvas.wrap(name, _FACT_NAME, name_mm + 0.01)
        found.append((names, name_mm + 2.0, canvas.wrap(value, _FACT, half - name_mm - 2.0)))
    height = max(max(len(names), len(values)) for names, _, values in found) * _FACT.line_mm + 0.4

    def draw(on: Canvas, x: float, y: float) -> None:
        for place, (names, indent, values) in enumerate(found):
            left = x + place * (half + _GAP_MM)
            for number, text in enumerate(names):
                on.text(left, y + number * _FACT.line_mm, text, _FACT_NAME)
            for number, text in enumerate(values):
                on.text(left + indent, y + number * _FACT.line_mm, text, _FACT)

    return Flowable(height, draw)


def _long_fact(canvas: Canvas, name: str, value: str, width: float) -> list[Flowable]:
    lines = canvas.wrap(value, _FACT, width - 6)

    def name_draw(on: Canvas, x: float, y: float) -> None:
        on.text(x, y, name, _FACT_NAME)

    def value_draw(text: str) -> Flowable:
        return Flowable(_FACT.line_mm, lambda on, x, y: on.text(x + 6, y, text, _FACT))

    return [Flowable(_FACT.line_mm, name_draw, with_next=True), *map(value_draw, lines), gap(0.6)]
