"""Every page of the window in the language of tests.pseudo_language; test_pseudo_language.py starts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtWidgets import QApplication, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from app.domain.filesystems import FILESYSTEMS
from app.domain.text import tr
from app.live.campaign_follower import SingleRun
from app.live.snapshot import load_replay
from app.report.report import read_report
from app.storage.layout.disk_target import PARTITION_PROGRAMS
from tests.fix_main_window import open_read
from tests.fix_phases import ext4_and_xfs, write_phased_campaign
from tests.fix_report import write_cases
from tests.fix_runs import Shape, write_run
from tests.fix_window import write_bad_files, write_campaign
from tests.gui.live_bench import LiveBench
from tests.gui.shown_pages import SIZE, runs_of, wizard_pages
from tests.gui.shown_texts import (
    cut_texts,
    english_in,
    english_numbers,
    markup_for_screen_readers,
    untranslated,
)
from tests.gui.test_report_pdf import cases_of
from tests.gui.test_report_web_page import block_texts
from tests.gui.test_wizard_disks import draft_on_disks
from ui.background import finish_background
from ui.charts.figures.bars import FigureView
from ui.charts.stack.chart import Canvas
from ui.compare.page import ComparePage
from ui.live.header import PhaseBar, StopDialog
from ui.live.number_tiles import NumberTile
from ui.live.page import LivePage
from ui.live.presentation_window import TalkWindow
from ui.live.replay_bar import ReplayBar
from ui.program.program import set_typeface
from ui.race.content import load_race
from ui.race.window import RaceWindow
from ui.report.dialog import ReportDialog, ReportRequest
from ui.style import apply_theme
from ui.theme import Scheme, Theme
from ui.window.campaigns.campaign_pages import ask_whether_it_goes_on
from ui.window.commands.manual_window import HelpWindow
from ui.window.commands.preferences_dialog import PreferencesDialog
from ui.window.files.import_window import ImportWindow
from ui.window.files.run_actions import RunDetails
from ui.window.library.panel import RunList
from ui.window.main_window import MainWindow
from ui.wizard.editors.options_form import OptionEditor

OpenWindow = Callable[..., MainWindow]
IS_LARGE = "PAGES_LARGE" in os.environ
"""In the language of the texts and the style of the program; type twice as large where it is 1."""
SCHEME = Scheme(os.environ.get("PAGES_SCHEME", Scheme.LIGHT.value))
PROGRAMS = (*PARTITION_PROGRAMS, *(each for spec in FILESYSTEMS for each in spec.programs))
GIVEN = (
    *("Disks of db7", "own build", "/srv/bench of jo"),
    # what disks, system, server, packages and distributions are called or say themselves
    *("mounted at /; A filesystem on it is mounted; It holds a filesystem", "Debian or PGDG package"),
    *("Could not connect", "No such file or directory", "checkpoint starting", "checkpoint complete"),
    *("(0.4%)", "1.4:1"),
    *("single, stripe, mirror", "stripe, mirror", "mdadm", "reiserfsprogs"),
    *(preset.label for spec in FILESYSTEMS for preset in spec.presets),
    # whichever of them this machine lacks
    *sorted({each.package for each in PROGRAMS} - {"mount"}),
)
"""Names and words of others, and a number that stands in a text for translators."""


ALWAYS_FROM_LEFT = (Canvas, FigureView, NumberTile, PhaseBar, ReplayBar, RunList)
"""Time, numbers and names of runs are read from left to right in every script."""


class Looks:
    """Looks at what is shown, page by page; all that is wrong is told at the end."""

    def __init__(self, qtbot: QtBot, shots: Path | None) -> None:
        self.qtbot = qtbot
        self.wrong: set[str] = set()
        self._seen: set[str] = set()
        self.known = GIVEN
        self._shots = shots

    def at(self, name: str, window: QWidget) -> None:
        self.qtbot.wait(60)
        assert finish_background(120)
        self.qtbot.wait(20)
        # An answer that came last has changed words whose place is found by the next event.
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        size = window.window().size()
        if size.width() > SIZE[0] or size.height() > SIZE[1]:
            self.wrong.add(f"{name}: the window is {size.width()} x {size.height()} px")
        foreign = set() if IS_LARGE else untranslated(self.known) | english_numbers(self.known)
        found = (cut_texts() | markup_for_screen_readers() | foreign) - self._seen
        self._seen |= found
        self.wrong |= {f"{name}: {each}" for each in found}
        for editor in window.window().findChildren(OptionEditor):
            if editor.word.layoutDirection() is Qt.LayoutDirection.RightToLeft:
                self.wrong.add(f"{name}: {editor.word.text()} is mirrored")
        for each in window.window().findChildren(QWidget):
            is_left = each.layoutDirection() is Qt.LayoutDirection.LeftToRight
            if isinstance(each, ALWAYS_FROM_LEFT) and not is_left:
                self.wrong.add(f"{name}: {type(each).__name__} is mirrored")
        if self._shots:
            window.grab().save(str(self._shots / f"{name}.png"))


@pytest.fixture
def light(qtbot: QtBot) -> Theme:
    """The colours that are looked at."""
    return Theme(SCHEME)


@pytest.fixture
def looks(qtbot: QtBot, qapp: QApplication) -> Iterator[Looks]:
    if IS_LARGE:  # as in the program, whose style and typeface need more room
        apply_theme(qapp, Theme(SCHEME))
        set_typeface(qapp)
    before, font = qapp.font(), qapp.font()
    font.setPointSizeF((2 if os.environ.get("PAGES_LARGE") == "1" else 1) * font.pointSizeF())
    qapp.setFont(font)
    from_right = bool(os.environ.get("PAGES_FROM_RIGHT"))
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft if from_right else Qt.LayoutDirection.LeftToRight)
    shots = os.environ.get("SHOTS")
    made = Looks(qtbot, Path(shots) if shots else None)
    yield made
    qapp.setFont(before)
    if made.wrong:
        pytest.fail("\n".join(sorted(made.wrong)), pytrace=False)


@pytest.mark.skipif(IS_LARGE, reason="in English")
def test_the_language_is_spoken() -> None:
    assert tr("Cancel").startswith("⟦")


def test_start_page_library_and_dialogs(
    qtbot: QtBot, looks: Looks, open_window: OpenWindow, light: Theme, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    write_campaign(library)
    write_bad_files(library)
    window = open_read(qtbot, open_window, library)
    looks.at("start", window)
    window.show_runs()
    looks.at("library", window)
    window.runs_page.model.choose(str(path) for path in sorted(library.rglob("*.footing"))[:4])
    looks.at("charts", window)
    for name, dialog in {
        "details of a run": RunDetails(runs_of(library)[:1], light, lambda: None, window),
        "details of a campaign": RunDetails(runs_of(library), light, lambda: None, window),
        "help": HelpWindow(light, window),
        "preferences": PreferencesDialog(light, library, window),
        "import": ImportWindow(library, light, lambda _paths: None, window),
        "stop": StopDialog("Trial", light, window),
    }.items():
        dialog.show()
        for tabs in dialog.findChildren(QTabWidget):
            for index in range(tabs.count()):
                tabs.setCurrentIndex(index)
                looks.at(f"{name} {index}", dialog)
        looks.at(name, dialog)
        dialog.close()
    for name, box in {
        "close": ask_whether_it_goes_on(window, "Trial", lambda: None, lambda: None),
    }.items():
        looks.at(name, box)
        box.close()


def test_the_start_page_of_an_empty_library(looks: Looks, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(tmp_path / "library")
    looks.at("first start", window)


def test_the_live_page(qtbot: QtBot, looks: Looks, light: Theme, tmp_path: Path) -> None:
    bench = LiveBench.create(tmp_path)
    bench.add_done(1)
    bench.grow(bench.begin(2), 0, 40)
    page = LivePage(light)
    qtbot.addWidget(page)
    page.resize(*SIZE)
    page.show()
    page.set_campaign(bench.folder)
    with qtbot.waitSignal(page.poller.watched):
        page.poller.look()
    looks.at("live", page)
    page.log_button.click()
    looks.at("live with log", page)
    page.stop()
    bench.close()


def test_every_page_of_the_wizard(qtbot: QtBot, looks: Looks, light: Theme, tmp_path: Path) -> None:
    for name, wizard in wizard_pages(qtbot, light, draft_on_disks(2), tmp_path):
        qtbot.wait(100)
        looks.at(f"wizard {name}", wizard)


def test_report_and_its_dialog(qtbot: QtBot, looks: Looks, tmp_path: Path) -> None:
    paths = write_cases(tmp_path, cases_of("three"))
    dialog = ReportDialog(
        ReportRequest(tuple(paths), "Trial"), QSettings(str(tmp_path / "w.ini"), QSettings.Format.IniFormat)
    )
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.wait(500)
    looks.at("report", dialog)
    for tabs in dialog.findChildren(QTabWidget):
        for index in range(tabs.count()):
            tabs.setCurrentIndex(index)
            looks.at(f"report {index}", dialog)
    dialog.close()
    for text in () if IS_LARGE else block_texts(read_report(paths).blocks):
        looks.wrong |= {f"in a report: {piece!r} in {text!r}" for piece in english_in(text, looks.known)}


def test_talks_and_races(qtbot: QtBot, looks: Looks, tmp_path: Path) -> None:
    paths = [write_run(tmp_path / f"{name}.footing", Shape(seconds=60), name) for name in ("ext4", "xfs")]
    source = load_replay(paths[0])
    source.pause()
    source.jump(30)
    talk = TalkWindow(Scheme.DARK, source)
    race = RaceWindow(Scheme.DARK, load_race(paths))
    for name, window in {"talk": talk, "race": race}.items():
        window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        qtbot.addWidget(window)
        window.resize(*SIZE)
        window.show()
        if window is talk:
            talk.show_watched(SingleRun(source).poll())
        looks.at(name, window)


def test_compare_page_views(qtbot: QtBot, looks: Looks, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    paths = write_phased_campaign(library, ext4_and_xfs())
    window = open_read(qtbot, open_window, library)
    window.runs_page.model.choose(str(path) for path in paths)
    window.commands["compare"].trigger()
    page = window.pages.currentWidget()
    assert isinstance(page, ComparePage)
    qtbot.wait(300)
    for index in range(page.tabs.count()):
        page.tabs.setCurrentIndex(index)
        looks.at(f"compare-{index}", window)
