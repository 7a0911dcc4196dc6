"""Charts stacked on one time axis, with a crosshair that reads every line.

Also the line below the charts with the visible part of the time, the context menu of a chart, and charts in
words for screen readers: quantity, unit, figures of each line, events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QCursor, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.text import format_duration, tr, trn
from app.runfile.series import RunData, mean_width
from ui.charts.data.curves import needed
from ui.charts.data.lines import BandKind, Line
from ui.charts.data.registry import (
    CHARTS,
    DEFAULT_CHARTS,
    ChartSpec,
    RunTrace,
    charts_along,
    expanded,
    notes_of,
)
from ui.charts.data.scale import TIME, Range, XAxisKind, format_moment, format_value
from ui.charts.painting.crosshair import Reading
from ui.charts.painting.painting import ChartBackground
from ui.charts.stack.chart import Canvas, Chart
from ui.charts.stack.chart_model import LIVE, ChartModel, describe_events, ground_of
from ui.charts.stack.saving import Picture, SavingMenu
from ui.theme import SMALL, Theme
from ui.widgets.fields import plain
from ui.widgets.texts import announce, plain_label


class ChartMenu(SavingMenu):
    """Actions on one chart."""

    def __init__(self, stack: ChartStack, chart: Chart) -> None:
        super().__init__(stack, lambda: Picture(chart, stack.theme), stack.theme)
        self._stack, self._chart = stack, chart
        self.addSeparator()
        self._add_curves()
        self._add_charts()
        self.addSeparator()
        self.addAction(tr("Show &everything"), stack.show_everything)
        marked, at_s = stack.shown.marked_trace, stack.crosshair_s
        if stack.takes_notes and marked is not None and at_s is not None:
            words = tr("&Note at {moment} …").format(moment=stack.kind.moment(at_s, stack.times[1]))
            self.addAction(words, lambda: stack.note_asked.emit(marked.run_id, at_s))

    def _add_curves(self) -> None:
        chart, stack = self._chart.spec, self._stack
        if len(chart.curves) > 1:
            menu = self.addMenu(tr("&Lines"))
            for curve in chart.curves:
                switch = partial(self._switch_curve, curve.id)
                _add_tick(menu, curve.label, switch, ticked=stack.is_curve_visible(chart.id, curve.id))

    def _switch_curve(self, curve_id: str, shown: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._stack.set_curve_visible(self._chart.spec.id, curve_id, visible=shown)

    def _add_charts(self) -> None:
        offered = charts_along(self._stack.kind.along)
        if len(offered) > 1:
            menu = self.addMenu(tr("C&harts"))
            for chart in offered.values():
                switch = partial(self._switch_chart, chart.id)
                _add_tick(menu, chart.title, switch, ticked=chart.id in self._stack.chart_ids)

    def _switch_chart(self, chart_id: str, shown: bool) -> None:  # noqa: FBT001 - the signal's signature
        others = [each for each in self._stack.chart_ids if each != chart_id]
        self._stack.set_charts([*others, chart_id] if shown else others)


def _add_tick(menu: QMenu, label: str, switch: Callable[[bool], None], *, ticked: bool) -> None:
    action = menu.addAction(label)
    action.setCheckable(True)
    action.setChecked(ticked)
    action.toggled.connect(switch)


MOST_LINES: Final = 24
"""Most lines of a chart described in words; the table of figures can be read row by row beyond that."""
_HIGH: Final = 95.0
_PLACES: Final = 6
"""Most described points of a line that is not over time."""


def describe_charts(charts: Sequence[Chart], model: ChartModel, kind: XAxisKind, times: Range) -> str:
    """Return the content of charts in sentences: the visible part, each chart with its lines, the marks."""
    shown = [chart for chart in charts if chart.lines]
    if not shown:
        return model.words_for_nothing
    begin, end = (kind.moment(each, times[1]) for each in times)
    sentences = [tr("Shown from {begin} to {end}.").format(begin=begin, end=end)]
    sentences += [_describe_chart(chart, kind, times) for chart in shown]
    if kind is TIME:
        sentences += _describe_marks(model, times)
    return " ".join(sentences)


def describe_reading(charts: Sequence[Chart]) -> str:
    """Return the text of the crosshair in all charts; empty without a crosshair."""
    read = [(chart.spec, chart.crosshair.reading) for chart in charts if chart.lines]
    known = [(spec, reading) for spec, reading in read if reading is not None]
    if not known:
        return ""
    sentences = [f"{known[0][1].title}."]
    sentences += [_describe_reading(spec, reading) for spec, reading in known]
    return " ".join(sentences)


def _describe_reading(spec: ChartSpec, reading: Reading) -> str:
    """Return the values of one chart; of several columns only the first."""
    several = reading.columns if not reading.is_detailed else ()
    rows = [f"{name} {_joined(several, values)}" for _, name, values in reading.rows]
    return f"{spec.title}, {spec.unit}: {'; '.join(rows)}."


def _joined(columns: Sequence[str], values: Sequence[str]) -> str:
    if not columns:
        return values[0]
    return ", ".join(f"{column} {value}" for column, value in zip(columns, values, strict=True) if value)


def _describe_chart(chart: Chart, kind: XAxisKind, times: Range) -> str:
    lines = sorted(chart.lines, key=lambda line: -line.rank)
    parts = [
        f"{_name_of(line, lines)}: {figures}"
        for line in lines[:MOST_LINES]
        if (figures := _over_time(line, times) if kind is TIME else _over_places(line, times, kind))
    ]
    parts += [f"{limit.label}: {format_value(float(limit.main.values[-1]))}" for limit in chart.limits]
    left_out = len(lines) - MOST_LINES
    if left_out > 0:
        parts.append(trn("and {count} more line", "and {count} more lines", left_out).format(count=left_out))
    values = "; ".join(parts) or tr("no samples")
    return f"{chart.spec.title}, {chart.spec.unit}: {values}."


def _name_of(line: Line, lines: Sequence[Line]) -> str:
    """Return the name of a run, its curve, or both, as needed to distinguish a line."""
    runs = {each.run_id for each in lines}
    curves = {each.curve.id for each in lines}
    if len(curves) < 2:
        return line.label
    return line.curve.label if len(runs) < 2 else f"{line.label}, {line.curve.label}"


def _over_time(line: Line, times: Range) -> str:
    """Return the newest value of a line, mean and 95th percentile, over the measured seconds only."""
    seconds, main = line.data.seconds, line.main
    first, last = (
        int(np.searchsorted(seconds.t_s, each, side="right")) for each in (max(times[0], 0.0), times[1])
    )
    values = seconds.values[first:last]
    end = int(np.searchsorted(main.t_s, times[1], side="right"))
    if end == 0 or float(main.t_s[end - 1]) < times[0]:
        return ""
    newest = tr("newest {value}").format(value=format_value(float(main.values[end - 1])))
    if not len(values):
        return newest
    figures = tr("{newest}, mean {mean}, 95th percentile {high}")
    return figures.format(
        newest=newest,
        mean=format_value(float(values.mean())),
        high=format_value(float(np.percentile(values, _HIGH))),
    )


def _over_places(line: Line, times: Range, kind: XAxisKind) -> str:
    """Return the values of a line at the labels of an axis other than time."""
    read = ((place, line.read(place)) for place in kind.ticks(*times, _PLACES))
    return ", ".join(
        f"{kind.label(place, times[1])} {format_value(value)}" for place, value in read if value is not None
    )


def _describe_marks(model: ChartModel, times: Range) -> Iterator[str]:
    """Yield a sentence about checkpoints, one about stalls and the notes of the run with drawn marks."""
    if model.marked is None:
        return
    name = model.name_of_marked
    begun = [
        begin_s
        for begin_s, end_s, _ in model.marked.checkpoints()
        if end_s >= times[0] and begin_s <= times[1]
    ]
    stalls = [
        (max(a, times[0]), min(b, times[1]))
        for a, b in model.marked.stalls()
        if b > times[0] and a < times[1]
    ]
    sentences = []
    if begun:
        message = trn(
            "{count} checkpoint, at {time}.", "{count} checkpoints, the last at {time}.", len(begun)
        )
        sentences.append(message.format(count=len(begun), time=format_moment(max(begun), times[1])))
    if stalls:
        message = trn(
            "{count} stall, {duration} in all, at {time}.",
            "{count} stalls, {duration} in all, the last at {time}.",
            len(stalls),
        )
        whole = format_duration(sum(b - a for a, b in stalls))
        last = format_moment(stalls[-1][0], times[1])
        sentences.append(message.format(count=len(stalls), duration=whole, time=last))
    sentences += [
        tr("Note at {time}: {words}").format(time=format_moment(t_s, times[1]), words=words)
        for t_s, words in notes_of(model.marked)
        if times[0] <= t_s <= times[1]
    ]
    for sentence in sentences:
        yield f"{name}: {sentence}" if name else sentence


class ZoomBar(QWidget):
    """Hidden while everything is visible.

    Attributes:
        words: the visible part.
        whole: shows everything.
    """

    def __init__(self, kind: XAxisKind, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = kind
        self.words = plain_label(parent=self)
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.whole = QPushButton(tr("Show &everything"), self)
        self.whole.setToolTip(tr("Also: double-click a chart, or press Home"))
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, 0, SMALL, 0)
        row.addWidget(self.words, 1)
        row.addWidget(self.whole)
        self.hide()

    def show_part(self, part: Range | None, whole: Range) -> None:
        """Show which part of the whole is visible; None for all of it."""
        if part is not None:
            moments = [self._kind.moment(place, whole[1]) for place in part]
            sentence = tr("Shown: {begin} to {end}. Shift+drag to move, Ctrl+wheel to zoom.")
            self.words.setText(sentence.format(begin=moments[0], end=moments[1]))
        self.setVisible(part is not None)


_SKETCH_ABOVE_S = 0.008
"""If painting the charts takes longer, a gesture moves the old pictures."""
_GESTURE_ENDS_MS = 120


def prefetch(data: RunData, chart_ids: Iterable[str], shown: int = 1) -> RunData:
    """Read the data that these charts need of one of `shown` runs, in the calling thread, and return the run.

    Raises:
        RunFileError: the file is no longer readable, or is damaged.
    """
    charts = [CHARTS[chart_id] for chart_id in chart_ids if chart_id in CHARTS]
    return data.load(*needed(charts, shown))


class ChartStack(QWidget):
    """Charts of saved runs and of a current one.

    The mouse: drag chooses a range, with Shift or the middle button it moves the time; the wheel scrolls, and
    zooms with Ctrl; a double click shows everything, a click on a line chooses its run. Keys: Left and Right
    move the crosshair, with Shift the time, + and - zoom, Home shows everything, Esc takes the crosshair
    away.

    Attributes:
        crosshair_s: time under the crosshair; None without one.
        takes_notes: whether the menu of a chart offers a note about the run whose events are drawn.
        left_out: lists the charts without samples, which are hidden.
        zoom_bar: shows the visible part, and leads back; hidden if that is everything.

    Signals:
        hovered: time under the crosshair in s; NaN when the pointer has left.
        run_clicked: id of the run with the clicked line.
        note_asked: id of a run, and the time in s that the user wants to write a note about.
        charts_changed: the user chose or reordered charts; ids.
        lines_changed: other lines are shown.
        times_settled: another time is shown, and its gesture has ended.
    """

    hovered = Signal(float)
    run_clicked = Signal(str)
    note_asked = Signal(str, float)
    charts_changed = Signal(list)
    lines_changed = Signal()
    times_settled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None, kind: XAxisKind = TIME) -> None:
        super().__init__(parent)
        self.kind = kind
        self.setAccessibleName(plain(tr("C&harts")))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.theme = theme
        self.shown = ChartModel(theme, kind)
        self._chart_ids: tuple[str, ...] = ()
        self._zoom: Range | None = None
        self._times: Range = (0.0, 60.0)
        self._until_s = math.inf
        self.crosshair_s: float | None = None
        self.takes_notes = False
        self._canvas = Canvas(theme, kind)
        self._canvas.pointed.connect(self._on_pointed)
        self._canvas.left.connect(lambda: self.show_crosshair(None))
        self._canvas.moved.connect(self.show_times)
        self._canvas.choosing.connect(self._on_choosing)
        self._canvas.chosen.connect(self._on_chosen)
        self._canvas.clicked.connect(self._on_clicked)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._canvas)
        self.left_out = plain_label(parent=self)
        self.left_out.setWordWrap(True)
        self.left_out.hide()
        layout.addWidget(self.left_out)
        self.zoom_bar = ZoomBar(kind, self)
        self.zoom_bar.whole.clicked.connect(self._leave_zoom)
        layout.addWidget(self.zoom_bar)
        self._gesture = QTimer(self, singleShot=True, interval=_GESTURE_ENDS_MS)
        self._gesture.timeout.connect(self._on_gesture_ended)
        theme.changed.connect(self._on_theme_changed)
        if kind is TIME:
            self.set_charts(DEFAULT_CHARTS)

    # Content

    @property
    def charts(self) -> Sequence[Chart]:
        """The charts, top first."""
        return self._canvas.charts

    @property
    def chart_ids(self) -> tuple[str, ...]:
        """The ids of the charts, top first."""
        return self._chart_ids

    @property
    def runs(self) -> tuple[RunTrace, ...]:
        """The saved runs, including hidden ones."""
        return self.shown.runs

    def accessible_text(self) -> str:
        """Return all visible content, in sentences."""
        times = self._times[0], min(self._times[1], self._until_s)
        return describe_charts(self.charts, self.shown, self.kind, times)

    def set_charts(self, ids: Iterable[str]) -> None:
        """Show these charts, top first; unknown ids are ignored."""
        offered = charts_along(self.kind.along)
        wanted = tuple(dict.fromkeys(chart_id for chart_id in ids if chart_id in offered))
        if wanted == self._chart_ids:
            return
        self._chart_ids = wanted
        self._canvas.lay_out(wanted)
        self._update_lines()
        self.charts_changed.emit(list(wanted))

    def set_runs(self, runs: Sequence[RunTrace]) -> None:
        """Set the saved runs. Their series should be read beforehand, see `prefetch`."""
        self.shown.set_runs(runs)
        self._zoom = None
        self._update_lines()

    def set_run_visible(self, run_id: str, *, visible: bool) -> None:
        """Show or hide a saved run."""
        self.set_runs_visible([run_id], visible=visible)

    def set_runs_visible(self, run_ids: Collection[str], *, visible: bool) -> None:
        """Show or hide saved runs."""
        for run_id in run_ids:
            self.shown.set_run_visible(run_id, visible=visible)
        self._update_lines()

    def show_only(self, run_ids: Collection[str] | None) -> None:
        """Show these saved runs and hide the others; None shows all."""
        for trace in self.runs:
            self.shown.set_run_visible(trace.run_id, visible=run_ids is None or trace.run_id in run_ids)
        self._update_lines()

    def set_curve_visible(self, chart_id: str, curve_id: str, *, visible: bool) -> None:
        """Show or hide a curve of every run."""
        self.shown.choose_curve(chart_id, curve_id, visible=visible)
        self._update_lines()

    def is_curve_visible(self, chart_id: str, curve_id: str) -> bool:
        """Return whether any run shows a curve."""
        charts = [chart for chart in self.charts if chart.spec.id == chart_id]
        return any(line.curve.id == curve_id for chart in charts for line in chart.lines)

    def set_focus(self, run_id: str | None) -> None:
        """Draw one run thick, with its seconds, checkpoints and stalls."""
        if run_id != self.shown.focus:
            self.shown.focus = run_id
            self._update_lines()

    def set_around(self, around: BandKind) -> None:
        """Set the bands around the means."""
        if around is not self.shown.around:
            self.shown.around = around
            self._update_lines()

    def set_live(
        self, data: RunData | None, colour_index: int = 0, label: str = "", warning: str = ""
    ) -> None:
        """Set the current run, or none; the planned time is shown unless another was set."""
        live = (
            None if data is None else RunTrace(LIVE, data, colour_index, label or data.name, warning=warning)
        )
        self.shown.set_live(live)
        self._update_lines()

    def set_awaited(self, words: str) -> None:
        """Set the text shown while no run is there."""
        if words != self.shown.awaited:
            self.shown.awaited = words
            self._update_lines()

    def update_live(self, data: RunData) -> None:
        """Add new data; called once a second."""
        if self.shown.live is None:
            self.set_live(data)
            return
        self.shown.live = replace(self.shown.live, data=data)
        whole = self._update_times()
        if not self._gesture.isActive() and self._wants_other_width():
            self._update_lines()
        else:
            self._show_live(whole, reset=False)
        if self.crosshair_s is not None:
            self.show_crosshair(self.crosshair_s)

    def set_thick(self, thick: bool, scale: float = 1.0) -> None:  # noqa: FBT001 - a setter
        """Use thick lines and larger type, for a projector."""
        self.shown.thick = thick
        self._canvas.set_type_scale(scale)
        self._update_lines()

    # Time

    @property
    def times(self) -> Range:
        """The visible time, in s."""
        return self._times

    def show_times(self, start_s: float, end_s: float) -> None:
        """Zoom to a time: at least 5 s, within the limits."""
        whole = self.shown.whole_times()
        span = max(self.kind.shortest, min(end_s - start_s, whole[1] - whole[0]))
        start_s = max(min(start_s, whole[1] - span), whole[0])
        self._zoom = None if span >= whole[1] - whole[0] else (start_s, start_s + span)
        self._begin_gesture()
        self._update_times()

    def show_until(self, t_s: float) -> None:
        """Hide what is after a time."""
        self._until_s = t_s
        for chart in self.charts:
            chart.show_until(t_s)

    def show_everything(self) -> None:
        """Show the whole time."""
        self._zoom = None
        self._begin_gesture()
        self._update_times()

    def _on_choosing(self, start_s: float, end_s: float) -> None:
        self.show_crosshair(None)
        for chart in self.charts:
            chart.show_choosing((start_s, end_s))

    def _on_chosen(self, start_s: float, end_s: float) -> None:
        for chart in self.charts:
            chart.show_choosing(None)
        if end_s > start_s:
            self.show_times(start_s, end_s)

    def _leave_zoom(self) -> None:
        self.setFocus()  # the button disappears
        self.show_everything()

    def _update_times(self) -> Range:
        """Show the zoomed time, or all of it; return all of it."""
        whole = self.shown.whole_times()
        times = self._zoom or whole
        self.zoom_bar.show_part(None if self.shown.thick else self._zoom, whole)
        if times != self._times or any(chart.times != times for chart in self.charts):
            self._times = times
            for chart in self.charts:
                chart.set_times(times)
            self.show_crosshair(self.crosshair_s)
        return whole

    def _begin_gesture(self) -> None:
        """During a gesture, move pictures if repainting would be too slow."""
        if sum(chart.layer.rendering_s for chart in self.charts) > _SKETCH_ABOVE_S:
            for chart in self.charts:
                chart.layer.sketching = True
        self._gesture.start()

    def _on_gesture_ended(self) -> None:
        for chart in self.charts:
            chart.layer.sketching = False
            chart.layer.update()
        if self._wants_other_width():
            self._update_lines()
        self.times_settled.emit()

    def _wants_other_width(self) -> bool:
        return mean_width(self._times[1] - self._times[0]) != self.shown.width_s

    # Lines

    def _update_lines(self) -> None:
        whole = self._update_times()
        self.shown.set_width(mean_width(self._times[1] - self._times[0]))
        self._expand_charts()
        ground = ChartBackground() if self.shown.live is not None else ground_of(self.shown.marked)
        for chart in self.charts:
            chart.set_saved(self.shown.saved_lines(chart.spec), ground)
        self._show_live(whole, reset=True)
        self.lines_changed.emit()

    def _expand_charts(self) -> None:
        """Give each chart a curve for every disk of its runs."""
        offered = charts_along(self.kind.along)
        for chart in self.charts:
            keys = (key for trace in self.shown.traces for key in trace.data.series_keys())
            chart.spec = expanded(offered[chart.spec.id], keys)

    def _show_live(self, whole: Range, *, reset: bool) -> None:
        live = self.shown.live
        ground = ChartBackground() if live is None else ground_of(live.data)
        end_s = 0.0 if live is None else live.data.end_s
        moved = False
        self._expand_charts()
        for chart in self.charts:
            lines, changed_s = self.shown.live_lines(chart.spec)
            others = reset or len(lines) != len(chart.live)
            chart.set_live(lines, ground, end_s, None if others else changed_s)
            limited = chart.set_limits(self.shown.limit_lines(chart.spec, chart.lines, whole))
            moved = chart.fit_values(whole, reset=reset) or moved
            if others or limited:
                chart.explain(self.shown.words_for_nothing, self.shown.devices, self.shown.load)
        changed = self._leave_out_empty()
        if moved or reset or changed:
            self._canvas.align()

    def _leave_out_empty(self) -> bool:
        """Hide and list charts without a line; return whether they changed."""
        live = self.shown.live
        is_loading = live is not None and not len(live.data.series("pgbench.tps")[0])  # nothing jumps later
        having = self.charts if is_loading else [chart for chart in self.charts if chart.lines]
        empty = [chart for chart in self.charts if chart not in having] if having else []
        names = ", ".join(chart.spec.title for chart in empty)
        words = tr("No samples: {charts}.").format(charts=names) if names else ""
        if self.shown.is_awaiting:  # one chart shows the text for all
            empty = list(self.charts[1:])
        if words == self.left_out.text() and len(self._canvas.shown) == len(self.charts) - len(empty):
            return False
        self.left_out.setText(words)
        self.left_out.setVisible(bool(words))
        self._canvas.leave_out(empty)
        return True

    def _on_theme_changed(self) -> None:
        self._canvas.apply_style()
        self._update_lines()

    # Pointer and keys

    def show_crosshair(self, t_s: float | None) -> None:
        """Show the values of every line at a time; None to hide the crosshair."""
        if t_s is None and self.crosshair_s is None:
            return
        self.crosshair_s = t_s
        title = "" if t_s is None else self._title_at(t_s)
        for chart in self.charts:
            chart.show_crosshair(t_s, title)
        self.hovered.emit(math.nan if t_s is None else t_s)

    def _title_at(self, t_s: float) -> str:
        """Return the time, and the events there of the run with visible events."""
        words = [self.kind.moment(t_s, self._times[1])]
        if self.shown.marked is not None:
            reach_s = (self._times[1] - self._times[0]) / 300
            texts = describe_events(self.shown.marked, t_s, reach_s)
            name = self.shown.name_of_marked
            words += [tr("{what} of {run}").format(what=each, run=name) if name else each for each in texts]
            notes = notes_of(self.shown.marked)
            words += [note for at_s, note in notes if abs(at_s - t_s) <= max(0.5, reach_s)]
        return " \N{MIDDLE DOT} ".join(words)

    def _on_pointed(self, scene: QPointF) -> None:
        chart = self._canvas.chart_at(scene)
        self.show_crosshair(None if chart is None else chart.time_at(scene))

    def _on_clicked(self, scene: QPointF, button: Qt.MouseButton, twice: bool) -> None:  # noqa: FBT001
        chart = self._canvas.chart_at(scene)
        if chart is None:
            return
        if button is Qt.MouseButton.RightButton:
            ChartMenu(self, chart).popup(QCursor.pos())
        elif twice:
            self.show_everything()
        elif button is Qt.MouseButton.LeftButton:
            run_id = chart.run_at(scene)
            if run_id is not None:
                self.run_clicked.emit(run_id)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.charts and event.reason() is QContextMenuEvent.Reason.Keyboard:
            ChartMenu(self, self.charts[0]).popup(event.globalPos())

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._canvas.align()

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
        }
        if self.crosshair_s is not None:
            keys[Qt.Key.Key_Escape] = lambda: self.show_crosshair(None)
        action = keys.get(Qt.Key(event.key()))
        if action is None:
            super().keyPressEvent(event)
        else:
            action()

    def _step(self, event: QKeyEvent, seconds: float) -> None:
        start_s, end_s = self._times
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.show_times(start_s + 10 * seconds, end_s + 10 * seconds)
            return
        at_s = (start_s + end_s) / 2 if self.crosshair_s is None else self.crosshair_s + seconds
        self.show_crosshair(min(max(at_s, start_s), end_s))
        announce(self, describe_reading(self.charts))
