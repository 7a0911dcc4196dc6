"""The last minute of a number, without axes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.theme import Theme

SPAN_S: Final = 60.0
_HEADROOM: Final = 1.15
_CALM: Final = 0.55
_GAP_S: Final = 2.5


class SparkLine(QWidget):
    """A line over the last 60 s; the axis begins at zero and changes only when it must.

    Attributes:
        top: value at the upper edge.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._colour = 0
        self._t_s: NDArray[np.float64] = np.empty(0)
        self._values: NDArray[np.float64] = np.empty(0)
        self._now_s = 0.0
        self.top = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        theme.changed.connect(self.update)

    def set_colour(self, index: int) -> None:
        """Use the colour of a line of the charts."""
        self._colour = index
        self.update()

    def show_series(self, t_s: NDArray[np.float64], values: NDArray[np.float64], now_s: float) -> None:
        """Show what of a series lies in the last minute before `now_s`."""
        first = int(np.searchsorted(t_s, now_s - SPAN_S))
        finite = np.isfinite(values[first:])
        self._t_s, self._values, self._now_s = t_s[first:][finite], values[first:][finite], now_s
        highest = float(self._values.max()) if len(self._values) else 0.0
        if highest > self.top or highest < _CALM * self.top:
            self.top = highest * _HEADROOM
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(120, self.fontMetrics().height() * 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(30, self.fontMetrics().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        width, height = float(self.width()), float(self.height())
        painter.setPen(QPen(self._theme.grid, 1))
        painter.drawLine(QPointF(0, height - 0.5), QPointF(width, height - 0.5))
        if not len(self._t_s) or self.top <= 0:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = (self._t_s - self._now_s + SPAN_S) / SPAN_S * (width - 4)
        y = (height - 1) - self._values / self.top * (height - 3)
        painter.setPen(QPen(self._theme.series_colour(self._colour), 1.5))
        for part in np.split(np.arange(len(x)), np.flatnonzero(np.diff(self._t_s) > _GAP_S) + 1):
            painter.drawPolyline(QPolygonF([QPointF(float(x[i]), float(y[i])) for i in part]))
        painter.setBrush(self._theme.series_colour(self._colour))
        painter.drawEllipse(QPointF(float(x[-1]), float(y[-1])), 2.0, 2.0)
