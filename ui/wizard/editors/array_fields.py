"""Form fields for the keys of an md array and of the kernel's queue."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QVBoxLayout, QWidget

from app.campaign_file.partial import array_keys, queue_keys
from app.domain.storage_plan.plan import Bitmap, InitialSync, Scheduler
from app.domain.text import tr
from app.draft.disks.target import PREFIX, spec_of
from app.draft.fields.storage_state import GroupDraft, level_of
from ui.theme import Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import Field, combo_box, line_edit, plain, set_text

_ARRAY: Final = {
    "chunk_size": tr("C&hunk of the array (--chunk):"),
    "bitmap": tr("Write-&intent bitmap (--bitmap):"),
    "initial_sync": tr("First &synchronisation (--assume-clean):"),
    "scheduler": tr("I/O sched&uler (queue/scheduler):"),
    "read_ahead": tr("Read-&ahead (read_ahead_kb):"),
}
_EMPTY: Final = {"chunk_size": tr("512 KiB (default)"), "read_ahead": tr("as the machine has it")}
_WORDS: Final = {
    "bitmap": {
        "": tr("internal (default)"),
        Bitmap.INTERNAL.value: tr("internal: a crash costs less synchronising"),
        Bitmap.NONE.value: tr("none: each write costs less"),
    },
    "initial_sync": {
        "": tr("waited for (default)"),
        InitialSync.WAIT.value: tr("waited for: the kernel writes every block first"),
        InitialSync.ASSUME_CLEAN.value: tr("left out: sound for mirrors only"),
    },
    "scheduler": {
        "": tr("as the machine has it"),
        Scheduler.NONE.value: tr("none: requests go to the disk as they come"),
        Scheduler.MQ_DEADLINE.value: tr("mq-deadline: sorted, none waits for long"),
        Scheduler.KYBER.value: tr("kyber: as many as keep latency low"),
        Scheduler.BFQ.value: tr("bfq: shared out fairly between processes"),
    },
}


class ArrayFields(QWidget):
    """Fields of a group's array, hidden without one, and of kernel settings for its disks.

    Attributes:
        fields: by the key of campaign files.

    Signals:
        edited: the group's draft was changed.
    """

    edited = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._group = GroupDraft()
        self._loading = False
        self._there: frozenset[str] = frozenset()
        self._text = ""
        self.fields = {
            key: Field(theme, _ARRAY[key], self._control(key), f"{PREFIX}{key}", lines=1) for key in _ARRAY
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(Columns(list(self.fields.values()), 30))

    def _control(self, key: str) -> QWidget:
        if key in _WORDS:
            box = combo_box()
            for text, label in _WORDS[key].items():
                box.addItem(label, text)
            box.currentIndexChanged.connect(partial(self._on_chosen, key, box))
            return box
        edit = line_edit(_EMPTY[key])
        edit.textEdited.connect(partial(self._say, key))
        return edit

    def show_group(self, group: GroupDraft) -> None:
        """Show and edit a group."""
        self._group, self._loading = group, True
        spec = spec_of(group.made)
        keys = (*array_keys(spec, level_of(group.made, len(group.disks))), *queue_keys(spec))
        self._there = frozenset(keys)
        self.show_matching(self._text)
        for key, field in self.fields.items():
            text, control = group.texts.get(key, ""), field.control
            if isinstance(control, QComboBox):
                control.setCurrentIndex(max(0, control.findData(text)))
            elif isinstance(control, QLineEdit):
                set_text(control, text)
        self._loading = False

    def show_matching(self, text: str) -> bool:
        """Show the fields that match a search, and return whether there are any."""
        self._text = text
        words = text.casefold().split()
        found = [
            key
            for key in self.fields
            if key in self._there and all(word in f"{plain(_ARRAY[key])} {key}".casefold() for word in words)
        ]
        for key, field in self.fields.items():
            field.setVisible(key in found)
        return bool(found)

    def _on_chosen(self, key: str, box: QComboBox, _row: int) -> None:
        self._say(key, str(box.currentData()))

    def _say(self, key: str, text: str) -> None:
        if not self._loading:
            self._group.texts[key] = text
            self.edited.emit()
