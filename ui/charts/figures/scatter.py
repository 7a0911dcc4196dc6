"""A scatter plot of two figures of every run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPen

from app.domain.text import tr
from ui.charts.data.scale import Range, format_value, value_range
from ui.charts.painting.sheet_painting import (
    QUIET,
    RIGHT,
    Look,
    Scale,
    line_height,
    put_symbol,
    put_text,
    put_ticks_below,
    put_ticks_left,
    put_title,
    text_width,
)
from ui.charts.stack.saving import table_text
from ui.theme import SMALL, TINY, Theme

_DECADES = 50.0
"""Values further apart than this factor get a logarithmic axis."""

_REACH = 12.0


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A run.

    Attributes:
        label: its name.
        group: number of its group: symbol and colour.
        x: value of the horizontal axis.
        y: value of the vertical axis.
    """

    label: str
    group: int
    x: float
    y: float


@dataclass(frozen=True)
class ScatterFigure:
    """Points with symbols by group.

    Attributes:
        title: of the plot.
        x_label: of the horizontal axis, with its unit.
        y_label: of the vertical axis, with its unit.
        groups: (name, number of colour and symbol).
        points: in any order.
        note: next to the title.
    """

    title: str
    x_label: str
    y_label: str
    groups: tuple[tuple[str, int], ...]
    points: tuple[ScatterPoint, ...]
    note: str = ""

    def least_height(self, theme: Theme, width: float) -> float:
        """Return the least legible height in pixels."""
        return 220.0 + len(self._key_rows(theme, width)) * line_height(theme)

    def paint(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Paint the figure."""
        top = put_title(painter, theme, size.width(), self.title, self.note)
        self._paint_key(painter, theme, size, top)
        across, up = self._scales(size, theme)
        put_ticks_left(painter, theme, up, across.begin, across.end)
        put_ticks_below(painter, theme, across, up.end, up.begin)
        height = line_height(theme, 0.9)
        above = QRectF(TINY, up.end - 1.5 * height - TINY, size.width() / 2, height)
        put_text(painter, theme, above, self.y_label, QUIET)
        below = QRectF(across.begin, up.begin + height + TINY, across.end - across.begin, height)
        put_text(painter, theme, below, self.x_label, Look(RIGHT, 0.9, colour="muted"))
        for point in self.points:
            put_symbol(painter, theme, QPointF(across.at(point.x), up.at(point.y)), point.group)

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Theme, at: QPointF) -> None:
        """Draw a ring around the run under the pointer."""
        near = self._near(size, theme, at)
        if near is not None:
            across, up = self._scales(size, theme)
            painter.setPen(QPen(theme.text, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(across.at(near.x), up.at(near.y)), 9, 9)

    def tell(self, size: QSizeF, theme: Theme, at: QPointF) -> str:
        """Return name and values of the run under the pointer."""
        near = self._near(size, theme, at)
        if near is None:
            return ""
        return f"{near.label}\n{self.x_label}: {format_value(near.x)}\n{self.y_label}: {format_value(near.y)}"

    def accessible_text(self) -> str:
        """Return both figures of every run."""
        point = tr("{run}: {across} {x}, {up} {y}")
        told = [
            point.format(
                run=p.label, across=self.x_label, x=format_value(p.x), up=self.y_label, y=format_value(p.y)
            )
            for p in self.points
        ]
        return f"{self.title}. {'; '.join(told)}."

    def csv(self) -> str:
        """Return one CSV row per run."""
        names = {number: name for name, number in self.groups}
        rows: list[Sequence[object]] = [("run", "group", self.x_label, self.y_label)]
        rows += [(point.label, names.get(point.group, ""), point.x, point.y) for point in self.points]
        return table_text(rows)

    def _near(self, size: QSizeF, theme: Theme, at: QPointF) -> ScatterPoint | None:
        across, up = self._scales(size, theme)
        found = [
            (math.hypot(across.at(point.x) - at.x(), up.at(point.y) - at.y()), place)
            for place, point in enumerate(self.points)
        ]
        distance, place = min(found, default=(math.inf, 0))
        return self.points[place] if distance <= _REACH else None

    def _scales(self, size: QSizeF, theme: Theme) -> tuple[Scale, Scale]:
        height = line_height(theme, 0.9)
        top = line_height(theme) + SMALL + len(self._key_rows(theme, size.width())) * line_height(theme)
        (xs, x_log), (ys, y_log) = _range([p.x for p in self.points]), _range([p.y for p in self.points])
        left = text_width(theme, "0,000,000", 0.9) + SMALL
        right = max(left + 40, size.width() - 2 * SMALL - text_width(theme, "0,000", 0.9))
        bottom = max(top + 80, size.height() - 2 * height - 2 * SMALL)
        return Scale(*xs, left, right, x_log), Scale(*ys, bottom, top + 1.5 * height + SMALL, y_log)

    def _key_rows(self, theme: Theme, width: float) -> list[list[tuple[str, int, float]]]:
        """Return names of groups in rows that fit, with the position of each."""
        rows: list[list[tuple[str, int, float]]] = [[]]
        x = float(SMALL)
        for name, number in self.groups:
            wide = min(text_width(theme, name, 0.9), width - 6 * SMALL) + 4 * SMALL
            if x + wide > width and rows[-1]:
                rows.append([])
                x = float(SMALL)
            rows[-1].append((name, number, x))
            x += wide
        return rows

    def _paint_key(self, painter: QPainter, theme: Theme, size: QSizeF, top: float) -> None:
        height = line_height(theme)
        for row in self._key_rows(theme, size.width()):
            for name, number, x in row:
                put_symbol(painter, theme, QPointF(x + SMALL, top + height / 2), number, 4.0)
                area = QRectF(x + 2.5 * SMALL, top, size.width() - x - 3.5 * SMALL, height)
                put_text(painter, theme, area, name, Look(scale=0.9))
            top += height


def _range(values: Sequence[float]) -> tuple[Range, bool]:
    """Return a range for values and whether it is logarithmic."""
    if not values:
        return (0.0, 1.0), False
    low, high = min(values), max(values)
    is_log = low > 0 and high > _DECADES * low
    return value_range((low, high), zero_based=True, is_log=is_log), is_log
