"""The panel at the right: what differs between the runs in the charts, and all about the one in focus."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QAction, QResizeEvent, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QTextBrowser, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.analysis.facts import RunFacts
from app.domain.text import tr
from ui.theme import Theme
from ui.widgets.plain_label import mnemonic_label
from ui.widgets.plain_writer import DocumentColours
from ui.window.facts.document import SCHEME, FactsWriter, Section, ShownRun

_TABLE_EMS = 44
"""Below this width the table of runs would be clipped."""


class FactsPanel(QWidget):
    """Shows facts of runs; folding is remembered while the window lives."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._runs: tuple[tuple[RunFacts, int], ...] = ()
        self._focus = ""
        self._problem = ""
        self._was_narrow = False
        self._unfolded: set[Section] = set()
        self.text = QTextBrowser(self)
        self.text.setOpenLinks(False)
        self.text.setAccessibleName(tr("Facts of the runs in the charts"))
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text.document().setUndoRedoEnabled(False)
        self.text.anchorClicked.connect(self._fold)
        title = mnemonic_label(tr("&Facts"), self)
        title.setBuddy(self.text)
        self._head = QHBoxLayout()
        self._head.addWidget(title, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(self._head)
        layout.addWidget(self.text, 1)
        theme.changed.connect(self._write)
        self._write()

    def add_button(self, action: QAction) -> None:
        """Offer a command for the run in focus above its facts."""
        button = QToolButton(self)
        button.setDefaultAction(action)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._head.addWidget(button)

    def show_runs(self, runs: Sequence[tuple[RunFacts, int]]) -> None:
        """Show the facts of these runs, each with the number of its colour."""
        self._runs, self._problem = tuple(runs), ""
        self._write()

    def show_problem(self, message: str) -> None:
        """Say why there is nothing to show."""
        self._runs, self._problem = (), message
        self._write()

    def set_focus_run(self, path: str) -> None:
        """Tell everything about this run; another one where it is not shown."""
        if path != self._focus:
            self._focus = path
            self._write()

    def _fold(self, link: QUrl) -> None:
        name = link.toString()
        if not name.startswith(SCHEME):
            return
        self._unfolded ^= {Section(name.removeprefix(SCHEME))}
        self._write()

    def _write(self) -> None:
        self._was_narrow = self._is_narrow()
        bar = self.text.verticalScrollBar()
        place = bar.value()
        document = self.text.document()
        document.clear()
        document.setDefaultFont(self.font())
        writer = FactsWriter(document, self._ink(), self._unfolded, narrow=self._is_narrow())
        if self._problem:
            writer.write_problem(self._problem)
        else:
            runs = [ShownRun(facts, self._theme.series_colour(number)) for facts, number in self._runs]
            paths = [facts.path for facts, _ in self._runs]
            writer.write(runs, paths.index(self._focus) if self._focus in paths else 0)
        bar.setValue(place)

    def _ink(self) -> DocumentColours:
        colour = self._theme.colour
        return DocumentColours(colour("text"), colour("muted"), colour("accent"), colour("warning"))

    def _is_narrow(self) -> bool:
        return self.width() < _TABLE_EMS * self.fontMetrics().averageCharWidth()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_narrow() != self._was_narrow:
            self._write()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._write()
