"""The area of one chart that the mouse works on: a range is chosen by dragging, moved, and zoomed."""

from __future__ import annotations

from typing import Final

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtWidgets import QGraphicsSceneWheelEvent

_SHORTEST_DRAG: Final = 6.0
"""Pixels: what is dragged less far was a click that trembled."""
_NOTCH: Final = 120.0
"""Of a wheel, in Qt's eighths of a degree."""
_ZOOM_OF_NOTCH: Final = 0.8
_MOVE_OF_NOTCH: Final = 0.1


class TimeView(pg.ViewBox):  # type: ignore[misc]
    """Shows a range of times, and asks for another one; whoever holds it decides what it shows.

    Dragging with the left button chooses a range. With Shift, with the middle button, or on the axis, it
    moves the time. The wheel zooms with Ctrl, moves with Shift, and is otherwise left to the page.

    Signals:
        choosing: both ends in s of what is being chosen.
        chosen: both ends in s; equal where nothing was chosen.
        moved: both ends in s of what shall be shown.
    """

    choosing = Signal(float, float)
    chosen = Signal(float, float)
    moved = Signal(float, float)

    def __init__(self) -> None:
        super().__init__(enableMenu=False, defaultPadding=0)
        self.setMouseEnabled(x=True, y=False)
        self.disableAutoRange()
        self.setMenuEnabled(False)

    @property
    def _times(self) -> tuple[float, float]:
        start_s, end_s = self.viewRange()[0]
        return float(start_s), float(end_s)

    def _time_at(self, x: float) -> float:
        """Return the time at a pixel from the left, at an edge where it lies beyond."""
        start_s, end_s = self._times
        width = max(1.0, float(self.width()))
        return start_s + min(max(x, 0.0), width) / width * (end_s - start_s)

    def mouseDragEvent(  # noqa: N802 - pyqtgraph's
        self, ev: pg.GraphicsScene.mouseEvents.MouseDragEvent, axis: int | None = None
    ) -> None:
        """Choose a range, or move the time; `axis` tells on which axis the button was pressed."""
        left = ev.button() is Qt.MouseButton.LeftButton
        moves = axis == 0 or bool(ev.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if axis == 1 or not (left or ev.button() is Qt.MouseButton.MiddleButton):
            ev.ignore()
            return
        ev.accept()
        if moves or not left:
            self._move(ev.lastPos().x() - ev.pos().x())
            return
        begin, end = ev.buttonDownPos().x(), ev.pos().x()
        times = sorted((self._time_at(begin), self._time_at(end)))
        if not ev.isFinish():
            self.choosing.emit(*times)
        elif abs(end - begin) < _SHORTEST_DRAG:
            self.chosen.emit(times[0], times[0])
        else:
            self.chosen.emit(*times)

    def _move(self, pixels: float) -> None:
        start_s, end_s = self._times
        by_s = pixels / max(1.0, float(self.width())) * (end_s - start_s)
        self.moved.emit(start_s + by_s, end_s + by_s)

    def wheelEvent(self, ev: QGraphicsSceneWheelEvent, axis: int | None = None) -> None:  # noqa: N802 - Qt's
        """Zoom around the pointer with Ctrl, move with Shift; `axis` tells on which axis the pointer is."""
        notches = ev.delta() / _NOTCH
        held = ev.modifiers()
        if axis != 1 and held & Qt.KeyboardModifier.ControlModifier:
            at_s = self._time_at(self.mapFromScene(QPointF(ev.scenePos())).x())
            start_s, end_s = self._times
            share = _ZOOM_OF_NOTCH**notches
            self.moved.emit(at_s - (at_s - start_s) * share, at_s + (end_s - at_s) * share)
            ev.accept()
        elif axis != 1 and held & Qt.KeyboardModifier.ShiftModifier:
            self._move(-notches * _MOVE_OF_NOTCH * float(self.width()))
            ev.accept()
        else:
            ev.ignore()
