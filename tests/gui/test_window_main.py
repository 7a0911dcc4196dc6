from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import shiboken6
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QLabel,
    QMessageBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.analysis.glossary import GLOSSARY
from app.domain.run import RunState
from app.library import entries
from app.live.campaign_follower import CampaignStatus, RunStatus
from tests.fix_main_window import open_read, until_read
from tests.fix_runs import change_run
from tests.fix_window import LONG_NAME, Trial, begin_trial, write_bad_files, write_campaign, write_trial
from ui.charts.stack.chart_window import ChartWindow
from ui.theme import Scheme, Theme
from ui.window.campaigns.live_campaigns import CampaignLine, LiveCampaigns, describe_status
from ui.window.commands.commands import COMMANDS, KEYS
from ui.window.commands.manual_window import HelpWindow, key_lines
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import WindowSettings

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 60_000
TOP = Path(__file__).parents[2]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write_campaign(tmp_path / "library")
    return tmp_path / "library"


@pytest.fixture
def window(qtbot: QtBot, open_window: OpenWindow, library: Path) -> MainWindow:
    made = open_window(library)
    until_read(qtbot, made)
    return made


def shown_runs(window: MainWindow) -> list[str]:
    stack = window.runs_page.charts.stack
    return [] if stack is None else [trace.run_id for trace in stack.runs]


def choose(qtbot: QtBot, window: MainWindow, *paths: Path) -> None:
    window.runs_page.choose(map(str, paths))
    qtbot.waitUntil(lambda: shown_runs(window) == [str(path) for path in paths], timeout=PATIENCE_MS)


def activate(qtbot: QtBot, window: MainWindow) -> None:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)


def status_of(folder: Path, *, live: bool = True) -> CampaignStatus:
    runs = (
        RunStatus(1, "a", 0, RunState.DONE, folder / "01.footing", "a #1", 1000.0, measured=True),
        RunStatus(2, "b", 0, RunState.RUNNING, folder / "02.footing", "b #1"),
        RunStatus(3, "a", 1, name="a #2"),
    )
    return CampaignStatus("Trial", folder, live, runs, 125.0)


# First sight


_OPENED: Final = """
import sys
import time
from pathlib import Path
from typing import Final
from ui.background import finish_background
from ui.program.program import make_application
from ui.theme import Theme
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import WindowSettings, open_settings

application = make_application()
window = MainWindow(Path(sys.argv[1]), Theme(), WindowSettings(open_settings()))
window.show()
print("ui.wizard.wizard" in sys.modules)
window.begin()
deadline_s = time.monotonic() + 60
while "ui.wizard.wizard" not in sys.modules and time.monotonic() < deadline_s:
    application.processEvents()
print("ui.wizard.wizard" in sys.modules)
assert finish_background(60)
"""


def test_wizard_loaded_after_window_shown(tmp_path: Path) -> None:
    homes = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    program = [sys.executable, "-c", _OPENED, str(tmp_path / "library")]
    ended = subprocess.run(
        program, env={**os.environ, **homes}, capture_output=True, text=True, check=False, cwd=TOP
    )
    assert ended.stdout.split() == ["False", "True"], ended.stderr


