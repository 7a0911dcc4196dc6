"""The axes of charts: round numbers, thousands separators, times as mm:ss or h:mm."""

from __future__ import annotations

import math
from typing import Any

import pyqtgraph as pg
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QGraphicsItem
from typing_extensions import override

from ui.charts.scale import (
    format_log_tick,
    format_time,
    format_value,
    log_ticks,
    tick_step,
    time_ticks,
    value_ticks,
)
from ui.theme import TINY, Theme

_SMALLER = 0.9


class _Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis of ours: keeps its picture between frames, takes colours and font from the theme."""

    def __init__(self, orientation: str, theme: Theme) -> None:
        super().__init__(orientation)
        self._theme = theme
        self._type_scale = 1.0
        self.enableAutoSIPrefix(False)  # noqa: FBT003 - pyqtgraph's signature
        self.setStyle(tickLength=0, hideOverlappingLabels=False, autoExpandTextSpace=False)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.dress()

    def set_type_scale(self, scale: float) -> None:
        """Use larger or smaller type."""
        self._type_scale = scale
        self.dress()

    def dress(self) -> None:
        """Take colours and font from the theme."""
        font = self._theme.number_font(_SMALLER * self._type_scale)
        self.metrics = QFontMetricsF(font)
        self.setTickFont(font)
        self.setPen(self._theme.colour("frame"))
        self.setTextPen(self._theme.muted)


class TimeAxis(_Axis):
    """Time since the measured phase began."""

    def __init__(self, theme: Theme) -> None:
        super().__init__("bottom", theme)

    @override
    def dress(self) -> None:
        super().dress()
        self.setHeight(math.ceil(self.metrics.height()) + TINY)

    def ticks(self, start_s: float, end_s: float, width: float) -> list[float]:
        """Return where labels stand on this many pixels."""
        widest = self.metrics.horizontalAdvance("\N{MINUS SIGN}0:00:00") + 3 * TINY
        return time_ticks(start_s, end_s, max(2, int(width / widest)))

    @override
    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        return [(1.0, self.ticks(minVal, maxVal, size))]

    @override
    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        span_s = self.range[1] - self.range[0]
        return [format_time(value, max(span_s, abs(self.range[1]))) for value in values]


class ValueAxis(_Axis):
    """Values of a chart; on a log axis pyqtgraph counts in powers of ten."""

    def __init__(self, theme: Theme, *, is_log: bool) -> None:
        super().__init__("left", theme)
        self._is_log = is_log

    def ticks(self, low: float, high: float, height: float) -> list[float]:
        """Return the values at which labels stand on this many pixels."""
        most = max(2, int(height / (2.2 * self.metrics.height())))
        return log_ticks(low, high, most + 2) if self._is_log else value_ticks(low, high, most)

    def labels(self, low: float, high: float, height: float) -> list[str]:
        """Return the labels at these ticks."""
        ticks = self.ticks(low, high, height)
        if self._is_log:
            return [format_log_tick(tick) for tick in ticks]
        step = ticks[1] - ticks[0] if len(ticks) > 1 else tick_step(high - low, 2)
        return [format_value(tick, step) for tick in ticks]

    def wanted_width(self, low: float, high: float, height: float) -> float:
        """Return the pixels that the labels need."""
        return (
            max(
                (self.metrics.horizontalAdvance(label) for label in self.labels(low, high, height)), default=0
            )
            + 3 * TINY
        )

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

    @override
    def boundingRect(self) -> Any:
        # The highest and lowest label reach over the edge by half a line.
        over = self.metrics.height() / 2
        return super().boundingRect().adjusted(0, -over, 0, over)
