"""Help (F1): keys, what works on this machine and why the rest does not, and about this program."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass

import PySide6
from PySide6.QtCore import QEvent, QSize, Qt, qVersion
from PySide6.QtGui import QKeySequence, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTabWidget, QTextBrowser, QVBoxLayout, QWidget
from typing_extensions import override

from app import VERSION
from app.analysis.glossary import GLOSSARY
from app.doctor.checks import Check, examine_machine
from app.domain.errors import FootingError
from app.domain.text import tr
from app.storage.layout.availability import read_support
from ui.background import BackgroundOp
from ui.theme import Theme
from ui.widgets.layouts import fill
from ui.widgets.screen_room import screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.window.commands.commands import COMMANDS, KEYS


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page: head, text, hint and colour."""

    head: str
    text: str
    hint: str = ""
    colour: str = "text"


def key_lines() -> tuple[tuple[str, str], ...]:
    """Return (keys, description) of every command and page."""
    native = QKeySequence.SequenceFormat.NativeText
    commands = [(QKeySequence(item.keys).toString(native), item.help) for item in COMMANDS if item.keys]
    return (*commands, *((key.keys, key.help) for key in KEYS))


class HelpWindow(QDialog):
    """The help window; not modal.

    Attributes:
        keys: the page of the keys.
        words: the page of the glossary.
        machine: the page of the doctor's findings.
        program: the page about the program.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self._theme = theme
        self._checks: Sequence[Check] | None = None
        self._problem = ""
        self.setWindowTitle(tr("Help"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.keys = self._page(tr("Keys"))
        self.machine = self._page(tr("What works on this machine"))
        self.program = self._page(tr("About pgFooting"))
        self.words = self._page(tr("Glossary"))
        pages = QTabWidget(self)
        pages.addTab(self.keys, tr("&Keys"))
        pages.addTab(self.words, tr("&Words"))
        pages.addTab(self.machine, tr("This &machine"))
        pages.addTab(self.program, tr("&About"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        fill(QVBoxLayout(self), pages, buttons)
        em = self.fontMetrics().averageCharWidth()
        self.resize(QSize(em * 90, em * 66).boundedTo(screen_room(self)))
        theme.changed.connect(self._write)
        self._write()
        self._op = BackgroundOp(
            lambda: examine_machine(read_support()), self._show_checks, self._show_problem
        ).start()

    def _page(self, name: str) -> QTextBrowser:
        page = QTextBrowser(self)
        page.setAccessibleName(name)
        page.setFrameShape(QTextBrowser.Shape.NoFrame)
        page.setOpenLinks(False)
        return page

    def _show_checks(self, checks: list[Check]) -> None:
        self._checks = checks
        self._write()

    def _show_problem(self, error: FootingError) -> None:
        self._problem = error.message
        self._write()

    def _write(self) -> None:
        self._fill(self.keys, [_Line(keys, text) for keys, text in key_lines()])
        self._fill(self.words, [_Line(each.word, each.meaning) for each in GLOSSARY])
        self._fill(self.machine, self._machine_lines())
        self._fill(self.program, self._program_lines())

    def _machine_lines(self) -> list[_Line]:
        if self._problem:
            return [_Line("", self._problem, colour="warning")]
        if self._checks is None:
            return [_Line("", tr("Looking …"), colour="muted")]
        signs = {True: ("✔", "good"), False: ("✘", "warning"), None: ("·", "muted")}
        return [
            _Line(f"{signs[item.works][0]} {item.topic}", item.message, item.hint, signs[item.works][1])
            for item in self._checks
        ]

    def _program_lines(self) -> list[_Line]:
        return [
            _Line("pgFooting", VERSION),
            _Line(
                "", tr("On which disks, filesystem and options does PostgreSQL run best on this hardware?")
            ),
            _Line(tr("Licence"), tr("PostgreSQL Licence")),
            _Line("Python", platform.python_version()),
            _Line("Qt", f"{qVersion()} (PySide6 {PySide6.__version__})"),
        ]

    def _fill(self, page: QTextBrowser, lines: Sequence[_Line]) -> None:
        page.clear()
        page.document().setDefaultFont(self.font())
        cursor = QTextCursor(page.document())
        for number, line in enumerate(lines):
            if number:
                cursor.insertBlock()
            cursor.insertText(f"{line.head}  " if line.head else "", self._format(line.colour, bold=True))
            cursor.insertText(line.text, self._format("text" if line.head else line.colour))
            if line.hint:
                cursor.insertText(f"\n{line.hint}", self._format("muted"))
        page.moveCursor(QTextCursor.MoveOperation.Start)

    def _format(self, colour: str, *, bold: bool = False) -> QTextCharFormat:
        written = QTextCharFormat()
        written.setForeground(self._theme.colour(colour))
        if bold:
            written.setFontWeight(600)
        return written

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._write()

    @override
    def done(self, result: int) -> None:
        self._op.cancel()
        super().done(result)
