"""The fields in which is said how a server that already runs is reached."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.domain.text import tr
from ui.theme import SMALL, Theme
from ui.widgets.fields import Field, line_edit

CONNECTION: Final = "target.server.connection"
ROOM: Final = "target.server.room"
SSH: Final = "target.server.ssh"


class ServerFields(QWidget):
    """Connection, room and the name of its machine for ssh.

    Signals:
        edited: key of a campaign file, and what was typed.

    Attributes:
        connection: line for the connection string.
        room: line for a size.
        ssh: line for what ssh calls its machine.
        fields: those with their labels, by key of a campaign file.
    """

    edited = Signal(str, str)

    def __init__(self, theme: Theme, connection: str, room: str, ssh: str) -> None:
        """Make the fields with these labels, whose mnemonics are of the page."""
        super().__init__()
        self.connection = line_edit("host=db.example user=bench")
        self.room = line_edit(tr("nobody knows"))
        self.ssh = line_edit(tr("not asked"))
        self.fields = {
            CONNECTION: Field(theme, connection, self.connection, CONNECTION),
            ROOM: Field(theme, room, self.room, ROOM),
            SSH: Field(theme, ssh, self.ssh, SSH),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        for field in self.fields.values():
            layout.addWidget(field)
        for key, edit in self._edits():
            edit.textEdited.connect(partial(self.edited.emit, key))

    def show_texts(self, connection: str, room: str, ssh: str) -> None:
        """Show these; a field that shows its text already keeps its cursor."""
        for (_, edit), text in zip(self._edits(), (connection, room, ssh), strict=True):
            if edit.text() != text:
                edit.setText(text)

    def _edits(self) -> tuple[tuple[str, QLineEdit], ...]:
        return ((CONNECTION, self.connection), (ROOM, self.room), (SSH, self.ssh))
