"""The servers of others that will be loaded: what was found there, and the field in which a name is typed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.analysis.labels import one_line
from app.domain.text import tr
from app.draft.servers import FIELD, ServerConfirmation, contact_words
from ui.theme import MEDIUM, TINY, Theme
from ui.widgets.fields import Field, Section, describe_button, line_edit
from ui.widgets.plain_label import plain_label
from ui.widgets.texts import Text


class ConfirmServers(QWidget):
    """What each server told, in rows, and a field for its name.

    Signals:
        typed: connection of a server, and what stands in its field.
    """

    typed = Signal(str, str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
        self.fields: dict[str, QLineEdit] = {}
        self.told: list[QLabel] = []
        self._signs: dict[str, Text] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(TINY)

    def show_servers(self, found: tuple[ServerConfirmation, ...]) -> None:
        """Show these; fields of the same servers keep their cursor."""
        shown = tuple((each.connection, each.rows) for each in found)
        if shown != self._shown:
            self._build(found)
            self._shown = shown
        for each in found:
            field = self.fields[each.connection]
            if field.text() != each.typed:
                field.setText(each.typed)
            sign = tr("✔ confirmed") if each.matches else ""
            self._signs[each.connection].setText(sign)
            self._signs[each.connection].setVisible(bool(sign))
            field.setAccessibleDescription(sign)

    def _build(self, found: tuple[ServerConfirmation, ...]) -> None:
        while (item := self._layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self.fields, self._signs, self.told = {}, {}, []
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
            cells[0].setAlignment(Qt.AlignmentFlag.AlignTop)  # beside the first line of a long value
            cells[1].setTextFormat(Qt.TextFormat.PlainText)
            for column, cell in enumerate(cells):
                grid.addWidget(cell, place, column)
            cells[1].setAccessibleName(tr("{what}: {value}").format(what=what, value=one_line(value)))
            self.told += cells
        told = Text(self._theme, "\n".join(each.sentences), role="muted")
        told.setTextFormat(Qt.TextFormat.PlainText)
        typed = line_edit(each.name)
        label = tr("Type its name, {name}, to &agree:").format(name=each.name.replace("&", "&&"))
        field = Field(self._theme, label, typed, FIELD)
        typed.textEdited.connect(partial(self.typed.emit, each.connection))
        sign = Text(self._theme, role="good")
        for widget in (rows, told, field, sign):
            self._layout.addWidget(widget)
        self.told.append(told)
        self.fields[each.connection], self._signs[each.connection] = typed, sign


class LoadedServers(Section):
    """The section of the review about servers that will be loaded; not there where there are none.

    Attributes:
        contact: where is connected to once `look` was pressed.
        look: lets the servers be looked at; shown while nobody has said so of one.
        servers: those that were looked at.
    """

    def __init__(self, theme: Theme) -> None:
        servers = ConfirmServers(theme)
        contact = Text(theme)
        contact.setTextFormat(Qt.TextFormat.PlainText)
        look = QPushButton(tr("&Look there"))
        describe_button(look, "contact")
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(look)
        layout.addStretch(1)
        super().__init__(theme, tr("Servers that will be loaded"), [contact, row, servers])
        self.servers, self.contact, self.look = servers, contact, look

    def show_servers(self, waiting: Mapping[str, str], found: tuple[ServerConfirmation, ...]) -> None:
        """Show what was found there, and what was typed; of those that wait only where they are.

        Args:
            waiting: connection strings, and how ssh names each machine; nothing was connected to yet.
            found: those that were looked at.
        """
        self.setVisible(bool(waiting or found))
        for widget in (self.contact, self.look):
            widget.setVisible(bool(waiting))
        if waiting:
            self.contact.setText(contact_words(waiting))
            self.look.setAccessibleDescription(self.contact.text())
        self.servers.show_servers(found)
