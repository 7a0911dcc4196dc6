"""Views of figures: bars per configuration, heat map over two dimensions, sweeps.

Sweeps show TPS and 99th percentile over a number such as clients, rate or scale.
"""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QSplitter
from typing_extensions import override

from app.comparison.factors import Dimension, SweepLine, find_dimensions, sweep
from app.domain.text import tr
from app.published.figures import published_figures
from ui.charts.data.plotted_run import RunTrace
from ui.charts.data.scale import swept_axis
from ui.charts.figures.figure import FigureView
from ui.charts.stack.chart_window import SeriesList
from ui.charts.stack.stack import ChartStack
from ui.compare.content import NOT_YET, Content
from ui.compare.distribution import SweepCurves
from ui.compare.figures import TPS, known_figures, make_bars, make_heat
from ui.compare.parts import (
    Choice,
    View,
    control_row,
    dimension_entries,
    figure_entries,
    find_dimension,
    labelled,
)
from ui.theme import Theme

_FIGURES: Final = ("tps", "latency_p99_ms")
_ALL: Final = "all"
_LOG_FROM: Final = 8.0
"""Levels further apart than this factor get a logarithmic axis."""


class SweepView(View):
    """Lines over a swept number.

    Attributes:
        over: the number.
        stack: the charts; a new one for another number.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.over = Choice(tr("Over"))
        row = control_row(self)
        labelled(row, tr("&Over"), self.over)
        row.addStretch(1)
        self.over.chosen.connect(self.refresh)
        self.stack: ChartStack | None = None
        self._lines: SeriesList | None = None
        self._shown: tuple[str, tuple[float, ...]] | None = None
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self.rows.addWidget(self._splitter, 1)

    @override
    def why_not(self, content: Content) -> str:
        if content.comparison is None:
            return NOT_YET
        if any(each.is_swept for each in content.dimensions):
            return ""
        return tr("These runs do not differ in clients, rate or scale.")

    @override
    def refresh(self) -> None:
        comparison = self.content.comparison
        swept = [each for each in self.content.dimensions if each.is_swept]
        self.over.offer(dimension_entries(swept))
        over = find_dimension(self.content, self.over.choice)
        if comparison is None or over is None:
            return
        found = {name: sweep(comparison, over, name) for name in _FIGURES}
        levels = sorted({point.x for line in found["tps"] for point in line.points})
        if not levels:
            return
        is_log = levels[0] > 0 and levels[-1] >= _LOG_FROM * levels[0]
        stack = self._stack_for(over, levels, is_log=is_log)
        stack.set_runs(self._traces(found, levels, is_log=is_log))

    def _stack_for(self, over: Dimension, levels: list[float], *, is_log: bool) -> ChartStack:
        """Return the charts with this axis; the axis of a stack never changes."""
        wanted = (over.name, tuple(levels))
        if self.stack is None or self._shown != wanted:
            for old in (self.stack, self._lines):
                if old is not None:
                    # Hidden, not destroyed: Python's garbage collection must not delete pyqtgraph's items.
                    old.hide()
                    old.setParent(self)
            self.stack = ChartStack(self.theme, kind=swept_axis(over.name, levels, is_log=is_log))
            self.stack.set_charts(["sweep-tps", "sweep-p99"])
            self._lines = SeriesList(self.stack)
            self._splitter.addWidget(self._lines)
            self._splitter.addWidget(self.stack)
            self._splitter.setStretchFactor(1, 1)
            em = self.fontMetrics().averageCharWidth()
            self._splitter.setSizes([em * 34, em * 120])
            self._shown = wanted
        return self.stack

    def _traces(
        self, found: dict[str, tuple[SweepLine, ...]], levels: list[float], *, is_log: bool
    ) -> list[RunTrace]:
        comparison = self.content.comparison
        if comparison is None:
            return []
        places = [_place(level, is_log=is_log) for level in (levels[0], levels[-1])]
        margin = 0.03 * (places[1] - places[0]) or 0.5
        ends = places[0] - margin, places[1] + margin
        by_name: dict[str, dict[str, SweepLine]] = {}
        for figure, lines in found.items():
            for line in lines:
                by_name.setdefault(line.name, {})[figure] = line
        traces = []
        for name, lines_of in by_name.items():
            first = next(iter(lines_of.values())).points[0].group
            colour = self.content.group_colour(comparison.groups[first])
            traces.append(RunTrace(name, SweepCurves(lines_of, is_log, ends), colour, name))
        return traces


def _place(level: float, *, is_log: bool) -> float:
    return math.log10(level) if is_log else level


class BarsView(View):
    """One bar per configuration.

    Attributes:
        what: figure.
        by: dimension for groups.
        published: whether to show published figures too.
        best_first: whether to sort by this figure, best first.
        figure: shows the bars.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what, self.by = Choice(tr("Figure")), Choice(tr("Grouped by"))
        self.best_first = QCheckBox(tr("&Best first"))
        self.published = QCheckBox(tr("&Published figures"))
        self.published.setToolTip(
            tr("Marks of the same filesystem, RAID level and workload on other machines; in no statistic.")
        )
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("&Figure"), self.what)
        labelled(row, tr("&Grouped by"), self.by)
        for tick in (self.best_first, self.published):
            row.addWidget(tick)
            tick.toggled.connect(lambda _on: self.refresh())
        row.addStretch(1)
        for choice in (self.what, self.by):
            choice.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        return "" if content.comparison is not None else NOT_YET

    @override
    def refresh(self) -> None:
        if self.content.comparison is None:
            return
        self.what.offer(figure_entries(known_figures(self.content.comparison.groups)), TPS)
        nothing = [("", tr("nothing"))]
        self.by.offer([*nothing, *dimension_entries(self.content.dimensions[:-1])])
        self.published.setEnabled(self.what.choice == TPS)
        published = published_figures() if self.published.isChecked() else ()
        by = find_dimension(self.content, self.by.choice)
        best_first = self.best_first.isChecked()
        made = make_bars(self.content, self.what.choice or TPS, by, published, best_first=best_first)
        self.figure.show_figure(made)


