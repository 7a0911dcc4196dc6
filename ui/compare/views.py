"""The ways to look at compared runs: one registry, each made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from PySide6.QtWidgets import QStackedWidget

from app.domain.text import tr
from ui.compare.content import Content
from ui.compare.distribution import DistributionView
from ui.compare.figure_views import BarsView, HeatView, ScatterView, SweepView
from ui.compare.multiples import MultiplesView
from ui.compare.over_time import OverTimeView
from ui.compare.parts import View, sentence_label
from ui.compare.table_view import TableView
from ui.theme import Theme


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """A way to look at runs: stable name, words of its tab, and what makes it."""

    id: str
    title: str
    make: Callable[[Theme], View]


VIEWS: Final = (
    ViewSpec("over-time", tr("Over time"), OverTimeView),
    ViewSpec("multiples", tr("Side by side"), MultiplesView),
    ViewSpec("distribution", tr("Latencies"), DistributionView),
    ViewSpec("bars", tr("Bars"), BarsView),
    ViewSpec("sweep", tr("Sweep"), SweepView),
    ViewSpec("scatter", tr("Scatter"), ScatterView),
    ViewSpec("heat", tr("Heat map"), HeatView),
    ViewSpec("table", tr("Table"), TableView),
)


class ViewHolder(QStackedWidget):
    """A view, or the reason why there is none; the view is made when it is first needed."""

    def __init__(self, spec: ViewSpec, theme: Theme, made: Callable[[View], None]) -> None:
        super().__init__()
        self.spec = spec
        self._theme, self._made = theme, made
        self.reason = sentence_label()
        self.addWidget(self.reason)
        self.view: View | None = None
        self._stale = True

    def set_stale(self) -> None:
        """What it shows is old."""
        self._stale = True

    def show_content(self, content: Content) -> None:
        """Show this now."""
        if self.view is None:
            self.view = self.spec.make(self._theme)
            self.addWidget(self.view)
            self._made(self.view)
        why = self.view.why_not(content)
        self.reason.setText(why)
        self.setCurrentWidget(self.reason if why else self.view)
        if not why and self._stale:
            self._stale = False
            self.view.set_content(content)
