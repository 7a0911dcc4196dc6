"""Convert every block of a report to pieces that fit on a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from PySide6.QtCore import QSizeF
from PySide6.QtGui import QPainter

from app.domain.text import tr
from app.report.blocks import (
    BarFigure,
    Block,
    Facts,
    Grid,
    Key,
    Report,
    ReportTable,
    Text,
    TextRole,
    TimeFigure,
    Together,
)
from ui.charts.data.registry import CHARTS
from ui.charts.figures import bars
from ui.report.canvas import MM_PER_PIXEL, Canvas, PaperAppearance, TextStyle
from ui.report.flow import Draw, Flowable, Paper, gap, paragraph
from ui.report.tables import facts_pieces, table_pieces
from ui.report.time_chart import Gutters, TimeCharts, chart_title
from ui.theme import SMALL

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
            title = tr("{title}, {unit}").format(title=chart_title(spec, figures[0].traces), unit=spec.unit)
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
