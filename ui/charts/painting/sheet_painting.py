"""Parts common to several figures: titles, axes with round numbers, whiskers, elided text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPolygonF

from app.analysis.labels import safety_warning
from ui.charts.data.scale import XAxisKind, format_log_tick, format_value, log_ticks, tick_step, value_ticks
from ui.theme import SMALL, TINY, Appearance

LOST = safety_warning(unsafe=False, not_durable=True)
"""The warning of what may lose commits, which has a sign of its own."""

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
CENTRE = Qt.AlignmentFlag.AlignCenter


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values mapped to a range of pixels; `begin` may be greater than `end`.

    Attributes:
        low: least value.
        high: greatest value.
        begin: pixel of the least value.
        end: pixel of the greatest value.
        is_log: whether it is logarithmic.
        kind: how positions are labelled; None for plain numbers.
    """

    low: float
    high: float
    begin: float
    end: float
    is_log: bool = False
    kind: XAxisKind | None = None

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, place = self.low, self.high, value
        if self.is_log:
            low, high, place = math.log10(low), math.log10(high), math.log10(max(value, self.low / 10))
        return self.begin + (place - low) / (high - low) * (self.end - self.begin)

    def ticks(self, most: int) -> list[float]:
        """Return round values, at most about `most`."""
        if self.kind is not None:
            return self.kind.ticks(self.low, self.high, most)
        if self.is_log:
            return log_ticks(self.low, self.high, most)
        return value_ticks(self.low, self.high, max(1, most))

    def labels(self, ticks: Sequence[float]) -> list[str]:
        """Return the texts of ticks."""
        if self.kind is not None:
            return [self.kind.label(tick, self.high) for tick in ticks]
        if self.is_log:
            return [format_log_tick(tick) for tick in ticks]
        step = ticks[1] - ticks[0] if len(ticks) > 1 else tick_step(self.high - self.low, 2)
        return [format_value(tick, step) for tick in ticks]


def line_height(theme: Appearance, scale: float = 1.0) -> float:
    """Return the height of a line of text in pixels."""
    return float(math.ceil(QFontMetricsF(theme.font(scale)).height()))


def text_width(theme: Appearance, text: str, scale: float = 1.0, *, bold: bool = False) -> float:
    """Return the width of a text in pixels."""
    return QFontMetricsF(theme.font(scale, bold=bold)).horizontalAdvance(text)


