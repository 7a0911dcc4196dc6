"""Options of a filesystem and keys of an md array as form fields: what each does and costs, what is wrong."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QVBoxLayout, QWidget

from app.campaign_file.layers import array_keys, queue_keys
from app.domain.problem import Problem
from app.domain.storage_plan.plan import Bitmap, InitialSync, Scheduler
from app.domain.text import tr
from app.draft.disks.options import OptionRow
from app.draft.disks.target import PREFIX, spec_of
from app.draft.fields.storage_state import GroupDraft, level_of
from ui.theme import SMALL, TINY, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import HELP, Field, combo_box, line_edit
from ui.widgets.formatting import tooltip
from ui.widgets.texts import ErrorText, ReservedLines, Text, WrappedLabel


class OptionEditor(QWidget):
    """Edits one option.

    Attributes:
        control: what is ticked, chosen or typed in.

    Signals:
        said: id of the option, and what somebody says about it; empty for nothing.
    """

    said = Signal(str, str)

    def __init__(self, theme: Theme, row: OptionRow, filesystem: str) -> None:
        super().__init__()
        self._theme, self._row, self._loading = theme, row, False
        self.option_id = row.option.id
        self.control = self._make_control(row)
        self.effect = Text(theme, row.option.effect, role="muted")
        self.badge = Text(theme, role="warning")
        self.note = Text(theme, role="muted")
        self.error = ErrorText(theme)
        self.setProperty(HELP, f"option:{filesystem}:{row.option.id}")
        self.control.setProperty(HELP, f"option:{filesystem}:{row.option.id}")
        self.setAccessibleName(row.option.label)
        self.control.setAccessibleName(row.option.label)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, SMALL)
        layout.setSpacing(TINY)
        if not isinstance(self.control, QCheckBox):
            label = WrappedLabel(row.option.label)
            label.setBuddy(self.control)
            layout.addWidget(label)
        self._badges = ReservedLines(1 if row.option.risks else 0, self.badge)
        self._told = ReservedLines(
            2 if any(value.effect for value in row.values) else 1, self.error, self.note
        )
        for widget in (self.control, self._badges, self.effect, self._told):
            layout.addWidget(widget)
        layout.addStretch(1)
        self.show_row(row)

    def _make_control(self, row: OptionRow) -> QCheckBox | QComboBox | QLineEdit:
        if row.is_switch:
            tick = QCheckBox(row.option.label)
            tick.toggled.connect(self._on_toggled)
            return tick
        if row.values:
            box = combo_box()
            for value in row.values:
                box.addItem(value.label, value.text)
            box.currentIndexChanged.connect(self._on_chosen)
            return box
        edit = line_edit()
        edit.textEdited.connect(self._say)
        return edit

    def show_row(self, row: OptionRow) -> None:
        """Show another state of the same option."""
        self._row, self._loading = row, True
        control = self.control
        if isinstance(control, QCheckBox):
            control.setChecked(row.text == "true" if row.text else row.option.default is True)
        elif isinstance(control, QComboBox):
            self._show_values(control, row)
        else:
            shown = row.text if row.is_own else ""
            if control.text() != shown:
                control.setText(shown)
            control.setPlaceholderText(row.default)
        control.setEnabled(not row.obstacle or row.is_own)
        self._show_words(row)
        self._loading = False

    def _show_values(self, box: QComboBox, row: OptionRow) -> None:
        model = box.model()
        for number, value in enumerate(row.values):
            box.setItemText(number, value.label)
            box.setItemData(number, tooltip(value.obstacle or value.effect), Qt.ItemDataRole.ToolTipRole)
            if isinstance(model, QStandardItemModel):
                model.item(number).setEnabled(not value.obstacle)
        box.setCurrentIndex(max(0, box.findData(row.text)) if row.is_own else 0)

    def _show_words(self, row: OptionRow) -> None:
        self.badge.setText("  ".join(f"⚠ {badge}" for badge in row.badges))
        self.badge.setToolTip(tooltip(*row.costs))
        self.badge.setVisible(bool(row.badges))
        chosen = next((value.effect for value in row.values if row.text and value.text == row.text), "")
        notes = [chosen[:1].upper() + chosen[1:] + "." if chosen else "", *row.warnings]
        if row.obstacle:
            notes.append(tr("Not here: {reason}.").format(reason=row.obstacle))
        if row.implied:
            notes.append(tr("Follows from what else is chosen: {value}.").format(value=row.implied))
        told = "\n".join(note for note in notes if note)
        self.note.setText(told)
        self.note.setVisible(bool(told))
        self.error.show_problems([Problem("", message) for message in row.wrong])
        for slot in (self._badges, self._told):
            slot.arrange()
        description = " ".join((row.option.effect, *row.costs, told, *row.wrong))
        self.control.setAccessibleDescription(description.strip())

    def _on_toggled(self, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._say("true" if ticked else "false")

    def _on_chosen(self) -> None:
        if isinstance(self.control, QComboBox):
            self._say(str(self.control.currentData() or ""))

    def _say(self, text: str) -> None:
        if not self._loading:
            self.said.emit(self.option_id, text)


_ARRAY: Final = {
    "chunk_size": tr("C&hunk of the array:"),
    "bitmap": tr("Write-&intent bitmap:"),
    "initial_sync": tr("First &synchronisation:"),
    "scheduler": tr("I/O sched&uler:"),
    "read_ahead": tr("Read-&ahead:"),
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
    """The fields of a group's array, hidden where there is none, and of the kernel's settings for its disks.

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
        """Show and edit this one."""
        self._group, self._loading = group, True
        spec = spec_of(group.made)
        keys = (*array_keys(spec, level_of(group.made, len(group.disks))), *queue_keys(spec))
        for key, field in self.fields.items():
            field.setVisible(key in keys)
            text, control = group.texts.get(key, ""), field.control
            if isinstance(control, QComboBox):
                control.setCurrentIndex(max(0, control.findData(text)))
            elif isinstance(control, QLineEdit) and control.text() != text:
                control.setText(text)
        self._loading = False

    def _on_chosen(self, key: str, box: QComboBox, _row: int) -> None:
        self._say(key, str(box.currentData()))

    def _say(self, key: str, text: str) -> None:
        if not self._loading:
            self._group.texts[key] = text
            self.edited.emit()
