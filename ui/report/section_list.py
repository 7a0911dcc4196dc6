"""Which sections of a report in which order: a tick each, dragged or moved with the keyboard."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.text import tr
from app.report.wishes import SECTION_LABELS, Section

_ID = Qt.ItemDataRole.UserRole


class _Rows(QListWidget):
    """Rows that are also moved by Alt with Up and Down."""

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


class SectionList(QWidget):
    """Every section of a report.

    Signals:
        changed: another choice or order.
    """

    changed = Signal()

    def __init__(self, sections: Sequence[Section], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = _Rows()
        self.list.setAccessibleName(tr("Sections"))
        self.setFocusProxy(self.list)
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        for section in (*sections, *(each for each in Section if each not in sections)):
            self._add(section, ticked=section in sections or section is Section.RUNS)
        self.list.setCurrentRow(0)
        self.list.setSizeAdjustPolicy(QAbstractItemView.SizeAdjustPolicy.AdjustToContents)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.up = QPushButton(tr("Move &up"))
        self.down = QPushButton(tr("Move &down"))
        buttons = QHBoxLayout()
        for button in (self.up, self.down):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.list)
        layout.addLayout(buttons)
        self.up.clicked.connect(lambda: self.list.move_row(-1))
        self.down.clicked.connect(lambda: self.list.move_row(1))
        self.list.currentRowChanged.connect(self._update_buttons)
        self.list.itemChanged.connect(self.changed)
        self.list.model().rowsMoved.connect(self._on_moved)
        self._update_buttons()

    def _add(self, section: Section, *, ticked: bool) -> None:
        item = QListWidgetItem(SECTION_LABELS[section], self.list)
        item.setData(_ID, section.value)
        item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        if section is Section.RUNS:
            item.setText(tr("{section} (always there)").format(section=item.text()))
            item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsUserCheckable)

    @property
    def sections(self) -> tuple[Section, ...]:
        """What is ticked, in order."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return tuple(
            Section(str(item.data(_ID))) for item in items if item.checkState() is Qt.CheckState.Checked
        )

    def _on_moved(self) -> None:
        self._update_buttons()
        self.changed.emit()

    def _update_buttons(self) -> None:
        row = self.list.currentRow()
        self.up.setEnabled(row > 0)
        self.down.setEnabled(0 <= row < self.list.count() - 1)
