"""How latencies are distributed: percentiles on an axis of nines, and shares over latency."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QSplitter, QStackedWidget
from typing_extensions import override

from app.analysis.labels import one_line
from app.analysis.latency_distribution import Distribution, merge_distributions, read_distribution
from app.domain.errors import FootingError
from app.domain.text import tr
from ui.background import BackgroundOp
from ui.charts.data.plotted_run import RunTrace
from ui.charts.data.x_axis import LATENCY, NINES
from ui.charts.stack.series_list import SeriesList
from ui.charts.stack.stack import ChartStack
from ui.compare.content import NOT_YET, Content
from ui.compare.distribution_data import DistributionCurves
from ui.compare.parts import Choice, View, control_row, labelled, list_and_charts
from ui.theme import Theme
from ui.widgets.empty_state import EmptyState
from ui.widgets.plain_label import plain_label

_RUNS: Final = "runs"
_GROUPS: Final = "configurations"

Named = tuple[str, int, str, Distribution]
"""Identity, number of the colour, name, latencies."""


class DistributionView(View):
    """Two charts with one list of lines.

    Attributes:
        what: runs, or configurations with the transactions of all their runs together.
        nines: percentiles.
        shares: shares over latency.
        empty: instead of both where no run has latencies.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._known: dict[str, Distribution] = {}
        self._cuts: dict[str, float] = {}
        self._op: BackgroundOp[dict[str, Distribution]] | None = None
        self.what = Choice(tr("Lines"))
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
        self.empty = EmptyState(theme, "chart-line")
        none = tr("None of these runs holds the latencies of its transactions, of which this is made.")
        self.empty.tell(tr("Latencies"), none)
        self._charts = splitter
        self._pages = QStackedWidget()
        for page in (self._charts, self.empty):
            self._pages.addWidget(page)
        self.what.chosen.connect(self.refresh)
        self.rows.addWidget(self._pages, 1)

    @override
    def why_not(self, content: Content) -> str:
        return "" if content.comparison is not None else NOT_YET

    @override
    def set_content(self, content: Content) -> None:
        runs = content.comparison.runs if content.comparison is not None else ()
        cuts = {run.path: each.cut_s for run, each in zip(content.runs, runs, strict=False)}
        kept = {path for path, cut_s in cuts.items() if cut_s == self._cuts.get(path)}
        self._known, self._cuts = {path: self._known[path] for path in self._known.keys() & kept}, cuts
        super().set_content(content)

    @override
    def refresh(self) -> None:
        """Read what is missing in the background, then draw."""
        if self._op is not None:
            self._op.cancel()
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
        for stack, over_latency in ((self.nines, False), (self.shares, True)):
            stack.set_runs(
                [
                    RunTrace(identity, DistributionCurves(found, over_latency), colour, name)
                    for identity, colour, name, found in shown
                ]
            )
            stack.set_focus(self.content.focus or None)
        self.words.setText(_remarks(named) if shown else "")
        self._pages.setCurrentWidget(self.empty if named and not shown else self._charts)

    def _of_runs(self) -> list[Named]:
        found = zip(self.content.runs, self.content.names, strict=True)
        return [
            (run.path, run.colour, name, self._known[run.path])
            for run, name in found
            if run.path in self._known
        ]

    def _of_groups(self) -> list[Named]:
        """Return the configurations; what takes no part in the comparison takes none here."""
        comparison = self.content.comparison
        if comparison is None:
            return []
        named = []
        for group in comparison.groups:
            members = [place for place in group.members if comparison.runs[place].tps is not None]
            paths = [self.content.runs[place].path for place in members]
            found = [self._known[path] for path in paths if path in self._known]
            if found:
                colour = self.content.group_colour(group)
                named.append((paths[0], colour, group.label, merge_distributions(found)))
        return named

    def _follow_ticks(self) -> None:
        """Show in the second chart what is ticked for the first."""
        visible = {trace.run_id: trace.visible for trace in self.nines.runs}
        for trace in self.shares.runs:
            if visible.get(trace.run_id, True) != trace.visible:
                self.shares.set_run_visible(trace.run_id, visible=not trace.visible)

    def stop(self) -> None:
        """Wait for nothing any more."""
        if self._op is not None:
            self._op.cancel()


def _read(cuts: dict[str, float]) -> dict[str, Distribution]:
    """Return the distributions of runs, each without so many seconds at its beginning."""
    found = {}
    for path, cut_s in cuts.items():
        try:
            found[path] = read_distribution(Path(path), cut_s)
        except FootingError:
            continue  # damaged or gone meanwhile: it has no line
    return found


def _remarks(named: list[Named]) -> str:
    without = [name for _, _, name, found in named if not found.histogram.total]
    sampled = [f"{name} 1:{found.one_in}" for _, _, name, found in named if found.one_in > 1]
    told = []
    if without:
        told.append(tr("No latencies: {names}.").format(names=", ".join(without)))
    if sampled:
        told.append(tr("Sampled: {names}.").format(names=", ".join(sampled)))
    return " ".join(told)
