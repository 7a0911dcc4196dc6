"""How large the partition on each disk is: what the data needs, the whole disk, or a size."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLineEdit

from app.domain.text import tr
from app.domain.units import format_size
from app.draft.disks.target import PREFIX
from app.draft.fields.storage_state import GroupDraft
from ui.widgets.fields import HELP, combo_box, line_edit

_AUTOMATIC, _WHOLE, _OTHER = "automatic", "whole", "other"
_PARTITION: Final = f"{PREFIX}partition_size"


class PartitionEditor(QObject):
    """What the data needs, the whole disk, or a size.

    Signals:
        edited: the group's draft was changed.
    """

    edited = Signal()

    def __init__(self, group: GroupDraft) -> None:
        super().__init__()
        self._group = group
        self._loading = False
        self.kind = combo_box()
        self.kind.addItem(tr("what the data needs"), _AUTOMATIC)
        self.kind.addItem(tr("the whole disk"), _WHOLE)
        self.kind.addItem(tr("another size"), _OTHER)
        self.amount: QLineEdit = line_edit("64 GiB")
        self.amount.setAccessibleName(tr("Size of the partition"))
        self.amount.setProperty(HELP, _PARTITION)
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.amount.textEdited.connect(self._on_size)

    def show_group(self, group: GroupDraft) -> None:
        """Show and edit this one."""
        self._group, self._loading = group, True
        kind = _WHOLE if group.whole_disk else _OTHER if group.partition else _AUTOMATIC
        self.kind.setCurrentIndex(self.kind.findData(kind))
        if self.amount.text() != group.partition:
            self.amount.setText(group.partition)
        self.amount.setVisible(kind == _OTHER)
        self._loading = False

    def show_size(self, size_bytes: int | None) -> None:
        """Show what the data needs, where that is what is chosen."""
        label = tr("what the data needs")
        if size_bytes and self.kind.currentData() == _AUTOMATIC:
            label = tr("what the data needs: {size}").format(size=format_size(size_bytes))
        self.kind.setItemText(0, label)

    def _on_kind(self) -> None:
        if self._loading:
            return
        kind = self.kind.currentData()
        self._group.whole_disk = kind == _WHOLE
        self._group.partition = self.amount.text() or "64 GiB" if kind == _OTHER else ""
        self.show_group(self._group)
        self.edited.emit()

    def _on_size(self, text: str) -> None:
        self._group.partition = text
        self.edited.emit()
