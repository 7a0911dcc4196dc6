"""Confirm disks to be erased and servers to be loaded, with a field for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.analysis.labels import one_line
from app.domain.text import tr
from app.domain.units import format_size
from app.draft.disks.confirmation import Confirmation
from app.draft.servers import LOAD_FIELD, ServerConfirmation, contact_words
from ui.theme import MEDIUM, TINY, Theme
from ui.widgets.fields import HELP, Field, Section, describe_button, line_edit, set_text
from ui.widgets.formatting import breakable
from ui.widgets.layouts import empty, fill
from ui.widgets.texts import Text, plain_label

_FIELD_EMS = 10


class ConfirmDisks(QWidget):
    """A row for each disk: purpose, model and serial in bold, and four characters to type.

    Signals:
        typed: key of a disk, and the text of its field.
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
        """Show disks; fields of the same disks keep their cursor."""
        keys = tuple(each.key for each in found)
        if keys != self._keys:
            self._build(found)
            self._keys = keys
        for each in found:
            field = self.fields[each.key]
            set_text(field, each.typed)
            wrong = len(each.typed.strip()) >= 4 and not each.matches
            sign = tr("✔ confirmed") if each.matches else tr("✘ does not match") if wrong else ""
            self._signs[each.key].setText(sign)
            self._signs[each.key].set_role("good" if each.matches else "warning")
            field.setAccessibleDescription(sign)

    def _build(self, found: tuple[Confirmation, ...]) -> None:
        empty(self._layout)
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


class ConfirmServers(QWidget):
    """The findings about each server, in rows, and a field for its name.

    Signals:
        typed: connection of a server, and the text of its field.
    """

    typed = Signal(str, str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
        self.fields: dict[str, QLineEdit] = {}
        self.texts: list[QLabel] = []
        self._signs: dict[str, Text] = {}
        self._layout = fill(QVBoxLayout(self), spacing=TINY, margins=0)

    def show_servers(self, found: tuple[ServerConfirmation, ...]) -> None:
        """Show servers; fields of the same servers keep their cursor."""
        shown = tuple((each.connection, each.rows) for each in found)
        if shown != self._shown:
            self._build(found)
            self._shown = shown
        for each in found:
            field = self.fields[each.connection]
            set_text(field, each.typed)
            sign = tr("✔ confirmed") if each.matches else ""
            self._signs[each.connection].setText(sign)
            self._signs[each.connection].setVisible(bool(sign))
            field.setAccessibleDescription(sign)

    def _build(self, found: tuple[ServerConfirmation, ...]) -> None:
        empty(self._layout)
        self.fields, self._signs, self.texts = {}, {}, []
        for each in found:
            self._add(each)

    def _add(self, each: ServerConfirmation) -> None:
        rows = QWidget()
        grid = QGridLayout(rows)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(MEDIUM)
        grid.setVerticalSpacing(TINY)
        grid.setColumnStretch(1, 1)
        for place, (what, value) in enumerate(each.rows):
            cells = plain_label(what), Text(self._theme, one_line(value))
            cells[0].setAlignment(Qt.AlignmentFlag.AlignTop)  # align with the first line of a long value
            for column, cell in enumerate(cells):
                grid.addWidget(cell, place, column)
            cells[1].setAccessibleName(tr("{what}: {value}").format(what=what, value=one_line(value)))
            self.texts += cells
        text = Text(self._theme, "\n".join(each.sentences), role="muted")
        typed = line_edit(each.name)
        label = tr("Type its name, {name}, to &confirm:").format(name=each.name.replace("&", "&&"))
        field = Field(self._theme, label, typed, LOAD_FIELD)
        typed.textEdited.connect(partial(self.typed.emit, each.connection))
        sign = Text(self._theme, role="good")
        for widget in (rows, text, field, sign):
            self._layout.addWidget(widget)
        self.texts.append(text)
        self.fields[each.connection], self._signs[each.connection] = typed, sign


class LoadedServers(Section):
    """The section of the review about servers to be loaded; hidden if there are none.

    Attributes:
        contact: connections to be made by `look`.
        look: allows to inspect the servers; shown while one is not approved.
        servers: the inspected ones.
    """

    def __init__(self, theme: Theme) -> None:
        servers = ConfirmServers(theme)
        contact = Text(theme)
        look = QPushButton(tr("&Look there"))
        describe_button(look, "contact")
        row = QWidget()
        fill(QHBoxLayout(row), look, 1, margins=0)
        super().__init__(theme, tr("Servers that will be put under load"), [contact, row, servers])
        self.servers, self.contact, self.look = servers, contact, look

    def show_servers(self, waiting: Mapping[str, str], found: tuple[ServerConfirmation, ...]) -> None:
        """Show the findings and typed names; for waiting servers only their location.

        Args:
            waiting: connection strings, and the ssh name of each machine; not connected to yet.
            found: the inspected ones.
        """
        self.setVisible(bool(waiting or found))
        for widget in (self.contact, self.look):
            widget.setVisible(bool(waiting))
        if waiting:
            self.contact.setText(contact_words(waiting))
            self.look.setAccessibleDescription(self.contact.text())
        self.servers.show_servers(found)
