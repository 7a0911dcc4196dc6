"""The program once Qt is loaded: application, theme, window, signals of the system."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import QLibraryInfo, QLocale, QObject, QSocketNotifier, QTimer, QTranslator
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from app import APPLICATION_ID, COMMAND
from app.domain.errors import InternalError
from app.domain.text import ENGLISH, LANGUAGE
from app.hosts.preferences import read_preferences
from ui.background import finish_background
from ui.collector import collect_in_gui_thread
from ui.motion import set_reduced_motion
from ui.program.first_window import FirstWindow, bring_to_front
from ui.program.second_start import Handed, meeting_place
from ui.program.typeface import set_typeface
from ui.style import apply_theme
from ui.theme import Theme
from ui.widgets.told import tell_data_to_screen_readers
from ui.window.commands.preferences_dialog import (
    preferred_scheme,
    prefers_contrast,
    prefers_reduced_motion,
)
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import ORGANISATION, WindowSettings, open_settings

if TYPE_CHECKING:
    from ui.program.application import WindowRequest

_log = logging.getLogger(__name__)


class SystemSignals(QObject):
    """SIGINT, SIGTERM and SIGHUP close the window as its close button does, but without a question.

    Python runs signal handlers only between byte codes; the file descriptor wakes Qt's loop up for them.
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
        """The wake-up follows through the descriptor."""

    def _woken(self) -> None:
        self._reader.recv(64)
        self._close()

    def restore(self) -> None:
        """Handle signals as before."""
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()


def _tell_mistakes(tell: Callable[[str], None]) -> None:
    """Show what nobody expected in the window; its traceback goes to the log."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("unexpected", exc_info=(kind, error, trace))
        told = InternalError.of(error)
        tell(f"{told.message} {told.hint}")

    sys.excepthook = hook


def make_application() -> QApplication:
    """Return the application, its names set so that desktops know it."""
    app = QApplication([COMMAND])
    collect_in_gui_thread()
    app.setApplicationName(COMMAND)
    app.setApplicationDisplayName("pgFooting")
    app.setOrganizationName(ORGANISATION)
    app.setDesktopFileName(APPLICATION_ID)
    _translate_qt(app)
    set_typeface(app)
    tell_data_to_screen_readers()
    return app


def _play(window: MainWindow, theme: Theme, settings: WindowSettings, request: WindowRequest) -> None:
    """Play the run that was asked for; several race."""
    if len(request.replay) == 1:
        window.campaigns.replay(str(request.replay[0]), request.speed or 1.0, talk=request.talk)
    elif request.replay:
        from ui.race.starting import RaceWish, start_race  # noqa: PLC0415 - not needed to show the window

        wish = RaceWish(request.replay, None, request.library, request.speed)
        start_race(window, theme, settings.qt, window.notice.tell, wish)


def _translate_qt(app: QApplication) -> None:
    """Let Qt's own texts (of dialogs, menus of text fields) and numbers be in the language of the program."""
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
    set_reduced_motion(prefers_reduced_motion(preferences))
    settings = WindowSettings(open_settings())
    window = MainWindow(request.library, theme, settings)
    _tell_mistakes(window.notice.tell)
    signals = SystemSignals(window.close_without_question)
    window.show()

    def begin() -> None:
        window.begin()
        if refusal:
            window.notice.tell(refusal)
        if request.runs:
            window.open_files(request.runs)
        _play(window, theme, settings, request)

    def take(handed: Handed) -> None:
        bring_to_front(window, handed.token)
        if handed.runs:
            window.open_files(map(Path, handed.runs))

    place = meeting_place(request.library, os.environ)
    first = FirstWindow(place, take) if place is not None else None
    QTimer.singleShot(0, begin)
    status = app.exec()
    if first is not None:
        first.close()
    signals.restore()
    finish_background()
    return status
