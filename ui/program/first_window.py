"""The window that later starts come to: it listens, shows what they ask for, and comes to the front."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QSocketNotifier, Qt
from PySide6.QtWidgets import QWidget

from ui.program.second_start import ACTIVATION, MOST_BYTES, TAKEN, Handed, lock_place

_READ_S: Final = 1.0
"""A second start has written its line when it is accepted; one that has not is waited for no longer."""

_log = logging.getLogger(__name__)


class FirstWindow(QObject):
    """Listens at a place until it is closed; nothing where another one listens there."""

    def __init__(self, place: Path, take: Callable[[Handed], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._place = place
        self._take = take
        self._lock: int | None = None
        self._socket: socket.socket | None = None
        self._notifier: QSocketNotifier | None = None
        try:
            self._listen()
        except OSError as error:
            _log.debug("later starts have windows of their own: %s", error)
            self.close()

    @property
    def is_listening(self) -> bool:
        """Whether later starts come here."""
        return self._socket is not None

    def _listen(self) -> None:
        self._lock = lock_place(self._place)
        if self._lock is None:
            return
        self._place.unlink(missing_ok=True)  # of one that was killed: the lock was free
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self._place))
        self._socket.listen()
        self._socket.settimeout(0)
        self._notifier = QSocketNotifier(self._socket.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._come)

    def _come(self) -> None:
        if self._socket is None:
            return
        with suppress(OSError), self._socket.accept()[0] as peer:
            peer.settimeout(_READ_S)
            try:
                handed = Handed.of(_line_of(peer))
            except ValueError as error:
                _log.debug("not understood: %s", error)
                return
            peer.sendall(TAKEN)
            self._take(handed)

    def close(self) -> None:
        """Listen no more."""
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._notifier = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._place.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _line_of(peer: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < MOST_BYTES:
        part = peer.recv(65536)
        if not part:
            break
        line += part
    return line


def bring_to_front(window: QWidget, token: str) -> None:
    """Show a window above others, as far as the desktop allows it."""
    if token:
        os.environ[ACTIVATION] = token  # read by Qt's plugin for Wayland, which removes it
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
