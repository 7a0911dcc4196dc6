"""Figures that are not charts over time: bars with intervals, in groups or as small multiples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QScrollArea, QToolTip, QWidget
from typing_extensions import override

from app.domain.text import titled, tr
from app.report.blocks import Bar
from ui.charts.data.scale import format_value, nice_top
from ui.charts.painting.sheet_painting import (
    PLAIN,
    QUIET,
    Look,
    Scale,
    line_height,
    put_body,
    put_text,
    put_ticks_below,
    put_title,
    put_warning_sign,
    put_whisker,
    text_width,
    wrap_text,
)
from ui.charts.stack.saving import SavingMenu, table_text
from ui.theme import LARGE, SMALL, TINY, Appearance, Theme, painting
from ui.widgets.texts import tooltip

_NAMES_SHARE = 0.32
_VALUES = "0,000,000 to 0,000,000"
_WORDS_SHARE = 0.4
_HEADROOM = 1.03
_TAG = Look(bold=True)
_WARNING = Look(scale=0.85, bold=True, colour="warning")


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Rows under a heading; the heading may be empty."""

    heading: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class BarFigure:
    """Groups of bars on one axis that starts at zero.

    Attributes:
        title: the figure, with its unit.
        groups: top first.
        note: next to the title.
    """

    title: str
    groups: tuple[BarGroup, ...]
    note: str = ""

    def least_height(self, theme: Appearance, width: float) -> float:  # noqa: ARG002 - see Figure
        """Return the least legible height in pixels."""
        return self._above(theme) + self._below(theme) + self._rows_height(theme, 0.0) + SMALL

    def paint(self, painter: QPainter, size: QSizeF, theme: Appearance) -> None:
        """Paint the figure."""
        put_title(painter, theme, size.width(), self.title, self.note)
        scale, rows = self._scale(size, theme), list(self._rows(theme, size.height()))
        tags = self._tags_width(theme)
        bottom = self._above(theme) + self._rows_height(theme, size.height())
        put_ticks_below(painter, theme, scale, self._above(theme), bottom)
        for area_top, height, heading, bar in rows:
            if bar is None:
                area = QRectF(SMALL, area_top, size.width() - 2 * SMALL, height)
                put_text(painter, theme, area, heading, Look(bold=True))
            else:
                self._paint_bar(painter, theme, scale, bar, (area_top, height, size.width(), tags))

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Appearance, at: QPointF) -> None:
        """Mark the row under the pointer."""
        for top, height, _, bar in self._rows(theme, size.height()):
            if bar is not None and top <= at.y() < top + height:
                painter.setPen(QPen(theme.colour("accent"), 1))
                painter.drawRect(QRectF(TINY, top + 0.5, size.width() - 2 * TINY, height - 1))

    def text_at(self, size: QSizeF, theme: Appearance, at: QPointF) -> str:
        """Return the text of the row under the pointer."""
        for top, height, _, bar in self._rows(theme, size.height()):
            if bar is not None and top <= at.y() < top + height:
                value = "" if bar.value is None else format_value(bar.value)
                return "\n".join(
                    part for part in (f"{bar.label}: {value}".rstrip(": "), bar.note, bar.tip) if part
                )
        return ""

    def accessible_text(self) -> str:
        """Return every bar with its interval, a sentence per group."""
        groups = ("; ".join(map(_bar_text, group.bars)) for group in self.groups)
        sentences = [
            f"{group.heading}: {bars}." if group.heading else f"{bars}."
            for group, bars in zip(self.groups, groups, strict=True)
            if bars
        ]
        return " ".join([f"{self.title}.", *sentences])

    def csv(self) -> str:
        """Return one CSV row per bar."""
        rows: list[Sequence[object]] = [("group", "name", "value", "low", "high", "interval", "published")]
        for group in self.groups:
            for bar in group.bars:
                low, high = bar.interval or ("", "")
                kind = "" if bar.interval is None else "within-run" if bar.within else "between-runs"
                rows.append((group.heading, bar.label, bar.value, low, high, kind, int(bar.published)))
        return table_text(rows)

    # Geometry

    def _above(self, theme: Appearance) -> float:
        return line_height(theme) + 2 * SMALL

    def _below(self, theme: Appearance) -> float:
        return line_height(theme, 0.9) + SMALL

    def _tags_width(self, theme: Appearance) -> float:
        """Return the width of the tags before the names, with a distance; 0 if there are none."""
        tags = [bar.tag for group in self.groups for bar in group.bars if bar.tag]
        return max((text_width(theme, tag, bold=True) for tag in tags), default=-SMALL) + SMALL

    def _rows_height(self, theme: Appearance, height: float) -> float:
        return sum(tall for _, tall, _, _ in self._rows(theme, height)) + SMALL

    def _rows(self, theme: Appearance, height: float) -> Iterator[tuple[float, float, str, Bar | None]]:
        """Yield (top, height, heading, bar) of every row; the bar of a heading is None.

        Bars grow with the total height, up to twice their need.
        """
        line, top = line_height(theme), self._above(theme)
        counts = [sum(bar.published for bar in group.bars) for group in self.groups]
        marks, bars = sum(counts), sum(len(group.bars) for group in self.groups)
        headings = sum(bool(group.heading) for group in self.groups)
        room = height - top - self._below(theme) - 2 * SMALL - marks * line - headings * (line + SMALL)
        tall = min(2 * (line + SMALL), max(line + theme.row_gap, room / max(1, bars - marks)))
        for group in self.groups:
            if group.heading:
                yield top, line + SMALL, group.heading, None
                top += line + SMALL
            for bar in group.bars:
                used = line if bar.published else tall
                yield top, used, group.heading, bar
                top += used

    def _scale(self, size: QSizeF, theme: Appearance) -> Scale:
        bars = [bar for group in self.groups for bar in group.bars]
        names = max((text_width(theme, bar.label) for bar in bars), default=0.0) + 3 * SMALL
        left = min(names + self._tags_width(theme), _NAMES_SHARE * size.width())
        words = max((_words_width(theme, bar) for bar in bars), default=0.0)
        words = max(text_width(theme, _VALUES, 0.9), words)
        right = size.width() - min(words + 1, _WORDS_SHARE * size.width()) - 2 * SMALL
        values = [value for bar in bars if (value := bar.value) is not None]
        # An interval of three runs may reach to infinity: it must not shrink all bars to nothing.
        most = max(values, default=1.0)
        ends = [min(bar.interval[1], 1.6 * most) for bar in bars if bar.interval is not None]
        top = nice_top(_HEADROOM * max([most, *ends, *(point for bar in bars for point in bar.points)]))
        return Scale(0.0, top, left, max(left + 40, right))

    # One row

    def _paint_bar(
        self,
        painter: QPainter,
        theme: Appearance,
        scale: Scale,
        bar: Bar,
        place: tuple[float, float, float, float],
    ) -> None:
        top, height, width, tags = place
        put_text(painter, theme, QRectF(2 * SMALL, top, scale.begin, height), bar.tag, _TAG)
        name = QRectF(2 * SMALL + tags, top, scale.begin - 3 * SMALL - tags, height)
        lines = max(1, int(height / line_height(theme)))
        put_text(painter, theme, name, bar.label, QUIET if bar.published else PLAIN, lines)
        middle = top + height / 2
        if bar.value is not None:
            if bar.published:
                _paint_mark(painter, theme, QPointF(scale.at(bar.value), middle))
            else:
                self._paint_value(painter, theme, scale, bar, QRectF(0, top, width, height))
        text = QRectF(scale.end + SMALL, top, width - scale.end - 2 * SMALL, height)
        warning = min(_warning_width(theme, bar), text.width())
        text.setWidth(text.width() - warning)
        put_text(painter, theme, text, _words(bar), QUIET)
        if warning:
            left = text.left() + min(text.width(), text_width(theme, _words(bar), 0.9)) + SMALL
            sign = text_width(theme, "M", 0.9)
            put_warning_sign(painter, theme, QPointF(left, middle - sign / 2), sign, bar.warning)
            left += sign + TINY
            beside = QRectF(left, top, max(0.0, width - SMALL - left), height)
            put_text(painter, theme, beside, bar.warning, _WARNING)

    def _paint_value(self, painter: QPainter, theme: Appearance, scale: Scale, bar: Bar, row: QRectF) -> None:
        middle, thick = row.center().y(), min(0.64 * row.height(), 1.5 * line_height(theme))
        body = QRectF(scale.begin, middle - thick / 2, scale.at(bar.value or 0.0) - scale.begin, thick)
        put_body(painter, theme, body, bar.colour_index, bar.warning)
        if bar.interval is not None:
            style = Qt.PenStyle.DotLine if bar.within else Qt.PenStyle.SolidLine
            put_whisker(painter, QPen(theme.text, 1.5, style), scale, bar.interval, middle, thick / 4)
        painter.setPen(QPen(theme.text, 1))
        painter.setBrush(theme.background)
        for point in bar.points:
            painter.drawEllipse(QPointF(scale.at(point), middle), min(3.2, thick / 4), min(3.2, thick / 4))
        painter.setBrush(Qt.BrushStyle.NoBrush)