@dataclass(frozen=True, slots=True)
class Look:
    """The style of a text.

    Attributes:
        align: in its area.
        scale: relative to the program's font.
        bold: whether it is bold.
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


def put_text(
    painter: QPainter, theme: Appearance, area: QRectF, text: str, look: Look = PLAIN, lines: int = 1
) -> None:
    """Draw a text in at most `lines` lines, elided in the middle if too long. It is never markup."""
    font = theme.number_font(look.scale, bold=look.bold)
    metrics = QFontMetricsF(font)
    painter.setFont(font)
    painter.setPen(theme.colour(look.colour))

    def elide(part: str) -> str:
        return metrics.elidedText(part, Qt.TextElideMode.ElideMiddle, area.width())

    shown = wrap_text(text, metrics.horizontalAdvance, elide, area.width(), lines)
    high = line_height(theme, look.scale)
    top = area.center().y() - high * len(shown) / 2
    for number, line in enumerate(shown):
        place = area if len(shown) == 1 else QRectF(area.left(), top + number * high, area.width(), high)
        painter.drawText(place, int(look.align | Qt.TextFlag.TextSingleLine), line)


def wrap_text(
    text: str, width_of: Callable[[str], float], elide: Callable[[str], str], width: float, most: int | None
) -> list[str]:
    """Return a text in lines that fit; only words wider than a line are broken.

    Args:
        text: one paragraph.
        width_of: returns the width of a text.
        elide: shortens a text to the width.
        width: of the lines.
        most: most lines; the last one has the shortened rest.
    """
    found: list[str] = []
    line = ""
    words = re.findall(r"\S+\s*", text)
    for place, word in enumerate(words):
        longer = line + word
        if line and width_of(longer.rstrip()) > width:
            if most is not None and len(found) == most - 1:
                return [*found, elide(line + "".join(words[place:]))]
            found.append(line.rstrip())
            longer = word
        while width_of(longer.rstrip()) > width and len(longer.rstrip()) > 1:
            if most is not None and len(found) == most - 1:
                return [*found, elide(longer + "".join(words[place + 1 :]))]
            head = _head(longer, width_of, width)
            found.append(longer[:head])
            longer = longer[head:]
        line = longer
    if line.strip() or not found:
        found.append(line.rstrip())
    return found


def _head(word: str, width_of: Callable[[str], float], width: float) -> int:
    """Return how many letters of a word fit, at least one; breaks after a separator if possible."""
    low, high = 1, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(word[:middle]) <= width:
            low = middle
        else:
            high = middle - 1
    breaks = [place for place, letter in enumerate(word[:low], 1) if letter in "/,;:=_-."]
    return breaks[-1] if breaks and breaks[-1] > low * 2 / 3 else low


def put_warning_sign(
    painter: QPainter, theme: Appearance, at: QPointF, size: float, warning: str = ""
) -> None:
    """Draw an exclamation mark in a triangle, for NOT DURABLE in a ring; `at` is the upper left corner."""
    is_ring, thick = warning == LOST, 0.12 * size
    painter.setPen(QPen(theme.warning, thick) if is_ring else Qt.PenStyle.NoPen)
    painter.setBrush(theme.background if is_ring else theme.warning)
    corners = ((0.0, size), (size, size), (size / 2, 0.0))
    if is_ring:
        painter.drawEllipse(
            QRectF(at, QSizeF(size, size)).adjusted(thick / 2, thick / 2, -thick / 2, -thick / 2)
        )
    else:
        painter.drawPolygon(QPolygonF([at + QPointF(*corner) for corner in corners]))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for top, height in ((0.22, 0.38), (0.7, 0.12)) if is_ring else ((0.35, 0.35), (0.78, 0.1)):
        bar = QRectF(at.x() + 0.45 * size, at.y() + top * size, 0.1 * size, height * size)
        painter.fillRect(bar, theme.warning if is_ring else theme.background)


def put_title(
    painter: QPainter, theme: Appearance, width: float, title: str, note: str, indent: float = SMALL
) -> float:
    """Draw a title with a muted note next to it; return the height used."""
    height = line_height(theme) + SMALL
    used = min(width, text_width(theme, title, bold=True) + indent + SMALL)
    put_text(painter, theme, QRectF(indent, 0, used, height), title, Look(bold=True))
    rest = QRectF(indent + used, 0, max(0.0, width - used - 2 * indent), height)
    put_text(painter, theme, rest, note, QUIET)
    return height


def put_ticks_below(painter: QPainter, theme: Appearance, scale: Scale, top: float, bottom: float) -> None:
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


def left_ticks(theme: Appearance, scale: Scale, apart: float = 2.2) -> list[tuple[float, str]]:
    """Return the ticks of a vertical scale with their labels, about `apart` lines from each other."""
    most = int(abs(scale.end - scale.begin) / (apart * line_height(theme, 0.9)))
    ticks = scale.ticks(max(2, most) + 2 * scale.is_log)
    return list(zip(ticks, scale.labels(ticks), strict=True))


def put_ticks_left(
    painter: QPainter, theme: Appearance, scale: Scale, left: float, right: float, apart: float = 2.2
) -> None:
    """Draw horizontal lines of a grid from `left` to `right` with their labels at the left."""
    for tick, _ in left_ticks(theme, scale, apart):
        y = round(scale.at(tick)) + 0.5
        painter.setPen(QPen(theme.grid if tick else theme.colour("frame"), 1))
        painter.drawLine(QLineF(left, y, right, y))
    put_tick_labels_left(painter, theme, scale, left, apart)


def put_tick_labels_left(
    painter: QPainter, theme: Appearance, scale: Scale, left: float, apart: float = 2.2
) -> None:
    """Draw the labels of a vertical scale."""
    height = line_height(theme, 0.9)
    for tick, label in left_ticks(theme, scale, apart):
        place = QRectF(0, round(scale.at(tick)) + 0.5 - height / 2, left - TINY, height)
        put_text(painter, theme, place, label, TICK_LEFT)


def put_body(
    painter: QPainter, theme: Appearance, body: QRectF, colour_index: int, warning: str = ""
) -> None:
    """Fill a bar or sample: pale with a frame; hatched from the ninth configuration on.

    Args:
        painter: in use.
        theme: colours.
        body: the area.
        colour_index: number of the configuration.
        warning: of what trades safety for speed: only the frame is drawn, dashed, for NOT DURABLE dotted.
    """
    colour, mark = theme.series_colour(colour_index), theme.series_mark(colour_index)
    painter.fillRect(body, theme.background if warning else theme.pale(colour, 0.45))
    if mark:
        # Lines: patterns of Qt have the size of the device's pixels, which are too small on paper.
        height, apart = max(1, math.ceil(body.height())), 3 + 3 * ((mark + 1) // 2)
        low, high = (body.bottom(), body.top())[:: 1 if mark % 2 else -1]
        painter.setPen(QPen(colour, 1))
        for x in range(int(body.left()) - height + 1, math.ceil(body.right()), apart):
            line = QLineF(x, low, x + height, high)
            # Pictures as SVG know no clipping.
            ends = max(0.0, (body.left() - x) / height), min(1.0, (body.right() - x) / height)
            painter.drawLine(QLineF(*map(line.pointAt, ends)))
    style = Qt.PenStyle.DotLine if warning == LOST else Qt.PenStyle.DashLine
    painter.setPen(QPen(colour, 1.5, style if warning else Qt.PenStyle.SolidLine))
    painter.drawRect(body)


def put_whisker(
    painter: QPainter, pen: QPen, scale: Scale, ends: tuple[float, float], y: float, reach: float
) -> None:
    """Draw an interval on a horizontal scale; an end beyond the edge has no cap."""
    painter.setPen(pen)
    left, right = scale.at(ends[0]), scale.at(ends[1])
    lowest, highest = min(scale.begin, scale.end), max(scale.begin, scale.end)
    inside = max(left, lowest), min(right, highest)
    painter.drawLine(QLineF(inside[0], y, inside[1], y))
    for x in (left, right):
        if lowest <= x <= highest:
            painter.drawLine(QLineF(x, y - reach, x, y + reach))
