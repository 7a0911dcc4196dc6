"""Keys alone lead from the first page to a race and to a report on disk: of the example, and of own runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.draft.fields.state import Step
from app.postgres.installations.installation import Installation
from tests.fix_campaign import CampaignBench
from tests.gui.test_wizard import page_of
from ui.live.page import LivePage
from ui.race.starting import RaceStarter
from ui.race.window import RaceWindow
from ui.report.dialog import ReportDialog
from ui.window.main_window import MainWindow
from ui.wizard.pages.target_page import WherePage
from ui.wizard.pages.workload_page import WorkloadPage
from ui.wizard.wizard import Wizard

if TYPE_CHECKING:
    from tests.fix_main_window import OpenWindow

PATIENCE_MS = 180_000
MOST_TABS = 120
CTRL, ALT, SHIFT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


class Keys:
    """Presses keys in the window that is in front, at whatever has the focus there, and counts them."""

    def __init__(self, qtbot: QtBot, window: QWidget) -> None:
        self.count = 0
        self._qtbot = qtbot
        self.to(window)

    def to(self, window: QWidget) -> None:
        """Go on in another window, which the program itself has put in front."""
        self._qtbot.waitUntil(window.isVisible, timeout=PATIENCE_MS)
        window.activateWindow()  # there is no window manager here
        self._qtbot.waitUntil(window.isActiveWindow, timeout=PATIENCE_MS)
        self._window = window

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        focus: QWidget | None = self._window.focusWidget()
        QTest.keyClick(self._window if focus is None else focus, key, modifiers)
        self.count += 1
        QApplication.processEvents()

    def tab_to(self, wanted: QWidget) -> None:
        """Press Tab until a widget has the focus."""
        for _ in range(MOST_TABS):
            focus: QWidget | None = self._window.focusWidget()
            if focus is not None and (focus is wanted or wanted.isAncestorOf(focus)):
                return
            self.press(Qt.Key.Key_Tab)
        pytest.fail(f"Tab does not reach {wanted}")

    def write(self, edit: QLineEdit, text: str) -> None:
        """Replace what stands in a field."""
        self.tab_to(edit)
        self.press(Qt.Key.Key_A, CTRL)
        QTest.keyClicks(self._window.focusWidget(), text)
        self.count += len(text)

    def when(self, free: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(free, timeout=PATIENCE_MS)


def is_free(window: MainWindow, command: str) -> Callable[[], bool]:
    return window.commands[command].isEnabled


def race_by_keys(keys: Keys, window: MainWindow) -> None:
    """Start a race of the runs that are ticked, look at its verdict, and end it."""
    keys.when(is_free(window, "race"))
    keys.press(Qt.Key.Key_R, CTRL | SHIFT)

    def found() -> RaceWindow | None:
        starter = window.findChild(RaceStarter)
        return starter.window if starter is not None and isinstance(starter.window, RaceWindow) else None

    keys.when(lambda: (race := found()) is not None and race.isVisible())
    race = found()
    assert race is not None
    keys.to(race)
    keys.press(Qt.Key.Key_V)
    assert race.shows_verdict
    keys.press(Qt.Key.Key_Escape)
    keys.when(lambda: not isValid(race) or not race.isVisible())
    keys.to(window)


def report_by_keys(keys: Keys, window: MainWindow, path: Path) -> None:
    """Write a report of the runs that are ticked."""
    keys.when(is_free(window, "report"))
    keys.press(Qt.Key.Key_P, CTRL)
    keys.when(lambda: window.findChild(ReportDialog) is not None)
    dialog = window.findChild(ReportDialog)
    assert isinstance(dialog, ReportDialog)
    keys.to(dialog)
    save = next(each for each in dialog.findChildren(QPushButton) if each.isDefault())
    keys.when(save.isEnabled)
    keys.press(Qt.Key.Key_Return)
    keys.when(lambda: dialog.findChild(QFileDialog) is not None)
    files = dialog.findChild(QFileDialog)
    assert isinstance(files, QFileDialog)
    keys.to(files)
    name = files.findChild(QLineEdit, "fileNameEdit")
    assert isinstance(name, QLineEdit)
    keys.write(name, str(path))
    keys.press(Qt.Key.Key_Return)
    keys.when(lambda: path.exists() and path.read_bytes()[-1024:].rstrip().endswith(b"%%EOF"))
    keys.when(lambda: not isValid(dialog) or not dialog.isVisible())
    keys.to(window)


def test_of_the_example(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    window: MainWindow = open_window(tmp_path / "library")
    qtbot.waitUntil(lambda: window.pages.currentWidget() is window.start_page, timeout=PATIENCE_MS)
    qtbot.waitUntil(window.start_page.example.isVisible, timeout=PATIENCE_MS)
    keys = Keys(qtbot, window)
    keys.tab_to(window.start_page.example)
    keys.press(Qt.Key.Key_Space)
    race_by_keys(keys, window)
    assert keys.count <= 14, "to the race and back"
    report_by_keys(keys, window, tmp_path / "report.pdf")


def go_on(keys: Keys, wizard: Wizard, step: Step) -> None:
    """Press Alt+N as soon as nothing is in its way, and wait for the page after it."""
    keys.when(lambda: wizard.next.isEnabled() and wizard.flow.obstacle() is None)
    keys.press(Qt.Key.Key_N, ALT)
    keys.when(lambda: wizard.flow.step is step)


@pytest.fixture
def bench(own_state: Path, campaign_bench: CampaignBench, monkeypatch: pytest.MonkeyPatch) -> CampaignBench:
    """Folders in which the window's own runner may work."""
    for name, value in campaign_bench.environment.items():
        monkeypatch.setenv(name, value)
    return campaign_bench