def _warning_width(theme: Appearance, bar: Bar) -> float:
    words = text_width(theme, bar.warning, _WARNING.scale, bold=True)
    return words + text_width(theme, "M", 0.9) + TINY + SMALL + 1 if bar.warning else 0.0


def _words_width(theme: Appearance, bar: Bar) -> float:
    return text_width(theme, _words(bar), 0.9) + _warning_width(theme, bar)


def _words(bar: Bar) -> str:
    if bar.value_text:
        return bar.value_text
    if bar.value is None:
        return bar.note
    value = format_value(bar.value)
    return f"{value}, {bar.note}" if bar.note else value


def _bar_text(bar: Bar) -> str:
    message = f"{f'{bar.tag} {bar.label}'.strip()}: {_words(bar)} {bar.warning}".rstrip()
    if bar.value is None or bar.interval is None:
        return message
    low, high = (format_value(end) if math.isfinite(end) else tr("unlimited") for end in bar.interval)
    sentence = (
        tr("{bar}, CI within the run {low} to {high}") if bar.within else tr("{bar}, CI {low} to {high}")
    )
    return sentence.format(bar=message, low=low, high=high)


def _paint_mark(painter: QPainter, theme: Appearance, at: QPointF) -> None:
    """Draw an empty diamond: it is not a run of the library."""
    painter.setPen(QPen(theme.text, 1.3))
    painter.setBrush(theme.background)
    x, y = at.x(), at.y()
    painter.drawPolygon([QPointF(x, y - 5), QPointF(x + 5, y), QPointF(x, y + 5), QPointF(x - 5, y)])
    painter.setBrush(Qt.BrushStyle.NoBrush)


