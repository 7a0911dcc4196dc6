"""Several campaigns in a row in the window: waiting, beginning, held, kept over a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.domain.campaign.configuration import Campaign, Configuration, FolderTarget, MemoryTarget
from app.domain.errors import ExitStatus, UsageError
from app.draft.from_campaign import first_parts
from app.draft.kept import draft_text, keep_draft, read_kept_draft
from app.execution.launch import LaunchError
from app.hosts.folders import account
from app.library.entries import CAMPAIGN_NAME
from app.live.campaign_status import CampaignStatus
from app.live.queue import QueuedCampaign, keep_queue, queue_text, read_kept_queue
from tests.fix_main_window import until_read
from ui.background import finish_background
from ui.live.queue_panel import RULES, QueuePanel, length_words
from ui.theme import Theme
from ui.window.campaigns import starter
from ui.window.campaigns.campaign_pages import ask_whether_it_goes_on
from ui.window.campaigns.starter import CampaignStarter, QueueRunner
from ui.window.main_window import MainWindow

pytestmark = [pytest.mark.gui, pytest.mark.qt_log_ignore("This plugin does not support")]

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 60_000


@dataclass
class MadeLaunch:
    """What a started runner looks like from here."""

    name: str
    folder: Path | None = None
    exit_status: int | None = None
    refusal: str = ""
    problem: str = ""
    asking: str = ""
    waiting: str = ""

    def poll(self) -> Path | None:
        if self.refusal:
            raise LaunchError(self.refusal, status=3)
        return self.folder


@dataclass
class QueueBench:
    """A queue whose runners are made up here.

    Attributes:
        launched: those that were started, in order.
        told: every sentence.
    """

    runner: QueueRunner
    starter: CampaignStarter
    launched: list[MadeLaunch]
    told: list[str]

    def names(self) -> list[str]:
        return [each.name for each in self.launched]

    def begins(self, qtbot: QtBot, count: int) -> MadeLaunch:
        qtbot.waitUntil(lambda: len(self.launched) == count, timeout=PATIENCE_MS)
        self.launched[-1].folder = Path("/library/x")
        return self.launched[-1]

    def ends(self, qtbot: QtBot, status: int) -> None:
        with qtbot.waitSignal(self.starter.ended, timeout=PATIENCE_MS):
            self.launched[-1].exit_status = status


def one(name: str) -> QueuedCampaign:
    return QueuedCampaign.of(Campaign(name, (Configuration("a", MemoryTarget()),)), 7200.0)


@pytest.fixture(autouse=True)
def _state_of_root(own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's state lies elsewhere; here it is the test's as well."""
    monkeypatch.setattr(account, "ROOT_FOLDER", str(tmp_path / "root"))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[QueueBench]:
    launched: list[MadeLaunch] = []

    def launch(item: QueuedCampaign, _library: Path) -> MadeLaunch:
        launched.append(MadeLaunch(item.name))
        return launched[-1]

    monkeypatch.setattr(starter, "launch_queued", launch)
    monkeypatch.setattr(starter, "_REAP_MS", 10)
    made = CampaignStarter(tmp_path)
    runner = QueueRunner(made, tmp_path)
    bench = QueueBench(runner, made, launched, [])
    runner.told.connect(bench.told.append)
    yield bench
    runner.stop()
    made.stop()
    assert finish_background(120)


def test_they_are_measured_one_after_the_other_also_where_one_fails(qtbot: QtBot, bench: QueueBench) -> None:
    for name in "abc":
        bench.runner.add(one(name))
    bench.begins(qtbot, 1)
    assert bench.runner.is_busy
    bench.ends(qtbot, ExitStatus.FAILED)
    bench.begins(qtbot, 2)
    assert bench.names() == ["a", "b"]
    bench.ends(qtbot, ExitStatus.DONE)
    bench.begins(qtbot, 3)
    bench.ends(qtbot, ExitStatus.DONE)
    assert bench.runner.running == ""
    assert bench.runner.queue.waiting == []


def test_one_that_cannot_begin_is_told_and_keeps_nobody_else_waiting(qtbot: QtBot, bench: QueueBench) -> None:
    failed: list[str] = []
    bench.starter.failed.connect(lambda message, _hint: failed.append(message))
    bench.runner.add(one("a"))
    bench.runner.add(one("b"))
    qtbot.waitUntil(lambda: len(bench.launched) == 1, timeout=PATIENCE_MS)
    bench.launched[0].refusal = "No room."
    bench.begins(qtbot, 2)
    assert failed == ["No room."]
    assert bench.names() == ["a", "b"]


@pytest.mark.parametrize("status", [int(ExitStatus.CANCELLED), -9])
def test_after_one_that_was_stopped_or_killed_the_others_wait_until_a_person_says_so(
    qtbot: QtBot, bench: QueueBench, status: int
) -> None:
    bench.runner.add(one("a"))
    bench.runner.add(one("b"))
    bench.begins(qtbot, 1)
    bench.ends(qtbot, status)
    assert "“a” was stopped" in bench.runner.queue.held
    assert bench.told[-1] == bench.runner.queue.held
    assert bench.names() == ["a"]
    bench.runner.go_on()
    bench.begins(qtbot, 2)
    assert bench.names() == ["a", "b"]


