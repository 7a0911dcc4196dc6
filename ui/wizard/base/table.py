"""A table of texts, which is only read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from app.domain.columns import Alignment, CellKind, Column
from ui.widgets.fields import HELP
from ui.widgets.formatting import tooltip

T = TypeVar("T")


class TextTable(QTableWidget):
    """Rows below headings; columns of words take the room that the others leave."""

    def __init__(self, name: str, key: str, *, selects: bool = False, most: int = 0) -> None:
        """Create an empty table.

        Args:
            name: for screen readers.
            key: of its explanation.
            selects: whether a row can be chosen.
            most: rows that are visible without scrolling, whose long texts take several lines; 0 for rows of
                one line in a table of fixed height.
        """
        super().__init__(0, 0)
        modes = QAbstractItemView.SelectionMode
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(modes.SingleSelection if selects else modes.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(most > 0)
        self.setAccessibleName(name)
        self.setProperty(HELP, key)
        self.verticalHeader().hide()
        self._most = most
        if most:
            self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            self.verticalHeader().sectionResized.connect(self._fit)
            self.horizontalScrollBar().rangeChanged.connect(self._fit)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)

    def show_rows(self, columns: Sequence[Column[T]], rows: Sequence[T]) -> None:
        """Show rows; the current one stays."""
        blocked = self.blockSignals(True)  # noqa: FBT003 - Qt's signature
        current = self.currentRow()
        self.setColumnCount(len(columns))
        self.setHorizontalHeaderLabels([column.heading for column in columns])
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for place, column in enumerate(columns):
                text = column.cell(row)
                item = QTableWidgetItem(text)
                item.setToolTip(tooltip(*text.splitlines()))
                if column.alignment is Alignment.RIGHT:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(number, place, item)
        modes = QHeaderView.ResizeMode
        for place, column in enumerate(columns):
            is_words = column.kind is CellKind.WORDS
            mode = modes.Stretch if is_words else modes.ResizeToContents
            self.horizontalHeader().setSectionResizeMode(place, mode)
        if 0 <= current < len(rows):
            self.setCurrentCell(current, 0)
        self.blockSignals(blocked)
        if self._most:
            self._fit()

    def _fit(self, *_sizes: int) -> None:
        """Make it as high as its rows, or as the first of them; the rest scrolls."""
        rows = sum(self.rowHeight(row) for row in range(min(self._most, self.rowCount())))
        bar = self.horizontalScrollBar()
        below = bar.sizeHint().height() if bar.maximum() > 0 else 0
        header = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(header + rows + below + 2 * self.frameWidth())
