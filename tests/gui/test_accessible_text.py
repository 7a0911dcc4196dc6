"""Screen readers get the data of everything that is painted: asked through Qt, on the pages themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.domain.run import RunState
from app.domain.text import format_duration
from app.live.campaign_follower import SingleRun
from app.live.snapshot import RunSnapshot, load_replay
from app.runfile.series import load_run_data
from tests.fix_main_window import open_comparison
from tests.fix_report import Case, write_cases
from tests.fix_runs import WARM_UP_S, Shape, write_run
from tests.fix_window import write_campaign, write_matrix
from tests.gui.live_bench import SECONDS, LiveBench
from ui.background import finish_background
from ui.charts.data.registry import named_traces
from ui.charts.figures.bars import FigureView
from ui.charts.stack.legend_table import legend_rows
from ui.charts.stack.stack import ChartStack, prefetch
from ui.compare.page import ComparePage
from ui.live.page import EVERY_S, Announcer, LivePage
from ui.live.presentation_window import TalkWindow
from ui.program import program
from ui.race.content import load_race
from ui.race.window import RaceWindow
from ui.report.dialog import ReportDialog, ReportRequest
from ui.theme import Scheme, Theme
from ui.widgets import texts
from ui.widgets.texts import AccessibleText, expose_data_to_screen_readers, show_tip
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]


@pytest.fixture(autouse=True)
def _described(qtbot: QtBot) -> None:
    expose_data_to_screen_readers()


@pytest.fixture
def listened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[QAccessibleEvent]]:
    """A screen reader is there; what it is sent is kept."""
    sent: list[QAccessibleEvent] = []
    QAccessible.setActive(True)
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)  # Qt 6.8 takes no word for it where none is
    monkeypatch.setattr(QAccessible, "updateAccessibility", sent.append)
    yield sent
    QAccessible.setActive(False)


def described(widget: QWidget) -> str:
    """Return what a screen reader is told of a widget."""
    found = QAccessible.queryAccessibleInterface(widget)
    assert found.text(QAccessible.Text.Name), widget
    assert found.role() is QAccessible.Role.Chart
    return found.text(QAccessible.Text.Description)


def stack_of(paths: list[Path], charts: tuple[str, ...]) -> ChartStack:
    stack = ChartStack(Theme(Scheme.LIGHT))
    stack.set_charts(charts)
    runs = [(str(path), prefetch(load_run_data(path), charts, len(paths)), n) for n, path in enumerate(paths)]
    stack.set_runs(named_traces(runs))
    stack.resize(900, 600)
    stack.show()
    return stack


@pytest.fixture
def two(qtbot: QtBot, tmp_path: Path) -> ChartStack:
    shape = Shape(seconds=60, checkpoint_every_s=25, stall=(20, 3))
    paths = [write_run(tmp_path / f"{name}.footing", shape, name) for name in ("ext4", "xfs")]
    stack = stack_of(paths, ("tps", "latency"))
    qtbot.addWidget(stack)
    return stack


def test_charts_describe_quantity_unit_lines_range(two: ChartStack) -> None:
    words = described(two)
    assert re.match(
        r"Shown from .00:09 to 01:00\. Transactions, per second: ext4: newest [\d,]+, mean ", words
    )
    assert re.search(r"; xfs: newest [\d,]+, mean [\d,]+, 95th percentile [\d,]+\.", words)
    assert re.search(r"Latency, ms: .*xfs, p99: newest [\d.]+, mean [\d.]+, 95th percentile [\d.]+", words)


def test_description_matches_legend_table(two: ChartStack) -> None:
    row = legend_rows(two.shown, two.charts[0].spec, two.times)[0]
    assert None not in {row.mean, row.high, row.last}
    said = f"ext4: newest {row.last:,.0f}, mean {row.mean:,.0f}, 95th percentile {row.high:,.0f}"
    assert said in described(two)


def test_description_follows_shown_range(two: ChartStack) -> None:
    whole = described(two)
    two.show_times(10, 40)
    assert described(two).startswith("Shown from 00:10 to 00:40.")
    assert described(two) != whole
    two.set_run_visible(two.runs[0].run_id, visible=False)
    assert "ext4" not in described(two).partition("checkpoint")[0]
    two.set_runs([])
    assert described(two) == "No run is shown."


def test_focused_run_checkpoints_and_stalls_described(two: ChartStack) -> None:
    assert "checkpoint" not in described(two), "of two runs they could not be told apart"
    two.set_focus(two.runs[1].run_id)
    words = described(two)
    assert re.search(r"xfs: \d checkpoints, the last at 00:4\d\.", words)
    assert f"xfs: 1 stall, {format_duration(3)} in all, at 00:20." in words
    two.show_times(25, 35)
    assert "stall" not in described(two), "it is not in the part shown"


def test_nothing_is_worked_out_before_somebody_asks(two: ChartStack, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def describe(_stack: ChartStack) -> str:
        asked.append("asked")
        return "words"

    monkeypatch.setattr(ChartStack, "accessible_text", describe)
    two.show_times(10, 30)
    two.grab()
    assert not asked
    assert described(two) == "words"


def test_arrow_keys_announce_line_values(two: ChartStack, listened: list[QAccessibleEvent]) -> None:
    QTest.keyClick(two, Qt.Key.Key_Right)
    (event,) = listened
    assert event.type() is QAccessible.Event.Announcement
    words = event.message()  # type: ignore[attr-defined] # of an announcement
    assert re.match(r"00:\d\d.*\. Transactions, per second: ext4 [\d,]+; xfs [\d,]+\.", words)
    assert "Latency, ms: ext4 p50 " in words


def test_deleted_stack_not_queried(two: ChartStack) -> None:
    stack = ChartStack(two.theme)
    found = QAccessible.queryAccessibleInterface(stack)
    assert found.isValid()
    number = QAccessible.uniqueId(found)
    delete(stack)
    assert QAccessible.accessibleInterface(number) is None


# --- Pages


def telling(window: QWidget) -> list[QWidget]:
    """Return every widget in sight that paints data."""
    found = [window, *window.findChildren(QWidget)]
    return [each for each in found if isinstance(each, AccessibleText) and each.isVisible()]


def show_tab(qtbot: QtBot, page: ComparePage, index: int) -> bool:
    """Show a tab and wait for what it reads, which may be twice; return whether it has data."""
    if not page.tabs.isTabVisible(index):
        return False
    page.tabs.setCurrentIndex(index)
    for _ in range(2):
        qtbot.wait(50)
        assert finish_background(120)
    qtbot.wait(50)
    return True


def test_library_and_comparison_charts_describe_data(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    paths = write_campaign(tmp_path / "library")
    window, page = open_comparison(qtbot, open_window, tmp_path / "library", paths)
    qtbot.waitUntil(lambda: page.content.comparison is not None)
    seen: list[str] = []
    for index in range(page.tabs.count()):
        for each in telling(page) if show_tab(qtbot, page, index) else ():
            words = described(each)
            assert "xfs" in words or "No run" in words or "hold no samples" in words, (
                page.tabs.tabText(index),
                words,
            )
            seen.append(page.tabs.tabText(index))
    assert list(dict.fromkeys(seen)) == ["Result", "Over time", "Side by side"], "Latencies is a sentence"
    window.show_runs()
    (stack,) = [each for each in telling(window.runs_page) if isinstance(each, ChartStack)]
    assert "xfs: newest 1," in described(stack)


def test_comparison_latencies_described(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    paths = write_cases(
        library, [Case(name, repeat, Shape(20, 5000)) for repeat in (0, 1) for name in ("ext4", "xfs")]
    )
    _, page = open_comparison(qtbot, open_window, library, paths)
    qtbot.waitUntil(lambda: page.content.comparison is not None)
    page.choose_view("distribution")
    qtbot.waitUntil(lambda: len(telling(page)) == 2)
    qtbot.waitUntil(lambda: all("xfs" in described(each) for each in telling(page)))


def test_sweep_and_tables_described(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    paths = write_matrix(tmp_path / "library", scales=True)
    _, page = open_comparison(qtbot, open_window, tmp_path / "library", paths)
    qtbot.waitUntil(lambda: page.content.comparison is not None)
    said: dict[str, str] = {}
    for index in range(page.tabs.count()):
        show_tab(qtbot, page, index)
        said |= {page.tabs.tabText(index): described(each) for each in telling(page)}
    assert re.search(r"btrfs: 10 3,2\d\d, 20 2,8\d\d, 40 ", said["Sweep"]), said["Sweep"]
    assert re.search(r"scale 10: ext4.*; btrfs at 10: 3,2\d\d", said["Result"]), said["Result"]


def test_bar_figure_describes_bars_and_intervals(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    paths = write_campaign(tmp_path / "library")
    _, page = open_comparison(qtbot, open_window, tmp_path / "library", paths)
    qtbot.waitUntil(lambda: page.content.comparison is not None)
    qtbot.wait(50)
    (figure,) = [each for each in page.findChildren(FigureView) if each.isVisible()]
    assert figure.focusPolicy() is Qt.FocusPolicy.NoFocus, "Tab stops once, at what has a name"
    words = described(figure.sheet)
    assert re.search(r"xfs: 1,101, CI 1,09\d to 1,10\d", words), words
    assert re.search(r"ext4: 1,001, CI ", words), words


def test_growing_run_described_and_announced(
    qtbot: QtBot, tmp_path: Path, listened: list[QAccessibleEvent]
) -> None:
    bench = LiveBench.create(tmp_path)
    page = LivePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()

    def look() -> None:
        with qtbot.waitSignal(page.poller.watched):
            page.poller.look()

    def said() -> list[str]:
        look()
        look()  # the first one may have begun before the file grew
        described_now = [
            each.message()  # type: ignore[attr-defined] # of an announcement
            for each in listened
            if each.type() is QAccessible.Event.Announcement
        ]
        listened.clear()
        return described_now

    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S - 2)
    page.set_campaign(bench.folder)
    assert said() == [f"ext4 #1: Warm-up, for {format_duration(WARM_UP_S)}."]
    bench.grow(writer, WARM_UP_S - 2, WARM_UP_S + 20)
    assert said() == [f"ext4 #1: Measure, for {format_duration(SECONDS)}."]
    before = described(page.charts)
    assert "Transactions, per second: ext4: newest " in before
    bench.grow(writer, WARM_UP_S + 20, WARM_UP_S + 40)
    assert said() == [], "a second is nothing to interrupt somebody for"
    assert described(page.charts) != before, "what is told is what is there now"
    bench.grow(writer, WARM_UP_S + 40, WARM_UP_S + SECONDS)
    bench.finish(writer)
    (sentence,) = said()
    assert re.match(
        r"ext4 #1 has ended\. [\d,]+ transactions per second\. 99th percentile [\d.]+ ms\.", sentence
    )
    page.stop()
    bench.close()


def snapshots(tmp_path: Path) -> Callable[[float], SingleRun]:
    path = write_run(tmp_path / "ext4.footing", Shape(seconds=300), "ext4")

    def at(second: float) -> SingleRun:
        source = load_replay(path)
        source.pause()
        source.jump(second)
        return SingleRun(source)

    return at


def test_figures_announced_once_a_minute(tmp_path: Path) -> None:
    said: list[str] = []
    now = [0.0]
    announcer, at = Announcer(said.append, lambda: now[0]), snapshots(tmp_path)
    announcer.follow(at(10).poll())
    assert len(said) == 1
    for second in range(11, 60):
        now[0] = float(second - 10)
        announcer.follow(at(second).poll())
    assert len(said) == 1
    now[0] = EVERY_S
    announcer.follow(at(100).poll())
    assert re.match(r"Measure, 01:40 / 05:00\. [\d,]+ transactions per second\. 99th percentile ", said[1])
    now[0] = 3 * EVERY_S
    announcer.follow(at(100).poll())
    assert len(said) == 2, "a replay that stands still has nothing to say"


def test_failed_run_announced_with_reason(tmp_path: Path) -> None:
    said: list[str] = []
    shown = snapshots(tmp_path)(20).poll()
    assert isinstance(shown.run, RunSnapshot)
    failed = replace(shown.run, state=RunState.FAILED, finished=True, problem="The disk is full.")
    Announcer(said.append).follow(replace(shown, run=failed))
    assert said == ["ext4: This run failed. The disk is full."]


def test_nothing_is_announced_where_nobody_listens(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[QAccessibleEvent] = []
    monkeypatch.setattr(QAccessible, "updateAccessibility", sent.append)
    monkeypatch.setattr(QAccessible, "isActive", lambda: False)
    widget = QWidget()
    qtbot.addWidget(widget)
    texts.announce(widget, "Words.")
    texts.announce_change(widget)
    assert not sent


def test_talk_and_race_describe_moment(qtbot: QtBot, tmp_path: Path) -> None:
    shape = Shape(seconds=60, stall=(10, 5))
    paths = [write_run(tmp_path / f"{name}.footing", shape, name) for name in ("ext4", "xfs")]
    source = load_replay(paths[0])
    source.pause()
    source.jump(30)
    talk = TalkWindow(Scheme.DARK, source)
    race = RaceWindow(Scheme.DARK, load_race(paths))
    for window in (talk, race):
        window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
    talk.show_watched(SingleRun(source).poll())
    assert "Transactions, per second: ext4: newest " in described(talk.charts)
    race.clock.toggle()
    race.clock.jump(30.0)
    race.advance()
    words = described(race.charts)
    assert words.startswith("Shown from 00:00 to 00:30. Transactions, per second: ext4: newest ")
    board = described(race.board)
    assert re.search(r"Order: .*\. 1 (ext4|xfs), [\d,]+, so far [\d,]+, stalled 00:05 so far;", board)
    race.show_verdict()
    assert "ext4: " in described(race.verdict.figure.sheet)


def test_race_leader_end_and_verdict_announced(
    qtbot: QtBot, tmp_path: Path, listened: list[QAccessibleEvent]
) -> None:
    shapes = {"ext4": Shape(seconds=60, tps=2000.0, stall=(30, 25)), "xfs": Shape(seconds=60, tps=1500.0)}
    paths = [write_run(tmp_path / f"{name}.footing", shape, name) for name, shape in shapes.items()]
    now = [0.0]
    race = RaceWindow(Scheme.DARK, load_race(paths), clock_s=lambda: now[0])
    race.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(race)
    race._timer.stop()
    race.clock.toggle()
    said: list[str] = []
    for position_s in (0.0, 5.0, 6.0, 58.0, 70.0):
        now[0] += 20.0
        race.clock.jump(position_s)
        race.advance()
        race.advance()
        said += [event.message() for event in listened if isinstance(event, QAccessibleAnnouncementEvent)]
        listened.clear()
    assert [re.search(r"1 (ext4|xfs)", words)[1] for words in said] == ["ext4", "xfs", "xfs"]  # type: ignore[index]
    race.show_verdict()
    (event,) = listened
    assert isinstance(event, QAccessibleAnnouncementEvent)
    assert event.message() == race.verdict.sentence.text()


def test_preview_page_describes_its_words(qtbot: QtBot, tmp_path: Path) -> None:
    paths = write_cases(tmp_path / "runs", [Case(name, 0, Shape(12, 5000)) for name in ("ext4", "xfs")])
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    dialog = ReportDialog(ReportRequest(tuple(paths), "Trial"), settings)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.preview.pages > 0, timeout=60_000)
    words = described(dialog.preview.page)
    assert words.startswith(f"Page 1 of {dialog.preview.pages}. ")
    assert "Trial" in words
    assert "xfs" in words
    dialog.preview.on.click()
    assert described(dialog.preview.page).startswith("Page 2 of ")
    dialog.close()


def test_the_program_lets_screen_readers_ask() -> None:
    source = Path(program.__file__).read_text()
    made = source.partition("def make_application")[2].partition("\ndef ")[0]
    assert "expose_data_to_screen_readers()" in made


def test_tip_announced_as_plain_text(qtbot: QtBot) -> None:
    button = QPushButton("Go on")
    qtbot.addWidget(button)
    show_tip(button, "<b>sda</b> & sdb", "", "are erased.")
    assert button.toolTip() == "<qt>&lt;b&gt;sda&lt;/b&gt; &amp; sdb<br>are erased.</qt>"
    said = QAccessible.queryAccessibleInterface(button)
    assert said.text(QAccessible.Text.Description) == "<b>sda</b> & sdb are erased."
    show_tip(button)
    assert (button.toolTip(), said.text(QAccessible.Text.Description)) == ("", "")
