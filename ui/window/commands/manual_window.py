"""The manual (Shift+F1): chapters, links, full-text search; its text can be enlarged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import (
    QBrush,
    QDesktopServices,
    QKeySequence,
    QShortcut,
    QTextBlock,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QPushButton,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.arguments.chapters import filled_text
from app.domain.text import tr
from app.manual.chapters import CHAPTERS, chapter_title
from app.manual.markdown import anchor_of
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme
from ui.widgets.layouts import fill
from ui.widgets.screen_room import screen_room
from ui.widgets.tab_order import set_reading_tab_order

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
        self.setWindowTitle(tr("Manual"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.chapters = QListWidget(self)
        self.chapters.setAccessibleName(tr("Chapters"))
        self.chapters.addItems([chapter_title(each) for each in CHAPTERS])
        self.chapters.setSpacing(TINY)
        self.chapters.setFixedWidth(self.chapters.sizeHintForColumn(0) + 4 * MEDIUM)
        self.text = QTextBrowser(self)
        self.text.setAccessibleName(tr("Manual"))
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
