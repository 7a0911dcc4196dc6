"""The disks that will be erased, and the field for each in which a person confirms it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QLineEdit, QSizePolicy, QWidget

from app.domain.text import tr
from app.domain.units import format_size
from app.draft.disks.confirmation import Confirmation
from ui.theme import MEDIUM, TINY, Theme
from ui.widgets.fields import HELP, line_edit
from ui.widgets.formatting import breakable
from ui.widgets.texts import Text

_FIELD_EMS = 10


class ConfirmDisks(QWidget):
    """A row for each disk: what for, model and serial in bold, and four characters to type.

    Signals:
        typed: key of a disk, and what stands in its field.
    """

    typed = Signal(str, str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._keys: tuple[str, ...] = ()
        self.fields: dict[str, QLineEdit] = {}
        self._signs: dict[str, Text] = {}
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(MEDIUM)
        self._layout.setVerticalSpacing(TINY)
        self._layout.setColumnStretch(1, 3)
        self._layout.setColumnStretch(3, 1)

    def show_disks(self, found: tuple[Confirmation, ...]) -> None:
        """Show these; fields of the same disks keep their cursor."""
        keys = tuple(each.key for each in found)
        if keys != self._keys:
            self._build(found)
            self._keys = keys
        for each in found:
            field = self.fields[each.key]
            if field.text() != each.typed:
                field.setText(each.typed)
            wrong = len(each.typed.strip()) >= 4 and not each.matches
            sign = tr("✔ confirmed") if each.matches else tr("✘ not its end") if wrong else ""
            self._signs[each.key].setText(sign)
            self._signs[each.key].set_role("good" if each.matches else "warning")
            field.setAccessibleDescription(sign)

    def _build(self, found: tuple[Confirmation, ...]) -> None:
        while (item := self._layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self.fields, self._signs = {}, {}
        for row, each in enumerate(found):
            self._add(row, each)

    def _add(self, row: int, each: Confirmation) -> None:
        name = Text(self._theme, breakable(_words(each)))
        font = QFont(name.font())
        font.setBold(True)
        name.setFont(font)
        name.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        use = Text(self._theme, each.use, role="muted")
        use.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        use.setWordWrap(False)
        field = line_edit("••••")
        field.setMaxLength(8)
        field.setFixedWidth(_FIELD_EMS * field.fontMetrics().averageCharWidth())
        label = tr("Last four characters of the serial number of {model}, {use}")
        field.setAccessibleName(label.format(model=each.model, use=each.use))
        field.setProperty(HELP, "erase")
        field.textEdited.connect(partial(self.typed.emit, each.key))
        sign = Text(self._theme)
        for column, widget in enumerate((use, name, field, sign)):
            self._layout.addWidget(widget, row, column, Qt.AlignmentFlag.AlignVCenter)
        self.fields[each.key], self._signs[each.key] = field, sign


def _words(each: Confirmation) -> str:
    test = tr("TEST DEVICE: ") if each.is_test_device else ""
    words = tr("{test}{model}, {serial}, {size}")
    return words.format(test=test, model=each.model, serial=each.serial, size=format_size(each.size_bytes))
