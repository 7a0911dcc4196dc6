"""Options of a filesystem and keys of an md array as form fields: what each does and costs, what is wrong."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.disks.options import OptionRow
from ui.painting import painting
from ui.theme import LARGE, SMALL, TINY, Theme
from ui.widgets.elided import ElidedCheckBox, ElidedLabel
from ui.widgets.fields import HELP, combo_box, line_edit, set_row_enabled
from ui.widgets.formatting import tooltip
from ui.widgets.texts import ErrorText, ReservedLines, Text
from ui.widgets.tips import show_tip

_CONTROL_EMS: Final = 14
_TOLD_LINES: Final = 2
"""Of what an option does, costs, or what is wrong with it; its tool tip has all of it."""


class OptionEditor(QWidget):
    """Edits one option: its label, what it is set to, its real name, and two lines about it.

    Attributes:
        control: what is ticked, chosen or typed in.
        word: what mount, mkfs, zpool or zfs call it.

    Signals:
        said: id of the option, and what somebody says about it; empty for nothing.
    """

    said = Signal(str, str)

    def __init__(self, theme: Theme, row: OptionRow, filesystem: str) -> None:
        super().__init__()
        self._theme, self._row, self._loading = theme, row, False
        self._compared = ""
        self.option_id = row.option.id
        self.control = self._make_control(row)
        self.word = ElidedLabel()
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:  # -b is no b- in any script
            self.word.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            self.word.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.word.setFont(theme.fixed_font())
        self.effect = Text(theme, row.option.effect, role="muted")
        self.badge = Text(theme, role="warning")
        self.note = Text(theme, role="muted")
        self.error = ErrorText(theme)
        self.setProperty(HELP, f"option:{filesystem}:{row.option.id}")
        self.control.setProperty(HELP, f"option:{filesystem}:{row.option.id}")
        self.setAccessibleName(f"{row.option.label} ({row.word})")
        self.control.setAccessibleName(f"{row.option.label} ({row.word})")
        self._told = ReservedLines(_TOLD_LINES, self.error, self.badge, self.note, self.effect)
        self._label = None if isinstance(self.control, QCheckBox) else self._make_label(row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SMALL, 0, 0, 0)
        layout.setSpacing(TINY // 2)
        layout.addWidget(self._label or self.control)
        line = QHBoxLayout()
        line.setSpacing(SMALL)
        if self._label is None:
            line.setContentsMargins(LARGE - TINY, 0, 0, 0)
            line.addWidget(self.word, 1)
        else:
            self.word.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            self.control.setMinimumWidth(_CONTROL_EMS * self.fontMetrics().averageCharWidth())
            line.addWidget(self.control, 1)
            line.addWidget(self.word)
        layout.addLayout(line)
        layout.addWidget(self._told)
        layout.addStretch(1)
        self.show_row(row)

    def _make_label(self, row: OptionRow) -> QLabel:
        label = ElidedLabel()
        label.show_line(row.option.label)
        label.setBuddy(self.control)
        return label

    def _make_control(self, row: OptionRow) -> QCheckBox | QComboBox | QLineEdit:
        if row.is_switch:
            tick = ElidedCheckBox(row.option.label)
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

    def show_row(self, row: OptionRow, compared: str = "") -> None:
        """Show another state of the same option.

        Args:
            row: the state.
            compared: values that are measured, where it is measured with several: they count then.
        """
        self._compared = compared
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
        control.setEnabled((not row.obstacle or row.is_own) and not compared)
        self._show_change(row)
        self._show_words(row)
        self._loading = False

    def _show_values(self, box: QComboBox, row: OptionRow) -> None:
        for number, value in enumerate(row.values):
            box.setItemText(number, value.label)
            box.setItemData(number, tooltip(value.obstacle or value.effect), Qt.ItemDataRole.ToolTipRole)
            set_row_enabled(box, number, enabled=not value.obstacle)
        box.setCurrentIndex(max(0, box.findData(row.text)) if row.is_own else 0)

    def _show_change(self, row: OptionRow) -> None:
        """Show at a glance whether something else counts than tools and kernel have."""
        named = self._label or self.control
        font = named.font()
        is_marked = row.is_changed or bool(self._compared)
        if font.bold() != is_marked:
            font.setBold(is_marked)
            named.setFont(font)
        self.word.show_line(row.word)
        usual = tr("Default: {value}.").format(value=row.usual)
        told = tr("Said as: {words}").format(words=row.told) if row.told else ""
        words = (
            row.option.label,
            row.word,
            told,
            usual,
            row.option.effect,
            *row.costs,
            *row.warnings,
            *row.wrong,
        )
        for widget in (self, self.control, self.word):
            show_tip(widget, *words)
        self.update()

    def _show_words(self, row: OptionRow) -> None:
        chosen = next((value.effect for value in row.values if row.text and value.text == row.text), "")
        several = tr("Compared: {values}.").format(values=self._compared) if self._compared else ""
        notes = [several, chosen[:1].upper() + chosen[1:] + "." if chosen else "", *row.warnings]
        if row.obstacle:
            notes.append(tr("Not here: {reason}.").format(reason=row.obstacle))
        if row.implied:
            notes.append(tr("Follows from what else is chosen: {value}.").format(value=row.implied))
        told = "\n".join(note for note in notes if note)
        badges = "  ".join(f"⚠ {badge}" for badge in row.badges)
        if badges:
            badges = f"{badges}: {' '.join((*row.warnings, *row.costs))}"
        self.badge.setText(badges if not self._compared else "")
        self.note.setText(told)
        self.error.show_problems([Problem("", message) for message in row.wrong])
        self._told.arrange()
        usual = tr("Default: {value}.").format(value=row.usual)
        description = " ".join((row.option.effect, usual, *row.costs, told, *row.wrong))
        self.control.setAccessibleDescription(description.strip())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._row.is_changed or self._compared:
            role = "warning" if self._row.badges or self._row.wrong else "accent"
            with painting(self) as painter:
                painter.fillRect(0, 0, TINY - 1, self.height(), self._theme.colour(role))

    def _on_toggled(self, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._say("true" if ticked else "false")

    def _on_chosen(self) -> None:
        if isinstance(self.control, QComboBox):
            self._say(str(self.control.currentData() or ""))

    def _say(self, text: str) -> None:
        if not self._loading:
            self.said.emit(self.option_id, text)
