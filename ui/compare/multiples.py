"""Small multiples: a chart for each run, all on the same scales."""

from __future__ import annotations

from PySide6.QtCore import Qt
from typing_extensions import override

from app.analysis.labels import one_line
from app.domain.errors import FootingError
from app.domain.text import tr
from ui.background import BackgroundOp
from ui.charts.data.registry import CHARTS
from ui.charts.figures.figure import FigureView
from ui.charts.figures.small_multiples import SmallMultiples
from ui.charts.stack.stack import prefetch
from ui.compare.content import NOT_YET, Content
from ui.compare.parts import Choice, View, control_row, labelled
from ui.theme import Theme
from ui.widgets.plain_label import plain_label


class MultiplesView(View):
    """One small chart a run.

    Attributes:
        chart: which chart.
        figure: shows them.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._op: BackgroundOp[None] | None = None
        self.chart = Choice(tr("Chart"))
        self.chart.offer([(chart.id, chart.title) for chart in CHARTS.values()])
        self.figure = FigureView(theme)
        self._words = plain_label()
        row = control_row(self)
        labelled(row, tr("C&hart"), self.chart)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        row.addWidget(self._words)
        row.addStretch(1)
        self.chart.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        return "" if content.runs else NOT_YET

    @override
    def refresh(self) -> None:
        """Read what is missing in the background, then paint."""
        if self._op is not None:
            self._op.cancel()
        content, chart = self.content, self.chart.choice
        data = [run.data for run in content.runs if run.data is not None]

        def read() -> None:
            for each in data:
                prefetch(each, (chart,), len(data))

        self._words.setText(NOT_YET)
        self._op = BackgroundOp(read, lambda _none: self._show(content, chart), self._fail).start()

    def _show(self, content: Content, chart: str) -> None:
        self._words.clear()
        self.figure.show_figure(SmallMultiples(CHARTS[chart], content.traces, content.focus))

    def _fail(self, error: FootingError) -> None:
        self._words.setText(one_line(error.message))

    def stop(self) -> None:
        """Wait for nothing any more."""
        if self._op is not None:
            self._op.cancel()
