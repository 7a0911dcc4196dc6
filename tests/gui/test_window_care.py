"""Naming and tagging runs, throwing them away and getting them back, taking in others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QPushButton
from pytestqt.qtbot import QtBot

from app.domain.errors import FootingError
from app.domain.run import RunState
from app.library.entries import CampaignLock, read_entry
from app.library.files import copy_into_library
from tests.fix_main_window import open_read, until_read
from tests.fix_window import Trial, begin_trial, write_bad_files, write_trial
from ui.charts.data.registry import notes_of
from ui.charts.stack.stack import ChartMenu
from ui.window.files.run_actions import RunDetails
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 60_000


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    for number, name in enumerate(("ext4", "xfs")):
        trial = Trial(f"{name} #1", name, more={"id": f"{number:016x}"})
        write_trial(folder / "one" / f"{number:02}-{name}.footing", trial)
    return folder


@pytest.fixture
def window(qtbot: QtBot, open_window: OpenWindow, library: Path) -> MainWindow:
    made = open_window(library)
    until_read(qtbot, made)
    return made


def paths(window: MainWindow) -> set[str]:
    model = window.runs_page.model
    return {row.key for number in range(model.rowCount()) if (row := model.row(model.index(number)))}


def details(window: MainWindow) -> RunDetails:
    found = window.care.details
    assert found is not None
    return found


# Names, tags, notes


def test_run_name_tags_and_note(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    path = library / "one" / "00-ext4.footing"
    window.runs_page.library.focus_run(str(path))
    window.commands["edit"].trigger()
    box = details(window)
    assert not box.isModal()
    assert box.name.text() == "ext4 #1"
    box.name.setText("before the new disks")
    box.tags.setText("baseline, #old")
    box.note.setPlainText("Cold start.")
    box.save.click()
    qtbot.waitUntil(lambda: window.care.details is None, timeout=PATIENCE_MS)
    entry = read_entry(path)
    assert (entry.name, entry.tags, entry.note) == (
        "before the new disks",
        ("baseline", "old"),
        "Cold start.",
    )
    model = window.runs_page.model
    qtbot.waitUntil(lambda: model.index_of(str(path)).data() == "before the new disks", timeout=PATIENCE_MS)


def test_note_at_moment_of_run(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    path = library / "one" / "00-ext4.footing"
    page = window.runs_page
    page.choose([str(path)])
    qtbot.waitUntil(
        lambda: page.charts.stack is not None and bool(page.charts.stack.runs), timeout=PATIENCE_MS
    )
    stack = page.charts.stack
    assert stack is not None
    stack.show_crosshair(3.2)
    menu = ChartMenu(stack, stack.charts[0])
    qtbot.addWidget(menu)
    (at_moment,) = [each for each in menu.actions() if each.text() == "&Note at 00:03 …"]
    at_moment.trigger()
    box = details(window)
    box.note.insertPlainText("backup started")
    box.save.click()
    qtbot.waitUntil(lambda: notes_of(stack.runs[0].data) == ((3.0, "backup started"),), timeout=PATIENCE_MS)
    assert read_entry(path).note == "[0:00:03] backup started"


def test_invalid_name_writes_nothing(window: MainWindow, library: Path) -> None:
    path = library / "one" / "00-ext4.footing"
    window.care.edit([str(path)])
    box = details(window)
    box.name.setText("   ")
    before = path.read_bytes()
    box.save.click()
    assert box.problem.isVisible()
    assert "at least one character" in box.problem.text()
    assert path.read_bytes() == before
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert window.care.details is None


def test_a_long_reason_lies_over_nothing(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    window.care.edit([str(library / "one" / "00-ext4.footing")])
    box = details(window)
    qtbot.waitExposed(box)
    box._show_error(FootingError("It cannot be written because of this and that. " * 12))
    qtbot.waitUntil(box.problem.isVisible)
    qtbot.wait(1)
    buttons = box.save.parentWidget()
    assert buttons is not None
    for above, below in pairwise((box.name, box.tags, box.note, box.problem, buttons)):
        assert above.geometry().bottom() < below.geometry().top()
    assert box.problem.height() >= box.problem.heightForWidth(box.problem.width())
    assert box.rect().contains(buttons.geometry())
    box.close()


def test_unwritable_file_reported_in_details(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    path = library / "one" / "00-ext4.footing"
    window.care.edit([str(path)])
    box = details(window)
    path.write_bytes(b"gone")
    box.name.setText("x")
    box.save.click()
    qtbot.waitUntil(box.problem.isVisible, timeout=PATIENCE_MS)
    assert "is not a pgFooting run file" in box.problem.text()
    assert box.save.isEnabled()
    box.close()


def test_campaign_renamed_and_tag_added(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    files = [str(library / "one" / name) for name in ("00-ext4.footing", "01-xfs.footing")]
    for edited in ([files[0]], files):
        window.care.edit(edited)
        box = details(window)
        box.tags.setText("baseline" if len(edited) > 1 else "mine")
        if len(edited) > 1:
            assert not box.note.isVisible()
            box.name.setText("Disks of 2026")
        box.save.click()
        qtbot.waitUntil(lambda: window.care.details is None, timeout=PATIENCE_MS)
        until_read(qtbot, window)
    entries = [read_entry(Path(path)) for path in files]
    assert [entry.campaign for entry in entries] == ["Disks of 2026"] * 2
    assert [entry.name for entry in entries] == ["ext4 #1", "xfs #1"]
    assert [entry.tags for entry in entries] == [("mine", "baseline"), ("baseline",)]


# Trash


def test_delete_to_trash_and_undo(qtbot: QtBot, window: MainWindow, library: Path, own_state: Path) -> None:
    path = library / "one" / "00-ext4.footing"
    window.show_runs()
    other = str(library / "one" / "01-xfs.footing")
    window.runs_page.model.choose([other, str(path)])
    window.runs_page.library.focus_run(str(path))
    QTest.keyClick(window.runs_page.library.list, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: "moved to the trash" in window.notice.words.text(), timeout=PATIENCE_MS)
    assert "“ext4 #1”" in window.notice.words.text()
    assert not path.exists()
    assert (own_state / "data" / "Trash" / "files" / path.name).exists()
    qtbot.waitUntil(lambda: str(path) not in paths(window), timeout=PATIENCE_MS)
    assert list(window.runs_page.model.chosen) == [other]
    assert "moved to the trash" in window.notice.words.text(), "no other sentence took the undo away"
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: str(path) in paths(window), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: list(window.runs_page.model.chosen) == [other, str(path)], timeout=PATIENCE_MS)
    assert read_entry(path).name == "ext4 #1"
    assert list((own_state / "data" / "Trash").glob("*/*")) == []


def test_replaced_ticks_come_back(window: MainWindow, library: Path) -> None:
    model = window.runs_page.model
    both = [str(library / "one" / name) for name in ("00-ext4.footing", "01-xfs.footing")]
    model.choose(both)
    window.runs_page.library.list.shown.emit(model.index_of(both[1]))
    window.show_runs()
    window.commands["clear"].trigger()
    for ticked in ([both[1]], both, both):
        window.commands["undo"].trigger()
        assert list(model.chosen) == ticked


def test_campaign_deleted_as_whole(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    model = window.runs_page.model
    window.runs_page.library.list.setCurrentIndex(model.index(0))
    window.runs_page.library.remove_asked.emit(list(window.runs_page.library.current_paths))
    qtbot.waitUntil(lambda: "2 runs: moved to the trash." in window.notice.words.text(), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: paths(window) == set(), timeout=PATIENCE_MS)
    window.notice.action.click()
    qtbot.waitUntil(lambda: len(list(library.rglob("*.footing"))) == 2, timeout=PATIENCE_MS)


def test_run_being_measured_not_deleted(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    path = library / "live" / "00.footing"
    writer = begin_trial(path, Trial(state=RunState.RUNNING))
    lock = CampaignLock(path.parent)
    window = open_read(qtbot, open_window, library)
    window.care.remove([str(path)])
    qtbot.waitUntil(lambda: "is still being measured" in window.notice.words.text(), timeout=PATIENCE_MS)
    assert path.exists()
    assert window.notice.action.isHidden()
    writer.close()
    lock.release()


def test_unreadable_file_deletable_but_not_renamable(
    qtbot: QtBot, open_window: OpenWindow, library: Path
) -> None:
    bad = write_bad_files(library / "bad")["cut"]
    window = open_read(qtbot, open_window, library)
    panel = window.runs_page.library
    menu = panel.open_menu(window.runs_page.model.index_of(str(bad)), QPoint(10, 10))
    texts = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    assert texts["&Move to the trash"]
    assert not texts["Name, ta&gs, note …"]
    menu.close()
    window.care.remove([str(bad)])
    qtbot.waitUntil(lambda: not bad.exists(), timeout=PATIENCE_MS)


# Runs from elsewhere


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    action, button, plain = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(QDropEvent(QPoint(5, 5), action, data, button, plain))


def test_dropped_run_copied_on_request(
    qtbot: QtBot, window: MainWindow, library: Path, tmp_path: Path
) -> None:
    stick = write_trial(tmp_path / "stick" / "far.footing", Trial("far #1", "far", campaign="Elsewhere"))
    drop(window, stick)
    qtbot.waitUntil(lambda: str(stick) in window.runs_page.model.chosen, timeout=PATIENCE_MS)
    assert f"Shown from {stick.parent}, not copied into the library." == window.notice.words.text()
    window.notice.action.click()
    qtbot.waitUntil(lambda: "was copied into the library" in window.notice.words.text(), timeout=PATIENCE_MS)
    (copy,) = (path for path in library.rglob("far.footing"))
    assert read_entry(copy).name == "far #1"
    assert stick.exists()
    qtbot.waitUntil(lambda: str(copy) in paths(window), timeout=PATIENCE_MS)


def test_foreign_run_only_leaves_list(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    stick = write_trial(tmp_path / "stick" / "far.footing", Trial("far #1", "far"))
    window.open_files([stick])
    qtbot.waitUntil(lambda: str(stick) in paths(window), timeout=PATIENCE_MS)
    panel = window.runs_page.library
    menu = panel.open_menu(window.runs_page.model.index_of(str(stick)), QPoint(10, 10))
    assert isinstance(menu, QMenu)
    assert "Remove from the &list" in [action.text() for action in menu.actions()]
    menu.close()
    window.care.remove([str(stick)])
    qtbot.waitUntil(lambda: str(stick) not in paths(window), timeout=PATIENCE_MS)
    assert stick.exists()
    assert "was not moved" in window.notice.words.text()


def test_examples_are_not_offered_to_be_copied(qtbot: QtBot, window: MainWindow) -> None:
    window.commands["example"].trigger()
    qtbot.waitUntil(lambda: bool(window.runs_page.model.chosen), timeout=PATIENCE_MS)
    assert window.notice.isHidden(), window.notice.words.text()
    assert isinstance(window.notice.action, QPushButton)


def test_copy_takes_new_and_reports_rest(library: Path, tmp_path: Path) -> None:
    known = library / "one" / "00-ext4.footing"
    twin = tmp_path / "stick" / "copy.footing"
    twin.parent.mkdir()
    twin.write_bytes(known.read_bytes())
    new = write_trial(tmp_path / "stick" / "00-ext4.footing", Trial("new", more={"campaign_folder": "one"}))
    bad = tmp_path / "stick" / "no.footing"
    bad.write_text("hello")
    gone = tmp_path / "stick" / "gone.footing"
    result = copy_into_library([twin, new, bad, gone], library)
    assert result.known == [twin]
    assert result.copies == [library / "one" / "00-ext4.2.footing"]
    assert read_entry(result.copies[0]).name == "new"
    assert len(result.problems) == 2
    assert sorted(path.name for path in (library / "one").iterdir()) == [
        "00-ext4.2.footing",
        "00-ext4.footing",
        "01-xfs.footing",
    ], "no part of a copy stays behind"


def test_abandoned_journal_copied_with_run(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "stick" / "dead.footing"
    writer = begin_trial(path, Trial("dead", seconds=9, state=RunState.RUNNING))
    result = copy_into_library([path], library)
    writer.close()
    (copy,) = result.copies
    assert read_entry(copy).duration_s == 9.0
    assert not copy.with_name(copy.name + "-wal").exists()
