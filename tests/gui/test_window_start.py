from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.domain.errors import Problem
from app.draft.fields.state import DraftEnvironment
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import Installation
from app.process.starter import current_account
from tests.fix_postgres import SMALL_MACHINE
from ui.theme import Theme
from ui.widgets.fields import ChoiceButton
from ui.window.pages.start_page import StartPage

OLD = Installation(
    "/opt/old/bin", "9.6.1", 9, unusable=("Version 9.6.1 is not supported.",), origin="own build"
)
NEW = Installation("/opt/new/bin", "17.2", 17, version_text="postgres (PostgreSQL) 17.2", origin="package")
HINT = "Install it with: apt install postgresql"
WORKING = DraftEnvironment(
    SMALL_MACHINE,
    current_account(),
    "",
    (NEW, OLD),
    HINT,
    CheckedTarget("/somewhere", "", 1 << 36),
    "/somewhere",
    CheckedTarget("/dev/shm", "", 1 << 30),
)


@pytest.fixture
def page(qtbot: QtBot, light: Theme) -> StartPage:
    made = StartPage(light)
    qtbot.addWidget(made)
    made.resize(1280, 760)
    made.show()
    qtbot.waitExposed(made)
    return made


def clipped(page: StartPage) -> list[str]:
    """Texts of labels that have less room than they need."""
    found = []
    for label in page.findChildren(QLabel):
        if label.isVisibleTo(page) and label.text():
            needed = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
            if needed > label.height() or label.width() < label.minimumSizeHint().width():
                found.append(label.text())
    return found


def overlapping(page: StartPage) -> bool:
    buttons = [page.new, page.disks, page.example]
    rects = [QRect(button.mapTo(page, QPoint(0, 0)), button.size()) for button in buttons]
    return any(one.intersects(other) for i, one in enumerate(rects) for other in rects[i + 1 :])


def test_choices_emit_their_signals(qtbot: QtBot, page: StartPage) -> None:
    for button, signal in (
        (page.new, page.new_asked),
        (page.disks, page.disks_asked),
        (page.open, page.open_asked),
        (page.example, page.example_asked),
    ):
        with qtbot.waitSignal(signal):
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_click_on_choice_text_counts(qtbot: QtBot, page: StartPage) -> None:
    window = page.windowHandle()
    place = page.new.sentence.mapTo(page, page.new.sentence.rect().center())
    with qtbot.waitSignal(page.new_asked):
        QTest.mouseClick(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)


def test_return_and_mnemonics_choose(qtbot: QtBot, page: StartPage) -> None:
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.setFocus()
    assert page.new.hasFocus()
    with qtbot.waitSignal(page.new_asked):
        QTest.keyClick(page.new, Qt.Key.Key_Space)
    with qtbot.waitSignal(page.open_asked):
        QTest.keyClick(page.windowHandle(), Qt.Key.Key_O, Qt.KeyboardModifier.AltModifier)


def test_missing_postgresql_names_packages(page: StartPage) -> None:
    page.show_environment(replace(WORKING, installations=(OLD,)))
    assert "PostgreSQL was found" in page.findings.message.text()
    assert HINT in page.findings.hint.text()
    assert "/opt/old/bin: Version 9.6.1 is not supported." in page.findings.hint.text()
    assert page.findings.isVisibleTo(page)
    assert not page.new.isEnabled()
    assert "PostgreSQL was found" in page.new.accessibleDescription()
    assert page.open.isEnabled()


def test_choice_enabled_once_postgresql_appears(qtbot: QtBot, page: StartPage) -> None:
    page.show_environment(replace(WORKING, installations=()))
    with qtbot.waitSignal(page.look_again_asked):
        QTest.mouseClick(page.findings.again, Qt.MouseButton.LeftButton)
    page.show_environment(WORKING)
    assert page.new.isEnabled()
    assert not page.findings.isVisibleTo(page)
    assert "PostgreSQL" not in page.new.accessibleDescription()


def test_missing_server_account_explained(page: StartPage) -> None:
    page.show_environment(DraftEnvironment(SMALL_MACHINE, account_sentence="useradd refused."))
    assert page.findings.message.text() == "useradd refused."
    assert not page.new.isEnabled()


def test_missing_data_place_explained(page: StartPage) -> None:
    full = Problem("target.folder", "The folder is full.", "Make room.")
    page.show_environment(replace(WORKING, folder=full, memory=full))
    assert (page.findings.message.text(), page.findings.hint.text()) == ("The folder is full.", "Make room.")


def test_failed_machine_check_leaves_choice(page: StartPage) -> None:
    page.show_problem("It went wrong.")
    assert page.new.isEnabled()
    assert page.findings.message.text() == "It went wrong."


def test_absent_example_disabled_with_reason(page: StartPage) -> None:
    page.show_example("This copy came without examples.")
    assert not page.example.isEnabled()
    assert page.example.sentence.text() == "This copy came without examples."
    page.show_example("")
    assert page.example.isEnabled()


def test_library_offered_when_not_empty(qtbot: QtBot, page: StartPage) -> None:
    assert not page.library.isVisibleTo(page)
    page.show_library_size(3)
    assert page.library.isVisibleTo(page)
    with qtbot.waitSignal(page.library_asked):
        QTest.mouseClick(page.library, Qt.MouseButton.LeftButton)


def test_choices_have_accessible_descriptions(page: StartPage) -> None:
    for button in page.findChildren(ChoiceButton):
        assert button.accessibleName()
        assert "&" not in button.accessibleName()
        assert button.accessibleDescription() == button.sentence.text()


@pytest.mark.parametrize(("width", "height"), [(640, 400), (1024, 640), (1280, 760), (3840, 2100)])
def test_nothing_is_clipped_at_any_size(page: StartPage, width: int, height: int) -> None:
    page.show_environment(replace(WORKING, installations=(OLD,)))
    page.resize(width, height)
    QApplication.sendPostedEvents()
    assert clipped(page) == []
    assert not overlapping(page)


@pytest.mark.parametrize(("width", "height"), [(640, 400), (1024, 640), (1280, 760)])
@pytest.mark.usefixtures("large_type")
def test_nothing_is_clipped_at_200_percent_type(page: StartPage, width: int, height: int) -> None:
    page.show_environment(replace(WORKING, installations=(OLD,)))
    page.resize(width, height)
    QApplication.sendPostedEvents()
    assert clipped(page) == []
    assert not overlapping(page)
