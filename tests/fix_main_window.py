"""Main windows for tests: settings and state of the test alone, nothing left running when it ends."""

# ruff: noqa: PLC0415 - this file is loaded for every test; those without a window do not wait for Qt

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # tests without a window must not need Qt
    from pytestqt.qtbot import QtBot

    from ui.compare.page import ComparePage
    from ui.theme import Theme
    from ui.window.main_window import MainWindow

    OpenWindow = Callable[..., MainWindow]


@pytest.fixture
def light(qtbot: QtBot) -> Theme:
    """The light theme, whatever the system says."""
    from ui.theme import Scheme, Theme

    return Theme(Scheme.LIGHT)


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of this test alone: no campaign of the machine is seen."""
    for name in ("STATE", "CONFIG", "DATA", "CACHE"):
        folder = tmp_path / "xdg" / name.lower()
        folder.mkdir(parents=True, mode=0o700)
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder))
    return tmp_path / "xdg"


@pytest.fixture
def open_window(qtbot: QtBot, own_state: Path, light: Theme, tmp_path: Path) -> Iterator[OpenWindow]:
    """Open a window of a library; windows of one test share their settings, as in life."""
    from PySide6.QtCore import QSettings

    from ui.background import finish_background
    from ui.window.commands.deferred import find_live_folders
    from ui.window.main_window import MainWindow
    from ui.window.pages.window_settings import WindowSettings

    def find_own() -> tuple[Path, ...]:
        return tuple(folder for folder in find_live_folders() if own(folder))

    before = QSettings.defaultFormat()
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)  # of pages that keep things of their own
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path))
    opened: list[MainWindow] = []
    libraries: list[Path] = []

    def own(folder: Path) -> bool:  # root's campaigns are all in one place: others may run as well
        return any(folder.is_relative_to(library) for library in libraries)

    def make(library: Path, *, width: int = 1280, height: int = 800, begin: bool = True) -> MainWindow:
        settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
        window = MainWindow(library, light, WindowSettings(settings), find_own)
        opened.append(window)
        libraries.append(library.resolve())
        if width and not settings.contains("window/geometry"):
            window.resize(width, height)
        window.show()
        if begin:
            window.begin()
        return window

    yield make
    QSettings.setDefaultFormat(before)
    for window in opened:
        window.close_without_question()
        window.deleteLater()
    assert finish_background(120)


def until_read(qtbot: QtBot, window: MainWindow) -> None:
    """Wait until the whole library has been read."""
    with qtbot.waitSignal(window.reader.read, check_params_cb=lambda _runs, complete: complete):
        window.reader.refresh()


def open_read(qtbot: QtBot, open_window: OpenWindow, library: Path) -> MainWindow:
    """Open a window of a library and wait until all of it has been read."""
    window = open_window(library)
    until_read(qtbot, window)
    return window


def open_comparison(
    qtbot: QtBot, open_window: OpenWindow, library: Path, paths: Iterable[Path]
) -> tuple[MainWindow, ComparePage]:
    """Open a window of a library and let its command compare these runs of it."""
    from ui.compare.page import ComparePage

    window = open_read(qtbot, open_window, library)
    window.runs_page.model.choose([str(path) for path in paths])
    window.commands["compare"].trigger()
    shown = window.pages.currentWidget()
    assert isinstance(shown, ComparePage)
    return window, shown
