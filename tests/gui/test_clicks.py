"""How many clicks lead from the first page to a report on disk and to a race: counted on the real window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QPushButton, QToolButton
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from tests.gui.test_wizard_dimensions import Clicks
from ui.race.starting import RaceStarter
from ui.report.dialog import ReportDialog
from ui.window.main_window import MainWindow

if TYPE_CHECKING:
    from tests.fix_main_window import OpenWindow

PATIENCE_MS = 180_000
"""For hours of samples on a machine that has other things to do."""


def button_of(qtbot: QtBot, window: MainWindow, command: str) -> QToolButton:
    """Return the button that stands for a command as soon as it is in sight, laid out, and does something."""

    def found() -> list[QToolButton]:
        action = window.commands[command]
        buttons = window.findChildren(QToolButton)
        there = [each for each in buttons if each.defaultAction() is action and each.isVisible()]
        return [each for each in there if window.childAt(each.mapTo(window, each.rect().center())) is each]

    qtbot.waitUntil(lambda: window.commands[command].isEnabled() and bool(found()), timeout=PATIENCE_MS)
    return found()[0]


@pytest.fixture
def window(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> MainWindow:
    """The window of somebody who starts the program for the first time."""
    made: MainWindow = open_window(tmp_path / "library")
    qtbot.waitUntil(lambda: made.pages.currentWidget() is made.start_page, timeout=PATIENCE_MS)
    qtbot.waitUntil(made.start_page.example.isVisible, timeout=PATIENCE_MS)
    return made


def test_four_clicks_to_report(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    click = Clicks(qtbot)
    click.on(window.start_page.example)
    click.on(button_of(qtbot, window, "report"))
    qtbot.waitUntil(lambda: window.findChild(ReportDialog) is not None, timeout=PATIENCE_MS)
    dialog = window.findChild(ReportDialog)
    assert isinstance(dialog, ReportDialog)
    save = next(each for each in dialog.findChildren(QPushButton) if each.isDefault())
    qtbot.waitUntil(save.isEnabled, timeout=PATIENCE_MS)
    click.on(save)
    files = dialog.findChild(QFileDialog)
    assert isinstance(files, QFileDialog)
    files.setDirectory(str(tmp_path))  # where a person's documents are
    accept = files.findChild(QDialogButtonBox)
    assert isinstance(accept, QDialogButtonBox)
    click.on(accept.button(QDialogButtonBox.StandardButton.Save))
    qtbot.waitUntil(lambda: any(tmp_path.glob("*.pdf")), timeout=PATIENCE_MS)
    (made,) = tmp_path.glob("*.pdf")
    qtbot.waitUntil(lambda: made.read_bytes()[-1024:].rstrip().endswith(b"%%EOF"), timeout=PATIENCE_MS)
    assert click.count == 4
    qtbot.waitUntil(lambda: not isValid(dialog) or not dialog.isVisible())  # it closes itself


def test_two_clicks_to_race(qtbot: QtBot, window: MainWindow) -> None:
    click = Clicks(qtbot)
    click.on(window.start_page.example)
    click.on(button_of(qtbot, window, "race"))

    def runs() -> bool:
        starter = window.findChild(RaceStarter)
        return starter is not None and starter.window is not None and starter.window.isVisible()

    qtbot.waitUntil(runs, timeout=PATIENCE_MS)
    assert click.count == 2