@pytest.mark.postgres
@pytest.mark.longest
def test_measured_campaign(
    qtbot: QtBot, open_window: OpenWindow, bench: CampaignBench, installation: Installation, tmp_path: Path
) -> None:
    window: MainWindow = open_window(bench.library)
    qtbot.waitUntil(lambda: window.pages.currentWidget() is window.start_page, timeout=PATIENCE_MS)
    keys = Keys(qtbot, window)
    keys.press(Qt.Key.Key_N, CTRL)
    keys.when(lambda: window.campaigns.wizard is not None)
    wizard = window.campaigns.wizard
    assert wizard is not None
    keys.to(wizard)
    where = page_of(wizard, WherePage)
    keys.when(where.path.isEnabled)
    keys.write(where.path, str(bench.target))
    go_on(keys, wizard, Step.POSTGRESQL)
    go_on(keys, wizard, Step.WORKLOAD)
    work = page_of(wizard, WorkloadPage)
    keys.tab_to(work.data_size.kind)
    keys.press(Qt.Key.Key_End)
    keys.write(work.data_size.amount, "1")
    for key, text in (("workload.clients", "1"), ("workload.warmup", "1s"), ("repeats", "1")):
        if key == "workload.warmup":
            keys.write(work.length.amount, "4s")
        edit = work.fields[key].control
        assert isinstance(edit, QLineEdit)
        keys.write(edit, text)
    go_on(keys, wizard, Step.MORE)
    go_on(keys, wizard, Step.REVIEW)
    keys.when(wizard.next.isEnabled)
    keys.press(Qt.Key.Key_S, ALT)

    def shown() -> LivePage | None:
        page = window.campaigns.live_page
        return page if page is not None and window.pages.currentWidget() is page else None

    keys.when(lambda: shown() is not None or "aborted" in window.notice.words.text())
    page = shown()
    assert page is not None, window.notice.words.text()
    keys.when(lambda: page.watched.ended)
    keys.to(window)
    keys.tab_to(page.header.runs)
    keys.press(Qt.Key.Key_Space)
    keys.when(lambda: len(window.runs_page.model.chosen) == 2)
    race_by_keys(keys, window)
    report_by_keys(keys, window, tmp_path / "report.pdf")
