"""Show sweeps: TPS and 99th percentile over a number such as clients, rate or scale."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter
from typing_extensions import override

from app.comparison.factors import Dimension, SweepLine, sweep
from app.domain.text import tr
from ui.charts.data.plotted_run import RunTrace
from ui.charts.data.scale import swept_axis
from ui.charts.stack.chart_window import SeriesList
from ui.charts.stack.stack import ChartStack
from ui.compare.distribution import SweepCurves
from ui.compare.parts import (
    Choice,
    View,
    control_row,
    labelled,
)
from ui.theme import Theme
from ui.widgets.texts import plain_label

_FIGURES: Final = ("tps", "latency_p99_ms")
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
        self.words = plain_label(parent=self)
        row.addWidget(self.words)
        row.addStretch(1)
        self.over.chosen.connect(self.refresh)
        self.stack: ChartStack | None = None
        self._lines: SeriesList | None = None
        self._shown: tuple[str, tuple[float, ...]] | None = None
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self.rows.addWidget(self._splitter, 1)

    @override
    def refresh(self) -> None:
        comparison = self.content.comparison
        swept = [each for each in self.content.dimensions if each.is_swept]
        self.over.offer([(each.name, each.name) for each in swept])
        over = next((each for each in swept if each.name == self.over.choice), None)
        if comparison is None or over is None:
            return
        found = {name: sweep(comparison, over, name) for name in _FIGURES}
        levels = sorted({point.x for line in found["tps"] for point in line.points})
        if not levels:
            return
        is_log = levels[0] > 0 and levels[-1] >= _LOG_FROM * levels[0]
        stack = self._stack_for(over, levels, is_log=is_log)
        stack.set_runs(self._traces(found, levels, is_log=is_log))
        self.words.setText(self.content.left_out[1])

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
            groups = [comparison.groups[each.group] for line in lines_of.values() for each in line.points]
            paths = {self.content.runs[run.index].path for group in groups for run in group.runs}
            colour = self.content.colours[groups[0].runs[0].index]
            shown = not paths.issubset(self.content.left_out[0])
            traces.append(RunTrace(name, SweepCurves(lines_of, is_log, ends), colour, name, shown))
        return traces


def _place(level: float, *, is_log: bool) -> float:
    return math.log10(level) if is_log else level
