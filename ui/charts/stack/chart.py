"""One chart of the stack: heading, value axis, content, crosshair.

In its content the mouse chooses a range by dragging, moves it, and zooms.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsSceneWheelEvent, QGraphicsWidget, QScrollArea
from typing_extensions import override

from app.domain.text import tr
from ui.charts.data.curves import width_words
from ui.charts.data.lines import Line
from ui.charts.data.registry import ChartSpec, charts_along
from ui.charts.data.scale import TIME, Frame, Range, XAxisKind, keep_range, value_range
from ui.charts.painting.axes import Caption, Heading, Key, TimeAxis, ValueAxis
from ui.charts.painting.crosshair import Crosshair, LineLabels, labels_of, read_lines
from ui.charts.painting.layer import CurvesItem
from ui.charts.painting.painting import ChartBackground
from ui.theme import Theme

_SHORTEST_DRAG: Final = 6.0
"""Pixels; a shorter drag was an unsteady click."""
_NOTCH: Final = 120.0
"""One notch of a wheel, in Qt's eighths of a degree."""
_ZOOM_OF_NOTCH: Final = 0.8
_MOVE_OF_NOTCH: Final = 0.1


class TimeView(pg.ViewBox):  # type: ignore[misc]
    """Show a range of times, and request changes of it; the owner decides.

    Dragging with the left button chooses a range. With Shift, with the middle button, or on the axis, it
    moves the time. The wheel zooms with Ctrl, moves with Shift, and is otherwise left to the page.

    Signals:
        choosing: both ends in s of the range being chosen.
        chosen: both ends in s; equal for none.
        moved: both ends in s of the requested range.
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
        """Return the time at a pixel from the left, clamped to the edges."""
        start_s, end_s = self._times
        width = max(1.0, float(self.width()))
        return start_s + min(max(x, 0.0), width) / width * (end_s - start_s)

    def mouseDragEvent(  # noqa: N802 - pyqtgraph's
        self, ev: pg.GraphicsScene.mouseEvents.MouseDragEvent, axis: int | None = None
    ) -> None:
        """Choose a range, or move the time; `axis` is the axis on which the button was pressed."""
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
        """Zoom around the pointer with Ctrl, move with Shift; `axis` is the axis under the pointer."""
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


_CLICK_REACH = 8.0


class Chart(QObject):
    """A chart in four cells of a graphics layout: heading above, axis left, view, line names right."""

    def __init__(self, spec: ChartSpec, theme: Theme, time_axis: TimeAxis) -> None:
        super().__init__()
        self.spec = spec
        self._theme, self.time_axis = theme, time_axis
        self.heading = Heading(theme, spec)
        self.labels = LineLabels(theme)
        self.axis = ValueAxis(theme, is_log=spec.log_y)
        self.view = TimeView()
        self.axis.linkToView(self.view)
        self.layer = CurvesItem(theme, self.view, self._ticks, is_log=spec.log_y, gap=time_axis.kind.gap)
        self.crosshair = Crosshair(theme, self.view)
        self.view.sigResized.connect(self._on_view_resized)
        self.saved: Sequence[Line] = ()
        self.live: Sequence[Line] = ()
        self.limits: Sequence[Line] = ()
        self._resting: tuple[Range, list[Range]] | None = None
        self._ground = ChartBackground()
        self._values: Range | None = None
        self._until_s = math.inf
        self._times: Range = (0.0, 60.0)
        self.set_times(self._times)
        self.apply_style()

    @property
    def lines(self) -> tuple[Line, ...]:
        """All drawn lines."""
        return (*self.live, *self.saved)

    @property
    def times(self) -> Range:
        """The visible time, in s."""
        return self._times

    @property
    def values(self) -> Range:
        """Range of the value axis."""
        return self._values or value_range(None, zero_based=self.spec.zero_based, is_log=self.spec.log_y)

    def apply_style(self) -> None:
        """Take the theme's colours."""
        self.view.setBackgroundColor(self._theme.background)
        self.axis.apply_style()
        self.heading.update()
        self.labels.update()
        self.layer.invalidate()

    def set_shown(self, *, shown: bool) -> None:
        """Show or hide the chart; a hidden one has no lines."""
        for item in (self.heading, self.axis, self.view, self.labels):
            item.setVisible(shown)
        if not shown:
            self.limits, self._resting = (), None
            self.set_saved((), ChartBackground())
            self.set_live((), ChartBackground(), 0.0, None)

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self.heading.set_type_scale(scale)
        self.axis.set_type_scale(scale)
        self.labels.set_type_scale(scale)
        self.crosshair.set_type_scale(scale)

    def set_saved(self, lines: Sequence[Line], ground: ChartBackground) -> None:
        """Set the lines of runs that do not change."""
        self.saved, self._ground, self._resting = lines, ground, None
        self.layer.set_saved((*self.limits, *lines), ground)

    def set_limits(self, limits: Sequence[Line]) -> bool:
        """Set the level lines for the raw performance of the storage.

        Returns whether they changed; the same ones are not repainted.
        """
        if list(map(_drawn, limits)) == list(map(_drawn, self.limits)):
            return False
        self.limits, self._resting = limits, None
        self.layer.set_saved((*limits, *self.saved), self._ground)
        return True

    def set_live(
        self, lines: Sequence[Line], ground: ChartBackground, end_s: float, changed_s: float | None
    ) -> None:
        """Set the lines of a current run; nothing before `changed_s` is new, None if all of it is."""
        self.live = lines
        if changed_s is None:
            self.layer.set_live(lines, ground, end_s)
            self.labels.set_labels(labels_of(self.lines, self.spec))
        else:
            self.layer.grow_live(lines, ground, end_s, changed_s)
            self.labels.grow(lines)

    def fit_values(self, whole: Range, *, reset: bool) -> bool:
        """Fit the value axis to its lines in the whole time; unchanged if they fit with room.

        Earlier data, such as loading, is ignored: it would only flatten the lines.

        Returns whether it changed.
        """
        if self._resting is None or self._resting[0] != whole:
            self._resting = whole, _extremes((*self.saved, *self.limits), whole)
        found = _extremes(self.live, whole) + self._resting[1]
        extremes = (min(low for low, _ in found), max(high for _, high in found)) if found else None
        wanted = value_range(extremes, zero_based=self.spec.zero_based, is_log=self.spec.log_y)
        if self.spec.highest is not None:
            wanted = wanted[0], min(wanted[1], self.spec.highest)
        kept = keep_range(None if reset else self._values, wanted, is_log=self.spec.log_y)
        changed = self.axis.set_blank(blank=extremes is None)
        if changed:
            self.layer.invalidate()
        if kept == self._values and not changed:
            return False
        self._values = kept
        low, high = (math.log10(kept[0]), math.log10(kept[1])) if self.spec.log_y else kept
        self.view.setYRange(low, high, padding=0)
        self._update_layer()
        return True

    def set_times(self, times: Range) -> None:
        """Set the visible time."""
        self._times = times
        self.view.setXRange(*times, padding=0)
        self._update_layer()

    def show_until(self, t_s: float) -> None:
        """Hide what is after a time; names are at the ends of what is shown."""
        self._until_s = t_s
        self.layer.show_until(t_s)
        self._place_labels()

    def wanted_axis_width(self) -> float:
        """Return the pixels needed by the value axis."""
        return self.axis.wanted_width(*self.values, max(40.0, self.view.height()))

    def set_axis_width(self, pixels: float) -> None:
        """Set the axis width, equal for all charts so that they start at the same position."""
        self.axis.setWidth(pixels)
        self.heading.set_indent(pixels)

    def wanted_label_width(self) -> float:
        """Return the pixels needed by the line names at the right; 0 for none."""
        return self.labels.wanted_width()

    def explain(self, empty: str, devices: str, load: str) -> None:
        """Explain the line styles in the heading, and show `empty` if there are no lines.

        Args:
            empty: why there are no lines.
            devices: of the sums over disks, in words.
            load: what latencies omit, in words.
        """
        self.heading.set_load(load if self.spec.is_of_latencies and self.lines else "")
        self.heading.set_devices(devices if self.spec.is_of_devices and self.lines else "")
        self.layer.set_message("" if self.lines else empty)
        keys: dict[str, Key] = {}
        full = {line.run_id for line in self.lines if line.rank}
        for line in sorted(self.lines, key=lambda line: -line.rank):
            colour = line.colour if len(full) <= 1 else self._theme.muted
            keys.setdefault(line.curve.id, Key(line.curve.label, colour, line.style))
        ordered = [keys[curve.id] for curve in self.spec.curves if curve.id in keys]
        known = [Key(line.label, line.colour, Qt.PenStyle.DashDotDotLine) for line in self.limits]
        self.heading.set_keys((*(ordered if len(self.spec.curves) > 1 else ()), *known), notes_of(self.lines))

    def show_crosshair(self, t_s: float | None, title: str) -> None:
        """Show the values of every line at a time; None to hide the crosshair."""
        if t_s is None or not self._times[0] <= t_s <= self._times[1]:
            self.crosshair.show_at(None, None)
            return
        x = (t_s - self._times[0]) / (self._times[1] - self._times[0]) * self.view.width()
        self.crosshair.show_at(x, read_lines(self.lines, self.spec.curves, t_s, title))

    def show_choosing(self, times: Range | None) -> None:
        """Shade a time being chosen; None for none."""
        frame = Frame(*self._times, *self.values, max(1, int(self.view.width())), 1, self.spec.log_y)
        ends = None if times is None else (frame.x(times[0]), frame.x(times[1]))
        self.crosshair.show_choosing(ends)

    def time_at(self, scene: QPointF) -> float:
        """Return the time under a point of the scene."""
        x: float = self.view.mapFromScene(scene).x()
        return self._times[0] + x / max(1.0, float(self.view.width())) * (self._times[1] - self._times[0])

    def holds(self, scene: QPointF) -> bool:
        """Return whether a point of the scene is on the content."""
        return bool(self.view.boundingRect().contains(self.view.mapFromScene(scene)))

    def run_at(self, scene: QPointF) -> str | None:
        """Return the run with the line nearest to a point, None if none is near."""
        place = self.view.mapFromScene(scene)
        frame = Frame(
            *self._times, *self.values, int(self.view.width()), int(self.view.height()), self.spec.log_y
        )
        near: list[tuple[float, str]] = []
        for line in self.lines:
            value = line.read(self.time_at(scene))
            if value is not None:
                near.append((abs(frame.y(value) - place.y()), line.run_id))
        best = min(near, default=(math.inf, ""))
        return best[1] if best[0] <= _CLICK_REACH else None

    def _ticks(self, frame: Frame) -> tuple[Sequence[float], Sequence[float]]:
        width, height = self.view.width(), self.view.height()
        times = self.time_axis.ticks(frame.start_s, frame.end_s, width)
        return times, self.axis.ticks(frame.low, frame.high, height)

    def _on_view_resized(self, *_: object) -> None:
        self.layer.set_size(self.view.width(), self.view.height())
        self._place_labels()
        self.crosshair.set_size(self.view.width(), self.view.height())

    def _update_layer(self) -> None:
        self.layer.set_ranges(self._times, self.values)
        self._place_labels()

    def _place_labels(self) -> None:
        times = self._times[0], min(self._times[1], self._until_s)
        self.labels.set_ranges(times, self.values, self.view.height(), is_log=self.spec.log_y)


