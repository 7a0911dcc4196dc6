"""Figures of the runs: one a configuration as bars, two against each other, one over two dimensions."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from app.published.figures import PublishedFigure
from ui.charts.figures.figure import FigureView
from ui.compare.content import NOT_YET, Content
from ui.compare.figures import TPS, known_figures, make_bars, make_heat, make_scatter
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


def read_published() -> tuple[PublishedFigure, ...]:
    """Return the published figures; none where their files cannot be read."""
    from app.published.reading import published_figures  # noqa: PLC0415 - read when first asked for

    try:
        return published_figures()
    except FootingError:
        return ()


class BarsView(View):
    """One bar a configuration.

    Attributes:
        what: figure.
        by: dimension that makes groups.
        published: whether figures of others stand beside.
        figure: shows the bars.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what, self.by = Choice(tr("Figure")), Choice(tr("Grouped by"))
        self.published = QCheckBox(tr("&Published figures"))
        self.published.setToolTip(
            tr("Marks of the same filesystem, RAID level and workload on other machines; in no statistic.")
        )
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("&Figure"), self.what)
        labelled(row, tr("&Grouped by"), self.by)
        row.addWidget(self.published)
        row.addStretch(1)
        for choice in (self.what, self.by):
            choice.chosen.connect(self.refresh)
        self.published.toggled.connect(lambda _on: self.refresh())
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        return "" if content.comparison is not None else NOT_YET

    @override
    def refresh(self) -> None:
        if self.content.comparison is None:
            return
        self.what.offer(figure_entries(known_figures(self.content.comparison)), TPS)
        nothing = [("", tr("nothing"))]
        self.by.offer([*nothing, *dimension_entries(self.content.dimensions[:-1])])
        self.published.setEnabled(self.what.choice == TPS)
        published = read_published() if self.published.isChecked() else ()
        by = find_dimension(self.content, self.by.choice)
        self.figure.show_figure(make_bars(self.content, self.what.choice or TPS, by, published))


class ScatterView(View):
    """A point a run.

    Attributes:
        across: figure of the horizontal axis.
        up: figure of the vertical axis.
        figure: shows the points.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.across, self.up = Choice(tr("Across")), Choice(tr("Up"))
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("&Across"), self.across)
        labelled(row, tr("&Up"), self.up)
        row.addStretch(1)
        for choice in (self.across, self.up):
            choice.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        if content.comparison is None:
            return NOT_YET
        return "" if known_figures(content.comparison) else tr("No run has figures.")

    @override
    def refresh(self) -> None:
        if self.content.comparison is None:
            return
        entries = figure_entries(known_figures(self.content.comparison))
        self.across.offer(entries, TPS)
        self.up.offer(entries, "latency_p99_ms")
        if entries:
            self.figure.show_figure(make_scatter(self.content, self.across.choice, self.up.choice))


class HeatView(View):
    """A cell for each pair of values.

    Attributes:
        what: figure.
        across: dimension of the columns.
        down: dimension of the rows.
        figure: shows the cells.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what, self.across, self.down = Choice(tr("Figure")), Choice(tr("Columns")), Choice(tr("Rows"))
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("&Figure"), self.what)
        labelled(row, tr("&Columns"), self.across)
        labelled(row, tr("Ro&ws"), self.down)
        row.addStretch(1)
        for choice in (self.what, self.across, self.down):
            choice.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        if content.comparison is None:
            return NOT_YET
        if len(content.dimensions) < 3:  # the last one is the configuration itself
            return tr(
                "A heat map takes runs that differ in two things or more, such as filesystem and clients."
            )
        return ""

    @override
    def refresh(self) -> None:
        if self.content.comparison is None:
            return
        self.what.offer(figure_entries(known_figures(self.content.comparison)), TPS)
        entries = dimension_entries(self.content.dimensions)
        swept = [each.name for each in self.content.dimensions if each.is_swept]
        others = [name for name, _ in entries if name not in swept[:1]]
        self.across.offer(entries, swept[0] if swept else others[min(1, len(others) - 1)] if others else "")
        self.down.offer(entries, others[0] if others else "")
        across = find_dimension(self.content, self.across.choice)
        down = find_dimension(self.content, self.down.choice)
        if across is not None and down is not None:
            self.figure.show_figure(make_heat(self.content, self.what.choice or TPS, across, down))
