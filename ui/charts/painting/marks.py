"""Marks on lines: what tells configurations of one colour apart. No pair of both comes twice."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

_POLYGONS: Final = (
    ((0.0, -1.0), (0.0, -1.0), (0.0, -1.0)),  # the circle, which is painted as one
    ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    ((0.0, -1.0), (0.95, 0.75), (-0.95, 0.75)),
    ((0.0, -1.15), (1.15, 0.0), (0.0, 1.15), (-1.15, 0.0)),
    ((0.0, 1.0), (0.95, -0.75), (-0.95, -0.75)),
)
"""Corners of the shapes, in radii of the mark."""

_FILLS: Final = 2
RADIUS: Final = 3.6
"""Of a mark, in pixels of the window."""


def mark_parts(mark: int) -> tuple[int, bool, int]:
    """Return (shape, whether it is hollow, how many stand beside each other) of a mark above 0."""
    count, rest = divmod(mark - 1, _FILLS * len(_POLYGONS))
    hollow, shape = divmod(rest, len(_POLYGONS))
    return shape, bool(hollow), count + 1


def paint_mark(
    painter: QPainter, at: QPointF, mark: int, colour: QColor, ground: QColor, unit: float
) -> None:
    """Draw a mark at a place; nothing for mark 0.

    Args:
        painter: in pixels of the device.
        at: its middle.
        mark: number, see `ui.theme.Theme.series_mark`.
        colour: of its line.
        ground: inside a hollow one.
        unit: pixels of the device in one of the window.
    """
    if not mark:
        return
    shape, hollow, count = mark_parts(mark)
    radius = RADIUS * unit
    painter.setPen(QPen(colour, 1.4 * unit))
    painter.setBrush(ground if hollow else colour)
    for number in range(count):
        middle = at + QPointF(2.4 * radius * (number - (count - 1) / 2), 0)
        if shape == 0:
            painter.drawEllipse(middle, radius, radius)
        else:
            corners = [middle + QPointF(radius * x, radius * y) for x, y in _POLYGONS[shape]]
            painter.drawPolygon(QPolygonF(corners))
    painter.setBrush(Qt.BrushStyle.NoBrush)
