"""The runs and curves shown by a stack of charts, and the resulting lines. Independent of widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import is_not

from app.domain.text import tr
from app.runfile.reader import RunEvent
from app.runfile.series import MEAN_S
from ui.charts.data.curves import (
    CurveData,
    LiveCurves,
    curve_data,
    mean_of_repeats,
    with_envelope,
    with_width,
)
from ui.charts.data.lines import BandKind, Line, LineStyler, limit_lines
from ui.charts.data.registry import (
    ChartSpec,
    CurveSpec,
    PlotDataset,
    RunTrace,
    devices_words,
    load_words,
    notes_of,
    phases_of,
)
from ui.charts.data.scale import TIME, Range, XAxisKind
from ui.charts.painting.painting import ChartBackground
from ui.theme import Theme

_Key = tuple[str, str, str]
"""Key of a computed curve: run or configuration, chart, curve."""

LIVE = "live"
_GROWTH = 1.25
_MOST_WARM_UP = 0.15


@dataclass(frozen=True, slots=True)
class _Span:
    """Start and end of a run, and the starts of its phases."""

    begin_s: float
    end_s: float
    phases_s: tuple[float, ...]


def _span_of(trace: RunTrace) -> _Span:
    data = trace.data
    return _Span(data.begin_s, data.end_s, tuple(region.start_s for region in phases_of(data)))


@dataclass(frozen=True, slots=True)
class Bundle:
    """The runs behind one line of each curve.

    Attributes:
        trace: its style and name.
        members: the runs; several if they are repeats of one configuration.
    """

    trace: RunTrace
    members: tuple[RunTrace, ...]


def bundled(traces: Sequence[RunTrace], focus: str | None) -> tuple[Bundle, ...]:
    """Return runs by configuration, in the order of their first ones; the focused run also separately."""
    groups: dict[str, list[RunTrace]] = {}
    for trace in traces:
        groups.setdefault(trace.group or trace.run_id, []).append(trace)
    found = []
    for key, members in groups.items():
        first = members[0]
        if len(members) == 1:
            found.append(Bundle(first, (first,)))
            continue
        drawn = replace(first, run_id=key, label=first.group_label or first.label)
        found.append(Bundle(drawn, tuple(members)))
        found += [Bundle(trace, (trace,)) for trace in members if trace.run_id == focus]
    return tuple(found)


class ChartModel:
    """The state of a stack of charts.

    Attributes:
        runs: saved runs, hidden ones included.
        live: the current run.
        focus: run drawn with thick lines.
        thick: lines for a projector.
        around: bands around the means; `AUTOMATIC` draws one line per configuration.
        width_s: of the running means.
        awaited: text while no run is shown; empty for the default.
    """

    def __init__(self, theme: Theme, kind: XAxisKind = TIME) -> None:
        self._theme = theme
        self._kind = kind
        self.around = BandKind.AUTOMATIC
        self.runs: tuple[RunTrace, ...] = ()
        self.live: RunTrace | None = None
        self.focus: str | None = None
        self.thick = False
        self.width_s = MEAN_S
        self.awaited = ""
        self._live_curves = LiveCurves()
        self._known: dict[_Key, tuple[PlotDataset, CurveData]] = {}
        self._bands: dict[_Key, tuple[CurveData, CurveData]] = {}
        self._means: dict[_Key, tuple[tuple[CurveData, ...], CurveData]] = {}
        self._chosen: dict[tuple[str, str], bool] = {}
        self._spans: tuple[tuple[RunTrace, ...], tuple[_Span, ...]] | None = None
        self._kept: tuple[tuple[object, ...], tuple[RunTrace, ...], tuple[Bundle, ...]] | None = None

    @property
    def _saved(self) -> tuple[tuple[RunTrace, ...], tuple[Bundle, ...]]:
        """The drawn saved runs, and their bundles; cached, because a live run needs them every second."""
        asked: tuple[object, ...] = (self.runs, self.live is None, self.focus, self.around)
        if self._kept is None or any(new is not old for new, old in zip(asked, self._kept[0], strict=True)):
            shown = tuple(trace for trace in self.runs if trace.visible)
            if self.live is not None:
                shown = tuple(replace(trace, pale=trace.run_id != self.focus) for trace in shown)
            self._kept = asked, shown, self._bundles(shown)
        return self._kept[1], self._kept[2]

    def _bundles(self, traces: Sequence[RunTrace]) -> tuple[Bundle, ...]:
        if self.around is BandKind.AUTOMATIC and self._kind is TIME:
            return bundled(traces, self.focus)
        return tuple(Bundle(trace, (trace,)) for trace in traces)

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """The runs behind the drawn lines of saved runs."""
        return self._saved[1]

    @property
    def all_bundles(self) -> tuple[Bundle, ...]:
        """The same, including hidden ones, without the focused run separately."""
        if self.around is BandKind.AUTOMATIC and self._kind is TIME:
            return bundled(self.runs, None)
        return tuple(Bundle(trace, (trace,)) for trace in self.runs)

    @property
    def traces(self) -> tuple[RunTrace, ...]:
        """The drawn runs, the live one last; others are pale behind a live one."""
        shown = self._saved[0]
        return shown if self.live is None else (*shown, self.live)

    @property
    def _saved_spans(self) -> tuple[_Span, ...]:
        """Times of the saved runs; cached, because they are needed every second and may be many."""
        shown = self._saved[0]
        if self._spans is None or self._spans[0] is not shown:
            self._spans = shown, tuple(map(_span_of, shown))
        return self._spans[1]

    @property
    def marked_trace(self) -> RunTrace | None:
        """The run with visible checkpoints, stalls and notes: those of several could not be distinguished."""
        if self.live is not None:
            return self.live
        shown = self.traces
        alone = shown[0] if len(shown) == 1 else None
        return next((trace for trace in shown if trace.run_id == self.focus), alone)

    @property
    def marked(self) -> PlotDataset | None:
        """The data of that run."""
        return None if self.marked_trace is None else self.marked_trace.data

    @property
    def is_awaiting(self) -> bool:
        """Whether no run is shown yet, but one is expected."""
        return bool(self.awaited) and self.live is None and not self.traces

    @property
    def words_for_nothing(self) -> str:
        """The text of a chart without lines."""
        if self.live is not None:
            return tr("No samples yet.")
        if self.traces:
            return tr("No data for this chart in the selected runs.")
        return self.awaited or tr("No run is shown.")

    @property
    def devices(self) -> str:
        """The devices of the sums over disks, in words."""
        return devices_words(trace.data for trace in self.traces)

    @property
    def load(self) -> str:
        """The text about omissions from the latencies of the runs."""
        return load_words(trace.data for trace in self.traces)

    @property
    def name_of_marked(self) -> str:
        """The name of that run, if others are shown too."""
        marked = self.marked_trace
        return marked.label if marked is not None and len(self.traces) > 1 else ""

    def set_runs(self, runs: Sequence[RunTrace]) -> None:
        """Set the saved runs; results computed for unchanged ones are kept."""
        self.runs = tuple(runs)
        data = {trace.run_id: trace.data for trace in runs}
        groups = {trace.group or trace.run_id for trace in runs}
        self._bands = {key: kept for key, kept in self._bands.items() if key[0] in data}
        self._means = {key: kept for key, kept in self._means.items() if key[0] in groups}
        self._known = {key: kept for key, kept in self._known.items() if data.get(key[0]) is kept[0]}

    def set_width(self, width_s: float) -> None:
        """Set the width of running means."""
        if width_s != self.width_s:
            self.width_s, self._live_curves = width_s, LiveCurves(width_s)

    def set_run_visible(self, run_id: str, *, visible: bool) -> None:
        """Show or hide a saved run."""
        self.runs = tuple(
            replace(trace, visible=visible) if trace.run_id == run_id else trace for trace in self.runs
        )

    def set_live(self, live: RunTrace | None) -> None:
        """Set the current run."""
        self.live, self._live_curves = live, LiveCurves(self.width_s)

    def choose_curve(self, chart_id: str, curve_id: str, *, visible: bool) -> None:
        """Show or hide a curve, however many runs there are."""
        self._chosen[chart_id, curve_id] = visible

    def whole_times(self) -> Range:
        """Return the time from the warm-up to the end, the planned end for a current run.

        A run that exceeds its plan extends it in steps: the axis must not move every second.
        """
        spans = self._saved_spans
        ends = [span.end_s for span in spans]
        if self.live is not None:
            spans = (*spans, _span_of(self.live))
            ends.append(self.live.data.planned_s or 0.0)
        start_s, end_s = self._kind.empty
        if spans:
            start_s = min(span.begin_s for span in spans)
            end_s = max([*ends, start_s + self._kind.shortest])
        if self._kind is TIME:
            first_s = min((first for span in spans for first in span.phases_s), default=0.0)
            start_s = max(start_s, first_s - _MOST_WARM_UP * (end_s - first_s))
        while self.live is not None and self.live.data.end_s > end_s:
            end_s = start_s + (end_s - start_s) * _GROWTH
        return start_s, end_s

    def saved_lines(self, chart: ChartSpec) -> list[Line]:
        """Return the lines of the saved runs on a chart; none for curves without samples."""
        styler = self._line_styler()
        lines = [
            styler.style_line(bundle.trace, curve, self._bundle_data(bundle, chart, curve))
            for bundle in self.bundles
            for curve in chart.curves
            if self._wants(styler, chart, curve, bundle.trace)
        ]
        return [line for line in lines if len(line.main.t_s)]

    def live_lines(self, chart: ChartSpec) -> tuple[list[Line], float]:
        """Return the lines of the current run, and the time before which they are unchanged."""
        lines: list[Line] = []
        changed_s = float("inf")
        if self.live is None:
            return lines, changed_s
        styler = self._line_styler()
        for curve in chart.curves:
            if self._wants(styler, chart, curve, self.live):
                data, since_s = self._live_curves.update(self.live.data, chart, curve)
                changed_s = min(changed_s, since_s)
                if len(data.seconds.t_s):
                    lines.append(styler.style_line(self.live, curve, data))
        return lines, changed_s

    def limit_lines(self, chart: ChartSpec, lines: Sequence[Line], whole: Range) -> list[Line]:
        """Return level lines for the raw performance of the runs' storage, if known and near."""
        data = {bundle.trace.run_id: bundle.trace.data for bundle in self.bundles if not bundle.trace.pale}
        if self.live is not None:
            data[self.live.run_id] = self.live.data
        known = [(data[line.run_id], line) for line in lines if line.run_id in data]
        return limit_lines(chart, known, whole)

    def _line_styler(self) -> LineStyler:
        grouped = self.around is BandKind.AUTOMATIC and self._kind is TIME
        drawn = [*self._saved[0], *(() if self.live is None else (self.live,))]
        names = {(grouped and trace.group) or trace.run_id for trace in drawn if not trace.pale}
        offered = {(grouped and trace.group) or trace.run_id for trace in self.runs}
        return LineStyler(
            self._theme,
            self.focus,
            len(names),
            self.thick,
            self.around,
            gap=self._kind.gap,
            offered=0 if self.live is not None else len(offered),
        )

    def _wants(self, styler: LineStyler, chart: ChartSpec, curve: CurveSpec, trace: RunTrace) -> bool:
        return self._chosen.get((chart.id, curve.id), styler.is_shown(curve, trace))

    def _bundle_data(self, bundle: Bundle, chart: ChartSpec, curve: CurveSpec) -> CurveData:
        members = tuple(self.curve_of(trace, chart, curve) for trace in bundle.members)
        if len(members) == 1:
            return members[0]
        key = (bundle.trace.run_id, chart.id, curve.id)
        known = self._means.get(key)
        if known is None or len(known[0]) != len(members) or any(map(is_not, known[0], members)):
            known = self._means[key] = members, mean_of_repeats(members)
        return known[1]

    def curve_of(self, trace: RunTrace, chart: ChartSpec, curve: CurveSpec) -> CurveData:
        """Return the drawn data of a curve of a saved run; computed once per width of the means."""
        key = (trace.run_id, chart.id, curve.id)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = trace.data, curve_data(trace.data, curve, chart.factor, self.width_s)
        data = with_width(known[1], self.width_s)
        if data is not known[1]:
            self._known[key] = trace.data, data
        if self.around is not BandKind.ENVELOPE or trace.run_id == self.focus:
            return data
        if key not in self._bands or self._bands[key][0] is not data:
            self._bands[key] = data, with_envelope(data)
        return self._bands[key][1]