def test_empty_library_shows_start_page(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_read(qtbot, open_window, tmp_path / "none")
    assert window.pages.currentWidget() is window.start_page
    assert window.start_page.new.isVisible()
    assert window.runs_page.library.count.text() == "0 runs"


def test_a_library_with_runs_begins_with_them(window: MainWindow, library: Path) -> None:
    assert window.pages.currentWidget() is window.runs_page
    assert window.runs_page.library.count.text() == "6 runs"


def test_start_page_stays_once_opened(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    window = open_window(library)
    window.commands["start"].trigger()
    until_read(qtbot, window)
    assert window.pages.currentWidget() is window.start_page
    assert window.start_page.library.isVisible()


def test_missing_requirements_checked_at_start(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.draft.fields.state.find_installations", lambda *_: ())
    window = open_window(tmp_path / "none")
    qtbot.waitUntil(window.start_page.findings.isVisible, timeout=PATIENCE_MS)
    assert "PostgreSQL was found" in window.start_page.findings.message.text()
    assert not window.start_page.new.isEnabled()


# Charts and facts


def test_chosen_runs_share_row_colour(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    paths = sorted(library.rglob("*.footing"))
    choose(qtbot, window, *paths[:2])
    stack = window.runs_page.charts.stack
    assert stack is not None
    assert [(trace.colour_index, trace.label) for trace in stack.runs] == [(0, "ext4"), (1, "xfs")]
    assert window.runs_page.model.chosen == {str(paths[0]): 0, str(paths[1]): 1}
    assert "Target: filesystem" in window.runs_page.facts.text.toPlainText()


def test_campaigns_told_apart_in_names(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    other = write_trial(library / "two" / "x.footing", Trial(name="ext4 #1", campaign="Other"))
    window = open_read(qtbot, open_window, library)
    choose(qtbot, window, library / "one" / "00-ext4.footing", other)
    stack = window.runs_page.charts.stack
    assert stack is not None
    assert [trace.label for trace in stack.runs] == ["ext4 (Trial)", "ext4 (Other)"]


def test_select_campaign_and_clear_keys(qtbot: QtBot, window: MainWindow) -> None:
    window.commands["campaign"].trigger()
    qtbot.waitUntil(lambda: len(shown_runs(window)) == 6, timeout=PATIENCE_MS)
    window.commands["clear"].trigger()
    qtbot.waitUntil(lambda: shown_runs(window) == [], timeout=PATIENCE_MS)
    assert window.runs_page.charts.empty.isVisible()
    assert not window.commands["clear"].isEnabled()


def test_empty_charts_offer_the_newest_campaign(qtbot: QtBot, window: MainWindow) -> None:
    window.show_runs()
    empty = window.runs_page.charts.empty
    assert (empty.title.text(), empty.button.text()) == ("No run is shown.", "Show the ne&west campaign")
    empty.button.click()
    assert (empty.title.text(), empty.button.isVisible()) == ("Reading the runs …", False)
    qtbot.waitUntil(lambda: len(shown_runs(window)) == 6, timeout=PATIENCE_MS)
    assert not empty.isVisible()


def test_empty_charts_offer_benchmark(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(tmp_path / "nothing")
    window.show_runs()
    empty = window.runs_page.charts.empty
    assert empty.title.text() == "No runs yet"
    empty.button.click()
    wizard = window.campaigns.wizard
    assert wizard is not None
    qtbot.waitUntil(lambda: wizard.draft.environment is not None, timeout=PATIENCE_MS)
    wizard.reject()
    qtbot.waitUntil(lambda: window.campaigns.wizard is None, timeout=PATIENCE_MS)


def test_dragged_run_added_to_charts(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    paths = sorted(library.rglob("*.footing"))
    choose(qtbot, window, paths[0])
    data = window.runs_page.model.mimeData([window.runs_page.model.index_of(str(paths[3]))])
    drop(window.runs_page.charts, data)
    qtbot.waitUntil(lambda: shown_runs(window) == [str(paths[0]), str(paths[3])], timeout=PATIENCE_MS)


def drop(target: QWidget, data: QMimeData) -> None:
    left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(
        target, QDragEnterEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, left, plain)
    )
    event = QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, data, left, plain)
    QApplication.sendEvent(target, event)


def test_panel_keys_hide_and_show(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    activate(qtbot, window)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F9)
    assert window.runs_page.library.isHidden()
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F10)
    assert window.runs_page.facts.isHidden()
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F9)
    assert not window.runs_page.library.isHidden()


def test_f6_goes_around_the_panels(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    choose(qtbot, window, library / "one" / "00-ext4.footing")
    activate(qtbot, window)
    window.runs_page.library.list.setFocus()
    places = []
    for _ in range(3):
        QTest.keyClick(window.windowHandle(), Qt.Key.Key_F6)
        places.append(window.focusWidget())
    stack = window.runs_page.charts.stack
    assert places == [stack, window.runs_page.facts.text, window.runs_page.library.list]


def test_charts_are_chosen_beside_the_window(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    choose(qtbot, window, library / "one" / "00-ext4.footing")
    window.commands["charts"].trigger()
    chooser = window.findChild(ChartWindow)
    assert chooser is not None
    stack = window.runs_page.charts.stack
    assert stack is not None
    before = len(stack.chart_ids)
    chooser.charts.list.item(before).setCheckState(Qt.CheckState.Checked)
    assert len(stack.chart_ids) == before + 1
    chooser.close()


# Bad days


def test_incomplete_run_marked(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    left = write_bad_files(library / "bad")["left"]
    window = open_read(qtbot, open_window, library)
    choose(qtbot, window, left)
    qtbot.waitUntil(lambda: "incomplete" in window.runs_page.facts.text.toPlainText(), timeout=PATIENCE_MS)


def test_deleted_run_leaves_charts(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    paths = sorted(library.rglob("*.footing"))
    choose(qtbot, window, *paths[:2])
    paths[0].unlink()
    qtbot.waitUntil(lambda: shown_runs(window) == [str(paths[1])], timeout=PATIENCE_MS)
    assert window.notice.isVisible()
    assert "00-ext4.footing" in window.notice.words.text()


def test_notice_moves_nothing_and_ends(qtbot: QtBot, window: MainWindow) -> None:
    window.show_runs()
    before = window.runs_page.geometry()
    done: list[str] = []
    window.notice.show_message(
        "Written.", "&Open", lambda: done.append("open"), "F", lambda: done.append("f")
    )
    QApplication.processEvents()
    assert window.runs_page.geometry() == before
    assert window.pages.geometry().contains(window.notice.geometry())
    window.notice.other.click()
    assert done == ["f"]
    assert window.notice.isHidden()
    window.notice.show_message("Short.")
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=PATIENCE_MS)
    window.notice._timer.setInterval(0)
    qtbot.waitUntil(window.notice.isHidden, timeout=PATIENCE_MS)


def test_notice_belongs_to_its_page(window: MainWindow) -> None:
    window.show_runs()
    window.notice.show_message("Shown from where it is.")
    window.pages.setCurrentWidget(window.start_page)
    assert window.notice.isHidden()


def test_damage_beyond_listing_reported(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    path = write_trial(library / "one" / "zz.footing", Trial(name="zz"))
    change_run(path, "UPDATE sample SET value = 'fast'")
    window = open_read(qtbot, open_window, library)
    window.runs_page.choose([str(path)])
    qtbot.waitUntil(lambda: "damaged" in window.notice.words.text(), timeout=PATIENCE_MS)
    assert shown_runs(window) == []


def test_vanished_library_is_empty(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    shutil.rmtree(library)
    qtbot.waitUntil(lambda: window.runs_page.library.count.text() == "0 runs", timeout=PATIENCE_MS)


def test_growing_run_followed_in_library(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    writer = begin_trial(library / "live" / "x.footing", Trial(name="grows", state=RunState.RUNNING))
    window = open_read(qtbot, open_window, library)
    choose(qtbot, window, library / "live" / "x.footing")
    writer.close()


@pytest.mark.parametrize("size", [(1024, 700), (1280, 800)])
@pytest.mark.usefixtures("large_type")
def test_long_names_at_double_type_size(
    qtbot: QtBot, open_window: OpenWindow, library: Path, size: tuple[int, int]
) -> None:
    marks = (("unsafe", "fsync = off"), ("not-steady", "it has a trend"))
    trial = Trial(name=LONG_NAME, campaign=LONG_NAME, configuration=LONG_NAME, marks=marks, started=1.9e9)
    path = write_trial(library / "long" / "x.footing", trial)
    window = open_window(library, width=size[0], height=size[1])
    until_read(qtbot, window)
    choose(qtbot, window, path)
    window.notice.show_message(LONG_NAME * 3)
    QApplication.sendPostedEvents()
    assert (window.width(), window.height()) == size
    page = window.runs_page
    panels = [page.library, page.charts, page.facts]
    assert all(panel.width() >= panel.minimumSizeHint().width() for panel in panels)
    right = page.facts.mapTo(window, QPoint(page.facts.width(), 0)).x()
    assert right <= window.width()
    words = window.notice.words
    assert words.height() >= words.heightForWidth(words.width())


def test_the_window_fits_1024_by_700(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    window = open_window(library, width=1024, height=700)
    until_read(qtbot, window)
    choose(qtbot, window, *sorted(library.rglob("*.footing")))
    assert (window.width(), window.height()) == (1024, 700)
    assert window.runs_page.charts.width() >= 450


def test_first_window_fits_screen_with_frame(
    open_window: OpenWindow, library: Path, qapp: QApplication
) -> None:
    window = open_window(library, width=0, height=0, begin=False)
    room = qapp.primaryScreen().availableSize()
    assert window.width() < room.width()
    assert window.height() < room.height() - 20


def test_two_windows_share_library(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    first, second = open_window(library), open_window(library)
    until_read(qtbot, first)
    until_read(qtbot, second)
    paths = sorted(library.rglob("*.footing"))
    choose(qtbot, first, paths[0])
    choose(qtbot, second, paths[1], paths[2])
    assert shown_runs(first) == [str(paths[0])]
    paths[5].unlink()
    for window in (first, second):
        qtbot.waitUntil(lambda w=window: w.runs_page.model.runs == 5, timeout=PATIENCE_MS)  # type: ignore[misc]


# Opening


def test_foreign_files_opened_dropped_and_listed(
    qtbot: QtBot, open_window: OpenWindow, library: Path, tmp_path: Path
) -> None:
    mail = write_trial(tmp_path / "mail" / "his.footing", Trial(name="his"))
    disk = write_trial(tmp_path / "disk" / "deep" / "hers.footing", Trial(name="hers"))
    window = open_window(library)
    window.open_files([mail])
    qtbot.waitUntil(lambda: shown_runs(window) == [str(mail)], timeout=PATIENCE_MS)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "disk"))])
    drop(window, data)
    qtbot.waitUntil(lambda: shown_runs(window) == [str(disk)], timeout=PATIENCE_MS)
    assert window.runs_page.model.runs == 8


def test_opened_files_offered_again(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    stick = write_trial(tmp_path / "stick" / "a & b.footing", Trial("far"))
    window.open_files([stick])
    qtbot.waitUntil(lambda: shown_runs(window) == [str(stick)], timeout=PATIENCE_MS)
    window.runs_page.model.choose(())
    recent = window.opener.recent
    recent.aboutToShow.emit()
    (again,) = recent.actions()
    assert again.text() == str(stick).replace("&", "&&")
    again.trigger()
    qtbot.waitUntil(lambda: shown_runs(window) == [str(stick)], timeout=PATIENCE_MS)


def test_a_folder_without_runs_is_told(open_window: OpenWindow, library: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    window = open_window(library)
    window.open_files([tmp_path / "nothing"])
    assert window.notice.words.text() == "There is no run file (*.footing) there."


def test_non_run_file_listed_with_reason(
    qtbot: QtBot, open_window: OpenWindow, library: Path, tmp_path: Path
) -> None:
    text = write_bad_files(tmp_path / "bad")["text"]
    window = open_window(library)
    window.open_files([text])
    qtbot.waitUntil(lambda: "1 cannot be read" in window.runs_page.library.count.text(), timeout=PATIENCE_MS)


def test_open_dialog_remembers_folder(
    qtbot: QtBot, open_window: OpenWindow, library: Path, tmp_path: Path
) -> None:
    mail = write_trial(tmp_path / "mail" / "his.footing", Trial(name="his"))
    window = open_window(library)
    window.commands["open"].trigger()
    dialog = window.findChild(QFileDialog)
    assert dialog is not None
    dialog.filesSelected.emit([str(mail)])
    dialog.close()
    qtbot.waitUntil(lambda: shown_runs(window) == [str(mail)], timeout=PATIENCE_MS)
    window.commands["open"].trigger()
    again = [one for one in window.findChildren(QFileDialog) if one.isVisible()]
    assert again[0].directory().path() == str(tmp_path / "mail")
    again[0].close()


def test_bundled_example_opened_in_place(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_campaign(tmp_path / "examples", repeats=1)
    monkeypatch.setattr(entries.find_examples, "__defaults__", (tmp_path / "examples",))
    window = open_window(tmp_path / "none")
    QTest.mouseClick(window.start_page.example, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: shown_runs(window) == [str(path) for path in paths], timeout=PATIENCE_MS)


def test_missing_example_disabled_with_reason(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries.find_examples, "__defaults__", (tmp_path / "none",))
    window = open_window(tmp_path / "none")
    assert not window.start_page.example.isEnabled()
    assert "came without examples" in window.start_page.example.sentence.text()
    assert not window.commands["example"].isEnabled()


# Remembering


def test_geometry_charts_and_runs_remembered(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    paths = sorted(library.rglob("*.footing"))
    first = open_window(library)
    until_read(qtbot, first)
    first.resize(790, 600)  # the offscreen screen has 800 x 800
    choose(qtbot, first, paths[2], paths[4])
    stack = first.runs_page.charts.stack
    assert stack is not None
    stack.set_charts(["cpu", "tps"])
    first.commands["facts"].trigger()
    first.close()
    second = open_window(library)
    assert second.pages.currentWidget() is second.runs_page
    until_read(qtbot, second)
    qtbot.waitUntil(lambda: shown_runs(second) == [str(paths[2]), str(paths[4])], timeout=PATIENCE_MS)
    assert (second.width(), second.height()) == (790, 600)
    assert second.runs_page.facts.isHidden()
    assert not second.commands["facts"].isChecked()
    stack = second.runs_page.charts.stack
    assert stack is not None
    assert stack.chart_ids == ("cpu", "tps")


def test_settings_that_somebody_broke_count_as_none(tmp_path: Path) -> None:
    path = tmp_path / "broken.ini"
    path.write_text("[runs]\nchosen=5\ncharts=tps, no-such\nsizes=x\nlibrary=perhaps\n[window]\ngeometry=y\n")
    settings = WindowSettings(QSettings(str(path), QSettings.Format.IniFormat))
    state = settings.runs
    assert state.charts == ("tps",)
    assert state.library is False
    assert settings.geometry.isEmpty()
    assert settings.open_folder == ""


def test_vanished_runs_forgotten_silently(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    paths = sorted(library.rglob("*.footing"))
    first = open_window(library)
    until_read(qtbot, first)
    choose(qtbot, first, *paths[:2])
    first.close()
    paths[0].unlink()
    second = open_window(library)
    until_read(qtbot, second)
    qtbot.waitUntil(lambda: shown_runs(second) == [str(paths[1])], timeout=PATIENCE_MS)
    assert not second.notice.isVisible()


# Campaigns


def test_running_campaign_shown_in_one_line(tmp_path: Path) -> None:
    sentence = describe_status(status_of(tmp_path))
    assert sentence == "Trial: run 2 of 3, b #1 · about 02:05 left"


def test_campaign_line_shows_and_stops(qtbot: QtBot, tmp_path: Path) -> None:
    line = CampaignLine()
    qtbot.addWidget(line)
    line.show_campaigns((status_of(tmp_path),))
    with qtbot.waitSignal(line.show_asked) as asked:
        line.show_button.click()
    assert asked.args == [tmp_path]
    with qtbot.waitSignal(line.stop_asked):
        line.stop_button.click()


def test_dead_campaign_not_running(qtbot: QtBot, tmp_path: Path) -> None:
    folder = tmp_path / "dead"
    begin_trial(folder / "01-x.footing", Trial(state=RunState.RUNNING)).close()
    looked: list[int] = []

    def find() -> tuple[Path, ...]:
        looked.append(1)
        return (folder, tmp_path / "gone")

    live = LiveCampaigns(find)
    live.look()
    qtbot.waitUntil(lambda: len(looked) >= 2, timeout=PATIENCE_MS)
    live.stop()
    assert live.statuses == ()


def question(window: MainWindow) -> QMessageBox:
    box = window.findChild(QMessageBox)
    assert box is not None
    return box


def button(box: QMessageBox, words: str) -> QAbstractButton:
    return next(one for one in box.buttons() if words in one.text())


def test_close_during_campaign_asks(open_window: OpenWindow, library: Path) -> None:
    window = open_window(library, begin=False)
    window.live.statuses = (status_of(library / "one"),)
    window.close()
    assert window.isVisible()
    assert "still being measured" in question(window).text()
    button(question(window), "Cancel").click()
    assert window.isVisible()
    QApplication.sendPostedEvents(None, 0)
    window.close()
    boxes = [box for box in window.findChildren(QMessageBox) if box.isVisible()]
    button(boxes[-1], "keep it").click()
    assert not window.isVisible()


def test_title_shows_share_done(open_window: OpenWindow, library: Path) -> None:
    window = open_window(library, begin=False)
    window.live.statuses = (replace(status_of(library / "one"), left_s=None),)
    window._show_campaign_line()
    status = window.live.statuses[0]
    assert window.windowTitle() == f"{100 * status.done / status.total:.0f} % · pgFooting"
    window.live.statuses = ()
    window._show_campaign_line()
    assert window.windowTitle() == "pgFooting"


def test_stop_on_close_reports_refusal(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    window = open_window(library, begin=False)
    window.live.statuses = (status_of(library / "one"),)
    window.close()
    button(question(window), "Stop and keep").click()
    qtbot.waitUntil(lambda: "No runner answers" in window.notice.words.text(), timeout=PATIENCE_MS)
    assert window.isVisible()


def test_replay_of_vanished_run_reported(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    window = open_window(library)
    window.campaigns.replay(str(library / "none.footing"))
    qtbot.waitUntil(lambda: "none.footing" in window.notice.words.text(), timeout=PATIENCE_MS)


def test_the_run_in_focus_is_replayed(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    assert not window.commands["replay"].isEnabled()
    window.runs_page.library.focus_run(str(library / "one" / "01-xfs.footing"))
    window.commands["replay"].trigger()
    page = window.campaigns
    qtbot.waitUntil(
        lambda: page.replay_page is not None and window.pages.currentWidget() is page.replay_page,
        timeout=PATIENCE_MS,
    )
    assert page.replay_page is not None
    assert page.replay_page.replay.isVisible()
    window.commands["charts"].trigger()
    chooser = window.findChild(ChartWindow)
    assert chooser is not None
    assert chooser.parent() is page.replay_page.charts, "of the page that is shown"
    chooser.close()
    window.commands["runs"].trigger()
    assert window.pages.currentWidget() is window.runs_page


# Commands, help, looks


def test_commands_connected_and_keys_unique(open_window: OpenWindow, library: Path) -> None:
    window = open_window(library, begin=False)
    assert set(window.commands) == {command.id for command in COMMANDS}
    keys = [command.keys for command in COMMANDS if command.keys]
    assert len(keys) == len(set(keys))


def visible_buttons(window: MainWindow, around: QWidget) -> list[QAbstractButton]:
    QApplication.sendPostedEvents()  # tool bars hide and show in their layout
    return [one for one in around.findChildren(QAbstractButton) if one.isVisibleTo(window) and one.text()]


def open_replay(qtbot: QtBot, window: MainWindow, path: Path) -> None:
    window.campaigns.replay(str(path))
    qtbot.waitUntil(
        lambda: window.pages.currentWidget() is window.campaigns.replay_page is not None, timeout=PATIENCE_MS
    )


def test_tool_bar_has_at_most_six(qtbot: QtBot, window: MainWindow, library: Path) -> None:
    window.show_runs()
    assert 4 <= len(visible_buttons(window, window.tool_bar)) <= 6
    open_replay(qtbot, window, library / "one" / "01-xfs.footing")
    buttons = visible_buttons(window, window.tool_bar)
    assert len(buttons) <= 6
    next(one for one in buttons if one.text() == "&Runs").click()
    assert window.pages.currentWidget() is window.runs_page
    window.commands["start"].trigger()
    assert len(visible_buttons(window, window.tool_bar)) == 1


def test_closed_window_shows_no_commands(window: MainWindow) -> None:
    window.show_runs()
    window.close()
    shiboken6.delete(window.tool_bar)  # Qt deletes a window's parts one after the other
    window.pages.setCurrentWidget(window.start_page)
    window.close()
    assert window.pages.currentWidget() is window.start_page


def letters(window: MainWindow) -> list[str]:
    """The underlined letters that can be pressed now, each as often as it is underlined."""
    texts = [one.text() for one in visible_buttons(window, window)]
    texts += [
        one.text()
        for one in window.findChildren(QLabel)
        if one.buddy() is not None and one.isVisibleTo(window)
    ]
    plain = [text.replace("&&", "") for text in texts]
    return [text[text.index("&") + 1].lower() for text in plain if "&" in text]


def underlined_twice(window: MainWindow) -> list[str]:
    """The letters that two things claim; asked once, because what is visible changes with what is read."""
    found = letters(window)
    return sorted({letter for letter in found if found.count(letter) > 1})


def test_mnemonics_unique_on_every_page(
    qtbot: QtBot, window: MainWindow, library: Path, tmp_path: Path
) -> None:
    choose(qtbot, window, library / "one" / "00-ext4.footing")
    window.notice.show_message("“x”: moved to the trash.", "Un&do", lambda: None)
    window.campaign_line.show_campaigns((status_of(tmp_path),))
    window.campaign_line.show()
    window.show_runs()
    assert len(letters(window)) > 8
    assert underlined_twice(window) == []
    window.notice.hide()
    open_replay(qtbot, window, library / "one" / "01-xfs.footing")
    assert underlined_twice(window) == []
    window.commands["start"].trigger()
    assert underlined_twice(window) == []
    page = window.campaigns.replay_page
    assert page is not None
    for stop, runs in ((True, False), (False, True)):  # while a campaign runs, and once it has ended
        window.pages.setCurrentWidget(page)
        page.replay.hide()
        page.header.stop.setVisible(stop)
        page.header.runs.setVisible(runs)
        assert underlined_twice(window) == []


def test_later_campaign_keeps_current_page(qtbot: QtBot, open_window: OpenWindow, library: Path) -> None:
    window = open_window(library, begin=False)
    window.reader.refresh()
    qtbot.waitUntil(lambda: window.pages.currentWidget() is window.runs_page, timeout=PATIENCE_MS)
    window.live.look()
    qtbot.waitUntil(lambda: window.live.has_looked, timeout=PATIENCE_MS)
    window.live.stop()
    window.live.statuses = (status_of(library / "one"),)
    window.live.changed.emit(window.live.statuses)
    assert window.pages.currentWidget() is window.runs_page
    assert window.campaign_line.isVisible()


@pytest.mark.parametrize("own", [True, False])
def test_first_window_opens_only_own_campaigns(
    open_window: OpenWindow, library: Path, tmp_path: Path, *, own: bool
) -> None:
    window = open_window(library, begin=False)
    other = tmp_path / "another" / "one"
    shutil.copytree(library / "one", other)
    window.live.statuses = (status_of(library / "one" if own else other),)
    window.live.changed.emit(window.live.statuses)
    assert (window.pages.currentWidget() is window.campaigns.live_page) is own
    assert (window.campaigns.live_page is not None) is own


def test_help_lists_keys_and_machine(
    qtbot: QtBot, open_window: OpenWindow, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(library, begin=False)
    activate(qtbot, window)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F1)
    helping = window.findChild(HelpWindow)
    assert helping is not None
    output = helping.keys.toPlainText()
    for keys, text in key_lines():
        assert f"{keys}  {text}" in output
    assert len(key_lines()) == len(KEYS) + sum(bool(command.keys) for command in COMMANDS)
    for term in GLOSSARY:
        assert f"{term.word}  {term.meaning}" in helping.words.toPlainText()
    qtbot.waitUntil(lambda: "postgresql" in helping.machine.toPlainText(), timeout=60_000)
    assert "pgFooting" in helping.program.toPlainText()
    activate(qtbot, window)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F1)
    assert len([one for one in window.findChildren(HelpWindow) if one.isVisible()]) == 1
    helping.close()


def test_colour_scheme_followed_while_open(
    qtbot: QtBot, window: MainWindow, library: Path, light: Theme
) -> None:
    choose(qtbot, window, library / "one" / "00-ext4.footing")
    before = window.grab().toImage()
    light.set_scheme(Scheme.DARK)
    QApplication.sendPostedEvents()
    assert window.grab().toImage() != before


def test_settings_file_holds_declared_keys_only(window: MainWindow, library: Path, tmp_path: Path) -> None:
    window.close()
    keys = set(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat).allKeys())
    known = {"window/geometry", "library/had_runs", "runs/chosen", "runs/charts", "runs/sizes"}
    assert keys <= known | {"runs/library", "runs/facts", "open/folder"}, json.dumps(sorted(keys))
