"""The axes of charts: round numbers, thousands separators, times as mm:ss or h:mm.

Also the line above a chart: title, unit, and key of line styles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsSceneWheelEvent,
    QGraphicsWidget,
    QStyleOptionGraphicsItem,
    QWidget,
)
from typing_extensions import override

from app.domain.text import tr
from ui.charts.data.registry import ChartSpec
from ui.charts.data.scale import (
    TIME,
    XAxisKind,
    format_log_tick,
    format_value,
    log_ticks,
    tick_step,
    value_ticks,
)
from ui.charts.painting.painting import paint_sample
from ui.charts.painting.sheet_painting import LEFT, RIGHT
from ui.theme import SMALL, TINY, Theme

_SMALLER = 0.9
_MOST_TICKS = 8


class _Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis that caches its picture between frames, and takes colours and font from the theme."""

    def __init__(self, orientation: str, theme: Theme) -> None:
        super().__init__(orientation)
        self._theme = theme
        self._type_scale = 1.0
        self.enableAutoSIPrefix(False)  # noqa: FBT003 - pyqtgraph's signature
        self.setStyle(tickLength=0, autoExpandTextSpace=False)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.apply_style()

    @property
    def overhang(self) -> float:
        """Pixels by which a label may extend beyond the end of the axis."""
        return float(self.metrics.horizontalAdvance("00:00:00")) / 2 + 1

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self._type_scale = scale
        self.apply_style()

    @override
    def wheelEvent(self, event: QGraphicsSceneWheelEvent) -> None:
        """Leave the plain wheel to the page, which scrolls; with a modifier key the chart uses it."""
        if event.modifiers() == Qt.KeyboardModifier.NoModifier:
            event.ignore()
        else:
            super().wheelEvent(event)

    def draw(self, painter: QPainter) -> None:
        """Paint the axis at the painter's origin, without the cached picture."""
        specs = self.generateDrawSpecs(painter)
        if specs is not None:
            painter.save()
            self.drawPicture(painter, *specs)
            painter.restore()

    @override
    def drawPicture(self, p: QPainter, *specs: Any) -> None:
        p.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # numbers precede their ticks everywhere
        super().drawPicture(p, *specs)

    def apply_style(self) -> None:
        """Take colours and font from the theme."""
        self.font_used = self._theme.number_font(_SMALLER * self._type_scale)
        self.metrics = QFontMetricsF(self.font_used)
        self.setTickFont(self.font_used)
        # A label may extend this far beyond the end of the axis; longer ones are omitted.
        self.setStyle(hideOverlappingLabels=math.ceil(self.overhang))
        self.setPen(self._theme.colour("frame"))
        self.setTextPen(self._theme.muted)


class TimeAxis(_Axis):
    """The horizontal axis: time since the start of the measured phase, or another quantity.

    Signals:
        ranged: the visible time changed.
        fitted: its height in pixels changed.
    """

    ranged = Signal()
    fitted = Signal(float)

    def __init__(self, theme: Theme, kind: XAxisKind = TIME) -> None:
        self.kind = kind
        super().__init__("bottom", theme)

    @override
    def apply_style(self) -> None:
        super().apply_style()
        apart = math.ceil(self.metrics.height() / 4)  # the lowest number of the values ends in there
        self.setStyle(tickTextOffset=apart)
        height = math.ceil(self.metrics.height()) + apart
        self.setHeight(height)
        self.fitted.emit(height)

    @override
    def setRange(self, mn: float, mx: float) -> None:
        super().setRange(mn, mx)
        self.ranged.emit()

    def ticks(self, start_s: float, end_s: float, width: float) -> list[float]:
        """Return the positions of labels for this many pixels."""
        widest = self.metrics.horizontalAdvance("\N{MINUS SIGN}0:00:00") + 3 * TINY
        return self.kind.ticks(start_s, end_s, max(2, int(width / widest)))

    @override
    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        return [(1.0, self.ticks(minVal, maxVal, size))]

    @override
    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [self.kind.label(value, self.range[1]) for value in values]


class Caption(QGraphicsWidget):
    """The unit of the time axis, at its left."""

    def __init__(self, theme: Theme, axis: TimeAxis) -> None:
        super().__init__()
        self._theme, self._axis = theme, axis
        axis.ranged.connect(self.update)
        axis.fitted.connect(self._fit)
        self._fit(axis.height())

    def wanted_width(self) -> float:
        """Return the pixels needed by the caption and half of the axis's first label."""
        metrics = self._axis.metrics
        return float(
            metrics.horizontalAdvance(self._axis.kind.unit(0))
            + metrics.horizontalAdvance("\N{MINUS SIGN}00:00") / 2
            + 4 * TINY
        )

    def _fit(self, height: float) -> None:
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setFont(self._axis.font_used)
        painter.setPen(self._theme.muted)
        area = QRectF(TINY, 0, self.size().width(), self.size().height())
        painter.drawText(area, LEFT, self._axis.kind.unit(self._axis.range[1]))


