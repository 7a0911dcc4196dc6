"""The panel at the right: what differs between the runs in the charts, and all about the one in focus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import QAction, QResizeEvent, QTextDocument, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QTextBrowser, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from ui.icons import SMALL_ICON
from ui.theme import Theme
from ui.widgets.formatting import one_line
from ui.widgets.plain_label import mnemonic_label
from ui.widgets.plain_writer import DocumentColours, PlainWriter, written_at_once

if TYPE_CHECKING:
    from app.analysis.facts import RunFacts
    from ui.window.facts.writer import Section

_TABLE_EMS = 44
"""Below this width the table of runs would be clipped."""


class _Nothing(PlainWriter):
    """Says why there are no facts."""

    def write(self, problem: str) -> None:
        if problem:
            self._warn(one_line(problem))
        else:
            self._line(tr("Tick runs in the library to see them here."), colour=self._ink.quiet)


class FactsPanel(QWidget):
    """Shows facts of runs; folding is remembered while the window lives."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._runs: tuple[tuple[RunFacts, int], ...] = ()
        self._focus = ""
        self._problem = ""
        self._buttons: list[tuple[QToolButton, bool]] = []
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

    def add_button(self, action: QAction, *, of_several: bool = False) -> None:
        """Offer a command above the facts, for a single run or for several: there is room for one."""
        button = QToolButton(self)
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setIconSize(QSize(SMALL_ICON, SMALL_ICON))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._head.addWidget(button)
        self._buttons.append((button, of_several))
        self._offer()

    def _offer(self) -> None:
        for button, of_several in self._buttons:
            button.setVisible(of_several == (len(self._runs) > 1))

    def show_runs(self, runs: Sequence[tuple[RunFacts, int]]) -> None:
        """Show the facts of these runs, each with the number of its colour."""
        self._runs, self._problem = tuple(runs), ""
        self._offer()
        self._write()

    def show_problem(self, message: str) -> None:
        """Say why there is nothing to show."""
        self._runs, self._problem = (), message
        self._offer()
        self._write()

    def set_focus_run(self, path: str) -> None:
        """Tell everything about this run; another one where it is not shown."""
        if path != self._focus:
            self._focus = path
            self._write()

    def _fold(self, link: QUrl) -> None:
        from ui.window.facts.writer import folded_by  # noqa: PLC0415 - see its docstring

        self._unfolded ^= folded_by(link.toString())
        self._write()

    def _write(self) -> None:
        self._was_narrow = self._is_narrow()
        bar = self.text.verticalScrollBar()
        place = bar.value()
        document = self.text.document()
        document.clear()
        document.setDefaultFont(self.font())
        with written_at_once(document):
            self._tell(document, DocumentColours.of(self._theme))
        bar.setValue(place)

    def _tell(self, document: QTextDocument, ink: DocumentColours) -> None:
        if not self._runs:
            _Nothing(document, ink).write(self._problem)
            return
        from ui.window.facts.writer import FactsWriter, ShownRun  # noqa: PLC0415 - see its docstring

        runs = [ShownRun(facts, self._theme.series_colour(number)) for facts, number in self._runs]
        paths = [facts.path for facts, _ in self._runs]
        writer = FactsWriter(document, ink, self._unfolded, narrow=self._was_narrow)
        writer.write(runs, paths.index(self._focus) if self._focus in paths else 0)

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