class HeatView(View):
    """A cell for each pair of values.

    Attributes:
        under: condition to show; with all conditions, cells with several configurations are empty.
        what: figure.
        across: dimension of the columns.
        down: dimension of the rows.
        figure: shows the cells.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what, self.across, self.down = Choice(tr("Figure")), Choice(tr("Columns")), Choice(tr("Rows"))
        self.under = Choice(tr("Condition"))
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("C&ondition"), self.under)
        labelled(row, tr("&Figure"), self.what)
        labelled(row, tr("&Columns"), self.across)
        labelled(row, tr("Ro&ws"), self.down)
        row.addStretch(1)
        for choice in (self.under, self.what, self.across, self.down):
            choice.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        if content.comparison is None:
            return NOT_YET
        if len(content.dimensions) < 3:  # the last dimension is the configuration itself
            return tr(
                "A heat map takes runs that differ in two things or more, such as filesystem and clients."
            )
        return ""

    @override
    def refresh(self) -> None:
        whole = self.content.comparison
        if whole is None:
            return
        parts = {part.condition: part for part in whole.parts if len(find_dimensions(part)) > 2}
        self.under.offer([*((name, name) for name in parts if name), (_ALL, tr("all of them"))])
        comparison = parts.get(self.under.choice, whole)
        dimensions = find_dimensions(comparison)
        self.what.offer(figure_entries(known_figures(comparison.groups)), TPS)
        entries = dimension_entries(dimensions)
        swept = [each.name for each in dimensions if each.is_swept]
        others = [name for name, _ in entries if name not in swept[:1]]
        self.across.offer(entries, swept[0] if swept else others[min(1, len(others) - 1)] if others else "")
        self.down.offer(entries, others[0] if others else "")
        named = {each.name: each for each in dimensions}
        across, down = named.get(self.across.choice), named.get(self.down.choice)
        if across is not None and down is not None:
            self.figure.show_figure(make_heat(comparison, self.what.choice or TPS, across, down))
