"""The cells of the dimensions: each is measured unless unticked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from app.domain.text import tr
from app.draft.matrix.cells import CellRow
from ui.theme import SMALL, Theme
from ui.widgets.fields import HELP
from ui.widgets.formatting import tooltip
from ui.widgets.layouts import fill
from ui.widgets.texts import Heading, Text

_LINES: Final = 8


class CellsList(QWidget):
    """A check box for each cell.

    Signals:
        ticked: number of a cell, from 0, and whether it is measured.
    """

    ticked = Signal(int, bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._loading = False
        self.heading = Heading(theme, "")
        hint = Text(theme, tr("What is unticked here is left out and not measured."), role="muted")
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Cells of the matrix"))
        self.list.setProperty(HELP, "dimension.cells")
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        fill(QVBoxLayout(self), self.heading, hint, self.list, spacing=SMALL, margins=0)
        self.list.itemChanged.connect(self._on_changed)

    def show_cells(self, cells: Sequence[CellRow]) -> None:
        """Show cells; hidden if there are none."""
        self._loading = True
        self.setVisible(bool(cells))
        measured = sum(each.measured for each in cells)
        self.heading.setText(
            tr("{measured} of {count} configurations are measured").format(
                measured=measured, count=len(cells)
            )
        )
        if self.list.count() != len(cells):
            self.list.clear()
            for each in cells:  # owned by Python, not addItems: see ui.widgets.fields.set_row_enabled
                QListWidgetItem(each.name, self.list)
        for number, each in enumerate(cells):
            self._show(self.list.item(number), each)
        lines = min(_LINES, max(2, len(cells)))
        self.list.setFixedHeight(lines * self.list.fontMetrics().lineSpacing() * 3 // 2 + 2 * SMALL)
        self._loading = False

    def _show(self, item: QListWidgetItem, each: CellRow) -> None:
        state = Qt.CheckState.Checked if each.measured else Qt.CheckState.Unchecked
        if item.text() != each.name or item.data(Qt.ItemDataRole.CheckStateRole) is None:
            item.setText(each.name)
            item.setToolTip(tooltip(each.name))
            item.setFlags(
                Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            )
        if item.data(Qt.ItemDataRole.CheckStateRole) != state.value:
            item.setCheckState(state)

    def _on_changed(self, item: QListWidgetItem) -> None:
        if not self._loading:
            self.ticked.emit(self.list.row(item), item.checkState() is Qt.CheckState.Checked)
