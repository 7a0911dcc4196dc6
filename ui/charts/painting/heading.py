"""The line above a chart: title, unit, and what its line styles mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QGraphicsItem, QGraphicsWidget, QStyleOptionGraphicsItem, QWidget
from typing_extensions import override

from app.domain.text import tr
from ui.charts.data.registry import ChartSpec
from ui.charts.painting.painting import paint_sample
from ui.theme import SMALL, TINY, Theme

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute

_AIR = SMALL
"""Above a title: the lowest number of the axis above ends there."""


@dataclass(frozen=True)
class Key:
    """A line style and what it stands for."""

    label: str
    colour: QColor
    style: Qt.PenStyle


class Heading(QGraphicsWidget):
    """Paints title, unit and keys of a chart."""

    def __init__(self, theme: Theme, spec: ChartSpec) -> None:
        super().__init__()
        self._theme, self._spec = theme, spec
        self._keys: Sequence[Key] = ()
        self._notes: Sequence[str] = ()
        self._of = self._load = ""
        self._type_scale = 1.0
        self._indent = 0.0
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self._fit()

    def set_keys(self, keys: Sequence[Key], notes: Sequence[str]) -> None:
        """Explain these styles; the first of the notes for which there is room says how lines are made."""
        self._keys, self._notes = keys, notes
        self.update()

    @property
    def notes(self) -> tuple[str, ...]:
        """How the lines are made, the most there is to say first."""
        return tuple(self._notes)

    def set_devices(self, words: str) -> None:
        """Say of which devices the chart is; empty for one that is of none."""
        if words != self._of:
            self._of = words
            self.update()

    def set_load(self, words: str) -> None:
        """Say what its latencies leave out; empty for nothing."""
        if words != self._load:
            self._load = words
            self.update()

    @property
    def load(self) -> str:
        """What its latencies leave out, as it stands beside the title; empty for nothing."""
        return self._load

    @property
    def devices(self) -> str:
        """Of which devices the chart is, as it stands beside the title; empty for none."""
        return tr("of {devices}").format(devices=self._of) if self._of else ""

    def set_indent(self, pixels: float) -> None:
        """Begin above the chart's edge."""
        self._indent = pixels
        self.update()

    def set_type_scale(self, scale: float) -> None:
        """Use larger or smaller type."""
        self._type_scale = scale
        self._fit()

    def _fit(self) -> None:
        height = math.ceil(QFontMetricsF(self._theme.font(self._type_scale)).height()) + TINY + _AIR
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)
        self.setPreferredHeight(height)
        self.update()

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        self.draw(painter, self.size())

    def draw(self, painter: QPainter, size: QSizeF) -> None:
        """Paint the heading at the painter's origin."""
        area = QRectF(self._indent, _AIR, size.width() - self._indent, size.height() - _AIR - TINY / 2)
        x = self._text(painter, area, area.left(), self._spec.title, bold=True)
        x = self._text(painter, area, x + SMALL, self._spec.unit) + SMALL
        if self._of:
            x = self._text(painter, area, x, self.devices)
        if self._load:
            x = self._text(painter, area, x, self._load)
        x += SMALL
        metrics = QFontMetricsF(self._theme.font(0.9 * self._type_scale))
        sample = 2.2 * metrics.height()
        for key in self._keys:
            if x + sample + metrics.horizontalAdvance(key.label) > area.right():
                return
            place = QRectF(x, area.top(), sample - TINY, area.height())
            paint_sample(painter, place, key.colour, key.style, 2 * self._type_scale)
            x = self._text(painter, area, x + sample, key.label) + 2 * SMALL
        note = next(
            (note for note in self._notes if x + metrics.horizontalAdvance(note) < area.right() - SMALL), ""
        )
        if note:
            painter.setFont(self._theme.font(0.9 * self._type_scale))
            painter.setPen(self._theme.muted)
            right = (
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
            )
            painter.drawText(area.adjusted(0, 0, -SMALL, 0), right, note)

    def _text(self, painter: QPainter, area: QRectF, x: float, text: str, *, bold: bool = False) -> float:
        font = self._theme.font((1.0 if bold else 0.9) * self._type_scale, bold=bold)
        painter.setFont(font)
        painter.setPen(self._theme.text if bold else self._theme.muted)
        painter.drawText(QRectF(x, area.top(), max(0.0, area.right() - x), area.height()), _LEFT, text)
        return x + QFontMetricsF(font).horizontalAdvance(text)
