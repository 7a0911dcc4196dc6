"""Convert every block of a report to pieces that fit on a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import groupby
from typing import Final

from PySide6.QtCore import QSizeF
from PySide6.QtGui import QPainter

from app.domain.columns import Alignment, AnyColumn, CellKind, Column
from app.report.blocks import (
    BarFigure,
    Block,
    Facts,
    Grid,
    Key,
    Report,
    ReportTable,
    TableRow,
    TableSize,
    Text,
    TextRole,
    TimeFigure,
    Together,
)
from ui.charts.data.registry import CHARTS
from ui.charts.figures import bars
from ui.report.canvas import (
    MM_PER_PIXEL,
    Canvas,
    Draw,
    Flowable,
    Paper,
    PaperAppearance,
    TextStyle,
    gap,
    paragraph,
)
from ui.report.time_chart import Gutters, TimeCharts, chart_title
from ui.theme import SMALL

# Set tables and lists of facts on paper: words may wrap, numbers never do.


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


TYPES: Final = {
    TextRole.TITLE: TextStyle(18, bold=True),
    TextRole.SUBTITLE: TextStyle(8.5, colour="muted"),
    TextRole.HEADING: TextStyle(14, bold=True),
    TextRole.SUBHEADING: TextStyle(10.5, bold=True),
    TextRole.ANSWER: TextStyle(11.5),
    TextRole.BODY: TextStyle(10),
    TextRole.SMALL: TextStyle(8.5),
    TextRole.NOTE: TextStyle(8, colour="muted"),
    TextRole.WARNING: TextStyle(10, bold=True, colour="warning"),
    TextRole.CODE: TextStyle(7, mono=True),
}
_AFTER_MM: Final = {
    TextRole.TITLE: 0.5,
    TextRole.SUBTITLE: 3.5,
    TextRole.HEADING: 2.5,
    TextRole.SUBHEADING: 1.5,
    TextRole.ANSWER: 1.5,
    TextRole.BODY: 2.0,
    TextRole.SMALL: 1.5,
    TextRole.NOTE: 1.5,
    TextRole.WARNING: 2.0,
    TextRole.CODE: 0.8,
}
_HEADINGS: Final = frozenset({TextRole.TITLE, TextRole.HEADING, TextRole.SUBHEADING})
_SPACE_ABOVE_MM: Final = {TextRole.HEADING: 5.0, TextRole.SUBHEADING: 1.5}
_HANGING_MM: Final = 4.0
_SIGN_MM: Final = 4.5
_KEY: Final = TextStyle(8)
_KEY_SAMPLE_MM: Final = 8.0
_CAPTION: Final = TYPES[TextRole.NOTE]
_GRID_GAP_MM: Final = 4.0
_BARS: Final = ((6, 11, 22), (12, 11, 8), (16, 9, 0), (10_000, 8, 0))
"""(most bars, pixels of letters, pixels between their lines)."""
_BESIDE_A_TABLE: Final = 15
"""Bars with headings are as small as with so many more: a table above has their figures."""


class PageLayout:
    """Lay out the blocks of one report on one paper size."""

    def __init__(self, canvas: Canvas, paper: Paper, report: Report) -> None:
        self._canvas = canvas
        self._width, self._height = paper.text_width, paper.text_height
        self._theme = PaperAppearance(canvas)
        self._charts = TimeCharts(self._theme, report.runs)

    def pieces(self, blocks: Sequence[Block]) -> list[Flowable]:
        """Return all blocks as pieces; charts one below the other have the same left and right edges."""
        pieces: list[Flowable] = []
        for are_charts, group in groupby(blocks, lambda block: isinstance(block, TimeFigure)):
            found = list(group)
            if are_charts:
                stack = [block for block in found if isinstance(block, TimeFigure)]
                gutters = self._gutters(stack)
                pieces += [piece for figure in stack for piece in self._time(figure, gutters)]
            else:
                pieces += [piece for block in found for piece in self._set(block)]
        return pieces

    def _set(self, block: Block) -> list[Flowable]:
        match block:
            case Text():
                return self._text(block)
            case ReportTable():
                return table_pieces(self._canvas, block, self._width)
            case Facts():
                return facts_pieces(self._canvas, block, self._width)
            case Together():
                pieces = self.pieces(block.blocks)
                if sum(piece.height for piece in pieces) > self._height:
                    return pieces
                return [*(replace(piece, with_next=True) for piece in pieces[:-1]), *pieces[-1:]]
            case _:
                return list(self._figure(block))

    def _figure(self, block: BarFigure | TimeFigure | Grid | Key) -> Iterable[Flowable]:
        match block:
            case BarFigure():
                return self._bars(block)
            case TimeFigure():
                return self._time(block, self._gutters([block]))
            case Grid():
                return self._grid(block)
            case Key():
                return self._key(block)

    def _text(self, block: Text) -> list[Flowable]:
        kind, after = TYPES[block.role], _AFTER_MM[block.role]
        if not block.text:
            return []
        if block.role is TextRole.CODE:
            return self._hanging(block.text, kind, after)
        indent = _SIGN_MM if block.role is TextRole.WARNING else 0.0
        pieces = paragraph(self._canvas, block.text, kind, self._width - indent, after=after)
        if indent:
            pieces = [_indented(piece, indent) for piece in pieces]
            pieces[0] = _with_sign(pieces[0], kind)
        if block.role in _HEADINGS:
            pieces = [replace(piece, with_next=True) for piece in pieces]
        bookmark = (block.bookmark, block.level) if block.bookmark else None
        pieces[0] = replace(pieces[0], bookmark=bookmark, new_page=block.new_page)
        if block.role in _SPACE_ABOVE_MM and not block.new_page:
            return [replace(gap(_SPACE_ABOVE_MM[block.role]), with_next=True), *pieces]
        return pieces

    def _hanging(self, text: str, kind: TextStyle, after: float) -> list[Flowable]:
        """Return a command; lines after the first are indented."""
        lines = self._canvas.wrap(text, kind, self._width - _HANGING_MM)
        pieces = []
        for number, line in enumerate(lines):
            last = number == len(lines) - 1
            [piece] = paragraph(self._canvas, line, kind, self._width, after=after if last else 0.0)
            pieces.append(_indented(piece, _HANGING_MM) if number else piece)
        return pieces

    def _bars(self, figure: BarFigure) -> list[Flowable]:
        headed = zip(figure.headings or [""] * len(figure.bars), figure.bars, strict=True)
        groups = tuple(
            bars.BarGroup(heading, tuple(bar for _, bar in found))
            for heading, found in groupby(headed, lambda pair: pair[0])
        )
        shown = bars.BarFigure(figure.title, groups, figure.unit)
        rows = len(figure.bars) + _BESIDE_A_TABLE * bool(figure.headings)
        pixels, row_gap = next(sizes for most, *sizes in _BARS if rows <= most)
        theme = PaperAppearance(self._canvas, pixels, row_gap)
        width = self._width / MM_PER_PIXEL + 2 * SMALL  # align its texts with the others
        size = QSizeF(width, shown.least_height(theme, width))

        def draw(canvas: Canvas, x: float, y: float) -> None:
            def paint(painter: QPainter) -> None:
                shown.paint(painter, size, theme)

            canvas.pixels(x - SMALL * MM_PER_PIXEL, y, paint, shown.accessible_text())

        caption = self._caption(figure.caption)
        height = size.height() * MM_PER_PIXEL
        return [gap(1.0), Flowable(height, draw, with_next=bool(caption)), *caption]

    def _time(self, figure: TimeFigure, gutters: Gutters) -> list[Flowable]:
        def draw(canvas: Canvas, x: float, y: float) -> None:
            self._paint_time(canvas, figure, (x, y, self._width), gutters)

        caption = self._caption(figure.caption)
        return [Flowable(figure.height_mm + 2.0, draw, with_next=bool(caption)), *caption]

    def _paint_time(
        self, canvas: Canvas, figure: TimeFigure, place: tuple[float, float, float], gutters: Gutters
    ) -> None:
        x, y, width = place
        chart = self._charts.chart(figure)
        size = QSizeF(width / MM_PER_PIXEL, figure.height_mm / MM_PER_PIXEL)

        def paint(painter: QPainter) -> None:
            chart.paint(painter, size, self._theme, gutters)

        canvas.pixels(x, y, paint, chart.accessible_text())

    def _gutters(self, figures: Sequence[TimeFigure]) -> Gutters:
        """Return the largest gutters of these figures, which align their axes."""
        found = [
            self._charts.chart(each).gutters(self._theme, each.height_mm / MM_PER_PIXEL) for each in figures
        ]
        return max((left for left, _ in found), default=0.0), max((right for _, right in found), default=0.0)

    def _caption(self, text: str) -> list[Flowable]:
        return paragraph(self._canvas, text, _CAPTION, self._width, after=2.5) if text else []

    def _grid(self, grid: Grid) -> Iterator[Flowable]:
        """Yield rows of charts, with a common scale if they are alike."""
        figures = list(grid.figures)
        if grid.alike:
            high = max(map(self._charts.high, grid.figures))
            end_s = max(map(self._charts.end_s, grid.figures))
            figures = [replace(figure, high=high, end_s=end_s) for figure in grid.figures]
            spec = CHARTS[figures[0].chart]
            title = f"{chart_title(spec, figures[0].traces)}, {spec.unit}"
            kind = TYPES[TextRole.SUBHEADING]
            lines = paragraph(self._canvas, title, kind, self._width, after=1.0) if grid.headed else []
            yield from (replace(piece, with_next=True) for piece in lines)
        column = (self._width - _GRID_GAP_MM * (grid.columns - 1)) / grid.columns
        gutters = [self._gutters(figures[place :: grid.columns]) for place in range(grid.columns)]
        for start in range(0, len(figures), grid.columns):
            row = figures[start : start + grid.columns]
            height = max(figure.height_mm for figure in row) + 2.0
            yield Flowable(height, self._grid_row(row, column, gutters))
        yield from self._caption(grid.caption)

    def _grid_row(self, row: Sequence[TimeFigure], column: float, gutters: Sequence[Gutters]) -> Draw:
        def draw(canvas: Canvas, x: float, y: float) -> None:
            for place, figure in enumerate(row):
                left = x + place * (column + _GRID_GAP_MM)
                self._paint_time(canvas, figure, (left, y, column), gutters[place])

        return draw

    def _key(self, key: Key) -> Iterator[Flowable]:
        """Yield line samples with names, as many per row as fit."""
        row: list[tuple[float, int, str]] = []
        x = 0.0
        for look, name in key.entries:
            text = self._canvas.elide(name, _KEY, self._width - _KEY_SAMPLE_MM - 2)
            needed = _KEY_SAMPLE_MM + 2 + self._canvas.width(text, _KEY) + 5
            if row and x + needed - 5 > self._width:
                yield _key_row(row)
                row, x = [], 0.0
            row.append((x, look, text))
            x += needed
        if row:
            yield _key_row(row)
        yield gap(2.0)


def _key_row(row: Sequence[tuple[float, int, str]]) -> Flowable:
    entries = tuple(row)

    def draw(canvas: Canvas, x: float, y: float) -> None:
        for left, look, text in entries:
            canvas.sample(look, x + left, y + _KEY.line_mm / 2, _KEY_SAMPLE_MM)
            canvas.text(x + left + _KEY_SAMPLE_MM + 2, y, text, _KEY)

    return Flowable(_KEY.line_mm + 0.6, draw, with_next=True)


def _indented(piece: Flowable, indent: float) -> Flowable:
    return replace(piece, draw=lambda canvas, x, y: piece.draw(canvas, x + indent, y))


def _with_sign(piece: Flowable, kind: TextStyle) -> Flowable:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.warning_sign(x, y + 0.5, kind.line_mm * 0.7)
        piece.draw(canvas, x, y)

    return replace(piece, draw=draw)
