"""Write a document block by block as plain text: contents of run files are never parsed as markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableCellFormat,
    QTextTableFormat,
)
from PySide6.QtWidgets import QTextBrowser

from ui.theme import MEDIUM, SMALL, TINY, Theme, mix


@dataclass(frozen=True, slots=True)
class DocumentColours:
    """Colours of the document."""

    text: QColor
    quiet: QColor
    link: QColor
    warning: QColor
    tint: QColor
    line: QColor

    @classmethod
    def of(cls, theme: Theme) -> DocumentColours:
        """Return the colours of a theme."""
        colour = theme.colour
        tint = mix(colour("warning"), colour("background"), 0.1)
        return cls(colour("text"), colour("muted"), colour("accent"), colour("warning"), tint, colour("grid"))


@contextmanager
def written_at_once(browser: QTextBrowser) -> Iterator[QTextDocument]:
    """Replace the text of a browser, shown from the same place.

    It is one change, laid out once: with tables that is tens of times as fast.
    """
    bar, document = browser.verticalScrollBar(), browser.document()
    place = bar.value()
    document.clear()
    document.setDefaultFont(browser.font())
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    try:
        yield document
    finally:
        cursor.endEditBlock()
        bar.setValue(place)


class PlainWriter:
    """Appends to a document: headings, sentences, tables of labels and values, highlighted warnings."""

    def __init__(self, document: QTextDocument, ink: DocumentColours) -> None:
        document.setDocumentMargin(MEDIUM)
        self._cursor = QTextCursor(document)
        self._ink = ink
        self._size = document.defaultFont().pointSizeF()

    def _heading(self, text: str) -> None:
        self._begin(space=True)
        self._put(text, bold=True)

    def _warn(self, text: str) -> None:
        """Write a highlighted sentence: on a tint of the warning colour, with an edge of it."""
        table = self._table(1, 1)
        layout = table.format()
        layout.setCellPadding(SMALL)
        layout.setTopMargin(TINY)
        layout.setBorderCollapse(True)
        table.setFormat(layout)
        cell = table.cellAt(0, 0)
        look = QTextTableCellFormat()
        look.setBackground(self._ink.tint)
        look.setLeftBorder(3)
        look.setLeftBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        look.setLeftBorderBrush(self._ink.warning)
        cell.setFormat(look)
        cell.firstCursorPosition().insertText(text, self._format())
        self._leave()

    def _pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write labels and values in two columns, with a fine line between the rows."""
        if not rows:
            return
        table = self._table(len(rows), 2)
        widths = [QTextLength(QTextLength.Type.PercentageLength, share) for share in (42, 58)]
        layout = table.format()
        layout.setColumnWidthConstraints(widths)
        table.setFormat(layout)
        for number, (label, value) in enumerate(rows):
            self._put_words(table, number, 0, label, self._ink.quiet)
            self._put_words(table, number, 1, value, self._ink.text)
        self._rule(table)
        self._leave()

    def _rule(self, table: QTextTable) -> None:
        """Draw a fine line below every row but the last."""
        layout = table.format()
        layout.setBorderCollapse(True)
        table.setFormat(layout)
        for row in range(table.rows() - 1):
            for column in range(table.columns()):
                cell = table.cellAt(row, column)
                look = cell.format().toTableCellFormat()
                look.setBottomBorder(1)
                look.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                look.setBottomBorderBrush(self._ink.line)
                cell.setFormat(look)

    def _leave(self) -> None:
        """Continue below a table; the block there has no height until text is put into it."""
        self._cursor.movePosition(QTextCursor.MoveOperation.End)

    def _line(self, text: str, *, colour: QColor | None = None, small: bool = False) -> None:
        self._begin(apart=True)
        self._put(text, colour=colour, small=small)

    def _begin(self, *, indent: bool = False, space: bool = False, apart: bool = False) -> None:
        """Begin a paragraph: `space` separates sections, `apart` unrelated sentences."""
        block = QTextBlockFormat()
        block.setLeftMargin(self._size if indent else 0)
        block.setTopMargin(self._size * (1.2 if space else 0.5 if apart else 0.2))
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

    def _put_words(self, table: QTextTable, row: int, column: int, text: str, colour: QColor) -> None:
        table.cellAt(row, column).firstCursorPosition().insertText(text, self._format(colour=colour))

    def _put_figure(self, table: QTextTable, row: int, column: int, text: str) -> None:
        """Put a number into a cell, with its unit small and muted after it."""
        number, _, unit = text.rpartition(" ")
        has_unit = bool(number) and not any(map(str.isdigit, unit))
        self._put_cell(table, row, column, number if has_unit else text, self._ink.text)
        if has_unit:
            cell = table.cellAt(row, column).lastCursorPosition()
            cell.insertText(f" {unit}", self._format(colour=self._ink.quiet, small=True))

    def _put_cell(self, table: QTextTable, row: int, column: int, text: str, colour: QColor) -> None:
        cell = table.cellAt(row, column).firstCursorPosition()
        cell.setBlockFormat(_right(self._size))
        cell.insertText(text, self._format(colour=colour))


def _right(size: float) -> QTextBlockFormat:
    """Return the format of a cell of numbers, with a distance from the previous one."""
    block = QTextBlockFormat()
    block.setAlignment(Qt.AlignmentFlag.AlignRight)
    block.setLeftMargin(size / 2)
    block.setNonBreakableLines(True)
    return block
