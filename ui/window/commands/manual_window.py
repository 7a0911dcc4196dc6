"""Help (F1): keys, and what works here; the manual (Shift+F1): chapters, links, full-text search."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import PySide6
from PySide6.QtCore import QEvent, QSize, Qt, QUrl, qVersion
from PySide6.QtGui import (
    QBrush,
    QDesktopServices,
    QKeySequence,
    QShortcut,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QPushButton,
    QTabWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app import VERSION
from app.analysis.glossary import GLOSSARY
from app.arguments.declared import filled_text
from app.doctor.checks import Check, examine_machine
from app.domain.errors import FootingError
from app.domain.text import tr
from app.manual.chapters import CHAPTERS, chapter_title
from app.manual.markdown import anchor_of
from app.storage.layout.disk_target import read_support
from ui.background import BackgroundOp
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme
from ui.widgets.fields import plain
from ui.widgets.layouts import fill, screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.window.commands.commands import COMMANDS, KEYS

_CELL_PADDING: Final = 5
_CODE: Final = QTextFormat.Property.BlockCodeFence


class ManualWindow(QDialog):
    """The manual's window; not modal.

    Attributes:
        chapters: the list; the selected one is shown.
        text: the chapter.
        sought: searched text; Return finds the next match, in this chapter or a later one.
        next: finds the next match.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self._theme = theme
        self.setWindowTitle(plain(tr("Man&ual")))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.chapters = QListWidget(self)
        self.chapters.setAccessibleName(tr("Chapters"))
        self.chapters.addItems([chapter_title(each) for each in CHAPTERS])
        self.chapters.setSpacing(TINY)
        self.chapters.setFixedWidth(self.chapters.sizeHintForColumn(0) + 4 * MEDIUM)
        self.text = QTextBrowser(self)
        self.text.setAccessibleName(plain(tr("Man&ual")))
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        self.sought = QLineEdit(self)
        self.sought.setPlaceholderText(tr("Search in the manual"))
        self.sought.setAccessibleName(tr("Search in the manual"))
        self.sought.setClearButtonEnabled(True)
        self.sought.returnPressed.connect(self.find_next)
        self.next = QPushButton(tr("Find &next"), self)
        self.next.setAutoDefault(False)
        self.next.clicked.connect(self.find_next)
        self._lay_out()
        keys = QKeySequence.StandardKey
        for key, do in (
            (keys.Find, self.sought.setFocus),
            (keys.FindNext, self.find_next),
            (keys.ZoomIn, self.text.zoomIn),
            (keys.ZoomOut, self.text.zoomOut),
        ):
            QShortcut(QKeySequence(key), self).activated.connect(do)
        theme.changed.connect(self._write)
        self.chapters.currentRowChanged.connect(lambda _row: self._write())
        self.chapters.setCurrentRow(0)

    def _lay_out(self) -> None:
        search = fill(QHBoxLayout(), (self.sought, 1), self.next)
        right = fill(QVBoxLayout(), search, (self.text, 1), spacing=SMALL)
        fill(QHBoxLayout(self), self.chapters, (right, 1))
        em = self.fontMetrics().averageCharWidth()
        self.resize(QSize(em * 160, em * 100).boundedTo(screen_room(self)))

    def show_chapter(self, name: str, anchor: str = "") -> None:
        """Show a chapter, from the heading of an anchor where it has that."""
        for row, each in enumerate(CHAPTERS):
            if each.id == name:
                self.chapters.setCurrentRow(row)
        for block in _blocks_of(self.text):
            if anchor and block.blockFormat().headingLevel() and anchor_of(block.text()) == anchor:
                cursor = QTextCursor(block)
                self.text.moveCursor(QTextCursor.MoveOperation.End)  # so that the heading stands on top
                self.text.setTextCursor(cursor)
                return

    def find_next(self) -> None:
        """Show the next place of what is sought, in a later chapter where this one has none below."""
        sought = self.sought.text()
        if not sought or self.text.find(sought):
            return
        here = self.chapters.currentRow()
        for row in (*range(here + 1, len(CHAPTERS)), *range(here + 1)):
            if sought.casefold() in filled_text(CHAPTERS[row]).casefold():
                self.chapters.setCurrentRow(row)
                self.text.moveCursor(QTextCursor.MoveOperation.Start)
                if self.text.find(sought):
                    return

    def _follow(self, link: QUrl) -> None:
        if link.isRelative():
            self.show_chapter(link.path().removesuffix(".md"), link.fragment())
        else:
            QDesktopServices.openUrl(link)

    def _write(self) -> None:
        document = self.text.document()
        document.setDefaultFont(self.text.font())
        self.text.setMarkdown(filled_text(CHAPTERS[self.chapters.currentRow()]))
        document.setDocumentMargin(MEDIUM)
        changes = QTextCursor(document)
        changes.beginEditBlock()  # one layout for all: one for each cell of 90 rows takes seconds
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                self._rule(frame)
        ground = QBrush(self._theme.colour("window"))
        for block in _blocks_of(self.text):
            shown = block.blockFormat()
            if shown.hasProperty(_CODE):
                shown.setBackground(ground)
            elif shown.headingLevel() > 1:
                shown.setTopMargin(LARGE if shown.headingLevel() == 2 else MEDIUM)
                shown.setBottomMargin(SMALL)
            else:
                continue
            QTextCursor(block).setBlockFormat(shown)
        changes.endEditBlock()
        self.text.moveCursor(QTextCursor.MoveOperation.Start)

    def _rule(self, table: QTextTable) -> None:
        shown = table.format().toTableFormat()
        shown.setBorderCollapse(True)
        shown.setBorder(0)
        shown.setCellPadding(_CELL_PADDING)
        shown.setCellSpacing(0)
        table.setFormat(shown)
        line = QBrush(self._theme.colour("frame"))
        for row in range(table.rows()):
            for column in range(table.columns()):
                cell = table.cellAt(row, column)
                ruled = cell.format().toTableCellFormat()
                ruled.setBottomBorder(1)
                ruled.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                ruled.setBottomBorderBrush(line)
                cell.setFormat(ruled)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._write()


def _blocks_of(text: QTextBrowser) -> Iterator[QTextBlock]:
    block = text.document().begin()
    while block.isValid():
        yield block
        block = block.next()


# Help (F1): keys, what works on this machine and why the rest does not, and about this program.


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
    commands = [
        (QKeySequence(item.keys).toString(native), item.description) for item in COMMANDS if item.keys
    ]
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
        self.keys = self._page(plain(tr("&Keys")))
        self.machine = self._page(plain(tr("This &machine")))
        self.program = self._page(plain(tr("&About")))
        self.words = self._page(plain(tr("&Glossary")))
        pages = QTabWidget(self)
        pages.addTab(self.keys, tr("&Keys"))
        pages.addTab(self.words, tr("&Glossary"))
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
            return [_Line("", tr("Checking …"), colour="muted")]
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
