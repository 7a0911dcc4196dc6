"""Overlay: the runs in common charts over elapsed time or the time since their last checkpoint."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from PySide6.QtWidgets import QPushButton
from typing_extensions import override

from app.analysis.labels import one_line
from app.analysis.stability import since_checkpoint
from app.domain.errors import FootingError
from app.domain.text import tr
from app.runfile.series import RunData
from ui.background import BackgroundOp
from ui.charts.data.lines import BandKind
from ui.charts.data.plotted_run import RunTrace
from ui.charts.stack.chart_window import open_chart_window
from ui.charts.stack.legend_table import ChartsAndLegend, LegendTable
from ui.charts.stack.stack import ChartStack, prefetch
from ui.compare.content import MOST_SHOWN, NOT_YET, Content
from ui.compare.parts import Choice, View, control_row, labelled, name_some, sentence_label
from ui.theme import SMALL, Theme

CHARTS: Final = ("tps", "latency")
ELAPSED: Final = "elapsed"
CHECKPOINT: Final = "checkpoint"

_AROUND: Final = (
    (BandKind.AUTOMATIC, tr("one per configuration")),
    (BandKind.NOTHING, tr("each run: means")),
    (BandKind.ENVELOPE, tr("each run: means, envelope")),
    (BandKind.SECONDS, tr("each run: means, seconds")),
)


class OverTimeView(View):
    """Charts on one time axis, with a table of their lines below.

    Attributes:
        stack: the charts.
        legend: names and figures of the lines, with ticks.
        axis: elapsed time or time since the last checkpoint.
        around: bands around the means.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._folded: dict[str, RunData | None] = {}
        self._left_out: Collection[str] | None = None
        self._why = self._words = ""
        self.stack = ChartStack(theme)
        self.stack.set_charts(CHARTS)
        self.stack.run_clicked.connect(self.focus_asked)
        self.legend = LegendTable(self.stack)
        self.axis = Choice(tr("Time axis"))
        self.axis.offer([(ELAPSED, tr("elapsed time")), (CHECKPOINT, tr("since the last checkpoint"))])
        self.around = Choice(tr("Lines"))
        self.around.offer([(around.value, words) for around, words in _AROUND])
        charts = QPushButton(tr("C&harts …"))
        charts.clicked.connect(self.open_chooser)
        row = control_row(self)
        labelled(row, tr("&Time"), self.axis)
        labelled(row, tr("&Lines"), self.around)
        row.addWidget(charts)
        row.addStretch(1)
        self.axis.chosen.connect(self.refresh)
        self.around.chosen.connect(lambda: self.stack.set_around(BandKind(self.around.choice)))
        self.message = sentence_label()
        self.message.setMargin(SMALL)
        self.message.hide()
        self.stack.lines_changed.connect(lambda: self._show_words(self._words))
        self.rows.addWidget(self.message)
        self.rows.addWidget(ChartsAndLegend(self.stack, self.legend), 1)

    @override
    def set_content(self, content: Content) -> None:
        paths = {run.path for run in content.runs}
        if paths != {run.path for run in self.content.runs}:
            self._left_out, self._why = content.left_out
        known = {run.path: run.data for run in self.content.runs}
        same = {run.path for run in content.runs if known.get(run.path) is run.data}
        self._folded = {path: data for path, data in self._folded.items() if path in paths & same}
        super().set_content(content)

    @override
    def refresh(self) -> None:
        if self.axis.choice == CHECKPOINT:
            self._show_folded()
        else:
            self._words = ""
            self._show(self.content.traces)

    def _show(self, traces: tuple[RunTrace, ...]) -> None:
        hidden: Collection[str] = {trace.run_id for trace in self.stack.runs if not trace.visible}
        if self._left_out is not None:
            hidden, self._left_out = self._left_out, None
        wanted = tuple(replace(trace, visible=trace.run_id not in hidden) for trace in traces)
        if wanted != self.stack.runs or any(
            new.data is not old.data for new, old in zip(wanted, self.stack.runs, strict=False)
        ):
            self.stack.set_runs(wanted)
        self.stack.set_focus(self.content.focus or None)
        self._show_words(self._words)

    def _show_folded(self) -> None:
        missing = [run for run in self.content.runs if run.data is not None and run.path not in self._folded]
        if missing:
            self.stop()
            charts = self.stack.chart_ids
            wanted = {run.path: run.data for run in missing if run.data is not None}
            self._op = BackgroundOp(
                lambda: {path: _fold(data, charts, len(wanted)) for path, data in wanted.items()},
                self._take_folded,
                lambda error: self._show_words(error.message),
            ).start()
            self._show_words(NOT_YET)
            return
        traces, without = [], []
        for trace in self.content.traces:
            folded = self._folded.get(trace.run_id)
            if folded is None:
                without.append(trace.label)
            else:
                traces.append(replace(trace, data=folded))
        self._words = tr("Without a checkpoint: {names}.").format(names=name_some(without)) if without else ""
        self._show(tuple(traces))

    def _take_folded(self, folded: dict[str, RunData | None]) -> None:
        self._folded |= folded
        if self.axis.choice == CHECKPOINT:
            self._show_folded()

    def _show_words(self, words: str) -> None:
        """Show a sentence, and how many lines of a crowd are hidden."""
        self._words, lines = words, self.stack.shown.all_bundles
        hidden = sum(not any(trace.visible for trace in line.members) for line in lines)
        if hidden and len(lines) > MOST_SHOWN:
            more = tr(
                "{hidden} of {all} lines are hidden: tick them below, or choose runs with the buttons above."
            )
            words = " ".join((words, self._why, more.format(hidden=hidden, all=len(lines))))
        self.message.setText(one_line(words))
        self.message.setVisible(bool(words))

    def open_chooser(self) -> None:
        """Open the dialog to choose and order the charts."""
        open_chart_window(self.stack)


def _fold(data: RunData, charts: tuple[str, ...], shown: int) -> RunData | None:
    try:
        folded = since_checkpoint(data)
        return None if folded is None else prefetch(folded, charts, shown)
    except FootingError:
        return None  # removed since: the run is listed among those without data
