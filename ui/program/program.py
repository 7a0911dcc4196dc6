"""The program once Qt is loaded: application, theme, typeface, window, signals of the system.

The first window listens for later starts, shows what they request, and comes to the front.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QLibraryInfo, QLocale, QObject, QSocketNotifier, Qt, QTimer, QTranslator
from PySide6.QtGui import QFont, QIcon
from PySide6.QtWidgets import QApplication, QWidget

from app import APPLICATION_ID, COMMAND
from app.domain.errors import InternalError
from app.domain.text import ENGLISH, LANGUAGE
from app.preferences import read_preferences
from ui.background import collect_in_gui_thread, finish_background
from ui.program.application import ACTIVATION, MOST_BYTES, TAKEN, OpenRequest, instance_socket, lock_place
from ui.style import FAMILY, FONTS, apply_theme, load_fonts
from ui.theme import Theme
from ui.widgets.texts import expose_data_to_screen_readers
from ui.window.commands.preferences_dialog import preferred_scheme, prefers_contrast
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import ORGANISATION, WindowSettings, open_settings

if TYPE_CHECKING:
    from ui.program.application import WindowRequest


_READ_S: Final = 1.0
"""A second start writes its line before it is accepted; there is no longer wait for one that has not."""


class FirstWindow(QObject):
    """Listens on a socket until it is closed; does nothing if another process listens there."""

    def __init__(self, place: Path, take: Callable[[OpenRequest], object]) -> None:
        super().__init__()
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
        """Whether later starts are received here."""
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
                open_request = OpenRequest.of(_line_of(peer))
            except ValueError as error:
                _log.debug("not understood: %s", error)
                return
            peer.sendall(TAKEN)
            self._take(open_request)

    def close(self) -> None:
        """Stop listening."""
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


POINTS: Final = 9.75
"""13 pixels at 96 dots per inch: as wide as DejaVu Sans at Qt's own 9 points."""

_UNCHOSEN: Final = frozenset({"", "sans", "sans serif", "sans-serif", "system-ui"})
"""Qt's requests without a chosen font: QGenericUnixTheme and similar, in qgenericunixthemes.cpp."""


def set_typeface(app: QApplication, folder: Path = FONTS) -> None:
    """Set the program in Inter unless the desktop has chosen a font.

    If the desktop's platform theme names a font (KDE's settings, GNOME's through Qt's GTK theme), family and
    size are kept; else only a size larger than Qt's own is. Glyphs missing in Inter come from the previous
    font. Unreadable files are logged and change nothing.
    """
    before = app.font()
    if before.family().lower() not in _UNCHOSEN:
        return
    if (unusable := load_fonts(folder)) is not None:
        _log.warning("%s cannot be used: the window is set in %s", unusable, before.family())
        return
    font = QFont(before)
    font.setFamilies([FAMILY, before.family()])
    font.setPointSizeF(max(POINTS, before.pointSizeF()))
    app.setFont(font)


_log = logging.getLogger(__name__)


class SystemSignals(QObject):
    """Closes the window on SIGINT, SIGTERM and SIGHUP like its close button, but without a question.

    Python runs signal handlers only between byte codes; the file descriptor wakes up Qt's loop for them.
    """

    def __init__(self, close: Callable[[], object]) -> None:
        super().__init__()
        self._close = close
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.settimeout(0)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._woken)
        self._before = {
            number: signal.signal(number, self._received)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        signal.set_wakeup_fd(self._writer.fileno())

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        """Do nothing: the wake-up follows through the descriptor."""

    def _woken(self) -> None:
        self._reader.recv(64)
        self._close()

    def restore(self) -> None:
        """Restore the previous signal handlers."""
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()


def _show_exceptions(notify: Callable[[str], None]) -> None:
    """Show unexpected exceptions in the window; log their tracebacks."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("unexpected", exc_info=(kind, error, trace))
        internal = InternalError.of(error)
        notify(f"{internal.message} {internal.hint}")

    sys.excepthook = hook


def make_application() -> QApplication:
    """Return the application with the names by which desktops know it."""
    app = QApplication([COMMAND])
    collect_in_gui_thread()
    app.setApplicationName(COMMAND)
    app.setApplicationDisplayName("pgFooting")
    app.setOrganizationName(ORGANISATION)
    app.setDesktopFileName(APPLICATION_ID)
    _translate_qt(app)
    set_typeface(app)
    expose_data_to_screen_readers()
    return app


def _play(window: MainWindow, theme: Theme, settings: WindowSettings, request: WindowRequest) -> None:
    """Replay the requested run; several race."""
    if len(request.replay) == 1:
        window.campaigns.replay(str(request.replay[0]), request.speed or 1.0, talk=request.talk)
    elif request.replay:
        from ui.race.starting import RaceChoice, start_race  # noqa: PLC0415 - not needed to show the window

        choice = RaceChoice(request.replay, None, request.library, request.speed)
        start_race(window, theme, settings.qt, window.notice.show_message, choice)


def _translate_qt(app: QApplication) -> None:
    """Set the program's language for Qt's own texts (dialogs, menus of text fields) and numbers."""
    QLocale.setDefault(QLocale(LANGUAGE))
    translator = QTranslator(app)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if LANGUAGE != ENGLISH and translator.load(f"qtbase_{LANGUAGE}", folder):
        app.installTranslator(translator)


def show_window(request: WindowRequest, icon: Path) -> int:
    """Show the window until it is closed; return the exit status."""
    app = make_application()
    app.setWindowIcon(QIcon(str(icon)))
    preferences, refusal = read_preferences()
    theme = Theme(preferred_scheme(preferences), high_contrast=prefers_contrast(preferences))
    apply_theme(app, theme)
    settings = WindowSettings(open_settings())
    window = MainWindow(request.library, theme, settings)
    _show_exceptions(window.notice.show_message)
    signals = SystemSignals(window.close_without_question)
    window.show()

    def begin() -> None:
        window.begin()
        if refusal:
            window.notice.show_message(refusal)
        if request.runs:
            window.open_files(request.runs)
        _play(window, theme, settings, request)

    def take(open_request: OpenRequest) -> None:
        bring_to_front(window, open_request.token)
        if open_request.runs:
            window.open_files(map(Path, open_request.runs))

    place = instance_socket(request.library, os.environ)
    first = FirstWindow(place, take) if place is not None else None
    QTimer.singleShot(0, begin)
    status = app.exec()
    if first is not None:
        first.close()
    signals.restore()
    finish_background()
    return status
