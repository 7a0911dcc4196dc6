"""Searching and filtering the library, by keyboard and by menu."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.library.files import Annotations, annotate
from app.library.scan import LibraryScan
from tests.fix_window import Trial, write_trial
from ui.theme import Theme
from ui.window.library.model import LibraryModel
from ui.window.library.panel import LibraryPanel


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    path = folder
    for number, (name, filesystem) in enumerate((("ext4", "ext4"), ("xfs", "xfs"), ("ext4 raid", "ext4"))):
        trial = Trial(f"{name} #1", name, filesystem=filesystem, settings=(("work_mem", f"{number}MB"),))
        path = write_trial(folder / "one" / f"{number}.footing", trial)
    annotate(path, Annotations(tags=("baseline",), note="Cold start after the new controller."))
    write_trial(
        folder / "two" / "3.footing", Trial("btrfs #1", "btrfs", filesystem="btrfs", campaign="Second")
    )
    return folder


@pytest.fixture
def panel(qtbot: QtBot, light: Theme, library: Path) -> LibraryPanel:
    model = LibraryModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    made = LibraryPanel(model, light)
    model.setParent(made)
    made.folder = library
    qtbot.addWidget(made)
    made.resize(320, 500)
    made.show()
    made.show_runs(list(LibraryScan(library).read()), complete=True)
    return made


def model_of(panel: LibraryPanel) -> LibraryModel:
    model = panel.list.model()
    assert isinstance(model, LibraryModel)
    return model


def shown(panel: LibraryPanel) -> list[str]:
    model = model_of(panel)
    return [str(model.index(row).data()) for row in range(model.rowCount())]


def actions(menu: QMenu) -> dict[str, QAction]:
    return {action.text(): action for action in menu.actions()}


def submenu(panel: LibraryPanel, label: str) -> QMenu:
    panel.search.menu.aboutToShow.emit()
    # Not action.menu(): PySide6 before 6.9 lets the menu go together with the action's wrapper.
    action = actions(panel.search.menu)[label]
    return next(menu for menu in panel.search.menu.findChildren(QMenu) if menu.menuAction() is action)


def test_words_and_fields_select_runs(panel: LibraryPanel) -> None:
    QTest.keyClicks(panel.search.line, "fs:ext4")
    assert shown(panel) == ["Trial", "ext4 #1", "ext4 raid #1"]
    assert panel.count.text() == "2 of 4 runs"
    QTest.keyClicks(panel.search.line, " controller")
    assert shown(panel) == ["Trial", "ext4 raid #1"]
    panel.search.line.setText("option:work_mem=1mb")
    assert shown(panel) == ["Trial", "xfs #1"]
    panel.search.line.setText("second")
    assert shown(panel) == ["Second", "btrfs #1"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("foo:bar", "“foo:” is not a field of a run"),
        ("-fs:xsf", "No run here has fs:xsf; runs here have ext4, btrfs, xfs. Did you mean “xfs”?"),
        ("date:yesterdy", "“date:yesterdy” is not a date"),
        ("fs:xfs", ""),
        ("controller", ""),
    ],
)
def test_unknown_terms_reported_as_in_list(panel: LibraryPanel, typed: str, expected: str) -> None:
    panel.search.line.setText(typed)
    assert panel.remarks.text().startswith(expected)
    assert bool(panel.remarks.text()) == bool(expected) == panel.remarks.isVisibleTo(panel)
    assert panel.search.line.accessibleDescription() == panel.remarks.text()
    panel.search.line.clear()
    assert not panel.remarks.isVisibleTo(panel)
    assert panel.remarks.text() == ""


def test_values_not_judged_while_reading(panel: LibraryPanel) -> None:
    panel.show_runs(list(LibraryScan(panel.folder).read())[:1], complete=False)
    panel.search.line.setText("fs:btrfs")
    assert panel.remarks.text() == ""
    panel.show_runs(list(LibraryScan(panel.folder).read()), complete=True)
    panel.search.line.setText("fs:zfs")
    assert "No run here has fs:zfs" in panel.remarks.text()


def test_empty_result_and_escape(panel: LibraryPanel) -> None:
    QTest.keyClicks(panel.search.line, "zfs")
    assert shown(panel) == []
    assert panel.count.text() == "0 of 4 runs"
    assert panel.list.empty == "No run matches “zfs”."
    empty = panel.list.viewport().grab().toImage()
    panel.list.empty = ""
    panel.list.viewport().update()
    assert panel.list.viewport().grab().toImage() != empty, "it is painted"
    QTest.keyClick(panel.search.line, Qt.Key.Key_Escape)
    assert len(shown(panel)) == 6
    assert panel.count.text() == "4 runs"


def test_hidden_runs_stay_in_charts(panel: LibraryPanel, library: Path) -> None:
    model = model_of(panel)
    path = str(library / "one" / "0.footing")
    model.choose([path])
    colours = model.chosen
    panel.search.line.setText("fs:btrfs")
    assert model.chosen == colours
    assert model.run(path) is not None
    panel.focus_run(path)
    assert panel.search.text == "", "the search gives way to a run that somebody clicks in the charts"
    assert model.row(panel.list.currentIndex()) is not None


def test_found_row_keeps_focus(panel: LibraryPanel, library: Path) -> None:
    path = str(library / "one" / "2.footing")
    panel.focus_run(path)
    panel.search.line.setText("baseline")
    assert panel.current_paths == (path,)
    panel.search.line.clear()
    assert panel.current_paths == (path,)


def test_filter_menu_writes_search_terms(panel: LibraryPanel) -> None:
    menu = submenu(panel, "Filesystem")
    assert list(actions(menu)) == ["ext4 (2)", "btrfs (1)", "xfs (1)"]
    actions(menu)["xfs (1)"].trigger()
    assert panel.search.text == "fs:xfs"
    actions(submenu(panel, "Filesystem"))["btrfs (1)"].trigger()
    assert panel.search.text == "fs:xfs fs:btrfs"
    assert sorted(shown(panel)) == ["Second", "Trial", "btrfs #1", "xfs #1"]
    menu = submenu(panel, "Filesystem")
    assert actions(menu)["xfs (1)"].isChecked()
    actions(menu)["xfs (1)"].trigger()
    assert panel.search.text == "fs:btrfs"
    actions(panel.search.menu)["Show &all runs"].trigger()
    assert panel.search.text == ""


@pytest.mark.parametrize(
    ("label", "value", "typed"),
    [
        ("Tag", "baseline (1)", "tag:baseline"),
        ("PostgreSQL", "15.18 (4)", "pg:15.18"),
        ("Option", "noatime (4)", "option:noatime"),
        ("State", "done (4)", "state:done"),
        ("Date", "the last 7 days", "date:7d"),
    ],
)
def test_all_filters_in_menu(panel: LibraryPanel, label: str, value: str, typed: str) -> None:
    actions(submenu(panel, label))[value].trigger()
    assert panel.search.text == typed


def test_unmatched_filter_disabled(panel: LibraryPanel) -> None:
    assert not submenu(panel, "RAID level").isEnabled()


def test_search_and_list_by_keyboard(qtbot: QtBot, panel: LibraryPanel) -> None:
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.enter_search()
    assert panel.search.line.hasFocus()
    QTest.keyClicks(panel.search.line, "xfs")
    QTest.keyClick(panel.search.line, Qt.Key.Key_Down)
    assert panel.list.hasFocus()
    assert panel.current_paths
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    assert len(model_of(panel).chosen) == 1


def test_tags_in_row_note_in_tip(panel: LibraryPanel, library: Path) -> None:
    index = model_of(panel).index_of(str(library / "one" / "2.footing"))
    assert "#baseline" in str(index.data(Qt.ItemDataRole.AccessibleTextRole))
    tip = str(index.data(Qt.ItemDataRole.ToolTipRole))
    assert "#baseline" in tip
    assert "new controller" in tip


def test_markup_and_mnemonics_plain_in_menu(panel: LibraryPanel, library: Path, tmp_path: Path) -> None:
    path = write_trial(tmp_path / "x.footing", Trial("x", filesystem="<b>a&b</b>"))
    panel.show_runs(
        [*LibraryScan(library).read(), *LibraryScan(path.parent / "none", [path]).read()], complete=True
    )
    assert "<b>a&&b</b> (1)" in actions(submenu(panel, "Filesystem"))


def test_unchanged_library_shown_without_work(
    panel: LibraryPanel, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_again: list[int] = []
    model = model_of(panel)
    monkeypatch.setattr(model, "set_runs", lambda *_runs: shown_again.append(1))
    panel.show_runs(list(LibraryScan(library).read()), complete=True)
    assert shown_again == []
    panel.show_runs(list(LibraryScan(library).read())[:2], complete=True)
    assert shown_again == [1]
