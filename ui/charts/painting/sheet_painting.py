"""Pieces that several figures paint: titles, axes with round numbers, whiskers, symbols, elided text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPolygonF

from ui.charts.data.scale import format_log_tick, format_value, log_ticks, tick_step, value_ticks
from ui.theme import SMALL, TINY, Theme

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
CENTRE = Qt.AlignmentFlag.AlignCenter

_FORMS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),  # a circle
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.3), (1.2, 1), (-1.2, 1)),
    ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    ((0, 1.3), (1.2, -1), (-1.2, -1)),
    ((-1.2, -0.5), (0, -1.4), (1.2, -0.5), (0.8, 1.1), (-0.8, 1.1)),
)
SYMBOLS = len(_FORMS)


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values on a range of pixels; `begin` may be greater than `end`."""

    low: float
    high: float
    begin: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, place = self.low, self.high, value
        if self.is_log:
            low, high, place = math.log10(low), math.log10(high), math.log10(max(value, self.low / 10))
        return self.begin + (place - low) / (high - low) * (self.end - self.begin)

    def ticks(self, most: int) -> list[float]:
        """Return round values, at most about so many."""
        if self.is_log:
            return log_ticks(self.low, self.high, most)
        return value_ticks(self.low, self.high, max(1, most))

    def labels(self, ticks: Sequence[float]) -> list[str]:
        """Return the texts of ticks."""
        if self.is_log:
            return [format_log_tick(tick) for tick in ticks]
        step = ticks[1] - ticks[0] if len(ticks) > 1 else tick_step(self.high - self.low, 2)
        return [format_value(tick, step) for tick in ticks]


def line_height(theme: Theme, scale: float = 1.0) -> float:
    """Return the pixels of a line of text."""
    return float(math.ceil(QFontMetricsF(theme.font(scale)).height()))


def text_width(theme: Theme, text: str, scale: float = 1.0, *, bold: bool = False) -> float:
    """Return the pixels of a text."""
    return QFontMetricsF(theme.font(scale, bold=bold)).horizontalAdvance(text)


@dataclass(frozen=True, slots=True)
class Look:
    """How a text looks.

    Attributes:
        align: in its area.
        scale: of the program's font.
        bold: whether it is.
        colour: name in the theme's palette.
    """

    align: Qt.AlignmentFlag = LEFT
    scale: float = 1.0
    bold: bool = False
    colour: str = "text"


PLAIN = Look()
QUIET = Look(scale=0.9, colour="muted")
TICK_LEFT = Look(RIGHT, 0.9, colour="muted")
TICK_BELOW = Look(CENTRE, 0.9, colour="muted")


def put_text(painter: QPainter, theme: Theme, area: QRectF, text: str, look: Look = PLAIN) -> None:
    """Draw a text in one line, elided in the middle where it is too long; it is never read as markup."""
    font = theme.number_font(look.scale, bold=look.bold)
    painter.setFont(font)
    painter.setPen(theme.colour(look.colour))
    shown = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideMiddle, area.width())
    painter.drawText(area, int(look.align | Qt.TextFlag.TextSingleLine), shown)


def put_title(painter: QPainter, theme: Theme, width: float, title: str, note: str) -> float:
    """Draw a title with a quiet note beside it; return the height used."""
    height = line_height(theme) + SMALL
    used = min(width, text_width(theme, title, bold=True) + 2 * SMALL)
    put_text(painter, theme, QRectF(SMALL, 0, used, height), title, Look(bold=True))
    rest = QRectF(SMALL + used, 0, max(0.0, width - used - 2 * SMALL), height)
    put_text(painter, theme, rest, note, QUIET)
    return height


def put_ticks_below(painter: QPainter, theme: Theme, scale: Scale, top: float, bottom: float) -> None:
    """Draw vertical lines of a grid from `top` to `bottom` with their labels below."""
    height = line_height(theme, 0.9)
    widest = text_width(theme, "0,000,000", 0.9)
    ticks = scale.ticks(max(2, int(abs(scale.end - scale.begin) / (1.4 * widest))))
    for tick, label in zip(ticks, scale.labels(ticks), strict=True):
        x = round(scale.at(tick)) + 0.5
        painter.setPen(QPen(theme.grid if tick else theme.colour("frame"), 1))
        painter.drawLine(QLineF(x, top, x, bottom))
        place = QRectF(x - widest, bottom + TINY / 2, 2 * widest, height)
        put_text(painter, theme, place, label, TICK_BELOW)


def put_ticks_left(painter: QPainter, theme: Theme, scale: Scale, left: float, right: float) -> None:
    """Draw horizontal lines of a grid from `left` to `right` with their labels at the left."""
    height = line_height(theme, 0.9)
    ticks = scale.ticks(max(2, int(abs(scale.end - scale.begin) / (2.2 * height))))
    for tick, label in zip(ticks, scale.labels(ticks), strict=True):
        y = round(scale.at(tick)) + 0.5
        painter.setPen(QPen(theme.grid if tick else theme.colour("frame"), 1))
        painter.drawLine(QLineF(left, y, right, y))
        place = QRectF(0, y - height / 2, left - TINY, height)
        put_text(painter, theme, place, label, TICK_LEFT)


def put_symbol(painter: QPainter, theme: Theme, at: QPointF, index: int, size: float = 5.0) -> None:
    """Draw the symbol of group `index` in its colour: form as well as colour tell groups apart."""
    colour = theme.series_colour(index)
    painter.setPen(QPen(colour, 1.4))
    painter.setBrush(colour if index % (2 * SYMBOLS) < SYMBOLS else theme.background)
    x, y = at.x(), at.y()
    form = _FORMS[index % SYMBOLS]
    if not form:
        painter.drawEllipse(at, size, size)
    else:
        painter.drawPolygon(QPolygonF([QPointF(x + size * dx, y + size * dy) for dx, dy in form]))
    painter.setBrush(Qt.BrushStyle.NoBrush)


def put_whisker(
    painter: QPainter, pen: QPen, scale: Scale, ends: tuple[float, float], y: float, reach: float
) -> None:
    """Draw an interval on a horizontal scale; what reaches over the edge has no end there."""
    painter.setPen(pen)
    left, right = scale.at(ends[0]), scale.at(ends[1])
    lowest, highest = min(scale.begin, scale.end), max(scale.begin, scale.end)
    inside = max(left, lowest), min(right, highest)
    painter.drawLine(QLineF(inside[0], y, inside[1], y))
    for x in (left, right):
        if lowest <= x <= highest:
            painter.drawLine(QLineF(x, y - reach, x, y + reach))