def ground_of(data: PlotDataset | None) -> ChartBackground:
    """Return the stalls, checkpoints, phases and notes of a run."""
    if data is None:
        return ChartBackground()
    # A checkpoint in progress is only a line: its bar would be repainted every second.
    checkpoints = tuple(
        (start_s, start_s if event.kind == "checkpoint-start" else end_s)
        for start_s, end_s, event in data.checkpoints()
    )
    notes = tuple(each for each in notes_of(data) if each[0] <= data.end_s)
    return ChartBackground(tuple(data.stalls()), checkpoints, phases_of(data), notes)


def describe_events(data: PlotDataset, t_s: float, reach_s: float) -> list[str]:
    """Return the events of a run at a time, in a few words each."""
    words = [
        _describe_checkpoint(event, end_s - start_s)
        for start_s, end_s, event in data.checkpoints()
        if start_s - reach_s <= t_s <= end_s + reach_s
    ]
    if any(start_s <= t_s <= end_s for start_s, end_s in data.stalls()):
        words.append(tr("stalled"))
    return words


def _describe_checkpoint(event: RunEvent, duration_s: float) -> str:
    buffers = event.data.get("buffers")
    if event.kind == "checkpoint-start" or not isinstance(buffers, int | float):
        return tr("checkpoint")
    text = tr("checkpoint, {seconds:.0f} s, {buffers:,.0f} buffers")
    return text.format(seconds=duration_s, buffers=buffers)
