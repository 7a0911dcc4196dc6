"""Importing results of others from the window: chosen or dropped, told what came of them, shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from tests.fix_main_window import until_read
from tests.fix_window import Trial, write_trial
from ui.window.files.import_window import ImportWindow
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 60_000
RECORDED = Path(__file__).resolve().parents[1] / "data" / "import" / "vondra-2022" / "i5" / "20220907-mdraid"


@pytest.fixture
def window(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> MainWindow:
    write_trial(tmp_path / "library" / "one" / "a.footing", Trial())
    made = open_window(tmp_path / "library")
    until_read(qtbot, made)
    return made


def importing(window: MainWindow) -> ImportWindow:
    found = window.findChild(ImportWindow)
    assert found is not None
    return found


def drop(window: MainWindow, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    action, button, plain = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(QDropEvent(QPoint(5, 5), action, data, button, plain))


def test_dropped_results_folder_imported_and_shown(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    drop(window, RECORDED)
    box = importing(window)
    assert not box.isModal()
    assert not box.files.isEnabled()
    qtbot.waitUntil(box.show_runs.isVisible, timeout=PATIENCE_MS)
    assert "imported" in box.state.text()
    assert "TPS" in box.report.toPlainText()
    assert "not known" in box.report.toPlainText()
    box.show_runs.click()
    inside = str(tmp_path / "library")
    qtbot.waitUntil(lambda: bool(window.runs_page.model.chosen), timeout=PATIENCE_MS)
    assert all(path.startswith(inside) for path in window.runs_page.model.chosen)
    assert window.notice.isHidden(), "runs of the library are not offered to be copied into it"
    box.take([RECORDED])
    qtbot.waitUntil(lambda: "already in the library" in box.state.text(), timeout=PATIENCE_MS)
    assert box.show_runs.isHidden()
    box.close()


def test_import_command_opens_one_window(qtbot: QtBot, window: MainWindow) -> None:
    window.commands["import"].trigger()
    window.commands["import"].trigger()
    assert len(window.findChildren(ImportWindow)) == 1
    box = importing(window)
    for button, mode in (
        (box.files, QFileDialog.FileMode.ExistingFiles),
        (box.folder, QFileDialog.FileMode.Directory),
    ):
        button.click()
        dialog = next(one for one in box.findChildren(QFileDialog) if one.isVisible())
        assert dialog.fileMode() is mode
        dialog.close()
        qtbot.waitUntil(lambda: not any(one.isVisible() for one in box.findChildren(QFileDialog)))
    box.close()


def test_non_result_refused_with_reason(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    picture = tmp_path / "holiday.jpg"
    picture.write_bytes(b"\xff\xd8\xff\x00\x01")
    drop(window, picture)
    box = importing(window)
    qtbot.waitUntil(box.files.isEnabled, timeout=PATIENCE_MS)
    assert "Nothing was imported" in box.state.text()
    assert "holiday.jpg: was not written by pgbench or a known benchmark" in box.report.toPlainText()
    box.take([tmp_path / "gone"])
    qtbot.waitUntil(box.files.isEnabled, timeout=PATIENCE_MS)
    assert "gone" in box.state.text()
    box.close()


def test_drop_mixes_run_files_and_results(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    mail = write_trial(tmp_path / "mail" / "his.footing", Trial("his"))
    note = tmp_path / "note.txt"
    note.write_text("hello\n")
    drop(window, mail, note)
    qtbot.waitUntil(lambda: str(mail) in window.runs_page.model.chosen, timeout=PATIENCE_MS)
    box = importing(window)
    qtbot.waitUntil(box.files.isEnabled, timeout=PATIENCE_MS)
    assert "note.txt" in box.report.toPlainText()
    box.close()
