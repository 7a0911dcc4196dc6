"""Phases of runs that measured several, side by side: a figure each, with an axis of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from typing_extensions import override

from app.comparison.label_shortening import short_names
from app.comparison.overall.phases import PHASE_FIGURES, ComparedPhase
from app.domain.text import tr
from ui.charts.figures.bars import BarFigure, BarGroup
from ui.charts.figures.figure import FigureView
from ui.charts.figures.side_by_side import FiguresSideBySide
from ui.compare.content import NOT_YET, Content
from ui.compare.figures import bar_of, better_words, figure_label, known_figures
from ui.compare.parts import Choice, View, control_row, figure_entries, labelled
from ui.theme import Theme

OWN: Final = ""
"""Choice of the figure that suits each phase: TPS, or the 99th percentile where a rate was offered."""


def make_phases(content: Content, name: str = OWN) -> FiguresSideBySide | None:
    """Return a figure of each phase, with every configuration that has it; None where there is none.

    Args:
        content: what is compared.
        name: of the figure; `OWN` for the one that suits each phase.
    """
    if not content.phases:
        return None
    parts = tuple(_part(content, phase, name or phase.figure) for phase in content.phases)
    note = tr("whiskers: 95 % interval over runs; dots: runs; each phase has an axis of its own, from zero")
    return FiguresSideBySide(tr("Each phase for itself"), parts, note)


def _part(content: Content, phase: ComparedPhase, name: str) -> BarFigure:
    groups = phase.comparison.groups
    short = short_names([group.name for group in groups])
    found = ((place, bar_of(content, phase.comparison, groups[place], name)) for place in phase.groups)
    bars = tuple(
        replace(bar, label=short[place], tip="\n".join(filter(None, (groups[place].name, bar.tip))))
        for place, bar in found
    )
    title = ": ".join(part for part in (phase.label, phase.transactions) if part)
    note = ", ".join(part for part in (figure_label(name), better_words(name)) if part)
    return BarFigure(title, (BarGroup("", bars),), note)


class PhasesView(View):
    """One figure a phase.

    Attributes:
        what: figure.
        figure: shows the bars.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what = Choice(tr("Figure"))
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("&Figure"), self.what)
        row.addStretch(1)
        self.what.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def why_not(self, content: Content) -> str:
        if content.comparison is None:
            return NOT_YET
        return "" if content.phases else tr("None of these runs measured several phases that count.")

    @override
    def refresh(self) -> None:
        known = {name for phase in self.content.phases for name in known_figures(phase.comparison)}
        offered = [name for name in PHASE_FIGURES if name in known]
        own = (OWN, tr("TPS, or p99 where a rate was offered"))
        self.what.offer([own, *figure_entries(offered)], OWN)
        self.figure.show_figure(make_phases(self.content, self.what.choice))
