"""Bars with intervals, in groups, with published figures as marks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPen

from app.domain.text import tr
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
)
from ui.charts.stack.saving import table_text
from ui.theme import SMALL, TINY, Appearance

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
    return tr("{value}, {note}").format(value=value, note=bar.note) if bar.note else value


def _bar_text(bar: Bar) -> str:
    message = f"{f'{bar.tag} {bar.label}'.strip()}: {_words(bar)} {bar.warning}".rstrip()
    if bar.value is None or bar.interval is None:
        return message
    low, high = (format_value(end) if math.isfinite(end) else tr("unlimited") for end in bar.interval)
    sentence = (
        tr("{bar}, within the run {low} to {high}") if bar.within else tr("{bar}, interval {low} to {high}")
    )
    return sentence.format(bar=message, low=low, high=high)


def _paint_mark(painter: QPainter, theme: Appearance, at: QPointF) -> None:
    """Draw an empty diamond: it is not a run of the library."""
    painter.setPen(QPen(theme.text, 1.3))
    painter.setBrush(theme.background)
    x, y = at.x(), at.y()
    painter.drawPolygon([QPointF(x, y - 5), QPointF(x + 5, y), QPointF(x, y + 5), QPointF(x - 5, y)])
    painter.setBrush(Qt.BrushStyle.NoBrush)
