"""The content of one chart, cached as pictures: constant parts are painted once.

Two pixmaps of the chart's size: `base` has ground, grid and saved runs; `whole` is the base with all of the
live run except its last seconds. A new second costs copying a strip and painting those.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontInfo, QPaintDevice, QPainter, QPixmap
from PySide6.QtWidgets import QGraphicsItem, QGraphicsObject, QStyleOptionGraphicsItem, QWidget
from typing_extensions import override

from ui.charts.data.lines import Line
from ui.charts.data.scale import GAP_S, Frame, Range
from ui.charts.painting.painting import (
    ChartBackground,
    draw_lines,
    paint_events,
    paint_grid,
    paint_lines,
    paint_notes,
    paint_stalls,
    paint_warm_up,
)
from ui.theme import Theme, painting

_ROUNDING_S: Final = 0.5
_TAIL_S: Final = 40.0
"""Settled seconds that are painted again every second, before they are added to the picture."""
_MARGIN: Final = 4

Ticks = Callable[[Frame], tuple[Sequence[float], Sequence[float]]]


class CurvesItem(QGraphicsObject):
    """Paints the lines of a chart into its parent's rectangle.

    Attributes:
        rendering_s: duration of the last complete painting.
        sketching: while True an old picture is moved instead of painting a new one.
    """

    def __init__(
        self, theme: Theme, parent: QGraphicsItem, ticks: Ticks, *, is_log: bool, gap: float = GAP_S
    ) -> None:
        super().__init__(parent)
        self._theme, self._ticks, self._is_log, self._gap = theme, ticks, is_log, gap
        self._times: Range = (0.0, 60.0)
        self._values: Range = (0.1, 10.0) if is_log else (0.0, 1.0)
        self._size = (0.0, 0.0)
        self._saved: Sequence[Line] = ()
        self._saved_ground, self._live_ground = ChartBackground(), ChartBackground()
        self._live: Sequence[Line] = ()
        self._live_end_s = 0.0
        self._message = ""
        self._base: tuple[Frame, QPixmap] | None = None
        self._whole: tuple[Frame, QPixmap] | None = None
        self._frozen_s = 0.0
        self._until_s = math.inf
        self.rendering_s = 0.0
        self.sketching = False

    def set_size(self, width: float, height: float) -> None:
        """Set the size of the parent, in its pixels."""
        if (width, height) != self._size:
            self.prepareGeometryChange()
            self._size = (width, height)
            self.update()

    def set_ranges(self, times: Range, values: Range) -> None:
        """Set the visible time and values."""
        if (times, values) != (self._times, self._values):
            self._times, self._values = times, values
            self.update()

    def show_until(self, t_s: float) -> None:
        """Hide what is after a time."""
        (start_s, end_s), (width, height) = self._times, self._size
        before, now = (
            (min(max(each, start_s), end_s) - start_s) / (end_s - start_s) * width
            for each in (self._until_s, t_s)
        )
        self._until_s = t_s
        self.update(QRectF(min(before, now) - _MARGIN, 0, abs(now - before) + 2 * _MARGIN, height))

    def set_saved(self, lines: Sequence[Line], ground: ChartBackground) -> None:
        """Set the lines of runs that do not change."""
        self._saved, self._saved_ground = lines, ground
        self.invalidate()

    def set_live(self, lines: Sequence[Line], ground: ChartBackground, end_s: float) -> None:
        """Set the lines of a current run."""
        self._live, self._live_ground, self._live_end_s = lines, ground, end_s
        self._whole = None
        self.update()

    def grow_live(
        self, lines: Sequence[Line], ground: ChartBackground, end_s: float, changed_s: float
    ) -> None:
        """Update the lines of the current run; nothing before `changed_s` is different."""
        if ground != self._live_ground or changed_s < self._frozen_s or self._whole is None:
            self.set_live(lines, ground, end_s)
            return
        frame = self._whole[0]
        self._live, self._live_end_s = lines, end_s
        ratio = self._size[0] / frame.width
        left = frame.x(self._frozen_s) * ratio - _MARGIN
        right = frame.x(end_s) * ratio + _MARGIN
        self.update(QRectF(left, 0, right - left, self._size[1]))

    def set_message(self, text: str) -> None:
        """Set the text shown instead of lines."""
        if text != self._message:
            self._message = text
            self.invalidate()

    def invalidate(self) -> None:
        """Repaint everything."""
        self._base = self._whole = None
        self.update()

    @property
    def _settles_s(self) -> float:
        """Seconds after which a centred mean is final: half of its width."""
        widths = (line.data.width_s for line in self._live if line.data.mean is not None)
        return max(widths, default=0.0) / 2 + _ROUNDING_S

    @override
    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, *self._size)

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        device: QPaintDevice = painter.device()
        ratio = device.devicePixelRatio()
        # Not deviceTransform: it includes the widget's position in its window, which does not change.
        area = painter.worldTransform().mapRect(self.boundingRect())
        left, top = round(area.left() * ratio), round(area.top() * ratio)
        frame = self._frame(round(area.right() * ratio) - left, round(area.bottom() * ratio) - top)
        if frame is None:
            return
        painter.save()
        painter.resetTransform()
        painter.scale(1 / ratio, 1 / ratio)
        painter.translate(left, top)
        painter.setClipRect(QRectF(0, 0, frame.width, frame.height))
        if not (self.sketching and self._sketch(painter, frame)):
            self._paint_pictures(painter, frame, ratio)
        painter.restore()

    def _frame(self, width: int, height: int) -> Frame | None:
        if width < 2 or height < 2 or self._times[1] <= self._times[0]:
            return None
        return Frame(*self._times, *self._values, width, height, self._is_log, self._gap)

    def _sketch(self, painter: QPainter, frame: Frame) -> bool:
        """Paint the old picture at its current position; newly visible parts stay empty.

        Returns False if there is none, or if it differs in more than the time.
        """
        if self._whole is None:
            return False
        old, picture = self._whole
        if (old.low, old.high, old.width, old.height) != (frame.low, frame.high, frame.width, frame.height):
            return False
        painter.fillRect(QRectF(0, 0, frame.width, frame.height), self._theme.background)
        left, right = frame.x(old.start_s), frame.x(old.end_s)
        if abs(right - left - frame.width) < 0.5:
            painter.drawPixmap(QPointF(round(left), 0), picture)
        else:
            target = QRectF(left, 0, right - left, frame.height)
            painter.drawPixmap(target, picture, QRectF(0, 0, old.width, old.height))
        return True

    def _paint_pictures(self, painter: QPainter, frame: Frame, ratio: float) -> None:
        began_s = time.perf_counter()
        fresh = self._base is None or self._base[0] != frame
        if self._base is None or self._base[0] != frame:
            self._base, self._whole = (frame, self._paint_base(frame, ratio)), None
        if self._whole is None:
            self._whole = (frame, self._paint_whole(self._base[1], frame, ratio))
        if fresh:
            self.rendering_s = time.perf_counter() - began_s
        if self._live and self._live_end_s - self._frozen_s > _TAIL_S + self._settles_s:
            self._freeze(self._whole[1], frame, ratio)
        painter.drawPixmap(QPointF(0, 0), self._whole[1])
        if self._live:
            paint_lines(painter, frame, self._live, ratio, self._frozen_s)
        if self._until_s < frame.end_s:
            left = max(0.0, frame.x(self._until_s))
            painter.setClipRect(QRectF(left, 0, frame.width - left, frame.height))
            painter.fillRect(painter.clipBoundingRect(), self._theme.background)
            paint_grid(painter, frame, self._theme, *self._ticks(frame))

    def _paint_base(self, frame: Frame, ratio: float) -> QPixmap:
        picture = QPixmap(frame.width, frame.height)
        picture.fill(self._theme.background)
        with painting(picture) as painter:
            self._paint_saved(painter, frame, ratio)
        return picture

    def _paint_saved(self, painter: QPainter, frame: Frame, ratio: float) -> None:
        phased = self._live_ground if self._live_ground.phases else self._saved_ground
        paint_warm_up(painter, frame, self._theme, phased)
        paint_stalls(painter, frame, self._theme, self._saved_ground)
        paint_grid(painter, frame, self._theme, *self._ticks(frame))
        paint_events(painter, frame, self._theme, self._saved_ground, ratio)
        paint_lines(painter, frame, self._saved, ratio)
        paint_notes(painter, frame, self._theme, self._saved_ground, ratio)
        if self._message:
            font = self._theme.font()
            font.setPixelSize(round(QFontInfo(font).pixelSize() * ratio))
            painter.setFont(font)
            painter.setPen(self._theme.muted)
            area = QRectF(0, 0, frame.width, frame.height)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._message)

    def _paint_whole(self, base: QPixmap, frame: Frame, ratio: float) -> QPixmap:
        if not self._live:
            return base
        picture = base.copy()
        with painting(picture) as painter:
            paint_stalls(painter, frame, self._theme, self._live_ground)
            paint_events(painter, frame, self._theme, self._live_ground, ratio)
            self._frozen_s = self._live_end_s - self._settles_s
            self._clip_settled(painter, frame)
            paint_lines(painter, frame, self._live, ratio)
            paint_notes(painter, frame, self._theme, self._live_ground, ratio)
        return picture

    def _freeze(self, picture: QPixmap, frame: Frame, ratio: float) -> None:
        """Add newly settled data to the picture."""
        with painting(picture) as painter:
            before_s, self._frozen_s = self._frozen_s, self._live_end_s - self._settles_s
            self._clip_settled(painter, frame)
            paint_lines(painter, frame, self._live, ratio, before_s)

    def _clip_settled(self, painter: QPainter, frame: Frame) -> None:
        painter.setClipRect(QRectF(0, 0, max(0.0, frame.x(self._frozen_s) + 1), frame.height))

    def draw(self, painter: QPainter) -> None:
        """Paint everything again as lines, at the painter's origin, in the window's pixels: for files."""
        frame = self._frame(round(self._size[0]), round(self._size[1]))
        if frame is None:
            return
        painter.save()
        for ground in (self._saved_ground, self._live_ground):
            if ground is self._saved_ground:
                phased = self._live_ground if self._live_ground.phases else self._saved_ground
                paint_warm_up(painter, frame, self._theme, phased)
                paint_grid(painter, frame, self._theme, *self._ticks(frame))
            paint_stalls(painter, frame, self._theme, ground)
            paint_events(painter, frame, self._theme, ground, 1.0)
        draw_lines(painter, frame, (*self._saved, *self._live))
        for ground in (self._saved_ground, self._live_ground):
            paint_notes(painter, frame, self._theme, ground, 1.0)
        painter.restore()