def notes_of(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return how the lines are computed, as texts from longest to shortest."""
    smooth = [line.data for line in lines if line.data.mean is not None]
    if not smooth:
        repeats = max((line.data.repeats for line in lines), default=1)
        return (
            (tr("mean of the repeats, band: minimum to maximum"), tr("mean of the repeats"))
            if repeats > 1
            else ()
        )
    width = width_words(smooth[0].width_s)
    if any(data.repeats > 1 for data in smooth):
        return (
            tr("{width} mean of the repeats, band: minimum to maximum").format(width=width),
            tr("{width} mean, band: repeats").format(width=width),
            tr("{width} mean").format(width=width),
        )
    short = tr("{width} mean").format(width=width)
    if any(data.band is not None for data in smooth):
        return tr("{width} mean, band: lowest to highest second").format(width=width), short
    if any(line.seconds_colour is not None for line in lines):
        return tr("thin line, seconds; thick line, {width} mean").format(width=width), short
    return (short,)


def _extremes(lines: Sequence[Line], whole: Range) -> list[Range]:
    return [extremes for line in lines if (extremes := line.extremes_in(whole)) is not None]


def _drawn(limit: Line) -> tuple[str, str, Range]:
    """Return everything that determines the picture of a level line."""
    times = limit.main.t_s
    return limit.label, limit.colour.name(), (float(times[0]), float(times[-1]))


# The scene of a stack's charts, in an area that scrolls if there are many.


_LOWEST_CHART = 110
_NAMES_SHARE = 0.26
"""Largest share of the width for names at the ends of lines."""
_CACHE_KIB = 64 * 1024


class Canvas(QScrollArea):
    """Lay out charts one below the other, with value axes of equal width and one time axis.

    Attributes:
        charts: the wanted ones, top first.
        shown: those of them with room.

    Signals:
        pointed: the pointer is at this point of the scene.
        left: the pointer has left.
        moved: the user moved or zoomed the time; start and end in s.
        choosing: a range is being dragged; both ends in s.
        chosen: a range was dragged; both ends in s, equal for none.
        clicked: a mouse button was clicked at this point of the scene; whether twice.
    """

    pointed = Signal(QPointF)
    left = Signal()
    moved = Signal(float, float)
    choosing = Signal(float, float)
    chosen = Signal(float, float)
    clicked = Signal(QPointF, Qt.MouseButton, bool)

    def __init__(self, theme: Theme, kind: XAxisKind = TIME) -> None:
        super().__init__(widgetResizable=True)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # time runs to the right in every script
        # Axes and headings cache their pictures there; Qt's default of 10 MB is too small and they thrash.
        QPixmapCache.setCacheLimit(max(QPixmapCache.cacheLimit(), _CACHE_KIB))
        self._theme = theme
        self._type_scale = 1.0
        self._made: dict[str, Chart] = {}
        self.charts: list[Chart] = []
        self.shown: list[Chart] = []
        self._central = QGraphicsWidget()
        self._central.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._grid = QGraphicsGridLayout(self._central)
        self._grid.setSpacing(0)
        self.time_axis = TimeAxis(theme, kind)
        self._caption = Caption(theme, self.time_axis)
        for item in (self.time_axis, self._caption):
            item.setParentItem(self._central)
        self.setFrameStyle(0)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view = pg.GraphicsView()
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._view.setFrameStyle(0)
        self._view.setBackground(theme.background)
        self._view.viewport().installEventFilter(self)
        self._view.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self._view.scene().sigMouseClicked.connect(self._on_mouse_clicked)
        self._view.setCentralItem(self._central)
        self.setWidget(self._view)

    def lay_out(self, chart_ids: Iterable[str]) -> None:
        """Show these charts, top first.

        A chart once created stays in the scene, hidden: after removal pyqtgraph's items would be deleted by
        Python's garbage collection, which crashes (PySide6 6.11, pyqtgraph 0.14).
        """
        ids = list(chart_ids)
        for chart_id in ids:
            if chart_id not in self._made:
                self._made[chart_id] = self._make(chart_id)
        self.charts = [self._made[chart_id] for chart_id in ids]
        self._place(self.charts)

    def leave_out(self, empty: Collection[Chart]) -> None:
        """Hide these charts, unless that would hide all."""
        shown = [chart for chart in self.charts if chart not in empty] or self.charts
        if shown != self.shown:
            self._place(shown)

    def _place(self, shown: Sequence[Chart]) -> None:
        self.shown = list(shown)
        for place in reversed(range(self._grid.count())):
            self._grid.removeAt(place)
        for chart in self._made.values():
            chart.set_shown(shown=chart in self.shown)
        for row, chart in enumerate(self.shown):
            self._grid.addItem(chart.heading, 2 * row, 0, 1, 3)
            self._grid.addItem(chart.axis, 2 * row + 1, 0)
            self._grid.addItem(chart.view, 2 * row + 1, 1)
            self._grid.addItem(chart.labels, 2 * row + 1, 2)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretchFactor(row, row % 2 if row < 2 * len(self.shown) else 0)
        if self.shown:
            self._grid.addItem(self._caption, 2 * len(self.shown), 0)
            self._grid.addItem(self.time_axis, 2 * len(self.shown), 1)
            self.time_axis.linkToView(self.shown[-1].view)
        for item in (self._caption, self.time_axis):
            item.setVisible(bool(self.shown))
        self.set_type_scale(self._type_scale)
        self._central.setGeometry(QRectF(self._view.rect()))

    def _make(self, chart_id: str) -> Chart:
        chart = Chart(charts_along(self.time_axis.kind.along)[chart_id], self._theme, self.time_axis)
        chart.set_type_scale(self._type_scale)
        chart.view.moved.connect(self.moved)
        chart.view.choosing.connect(self.choosing)
        chart.view.chosen.connect(self.chosen)
        for item in (chart.heading, chart.axis, chart.view, chart.labels):
            item.setParentItem(self._central)
        return chart

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self._type_scale = scale
        for chart in self._made.values():
            chart.set_type_scale(scale)
        self.time_axis.set_type_scale(scale)
        self._view.setMinimumHeight(round(_LOWEST_CHART * scale) * len(self.shown) + 24)

    def align(self) -> None:
        """Align the widths of all value axes, and of the line names at the right, to the widest."""
        widths = [chart.wanted_axis_width() for chart in self.shown]
        width = math.ceil(max(self._caption.wanted_width(), *widths, 0.0))
        for chart in self.shown:
            chart.set_axis_width(width)
        wanted = max((chart.wanted_label_width() for chart in self.shown), default=0.0)
        names = math.ceil(min(wanted, _NAMES_SHARE * max(1.0, float(self.viewport().width()))))
        for chart in self._made.values():
            chart.labels.set_width(names)
        self._grid.setContentsMargins(0, 0, max(0.0, self.time_axis.overhang - names), 0)

    def apply_style(self) -> None:
        """Take the theme's colours."""
        self._view.setBackground(self._theme.background)
        self.time_axis.apply_style()
        for chart in self._made.values():
            chart.apply_style()

    def chart_at(self, scene: QPointF) -> Chart | None:
        """Return the chart with content at a point of the scene."""
        return next((chart for chart in self.shown if chart.holds(scene)), None)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self.left.emit()
        return super().eventFilter(watched, event)

    def _on_mouse_moved(self, scene: QPointF) -> None:
        self.pointed.emit(scene)

    def _on_mouse_clicked(self, event: pg.GraphicsScene.mouseEvents.MouseClickEvent) -> None:
        self.clicked.emit(event.scenePos(), event.button(), event.double())
