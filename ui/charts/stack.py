"""Charts below each other on one time axis, with a crosshair that reads every line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QCursor, QKeyEvent, QPixmapCache, QShowEvent
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.runs.run_data import RunData
from ui.charts.axes import TimeAxis
from ui.charts.chart import Chart
from ui.charts.lines import CurveData, Line, Wardrobe, curve_data, needed
from ui.charts.live_lines import LiveCurves
from ui.charts.menu import ChartMenu
from ui.charts.painting import Ground
from ui.charts.registry import CHARTS, DEFAULT_CHARTS, ChartSpec, CurveSpec
from ui.charts.scale import Range, format_time
from ui.charts.traces import RunTrace
from ui.theme import Theme

_SKETCH_ABOVE_S = 0.008
"""Where painting the charts takes longer, a gesture moves the old pictures."""
_GESTURE_ENDS_MS = 120
_LOWEST_CHART = 110
_SHORTEST_S = 5.0
_GROWTH = 1.25
_LIVE = "live"
_CACHE_KIB = 64 * 1024


def prefetch(data: RunData, chart_ids: Iterable[str], shown: int = 1) -> RunData:
    """Read what these charts need of one of `shown` runs, in whatever thread this is, and return the run.

    Raises:
        RunFileError: the file cannot be read any more, or is damaged.
    """
    charts = [CHARTS[chart_id] for chart_id in chart_ids if chart_id in CHARTS]
    return data.load(*needed(charts, shown))


class ChartStack(QWidget):
    """Charts of saved runs and of one that lasts.

    The mouse: drag moves the time, the wheel zooms it, a double click shows everything, a click on a line
    chooses its run. Keys: Left and Right move the crosshair, with Shift the time, + and - zoom, Home shows
    everything.

    Signals:
        hovered: time under the crosshair in s; NaN when the pointer has left.
        run_clicked: id of the run whose line was clicked.
        charts_changed: the user chose or reordered charts; ids.
        lines_changed: other lines are shown.
    """

    hovered = Signal(float)
    run_clicked = Signal(str)
    charts_changed = Signal(list)
    lines_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Charts"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        QPixmapCache.setCacheLimit(max(QPixmapCache.cacheLimit(), _CACHE_KIB))
        self.theme = theme
        self.charts: list[Chart] = []
        self._time_axis = TimeAxis(theme)
        self._chart_ids: tuple[str, ...] = ()
        self._runs: tuple[RunTrace, ...] = ()
        self._live: RunTrace | None = None
        self._live_curves = LiveCurves()
        self._focus: str | None = None
        self._planned: Range | None = None
        self._zoom: Range | None = None
        self._times: Range = (0.0, 60.0)
        self._known: dict[tuple[str, str, str], tuple[RunData, CurveData]] = {}
        self._chosen: dict[tuple[str, str], bool] = {}
        self._thick, self._type_scale = False, 1.0
        self._crosshair_s: float | None = None
        self._build()
        self._gesture = QTimer(self, singleShot=True, interval=_GESTURE_ENDS_MS)
        self._gesture.timeout.connect(self._on_gesture_ended)
        theme.changed.connect(self._on_theme_changed)
        self.set_charts(DEFAULT_CHARTS)

    def _build(self) -> None:
        self._canvas = pg.GraphicsLayoutWidget()
        self._canvas.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._canvas.setFrameStyle(0)
        self._canvas.viewport().installEventFilter(self)
        self._canvas.setBackground(self.theme.background)
        self._canvas.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self._canvas.scene().sigMouseClicked.connect(self._on_mouse_clicked)
        self._scroll = QScrollArea(widgetResizable=True)
        self._scroll.setFrameStyle(0)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._canvas)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._scroll)

    # What is shown

    @property
    def chart_ids(self) -> tuple[str, ...]:
        """The charts shown, top first."""
        return self._chart_ids

    @property
    def runs(self) -> tuple[RunTrace, ...]:
        """The saved runs, hidden ones included."""
        return self._runs

    @property
    def traces(self) -> tuple[RunTrace, ...]:
        """The runs that are drawn, the live one last; behind a live one the others are pale."""
        shown = tuple(trace for trace in self._runs if trace.visible)
        if self._live is None:
            return shown
        behind = (replace(trace, pale=trace.run_id != self._focus) for trace in shown)
        return (*behind, self._live)

    def set_charts(self, ids: Iterable[str]) -> None:
        """Show these charts, top first; unknown ids are left out."""
        wanted = tuple(dict.fromkeys(chart_id for chart_id in ids if chart_id in CHARTS))
        if wanted == self._chart_ids and self.charts:
            return
        self._chart_ids = wanted
        self._lay_out()
        self._update_lines()
        self.charts_changed.emit(list(wanted))

    def set_runs(self, runs: Sequence[RunTrace]) -> None:
        """Show these saved runs. Their series should be read before, see `prefetch`."""
        self._runs = tuple(runs)
        ids = {trace.run_id: trace.data for trace in runs}
        self._known = {key: kept for key, kept in self._known.items() if ids.get(key[0]) is kept[0]}
        self._zoom = None
        self._update_lines()

    def set_run_visible(self, run_id: str, *, visible: bool) -> None:
        """Show or hide a saved run."""
        self._runs = tuple(
            replace(trace, visible=visible) if trace.run_id == run_id else trace for trace in self._runs
        )
        self._update_lines()

    def set_curve_visible(self, chart_id: str, curve_id: str, *, visible: bool) -> None:
        """Show or hide a curve of every run."""
        self._chosen[chart_id, curve_id] = visible
        self._update_lines()

    def is_curve_visible(self, chart_id: str, curve_id: str) -> bool:
        """Return whether any run shows a curve."""
        charts = [chart for chart in self.charts if chart.spec.id == chart_id]
        return any(line.curve.id == curve_id for chart in charts for line in chart.lines)

    def set_focus(self, run_id: str | None) -> None:
        """Draw one run thick, with its seconds, checkpoints and stalls."""
        if run_id != self._focus:
            self._focus = run_id
            self._update_lines()

    def set_live(self, data: RunData | None, colour_index: int = 0, label: str = "") -> None:
        """Show a run that lasts, or none; the time shown is the planned one unless it was set."""
        self._live_curves = LiveCurves()
        self._live = None if data is None else RunTrace(_LIVE, data, colour_index, label or data.name)
        self._update_lines()

    def update_live(self, data: RunData) -> None:
        """Show what came since; called once a second."""
        if self._live is None:
            self.set_live(data)
            return
        self._live = replace(self._live, data=data)
        self._update_times()
        self._show_live(anew=False)
        self._align()
        if self._crosshair_s is not None:
            self._show_crosshair(self._crosshair_s)

    def set_planned_range(self, start_s: float, end_s: float) -> None:
        """Show this time as the whole; what lies in the future is empty."""
        self._planned = (start_s, end_s)
        self._update_times()

    def set_thick(self, thick: bool, scale: float = 1.0) -> None:  # noqa: FBT001 - a property's setter
        """Use thick lines and larger type, for a projector."""
        self._thick, self._type_scale = thick, scale
        for chart in self.charts:
            chart.set_type_scale(scale)
        self._time_axis.set_type_scale(scale)
        self._update_lines()

    # Time

    @property
    def times(self) -> Range:
        """The time shown, in s."""
        return self._times

    def show_times(self, start_s: float, end_s: float) -> None:
        """Zoom to a time; at least 5 s of it, and not far beyond what there is."""
        whole = self._whole_times()
        span = max(_SHORTEST_S, min(end_s - start_s, whole[1] - whole[0]))
        start_s = min(max(start_s, whole[0] - span / 2), whole[1] - span / 2)
        self._zoom = (
            None if span >= whole[1] - whole[0] and start_s == whole[0] else (start_s, start_s + span)
        )
        self._begin_gesture()
        self._update_times()

    def show_everything(self) -> None:
        """Show the whole time."""
        self._zoom = None
        self._update_times()

    def _whole_times(self) -> Range:
        if self._planned is not None:
            start_s, end_s = self._planned
        else:
            traces = self.traces
            planned = [trace.data.planned_s or 0.0 for trace in traces if trace is self._live]
            end_s = max([trace.data.end_s for trace in traces] + planned, default=60.0)
            warm_up_s = min((trace.data.begin_s for trace in traces), default=0.0)
            end_s = max(end_s, _SHORTEST_S)
            start_s = max(warm_up_s, -0.15 * end_s)
        if self._live is not None:
            while self._live.data.end_s > end_s:
                end_s = start_s + (end_s - start_s) * _GROWTH
        return start_s, end_s

    def _update_times(self) -> None:
        times = self._zoom or self._whole_times()
        if times != self._times or any(chart.times != times for chart in self.charts):
            self._times = times
            for chart in self.charts:
                chart.set_times(times)
            self._time_axis.picture = None
            self._show_crosshair(self._crosshair_s)

    def _begin_gesture(self) -> None:
        """While a gesture lasts, pictures are moved where painting them anew would make it jerk."""
        if sum(chart.layer.rendering_s for chart in self.charts) > _SKETCH_ABOVE_S:
            for chart in self.charts:
                chart.layer.sketching = True
        self._gesture.start()

    def _on_gesture_ended(self) -> None:
        for chart in self.charts:
            chart.layer.sketching = False
            chart.layer.update()

    # Lines

    def _wardrobe(self) -> Wardrobe:
        shown = sum(not trace.pale for trace in self.traces)
        return Wardrobe(self.theme, self._focus, shown, self._thick)

    def _update_lines(self) -> None:
        self._update_times()
        wardrobe = self._wardrobe()
        saved = [trace for trace in self.traces if trace is not self._live]
        ground = self._saved_ground(saved)
        for chart in self.charts:
            lines = [
                wardrobe.dress(trace, chart.spec, curve, self._curve_data(trace, chart.spec, curve))
                for trace in saved
                for curve in chart.spec.curves
                if self._wants(wardrobe, chart.spec, curve, trace)
            ]
            chart.set_saved([line for line in lines if len(line.main.t_s)], ground)
        self._show_live(anew=True)
        self._align()
        self.lines_changed.emit()

    def _wants(self, wardrobe: Wardrobe, chart: ChartSpec, curve: CurveSpec, trace: RunTrace) -> bool:
        return self._chosen.get((chart.id, curve.id), wardrobe.is_shown(curve, trace))

    def _curve_data(self, trace: RunTrace, chart: ChartSpec, curve: CurveSpec) -> CurveData:
        key = (trace.run_id, chart.id, curve.id)
        if key not in self._known:
            self._known[key] = trace.data, curve_data(trace.data, curve, chart.factor)
        return self._known[key][1]

    def _saved_ground(self, saved: Sequence[RunTrace]) -> Ground:
        """Events of the run in focus, or of the only one: of several they could not be told apart."""
        wanted = [trace for trace in saved if trace.run_id == self._focus]
        if not wanted and self._live is None and len(saved) == 1:
            wanted = list(saved)
        return _ground(wanted[0].data) if wanted else Ground()

    def _show_live(self, *, anew: bool) -> None:
        live = self._live
        wardrobe = self._wardrobe()
        ground = Ground() if live is None else _ground(live.data)
        for chart in self.charts:
            lines: list[Line] = []
            changed_s = math.inf
            for curve in chart.spec.curves if live is not None else ():
                if live is not None and self._wants(wardrobe, chart.spec, curve, live):
                    data, since_s = self._live_curves.update(live.data, chart.spec, curve)
                    changed_s = min(changed_s, since_s)
                    lines.append(wardrobe.dress(live, chart.spec, curve, data))
            end_s = 0.0 if live is None else live.data.end_s
            chart.set_live(lines, ground, end_s, None if anew else changed_s)
            chart.fit_values(anew=anew)
            if anew:
                chart.explain()

    # Layout

    def _lay_out(self) -> None:
        layout = self._canvas.ci
        layout.clear()
        self._time_axis = TimeAxis(self.theme)
        self.charts = []
        layout.setContentsMargins(0, 0, 8, 0)
        layout.layout.setSpacing(0)
        for place, chart_id in enumerate(self._chart_ids):
            chart = Chart(CHARTS[chart_id], self.theme, self._time_axis)
            chart.moved.connect(self.show_times)
            chart.set_type_scale(self._type_scale)
            layout.addItem(chart.heading, 2 * place, 0, 1, 2)
            layout.addItem(chart.axis, 2 * place + 1, 0)
            layout.addItem(chart.view, 2 * place + 1, 1)
            layout.layout.setRowStretchFactor(2 * place + 1, 1)
            self.charts.append(chart)
        if self.charts:
            layout.addItem(self._time_axis, 2 * len(self.charts), 1)
            self._time_axis.linkToView(self.charts[-1].view)
            self._time_axis.set_type_scale(self._type_scale)
        self._canvas.setMinimumHeight(_LOWEST_CHART * len(self.charts) + 24)

    def _align(self) -> None:
        width = math.ceil(max((chart.wanted_axis_width() for chart in self.charts), default=0.0))
        for chart in self.charts:
            chart.set_axis_width(width)

    def _on_theme_changed(self) -> None:
        self._canvas.setBackground(self.theme.background)
        self._time_axis.dress()
        for chart in self.charts:
            chart.dress()
        self._update_lines()

    # Pointer and keys

    def _chart_at(self, scene: QPointF) -> Chart | None:
        return next((chart for chart in self.charts if chart.holds(scene)), None)

    def _on_mouse_moved(self, scene: QPointF) -> None:
        chart = self._chart_at(scene)
        self._show_crosshair(None if chart is None else chart.time_at(scene))

    def _show_crosshair(self, t_s: float | None) -> None:
        if t_s is None and self._crosshair_s is None:
            return
        self._crosshair_s = t_s
        title = "" if t_s is None else format_time(t_s, 600 if abs(t_s) < 3600 else 0)
        for chart in self.charts:
            chart.show_crosshair(t_s, title)
        self.hovered.emit(math.nan if t_s is None else t_s)

    def _on_mouse_clicked(self, event: pg.GraphicsScene.mouseEvents.MouseClickEvent) -> None:
        chart = self._chart_at(event.scenePos())
        if chart is None:
            return
        if event.button() is Qt.MouseButton.RightButton:
            self._open_menu(chart)
        elif event.double():
            self.show_everything()
        elif event.button() is Qt.MouseButton.LeftButton:
            run_id = chart.run_at(event.scenePos())
            if run_id is not None:
                self.run_clicked.emit(run_id)

    def _open_menu(self, chart: Chart) -> None:
        ChartMenu(self, chart).popup(QCursor.pos())

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.charts and event.reason() is QContextMenuEvent.Reason.Keyboard:
            ChartMenu(self, self.charts[0]).popup(event.globalPos())

    @override
    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self._show_crosshair(None)
        return False

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._align()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        start_s, end_s = self._times
        span = end_s - start_s
        keys: dict[Qt.Key, Callable[[], None]] = {
            Qt.Key.Key_Plus: lambda: self.show_times(start_s + span / 4, end_s - span / 4),
            Qt.Key.Key_Equal: lambda: self.show_times(start_s + span / 4, end_s - span / 4),
            Qt.Key.Key_Minus: lambda: self.show_times(start_s - span / 2, end_s + span / 2),
            Qt.Key.Key_Home: self.show_everything,
            Qt.Key.Key_Left: lambda: self._step(event, -span / 100),
            Qt.Key.Key_Right: lambda: self._step(event, span / 100),
            Qt.Key.Key_Escape: lambda: self._show_crosshair(None),
        }
        action = keys.get(Qt.Key(event.key()))
        if action is None or (event.key() == Qt.Key.Key_Escape and self._crosshair_s is None):
            super().keyPressEvent(event)
        else:
            action()

    def _step(self, event: QKeyEvent, seconds: float) -> None:
        start_s, end_s = self._times
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.show_times(start_s + 10 * seconds, end_s + 10 * seconds)
            return
        at_s = (start_s + end_s) / 2 if self._crosshair_s is None else self._crosshair_s + seconds
        self._show_crosshair(min(max(at_s, start_s), end_s))


def _ground(data: RunData) -> Ground:
    # A checkpoint that lasts is a line only: its bar would be painted anew every second.
    checkpoints = tuple(
        (start_s, start_s if event.kind == "checkpoint-start" else end_s)
        for start_s, end_s, event in data.checkpoints()
    )
    return Ground(tuple(data.stalls()), checkpoints)
