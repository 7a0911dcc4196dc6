"""Asking whether a campaign that was begun once loads servers of others: their names are typed each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.domain.errors import FootingError
from app.domain.text import tr
from app.draft.servers import agreed_names, contact_words, server_confirmations
from ui.background import BackgroundOp
from ui.theme import MEDIUM, Theme
from ui.widgets.tab_order import go_as_read
from ui.widgets.texts import Text
from ui.window.commands.deferred import look_at_servers, servers_of_begun
from ui.wizard.editors.confirm_servers import ConfirmServers

if TYPE_CHECKING:
    from app.execution.servers import OpenServer

_SIZE: Final = (720, 520)

Agreed = Callable[[tuple[str, ...]], None]
"""Takes the names that were typed; none where a campaign loads no servers of others."""


class LoadDialog(QDialog):
    """Tells where the campaign connects to, looks at the servers there and asks; gone when it is closed.

    The folder of a campaign may be somebody else's, and libpq offers a server the password that it finds:
    nothing is connected to before a person was told which.

    Attributes:
        servers: what was found there, and the fields for their names.
        connect_: looks there.
        load: begins; enabled once every name was typed.
        told: what is being done, or why it cannot be asked.

    Signals:
        agreed: the names that were typed.
    """

    agreed = Signal(object)

    def __init__(self, theme: Theme, servers: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        go_as_read(self)
        self.setWindowTitle(tr("Load servers"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._servers = servers
        self.told = Text(theme, contact_words(servers))
        self.told.setTextFormat(Qt.TextFormat.PlainText)
        self.servers = ConfirmServers(theme)
        self.servers.typed.connect(self._on_typed)
        self.connect_ = QPushButton(tr("C&onnect"))
        self.connect_.setDefault(True)
        self.connect_.clicked.connect(self._look)
        self.load = QPushButton(tr("&Load and measure"))
        self.load.setEnabled(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self.connect_, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self.load, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._on_accepted)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setSpacing(MEDIUM)
        layout.addWidget(self.told)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(self.servers)
        layout.addWidget(area, 1)
        layout.addWidget(buttons)
        self.resize(*_SIZE)
        self._typed: dict[str, str] = {}
        self._found: tuple[tuple[str, OpenServer], ...] = ()
        self._op: BackgroundOp[tuple[tuple[str, OpenServer], ...]] | None = None
        self.finished.connect(self._stop)

    def _stop(self) -> None:
        if self._op is not None:
            self._op.cancel()

    def _look(self) -> None:
        self.connect_.setEnabled(False)
        self.told.setText(tr("Looking for some seconds at what the servers are, and what others do there …"))
        servers = self._servers
        self._op = BackgroundOp(lambda: look_at_servers(servers), self._take, self._fail).start()

    def _take(self, found: tuple[tuple[str, OpenServer], ...]) -> None:
        self._found = found
        self.connect_.hide()
        self.load.setDefault(True)
        self.told.setText(tr("These servers will be loaded:"))
        self._show()
        next(iter(self.servers.fields.values())).setFocus()

    def _fail(self, error: FootingError) -> None:
        self.connect_.setEnabled(True)
        self.told.setText(f"{error.message} {error.hint}".strip())

    def _on_typed(self, connection: str, typed: str) -> None:
        self._typed[connection] = typed
        self._show()

    def _show(self) -> None:
        confirmations = server_confirmations(self._typed, self._found)
        self.servers.show_servers(confirmations)
        self.load.setEnabled(all(each.matches for each in confirmations))

    def _on_accepted(self) -> None:
        self.agreed.emit(agreed_names(server_confirmations(self._typed, self._found)))
        self.accept()


class LoadConsent(QObject):
    """Asks for campaigns that were begun once: whether they load servers is in their folders.

    Attributes:
        dialog: while it is asked.

    Signals:
        failed: why a campaign cannot be read.
    """

    failed = Signal(str)

    def __init__(self, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._reading: BackgroundOp[Mapping[str, str]] | None = None
        self.dialog: LoadDialog | None = None

    def ask(self, folder: Path, agreed: Agreed) -> None:
        """Call `agreed` at once where the campaign of a folder loads no servers, else once they were typed.

        While one campaign is asked about, others are not begun.
        """
        if self._reading is not None:
            return
        if self.dialog is not None:
            self.dialog.activateWindow()
            return

        def take(servers: Mapping[str, str]) -> None:
            self._reading = None
            if servers:
                self._ask(servers, agreed)
            else:
                agreed(())

        def fail(error: FootingError) -> None:
            self._reading = None
            self.failed.emit(f"{error.message} {error.hint}".strip())

        self._reading = BackgroundOp(lambda: servers_of_begun(folder), take, fail).start()

    def _ask(self, servers: Mapping[str, str], agreed: Agreed) -> None:
        self.dialog = LoadDialog(self._theme, servers, self._window)
        self.dialog.agreed.connect(agreed)
        self.dialog.finished.connect(self._forget)
        self.dialog.open()

    def _forget(self) -> None:
        self.dialog = None

    def stop(self) -> None:
        """Ask nothing any more."""
        if self._reading is not None:
            self._reading.cancel()
        if self.dialog is not None:
            self.dialog.reject()
