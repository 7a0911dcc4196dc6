"""Small multiples of bars: a table for each condition, with number, bar and interval in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from app.domain.text import tr
from app.report.blocks import Bar
from ui.charts.data.scale import format_value
from ui.charts.painting.sheet_painting import (
    Look,
    Scale,
    line_height,
    put_body,
    put_text,
    put_title,
    put_warning_sign,
    put_whisker,
    text_width,
    wrap_text,
)
from ui.charts.stack.saving import table_text
from ui.theme import LARGE, SMALL, TINY, Appearance

Place = tuple[str, str]
"""Names of row and column; one of them is empty for a heading."""

_THICK = 7.0
_HEAD_LINES = 3
_NAMES_SHARE = 0.3
_MOST_ACROSS = 4
_LARGEST_END = 1.6
"""Intervals reach at most this multiple of the largest value: all bars would shrink otherwise."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The table of one condition.

    Attributes:
        heading: the condition.
        rows: names.
        columns: names.
        bars: by the names of row and column; combinations that were not measured are missing.
        best: cells in bold.
    """

    heading: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    bars: Mapping[Place, Bar]
    best: frozenset[Place] = frozenset()

    def scale(self, begin: float, end: float) -> Scale:
        """Return the axis of a cell, the same for all cells: from zero, bars and intervals fit."""
        most = max((bar.value for bar in self.bars.values() if bar.value is not None), default=0.0) or 1.0
        ends = (bar.interval[1] for bar in self.bars.values() if bar.interval is not None)
        return Scale(0.0, max([most, *(min(end, _LARGEST_END * most) for end in ends)]), begin, end)


@dataclass(frozen=True)
class PanelFigure:
    """Tables of bars.

    Attributes:
        title: the figure, with its unit.
        down: name of the property of the rows.
        panels: in reading order.
        note: next to the title.
    """

    title: str
    down: str
    panels: tuple[Panel, ...]
    note: str = ""

    def least_height(self, theme: Appearance, width: float) -> float:
        """Return the least legible height in pixels."""
        return max((area.bottom() for _, area, _ in self._layout(theme, width)), default=0.0) + SMALL

    def paint(self, painter: QPainter, size: QSizeF, theme: Appearance) -> None:
        """Paint all panels."""
        put_title(painter, theme, size.width(), self.title, self.note)
        for panel, area, cells in self._grown(theme, size):
            heading = QRectF(area.left(), area.top(), area.width(), line_height(theme))
            put_text(painter, theme, heading, panel.heading, Look(bold=True))
            for place, cell in cells:
                _paint(painter, theme, panel, place, cell)

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Appearance, at: QPointF) -> None:
        """Frame the cell under the pointer."""
        for _, _, cell in self._found(size, theme, at):
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(cell.adjusted(-TINY, 0, -TINY, 0))

    def text_at(self, size: QSizeF, theme: Appearance, at: QPointF) -> str:
        """Return the text of the cell under the pointer."""
        for panel, place, _ in self._found(size, theme, at):
            bar = panel.bars[place]
            name = f"{', '.join(filter(None, place))}: {_number(bar)}"
            return "\n".join(filter(None, (panel.heading, name, bar.warning, bar.note, bar.tip)))
        return ""

    def cell_at(self, size: QSizeF, theme: Appearance, at: QPointF) -> tuple[Panel, Place] | None:
        """Return the cell at a position."""
        return next(((panel, place) for panel, place, _ in self._found(size, theme, at)), None)

    def accessible_text(self) -> str:
        """Return every cell, a sentence per row."""
        sentences = [f"{self.title}."]
        for panel in self.panels:
            sentences += [f"{panel.heading}:"] if panel.heading else []
            for row in panel.rows:
                found = ((column, panel.bars.get((row, column))) for column in panel.columns)
                cells = (f"{column} {_number(bar)} {bar.warning}".rstrip() for column, bar in found if bar)
                sentences.append(f"{row}: {'; '.join(cells)}.")
        return " ".join(sentences)

    def csv(self) -> str:
        """Return a pivot table: a line for each row of each panel."""
        columns = list(dict.fromkeys(column for panel in self.panels for column in panel.columns))
        rows: list[Sequence[object]] = [(tr("Condition"), self.down, *columns)]
        for panel in self.panels:
            for row in panel.rows:
                found = (panel.bars.get((row, column)) for column in columns)
                rows.append((panel.heading, row, *("" if bar is None else bar.value for bar in found)))
        return table_text(rows)

    # Geometry

    def _grown(
        self, theme: Appearance, size: QSizeF
    ) -> Iterator[tuple[Panel, QRectF, list[tuple[Place, QRectF]]]]:
        """Return the layout in a size: rows grow with the height."""
        grown = size.height() / max(1.0, self.least_height(theme, size.width()))
        return self._layout(theme, size.width(), min(2.0, max(1.0, grown)))

    def _layout(
        self, theme: Appearance, width: float, grown: float = 1.0
    ) -> Iterator[tuple[Panel, QRectF, list[tuple[Place, QRectF]]]]:
        """Yield each panel with its area, and its cells with theirs.

        Columns that do not fit beside each other continue in further bands below.
        """
        wide = text_width(theme, "000,000", bold=True) + line_height(theme)
        names = max((text_width(theme, row) for panel in self.panels for row in panel.rows), default=0.0)
        names += line_height(theme) / 2  # figures of equal width are wider
        columns = max((len(panel.columns) for panel in self.panels), default=1)
        most = _NAMES_SHARE * width
        needed = min(names + SMALL, most) + columns * wide + LARGE
        across = max(1, min(_MOST_ACROSS, len(self.panels), int((width - SMALL + LARGE) / needed)))
        each = (width - SMALL - (across - 1) * LARGE) / across
        left = min(names + SMALL, _NAMES_SHARE * each)
        fitting = max(1, int((each - left) / wide))
        top = line_height(theme) + 2 * SMALL
        for first in range(0, len(self.panels), across):
            below = top
            for place, panel in enumerate(self.panels[first : first + across]):
                x, y = SMALL + place * (each + LARGE), top + line_height(theme)
                cells: list[tuple[Place, QRectF]] = []
                for begin in range(0, len(panel.columns), fitting):
                    band = panel.columns[begin : begin + fitting]
                    size = QSizeF((each - left) / min(fitting, columns), grown * _row_height(theme))
                    head = _head_height(theme, band, size.width())
                    for number, column in enumerate(band):
                        cell_x = x + left + number * size.width()
                        cells.append((("", column), QRectF(cell_x, y, size.width(), head)))
                    y += head
                    for row in panel.rows:
                        cells.append(((row, ""), QRectF(x, y, left - SMALL, size.height())))
                        cells += (
                            ((row, column), QRectF(QPointF(x + left + number * size.width(), y), size))
                            for number, column in enumerate(band)
                            if (row, column) in panel.bars
                        )
                        y += size.height()
                yield panel, QRectF(x, top, each, y - top), cells
                below = max(below, y)
            top = below + LARGE

    def _found(self, size: QSizeF, theme: Appearance, at: QPointF) -> Iterator[tuple[Panel, Place, QRectF]]:
        """Yield the cell at a position, if any."""
        for panel, area, cells in self._grown(theme, size):
            if area.contains(at):
                yield from (
                    (panel, place, cell) for place, cell in cells if place in panel.bars and cell.contains(at)
                )


def _row_height(theme: Appearance) -> float:
    return line_height(theme) + _THICK + 1.5 * TINY


def _head_height(theme: Appearance, columns: Sequence[str], width: float) -> float:
    metrics = QFontMetricsF(theme.number_font(0.9, bold=True))
    room = width - 0.6 * line_height(theme) - 2 * TINY
    wrapped = (wrap_text(column, metrics.horizontalAdvance, str, room, _HEAD_LINES) for column in columns)
    return max(map(len, wrapped), default=1) * line_height(theme, 0.9) + TINY


def _paint(painter: QPainter, theme: Appearance, panel: Panel, place: Place, cell: QRectF) -> None:
    """Paint a heading, or number, bar and interval of a cell."""
    row, column = place
    if place not in panel.bars:
        looks = {(bar.colour_index, bar.warning) for (_, name), bar in panel.bars.items() if name == column}
        sample = 0.6 * line_height(theme) if len({colour for colour, _ in looks}) == 1 else 0.0
        words = cell.adjusted(sample + TINY if sample else 0.0, 0, -TINY, 0)
        lines = max(1, int(cell.height() / line_height(theme, 0.9)))
        put_text(painter, theme, words, row or column, Look(scale=0.9, bold=bool(column)), lines)
        if sample:
            square = QRectF(cell.left(), cell.center().y() - sample / 2, sample, sample)
            put_body(painter, theme, square, *min(looks, key=lambda look: look[1]))
        return
    bar, line = panel.bars[place], line_height(theme)
    thick = _THICK * cell.height() / _row_height(theme)
    top = cell.center().y() - (line + thick) / 2
    number = QRectF(cell.left(), top, cell.width() - TINY, line)
    if bar.warning:
        put_warning_sign(painter, theme, QPointF(number.left(), top + 0.2 * line), 0.6 * line, bar.warning)
        number.setLeft(number.left() + 0.6 * line + TINY)
    put_text(painter, theme, number, _number(bar), Look(bold=place in panel.best))
    if bar.value is None:
        return
    scale = panel.scale(cell.left(), cell.right() - line)
    body = QRectF(scale.begin, top + line, scale.at(bar.value) - scale.begin, thick)
    put_body(painter, theme, body, bar.colour_index, bar.warning)
    if bar.interval is not None:
        style = Qt.PenStyle.DotLine if bar.within else Qt.PenStyle.SolidLine
        pen = QPen(theme.text, 1.5, style)
        put_whisker(painter, pen, scale, bar.interval, body.center().y(), thick / 3)


def _number(bar: Bar) -> str:
    return bar.note if bar.value is None else format_value(bar.value)
