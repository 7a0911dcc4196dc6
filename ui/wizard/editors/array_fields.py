"""Form fields for the keys of an md array and of the kernel's queue."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.campaign_file.partial import array_keys, queue_keys
from app.draft.disks.target import PREFIX, spec_of
from app.draft.fields.fields import FIELDS
from app.draft.fields.storage_state import GroupDraft, level_of
from ui.theme import Theme
from ui.widgets.columns import Columns
from ui.widgets.layouts import fill
from ui.wizard.base.controls import Form

_KEYS: Final = ("chunk_size", "bitmap", "initial_sync", "scheduler", "read_ahead")


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
        self._there: frozenset[str] = frozenset()
        self._text = ""
        self._form = Form(theme, [f"{PREFIX}{key}" for key in _KEYS], lines=1)
        self._form.edited.connect(self._emit_value)
        self.fields = dict(zip(_KEYS, self._form.fields.values(), strict=True))
        fill(QVBoxLayout(self), Columns(list(self.fields.values()), 30), margins=0)

    def show_group(self, group: GroupDraft) -> None:
        """Show and edit a group."""
        self._group = group
        spec = spec_of(group.made)
        keys = (*array_keys(spec, level_of(group.made, len(group.disks))), *queue_keys(spec))
        self._there = frozenset(keys)
        self.show_matching(self._text)
        self._form.show_texts({f"{PREFIX}{key}": text for key, text in group.texts.items()})

    def show_matching(self, text: str) -> bool:
        """Show the fields that match a search, and return whether there are any."""
        self._text = text
        words = text.casefold().split()
        names = {key: f"{FIELDS[PREFIX + key].shown_name} {key}".casefold() for key in self._there}
        found = {key for key, name in names.items() if all(word in name for word in words)}
        for key, field in self.fields.items():
            field.setVisible(key in found)
        return bool(found)

    def _emit_value(self, key: str, text: str) -> None:
        self._group.texts[key.removeprefix(PREFIX)] = text
        self.edited.emit()
