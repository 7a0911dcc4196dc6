"""Bars with intervals, grouped by filesystem, RAID, scale ..., with published figures beside them."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from app.published.figures import PublishedFigure
from ui.charts.figures.figure import FigureView
from ui.compare.content import NOT_YET, Content
from ui.compare.figures import TPS, known_figures, make_bars
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
