"""Set tables and lists of facts on paper: words may wrap, numbers never do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from app.domain.columns import Alignment, AnyColumn, CellKind, Column
from app.report.blocks import Facts, ReportTable, TableRow, TableSize
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
    return [*([head] if any(column.of.heading for column in setting.columns) else []), *rows, gap(2.5)]


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
        tag_mm = _SAMPLE_MM + 2.0 if tagged else 0.0
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


def _unbroken(sizes: Sequence[float]) -> list[tuple[float, _Break]]:
    return [(points, broken) for points in sizes[:2] for broken in (_Break.NOTHING, _Break.HEADINGS)]


def _natural(canvas: Canvas, table: ReportTable, column: AnyColumn, body: TextStyle, broken: _Break) -> float:
    """Return the preferred width of a column."""
    bold, heading = replace(body, bold=True), column.heading
    words = [heading] if broken is _Break.NOTHING else heading.split() or [""]
    cells = (
        canvas.width(row.cells[column.id], bold if column.id in row.warned | row.best else body)
        for row in table.rows
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
        kind = setting.head if column.of.id in row.best else setting.body
        kind = setting.warned() if column.of.id in row.warned else kind
        most = setting.lines if column.left else 1
        text = row.cells[column.of.id]
        texts = canvas.wrap(text, kind, column.width, most) if column.left else [text]
        cells.append((column, texts, kind))
    lines = max(len(texts) for _, texts, _ in cells)
    height = lines * setting.body.line_mm + setting.row_mm

    def draw(on: Canvas, x: float, y: float) -> None:
        if row.look is not None:
            on.sample(row.look, x, y + setting.row_mm / 2 + setting.body.line_mm / 2, _SAMPLE_MM)
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


def facts_pieces(canvas: Canvas, facts: Facts, width: float) -> list[Flowable]:
    """Return names and values, two per row."""
    pairs = [*facts.pairs, *[("", "")] * (len(facts.pairs) % 2)]
    cells = [(*one, *other) for one, other in zip(pairs[::2], pairs[1::2], strict=True)]
    columns: tuple[AnyColumn, ...] = tuple(Column(str(each), "", str, CellKind.WORDS) for each in range(4))
    rows = (TableRow({str(each): text for each, text in enumerate(row)}) for row in cells)
    return table_pieces(canvas, ReportTable(columns, tuple(rows), size=TableSize.SMALL), width)
