"""Writing a document block by block, every text as plain text: nothing of a run file is read as markup."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextLength,
    QTextTable,
    QTextTableFormat,
)


@dataclass(frozen=True, slots=True)
class DocumentColours:
    """Colours of the document."""

    text: QColor
    quiet: QColor
    link: QColor
    warning: QColor


class PlainWriter:
    """Appends to a document."""

    def __init__(self, document: QTextDocument, ink: DocumentColours) -> None:
        self._cursor = QTextCursor(document)
        self._ink = ink
        self._size = document.defaultFont().pointSizeF()

    def _heading(self, text: str) -> None:
        self._begin(space=True)
        self._put(text, bold=True)

    def _line(self, text: str, *, colour: QColor | None = None, small: bool = False) -> None:
        self._begin()
        self._put(text, colour=colour, small=small)

    def _begin(self, *, indent: bool = False, space: bool = False) -> None:
        block = QTextBlockFormat()
        block.setLeftMargin(self._size if indent else 0)
        block.setTopMargin(self._size if space else self._size / 6)
        if self._cursor.block().text() or not self._cursor.atStart():
            self._cursor.insertBlock(block)
        else:
            self._cursor.setBlockFormat(block)

    def _put(
        self,
        text: str,
        *,
        colour: QColor | None = None,
        bold: bool = False,
        small: bool = False,
        mono: bool = False,
        link: str = "",
    ) -> None:
        written = self._format(colour=colour, bold=bold, small=small)
        if mono:
            written.setFontFamilies(["monospace"])
            written.setFontStyleHint(QFont.StyleHint.Monospace)
        if link:
            written.setAnchor(True)
            written.setAnchorHref(link)
            written.setForeground(self._ink.link)
        self._cursor.insertText(text, written)

    def _format(
        self, *, colour: QColor | None = None, bold: bool = False, small: bool = False
    ) -> QTextCharFormat:
        written = QTextCharFormat()
        written.setForeground(colour or self._ink.text)
        if bold:
            written.setFontWeight(QFont.Weight.DemiBold)
        if small:
            written.setFontPointSize(self._size * 0.88)
        return written

    def _table(self, rows: int, columns: int) -> QTextTable:
        layout = QTextTableFormat()
        layout.setBorder(0)
        layout.setCellPadding(self._size / 6)
        layout.setCellSpacing(0)
        layout.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        return self._cursor.insertTable(rows, columns, layout)

    def _put_cell(self, table: QTextTable, row: int, column: int, text: str, colour: QColor) -> None:
        cell = table.cellAt(row, column).firstCursorPosition()
        cell.setBlockFormat(_right(self._size))
        cell.insertText(text, self._format(colour=colour))


def _right(size: float) -> QTextBlockFormat:
    """Return the format of a cell of numbers, apart from the one before."""
    block = QTextBlockFormat()
    block.setAlignment(Qt.AlignmentFlag.AlignRight)
    block.setLeftMargin(size / 2)
    block.setNonBreakableLines(True)
    return block
