"""A list of check boxes that the user orders: by dragging, by buttons, by Alt with Up and Down."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.text import tr
from ui.widgets.layouts import fill

_ID = Qt.ItemDataRole.UserRole


class _Rows(QListWidget):
    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None or not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            super().keyPressEvent(event)
        else:
            self.move_row(step)

    def move_row(self, step: int) -> None:
        """Move the current row up or down."""
        row = self.currentRow()
        if row >= 0 and 0 <= row + step < self.count():
            self.model().moveRow(self.rootIndex(), row, self.rootIndex(), row + step + (step > 0))


class OrderedList(QWidget):
    """Rows with ids.

    Attributes:
        list: the rows.
        up: moves the current row.
        down: likewise.

    Signals:
        changed: the user ticked or moved a row.
    """

    changed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = _Rows()
        self.list.setAccessibleName(name)
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.up = QPushButton(tr("Move &up"))
        self.down = QPushButton(tr("Move &down"))
        buttons = QHBoxLayout()
        for button in (self.up, self.down):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.rows = fill(QVBoxLayout(self), self.list, buttons, margins=0)
        self.setFocusProxy(self.list)
        self.up.clicked.connect(lambda: self.list.move_row(-1))
        self.down.clicked.connect(lambda: self.list.move_row(1))
        self.list.currentRowChanged.connect(self._update_buttons)
        self.list.itemChanged.connect(self.changed)
        self.list.model().rowsMoved.connect(self._on_moved)

    def show_rows(self, rows: Iterable[tuple[str, str, bool]]) -> None:
        """Show (id, words, whether it is ticked) in this order."""
        self.list.blockSignals(True)  # noqa: FBT003 - Qt's signature
        self.list.clear()
        for name, words, ticked in rows:
            item = QListWidgetItem(words, self.list)
            item.setData(_ID, name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
        self.list.blockSignals(False)  # noqa: FBT003 - Qt's signature
        self.list.setCurrentRow(0)
        self._update_buttons()

    def ticked(self) -> list[str]:
        """Return the ids of the ticked rows, in order."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return [str(item.data(_ID)) for item in items if item.checkState() is Qt.CheckState.Checked]

    def _on_moved(self) -> None:
        self._update_buttons()
        self.changed.emit()

    def _update_buttons(self) -> None:
        row = self.list.currentRow()
        self.up.setEnabled(row > 0)
        self.down.setEnabled(0 <= row < self.list.count() - 1)
