"""The doors of the first page: each opens the wizard as it says, and nothing that was filled in is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.domain.errors import Problem
from app.draft.fields.state import Place
from tests.gui.test_window_start import WORKING
from ui.theme import Theme
from ui.widgets.fields import ChoiceButton
from ui.window.main_window import MainWindow
from ui.window.pages.start_page import StartPage

OpenWindow = Callable[..., MainWindow]


def go_through(window: MainWindow, door: ChoiceButton) -> list[Place]:
    """Press a door; return where the data lies then, with the wizard still open."""
    QTest.mouseClick(door, Qt.MouseButton.LeftButton)
    wizard = window.campaigns.wizard
    assert wizard is not None
    return [each.place for each in wizard.draft.parts.chosen()]


def cancel(window: MainWindow) -> None:
    assert window.campaigns.wizard is not None
    window.campaigns.wizard.reject()
    assert window.campaigns.wizard is None


@pytest.fixture
def window(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> MainWindow:
    made = open_window(tmp_path / "runs", begin=False)
    made.show()
    qtbot.waitExposed(made)
    return made


def test_doors_tick_their_places(window: MainWindow) -> None:
    start, here = window.start_page, [Place.FOLDER, Place.MEMORY]
    assert go_through(window, start.new) == here
    cancel(window)
    assert go_through(window, start.disks) == [Place.DISKS]
    cancel(window)
    assert go_through(window, start.new) == here
    cancel(window)


def test_filled_draft_keeps_and_adds_disks(window: MainWindow) -> None:
    start = window.start_page
    go_through(window, start.new)
    assert window.campaigns.wizard is not None
    window.campaigns.wizard.draft.parts.values["name"] = "mine"
    cancel(window)
    assert Place.DISKS in go_through(window, start.disks)
    assert window.campaigns.wizard is not None
    assert window.campaigns.wizard.draft.parts.values["name"] == "mine"
    assert Place.FOLDER in [each.place for each in window.campaigns.wizard.draft.parts.chosen()]
    cancel(window)


def test_disk_door_explains_refusal(qtbot: QtBot, light: Theme) -> None:
    page = StartPage(light)
    qtbot.addWidget(page)
    page.show_environment(
        replace(WORKING, disks=Problem("disks", "The helper is not installed.", "Install it."))
    )
    assert page.new.isEnabled()
    assert not page.disks.isEnabled()
    assert "The helper is not installed." in page.disks.sentence.text()
    page.show_environment(replace(WORKING, disks=None))
    assert page.disks.isEnabled()
    page.show_environment(replace(WORKING, installations=()))
    assert not page.disks.isEnabled()
    nowhere = Problem("folder", "It cannot be written.", "")
    page.show_environment(replace(WORKING, folder=nowhere, memory=nowhere))
    assert not page.new.isEnabled()
    assert page.disks.isEnabled()