# Small multiples of bars: a table for each condition, with number, bar and interval in each cell.


Place = tuple[str, str]
"""Names of row and column; one of them is empty for a heading."""

_THICK = 7.0
_HEAD_LINES = 3
_ROW_NAMES_SHARE = 0.3
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
        rows: list[Sequence[object]] = [(titled(tr("condition")), self.down, *columns)]
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
        most = _ROW_NAMES_SHARE * width
        needed = min(names + SMALL, most) + columns * wide + LARGE
        across = max(1, min(_MOST_ACROSS, len(self.panels), int((width - SMALL + LARGE) / needed)))
        each = (width - SMALL - (across - 1) * LARGE) / across
        left = min(names + SMALL, _ROW_NAMES_SHARE * each)
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


# The interface of figures that are not charts over time, and the widget that shows them.
#
# The constant part is painted once into a pixmap; the pointer is painted over it.


class Figure(Protocol):
    """A figure that can be painted in any size. Sizes and positions in device-independent pixels."""

    @property
    def title(self) -> str:
        """Its heading and the name of its file."""

    def least_height(self, theme: Theme, width: float) -> float:
        """Return the least legible height in pixels."""

    def paint(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Paint the figure at the origin."""

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Theme, at: QPointF) -> None:
        """Paint the marks for a pointer position over it."""

    def text_at(self, size: QSizeF, theme: Theme, at: QPointF) -> str:
        """Return the text at a position, as lines of plain text; empty for none."""

    def accessible_text(self) -> str:
        """Return the whole figure in sentences, for screen readers."""

    def csv(self) -> str:
        """Return its numbers as a table."""


@dataclass(frozen=True)
class FigurePicture:
    """A figure in a size, ready for a file."""

    figure: Figure
    theme: Theme
    size: QSize

    @property
    def name(self) -> str:
        """Of its file."""
        return "comparison"

    @property
    def title(self) -> str:
        """Of the figure."""
        return self.figure.title

    def csv(self) -> str:
        """Return its numbers as a table."""
        return self.figure.csv()

    def paint(self, painter: QPainter) -> None:
        """Paint it at the origin."""
        painter.fillRect(QRect(QPoint(0, 0), self.size), self.theme.background)
        self.figure.paint(painter, QSizeF(self.size), self.theme)


class FigureView(QScrollArea):
    """Show a figure, with values under the pointer and a menu to copy and save."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setLayoutDirection(
            Qt.LayoutDirection.LeftToRight
        )  # axes of numbers run to the right in every script
        self.setFrameStyle(0)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its sheet has the focus, with a name
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sheet = _Sheet(theme)
        self.setWidget(self.sheet)

    @property
    def figure(self) -> Figure | None:
        """The shown figure."""
        return self.sheet.figure

    def show_figure(self, figure: Figure | None) -> None:
        """Show a figure, or none."""
        self.sheet.show_figure(figure)
        self._fit()

    def picture(self) -> FigurePicture | None:
        """Return the shown figure, ready for a file."""
        return self.sheet.picture()

    def _fit(self) -> None:
        figure, width = self.sheet.figure, self.viewport().width()
        least = 0.0 if figure is None else figure.least_height(self.sheet.theme, width)
        self.sheet.setMinimumHeight(round(least))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