class ValueAxis(_Axis):
    """The axis of values; on a log axis pyqtgraph uses powers of ten."""

    def __init__(self, theme: Theme, *, is_log: bool) -> None:
        super().__init__("left", theme)
        self._is_log = is_log
        self._is_blank = True

    def set_blank(self, *, blank: bool) -> bool:
        """Hide the numbers if there is no value: any range would look measured.

        Returns whether that changed.
        """
        if blank == self._is_blank:
            return False
        self._is_blank = blank
        self.picture = None
        self.update()
        return True

    def ticks(self, low: float, high: float, height: float) -> list[float]:
        """Return the values of labels for this many pixels; empty if there is no value."""
        if self._is_blank:
            return []
        most = max(2, min(_MOST_TICKS, int(height / (2.2 * self.metrics.height()))))
        return log_ticks(low, high, most + 2) if self._is_log else value_ticks(low, high, most)

    def labels(self, low: float, high: float, height: float) -> list[str]:
        """Return the labels of these ticks."""
        ticks = self.ticks(low, high, height)
        if self._is_log:
            return [format_log_tick(tick) for tick in ticks]
        step = ticks[1] - ticks[0] if len(ticks) > 1 else tick_step(high - low, 2)
        return [format_value(tick, step) for tick in ticks]

    def wanted_width(self, low: float, high: float, height: float) -> float:
        """Return the pixels that the labels need."""
        widths = [self.metrics.horizontalAdvance(label) for label in self.labels(low, high, height)]
        return max(widths, default=0.0) + 3 * TINY

    @override
    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        if self._is_log:
            return [(1.0, [math.log10(tick) for tick in self.ticks(10**minVal, 10**maxVal, size)])]
        return [(1.0, self.ticks(minVal, maxVal, size))]

    @override
    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self._is_log:
            return [format_log_tick(10**value) for value in values]
        low, high = self.range
        step = values[1] - values[0] if len(values) > 1 else tick_step(high - low, 2)
        return [format_value(value, step) for value in values]


_AIR = SMALL
"""Space above a title: the lowest number of the axis above ends there."""


@dataclass(frozen=True)
class Key:
    """A line style and its meaning."""

    label: str
    colour: QColor
    style: Qt.PenStyle


class Heading(QGraphicsWidget):
    """Paint title, unit and keys of a chart."""

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
        """Explain these styles; the first note that fits says how lines are computed."""
        self._keys, self._notes = keys, notes
        self.update()

    @property
    def notes(self) -> tuple[str, ...]:
        """How the lines are computed, longest text first."""
        return tuple(self._notes)

    def set_devices(self, words: str) -> None:
        """Set the devices of the chart; empty for none."""
        if words != self._of:
            self._of = words
            self.update()

    def set_load(self, words: str) -> None:
        """Set what its latencies omit; empty for nothing."""
        if words != self._load:
            self._load = words
            self.update()

    @property
    def load(self) -> str:
        """The text about omissions from latencies, shown next to the title; empty for nothing."""
        return self._load

    @property
    def devices(self) -> str:
        """The text about devices, shown next to the title; empty for none."""
        return tr("of {devices}").format(devices=self._of) if self._of else ""

    def set_indent(self, pixels: float) -> None:
        """Align with the chart's left edge."""
        self._indent = pixels
        self.update()

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self._type_scale = scale
        self._fit()

    def _fit(self) -> None:
        height = math.ceil(QFontMetricsF(self._theme.font(self._type_scale)).height()) + TINY + _AIR
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)
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
            painter.drawText(area.adjusted(0, 0, -SMALL, 0), RIGHT, note)

    def _text(self, painter: QPainter, area: QRectF, x: float, text: str, *, bold: bool = False) -> float:
        font = self._theme.font((1.0 if bold else 0.9) * self._type_scale, bold=bold)
        painter.setFont(font)
        painter.setPen(self._theme.text if bold else self._theme.muted)
        painter.drawText(QRectF(x, area.top(), max(0.0, area.right() - x), area.height()), LEFT, text)
        return x + QFontMetricsF(font).horizontalAdvance(text)