def test_while_a_campaign_of_somebody_else_runs_nothing_begins_and_its_end_decides(
    qtbot: QtBot, bench: QueueBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    goes_on: list[bool] = [True]
    monkeypatch.setattr(starter, "whether_goes_on", lambda _folder: goes_on[0])
    running = CampaignStatus("theirs", tmp_path, live=True, runs=())
    bench.runner.take_live((running,))
    bench.runner.add(one("a"))
    bench.runner.add(one("b"))
    assert (bench.runner.running, bench.launched) == ("theirs", [])
    bench.runner.take_live(())
    bench.begins(qtbot, 1)
    bench.ends(qtbot, ExitStatus.DONE)
    bench.begins(qtbot, 2)
    goes_on[0] = False
    bench.ends(qtbot, ExitStatus.DONE)
    bench.runner.take_live((running,))
    bench.runner.add(one("c"))
    bench.runner.take_live(())
    qtbot.waitUntil(lambda: bool(bench.runner.queue.held), timeout=PATIENCE_MS)
    assert "“theirs”" in bench.runner.queue.held
    assert bench.names() == ["a", "b"]


def test_what_waited_when_the_window_was_closed_is_offered_and_does_not_begin(
    qtbot: QtBot, bench: QueueBench
) -> None:
    keep_queue(queue_text([one("a"), one("b")]))
    with qtbot.waitSignal(bench.runner.told, timeout=PATIENCE_MS):
        bench.runner.begin()
    bench.runner.take_live(())
    bench.runner.go_on()
    assert [each.name for each in bench.runner.queue.offers()] == ["a", "b"]
    assert bench.told[-1].startswith("2 campaigns waited for their turn")
    first = bench.runner.queue.waiting[0]
    with qtbot.waitSignal(bench.runner.opened, timeout=PATIENCE_MS) as opened:
        bench.runner.open(first.key)
    assert opened.args[0] == first.key
    assert opened.args[1].name == "a"
    assert len(bench.runner.queue.waiting) == 2  # until it is started
    assert bench.launched == []


def test_one_that_was_to_go_on_goes_on_in_its_folder(qtbot: QtBot, bench: QueueBench) -> None:
    kept = QueuedCampaign.going_on(Path("/library/begun"))
    bench.runner.queue.offer([kept])
    with qtbot.waitSignal(bench.runner.go_on_wanted) as asked:
        bench.runner.open(kept.key)
    assert asked.args == [Path("/library/begun")]
    assert bench.runner.queue.waiting == []


def test_every_change_is_kept(qtbot: QtBot, bench: QueueBench, tmp_path: Path) -> None:
    bench.runner.take_live((CampaignStatus("theirs", tmp_path, live=True, runs=()),))
    for name in "abc":
        bench.runner.add(one(name))
    key = bench.runner.queue.waiting[2].key
    bench.runner.move(key, -1)
    bench.runner.remove(bench.runner.queue.waiting[0].key)
    qtbot.waitUntil(lambda: [each.name for each in read_kept_queue()] == ["c", "b"], timeout=PATIENCE_MS)


def test_a_window_that_closes_begins_nothing_more(qtbot: QtBot, bench: QueueBench) -> None:
    bench.runner.add(one("a"))
    bench.runner.add(one("b"))
    bench.begins(qtbot, 1)
    bench.runner.stop()
    with qtbot.waitSignal(bench.starter.ended, timeout=PATIENCE_MS):
        bench.launched[-1].exit_status = 0
    assert bench.names() == ["a"]
    bench.starter.ended.connect(bench.runner._on_ended)  # so that the end of the test finds it
    bench.starter.failed.connect(bench.runner._on_not_begun)


def test_no_more_are_taken_than_may_wait(
    bench: QueueBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_each: QueuedCampaign) -> None:
        raise UsageError("50 campaigns wait already; no more are taken.")

    bench.runner.take_live((CampaignStatus("theirs", tmp_path, live=True, runs=()),))
    monkeypatch.setattr(type(bench.runner.queue), "add", lambda _queue, each: refuse(each))
    bench.runner.add(one("a"))
    assert bench.told == ["50 campaigns wait already; no more are taken."]


# --- what is seen


def test_the_list_shows_each_with_its_length_and_what_can_be_done(
    qtbot: QtBot, light: Theme, bench: QueueBench, tmp_path: Path
) -> None:
    panel = QueuePanel(light)
    qtbot.addWidget(panel)
    queue = bench.runner.queue
    panel.show_queue(queue)
    assert panel.isHidden()
    bench.runner.take_live((CampaignStatus("theirs", tmp_path, live=True, runs=()),))
    bench.runner.add(one("a" * 200))
    bench.runner.add(one("<b>b</b>"))
    queue.offer([one("kept")])
    panel.show_queue(queue)
    assert not panel.isHidden()
    assert panel.names == ["kept", "a" * 200, "<b>b</b>"]
    assert panel.words.text() == RULES
    assert length_words(queue.waiting[0]) == "3 runs, about 2.0 h"
    kept, first, last = (panel.buttons[each.key] for each in queue.waiting)
    assert not kept["earlier"].isEnabled()
    assert not last["later"].isEnabled()
    assert not kept["open"].isHidden()
    assert first["open"].isHidden()
    for which, signal in (("earlier", panel.moved), ("remove", panel.removed)):
        with qtbot.waitSignal(signal) as asked:
            first[which].click()
        assert asked.args is not None
        assert asked.args[0] == queue.waiting[1].key
    queue.note_end("x", goes_on=False)
    panel.show_queue(queue)
    assert panel.words.text() == queue.held
    with qtbot.waitSignal(panel.go_on_wanted):
        panel.go_on.click()


def test_closing_the_window_says_what_becomes_of_those_that_wait(qtbot: QtBot, light: Theme) -> None:
    panel = QueuePanel(light)
    qtbot.addWidget(panel)
    for waiting, told in ((0, False), (2, True)):
        box = ask_whether_it_goes_on(panel, "x", lambda: None, lambda: None, waiting)
        assert ("(2) does not begin without it; the next start offers it" in box.informativeText()) is told
        box.close()


def test_the_start_page_offers_what_waited(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    kept = [one("a"), one("b")]
    keep_queue(queue_text(kept))
    window = open_window(library)
    until_read(qtbot, window)
    waiting = window.start_page.waiting
    qtbot.waitUntil(lambda: kept[1].key in waiting.go_on, timeout=PATIENCE_MS)
    waiting.put_away[kept[0].key].click()
    assert kept[0].key not in waiting.go_on
    waiting.go_on[kept[1].key].click()
    qtbot.waitUntil(lambda: window.campaigns.wizard is not None, timeout=PATIENCE_MS)
    wizard = window.campaigns.wizard
    assert wizard is not None
    assert wizard.draft.parts.values["name"] == "b"
    wizard.reject()
    assert [each.name for each in window.campaigns.queue.queue.waiting] == ["b"]  # looked at, not started


def test_while_a_campaign_runs_the_wizard_offers_the_queue_and_again_waits(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    window = open_window(library)
    until_read(qtbot, window)
    pages = window.campaigns
    running = CampaignStatus("theirs", tmp_path, live=True, runs=())
    pages.queue.take_live((running,))
    pages.open_wizard()
    wizard = pages.wizard
    assert wizard is not None
    assert wizard._before == "theirs"
    wizard.flow.step = wizard.flow.furthest = wizard.flow.steps[-1]
    wizard._show_state()
    assert wizard.next.text() == "Add to the &queue"
    pages._on_accepted(Campaign("mine", (Configuration("a", FolderTarget()),)))
    assert [each.name for each in pages.queue.queue.waiting] == ["mine"]
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / CAMPAIGN_NAME).write_text('name = "begun"\n[target.memory]\n')
    pages.go_on(begun)
    qtbot.waitUntil(lambda: len(pages.queue.queue.waiting) == 2, timeout=PATIENCE_MS)
    assert [each.name for each in pages.queue.queue.waiting] == ["mine", "begun"]
    wizard.reject()
    pages.queue.queue.confirmed.clear()  # nothing begins when the test ends


def test_a_campaign_whose_turn_comes_tears_nobody_away_and_leaves_the_draft(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    window = open_window(library)
    until_read(qtbot, window)
    pages, shown = window.campaigns, window.pages.currentWidget()
    parts = first_parts()
    parts.values["name"] = "being put together"
    keep_draft(draft_text(parts))
    pages.queue.was_turn = True
    with qtbot.waitSignal(pages.begun):
        pages._on_started(tmp_path / "begun")
    assert window.pages.currentWidget() is shown
    kept = read_kept_draft()
    assert kept is not None
    assert kept.values["name"] == "being put together"


@pytest.mark.slow
def test_real_runners_that_cannot_begin_follow_each_other(qtbot: QtBot, tmp_path: Path) -> None:
    made = CampaignStarter(tmp_path)
    runner = QueueRunner(made, tmp_path)
    failed: list[str] = []
    made.failed.connect(lambda message, _hint: failed.append(message))
    for name in ("first", "second"):
        target = FolderTarget(f"/does/not/exist/{name}")
        runner.add(QueuedCampaign.of(Campaign(name, (Configuration("a", target),))))
    qtbot.waitUntil(lambda: len(failed) == 2, timeout=PATIENCE_MS)
    assert "/does/not/exist/first" in failed[0]
    assert "/does/not/exist/second" in failed[1]
    assert not runner.is_busy
    runner.stop()
    made.stop()
    assert finish_background(120)