_NO_FIGURE = tr("Figure")
"""Accessible name of a sheet whose figure is not there yet."""


class _Sheet(QWidget):
    clicked = Signal(QPointF)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.figure: Figure | None = None
        self._pixmap: QPixmap | None = None
        self._at: QPointF | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(_NO_FIGURE)
        theme.changed.connect(self._repaint_all)

    def show_figure(self, figure: Figure | None) -> None:
        self.figure = figure
        self.setAccessibleName(_NO_FIGURE if figure is None else figure.title)
        self._repaint_all()

    def accessible_text(self) -> str:
        return "" if self.figure is None else self.figure.accessible_text()

    def picture(self) -> FigurePicture | None:
        return None if self.figure is None else FigurePicture(self.figure, self.theme, self.size())

    def _repaint_all(self) -> None:
        self._pixmap = None
        self.update()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._pixmap = None

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.drawPixmap(0, 0, self._painted())
            if self.figure is not None and self._at is not None:
                self.figure.paint_pointer(painter, QSizeF(self.size()), self.theme, self._at)

    def _painted(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        if self._pixmap is None or self._pixmap.devicePixelRatio() != ratio:
            self._pixmap = QPixmap(self.size() * ratio)
            self._pixmap.setDevicePixelRatio(ratio)
            self._pixmap.fill(self.theme.background)
            if self.figure is not None:
                with painting(self._pixmap) as painter:
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    self.figure.paint(painter, QSizeF(self.size()), self.theme)
        return self._pixmap

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._at = event.position()
        self.update()
        words = "" if self.figure is None else self.figure.text_at(QSizeF(self.size()), self.theme, self._at)
        # As rich text with all characters escaped: a tool tip would interpret markup in a run's name
        # otherwise.
        text = tooltip(*words.splitlines())
        QToolTip.showText(event.globalPosition().toPoint(), text, self)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit(event.position())

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._at = None
        self.update()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.figure is not None:
            picture = FigurePicture(self.figure, self.theme, self.size())
            SavingMenu(self, lambda: picture, self.theme).popup(event.globalPos())
