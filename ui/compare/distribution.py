"""Show distributions of latencies, as percentiles on an axis of nines and as shares, and curves of sweeps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QSplitter
from typing_extensions import override

from app.analysis.labels import one_line
from app.analysis.latency_distribution import Distribution, merge_distributions, read_distribution
from app.comparison.factors import SweepLine
from app.domain.errors import FootingError
from app.domain.text import tr
from app.runfile.reader import RunEvent
from ui.background import BackgroundOp
from ui.charts.data.registry import RunTrace
from ui.charts.data.scale import LATENCY, NINES
from ui.charts.stack.chart_window import SeriesList
from ui.charts.stack.stack import ChartStack
from ui.compare.content import NOT_YET, Content
from ui.compare.parts import Choice, View, control_row, labelled, list_and_charts, name_some
from ui.theme import Theme
from ui.widgets.texts import plain_label

Array = NDArray[np.float64]
_NOTHING = (np.empty(0), np.empty(0))


class _Curves:
    """Defaults for curves that are not over time."""

    planned_s: float | None = None

    def series_keys(self) -> tuple[tuple[str, str], ...]:
        """Return nothing: charts name the series they need."""
        return ()

    def percentile(self, percent: float) -> tuple[Array, Array]:  # noqa: ARG002 - see Plotted
        """Return nothing: there are no seconds."""
        return _NOTHING

    def stalls(self) -> list[tuple[float, float]]:
        """Return nothing."""
        return []

    def checkpoints(self) -> list[tuple[float, float, RunEvent]]:
        """Return nothing."""
        return []


@dataclass(frozen=True)
class DistributionCurves(_Curves):
    """The latencies of a run or of a configuration over percentiles, or as shares over latencies.

    Attributes:
        distribution: of its transactions.
        over_latency: whether positions are logarithms of latencies in ms, else numbers of nines.
    """

    distribution: Distribution
    over_latency: bool

    @property
    def begin_s(self) -> float:
        """Start of the axis."""
        t_s = self.series("")[0]
        return float(t_s[0]) if self.over_latency and len(t_s) else 0.0

    @property
    def end_s(self) -> float:
        """End of the axis."""
        t_s = self.series("")[0]
        return float(t_s[-1]) if len(t_s) else 1.0

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:  # noqa: ARG002 - see Plotted
        """Return (positions, values)."""
        if not self.over_latency:
            return self.distribution.nines()
        latency_ms, shares = self.distribution.shares()
        known = latency_ms > 0
        return np.log10(latency_ms[known]), shares[known]


@dataclass(frozen=True)
class SweepCurves(_Curves):
    """One line of a sweep.

    Attributes:
        lines: by figure, such as tps.
        is_log: whether positions are powers of ten.
        ends: of the axis, the same for all lines.
    """

    lines: dict[str, SweepLine] = field(repr=False)
    is_log: bool
    ends: tuple[float, float]

    @property
    def begin_s(self) -> float:
        """Start of the axis."""
        return self.ends[0]

    @property
    def end_s(self) -> float:
        """End of the axis."""
        return self.ends[1]

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:  # noqa: ARG002 - see Plotted
        """Return (positions, means of the runs)."""
        line = self.lines.get(metric.removeprefix("sweep."))
        if line is None:
            return _NOTHING
        places = [math.log10(point.x) if self.is_log else point.x for point in line.points]
        return np.array(places), np.array([point.value.mean or 0.0 for point in line.points])

    def band(self, metric: str) -> tuple[Array, Array]:
        """Return the ends of the intervals; the means themselves if there are none."""
        line = self.lines.get(metric.removeprefix("sweep."))
        points = () if line is None else line.points
        low = [
            point.value.low if point.value.low is not None else point.value.mean or 0.0 for point in points
        ]
        high = [
            point.value.high if point.value.high is not None else point.value.mean or 0.0 for point in points
        ]
        return np.array(low), np.array(high)


_RUNS: Final = "runs"
_GROUPS: Final = "configurations"

Named = tuple[str, int, str, Distribution]
"""Identity, number of the colour, name, latencies."""


class DistributionView(View):
    """Two charts with a common list of lines.

    Attributes:
        what: runs, or configurations with all transactions of their runs.
        nines: percentiles.
        shares: shares over latency.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._known: dict[str, Distribution] = {}
        self._cuts: dict[str, float] = {}
        self.what = Choice(tr("&Lines"))
        self.what.offer([(_GROUPS, tr("configurations, runs merged")), (_RUNS, tr("runs"))])
        self.words = plain_label()
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        row = control_row(self)
        labelled(row, tr("&Lines"), self.what)
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.words.setWordWrap(True)
        row.addWidget(self.words, 1)
        self.nines, self.shares = ChartStack(theme, kind=NINES), ChartStack(theme, kind=LATENCY)
        self.nines.set_charts(["nines"])
        self.shares.set_charts(["shares"])
        for stack in (self.nines, self.shares):
            stack.run_clicked.connect(self.focus_asked)
        self.lines = SeriesList(self.nines)
        self.nines.lines_changed.connect(self._follow_ticks)
        charts = QSplitter(Qt.Orientation.Vertical)
        charts.addWidget(self.nines)
        charts.addWidget(self.shares)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(self.lines)
        splitter.addWidget(charts)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes(list_and_charts(self))
        self.what.chosen.connect(self.refresh)
        self._charts = splitter
        self.rows.addWidget(splitter, 1)
        self.rows.addStretch()

    @override
    def set_content(self, content: Content) -> None:
        runs = content.comparison.runs if content.comparison is not None else ()
        cuts = {run.path: each.cut_s for run, each in zip(content.runs, runs, strict=False)}
        kept = {path for path, cut_s in cuts.items() if cut_s == self._cuts.get(path)}
        self._known, self._cuts = {path: self._known[path] for path in self._known.keys() & kept}, cuts
        super().set_content(content)

    @override
    def refresh(self) -> None:
        """Read missing data in the background, then draw."""
        self.stop()
        missing = [run.path for run in self.content.runs if run.path not in self._known]
        if not missing:
            self._show()
            return
        self.words.setText(NOT_YET)
        cuts = {path: self._cuts.get(path, 0.0) for path in missing}
        self._op = BackgroundOp(lambda: _read(cuts), self._take, self._fail).start()

    def _take(self, found: dict[str, Distribution]) -> None:
        self._known |= found
        self._show()

    def _fail(self, error: FootingError) -> None:
        self.words.setText(one_line(error.message))

    def _show(self) -> None:
        named = self._of_runs() if self.what.choice == _RUNS else self._of_groups()
        shown = [each for each in named if each[3].histogram.total]
        self._charts.setVisible(bool(shown))
        hidden, why = self.content.left_out
        for stack, over_latency in ((self.nines, False), (self.shares, True)):
            stack.set_runs(
                [
                    RunTrace(
                        identity,
                        DistributionCurves(found, over_latency),
                        colour,
                        name,
                        identity not in hidden,
                    )
                    for identity, colour, name, found in shown
                ]
            )
            stack.set_focus(self.content.focus or None)
        self.words.setText(" ".join(filter(None, (why, _remarks(named)))))

    def _of_runs(self) -> list[Named]:
        found = zip(self.content.runs, self.content.names, self.content.colours, strict=True)
        return [
            (run.path, colour, name, self._known[run.path])
            for run, name, colour in found
            if run.path in self._known
        ]

    def _of_groups(self) -> list[Named]:
        """Return the configurations, without excluded runs."""
        comparison = self.content.comparison
        if comparison is None:
            return []
        named = []
        for group in comparison.groups:
            paths = [self.content.runs[run.index].path for run in group.included_runs]
            found = [self._known[path] for path in paths if path in self._known]
            if found:
                colour = self.content.colours[group.runs[0].index]
                named.append((paths[0], colour, group.label, merge_distributions(found)))
        return named

    def _follow_ticks(self) -> None:
        """Apply the ticks of the first chart to the second."""
        visible = {trace.run_id: trace.visible for trace in self.nines.runs}
        for trace in self.shares.runs:
            if visible.get(trace.run_id, True) != trace.visible:
                self.shares.set_run_visible(trace.run_id, visible=not trace.visible)


def _read(cuts: dict[str, float]) -> dict[str, Distribution]:
    """Return the distributions of runs, each without its first seconds given in `cuts`."""
    found = {}
    for path, cut_s in cuts.items():
        try:
            found[path] = read_distribution(Path(path), cut_s)
        except FootingError:
            continue  # damaged or removed since: it has no line
    return found


def _remarks(named: list[Named]) -> str:
    without = [name for _, _, name, found in named if not found.histogram.total]
    sampled = [f"{name} 1:{found.one_in}" for _, _, name, found in named if found.one_in > 1]
    remarks = []
    if without:
        remarks.append(tr("No latencies: {names}.").format(names=name_some(without)))
    if sampled:
        remarks.append(tr("Sampled: {names}.").format(names=name_some(sampled)))
    return " ".join(remarks)
