from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.domain.disk import DiskIdentity
from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.options.raid import Level
from app.domain.run import Phase, RunState
from app.domain.storage_plan.plan import Group, StoragePlan
from app.execution.control import ControlServer, Request
from app.library.entries import DISKS_NAME
from app.live.campaign_follower import RunFollower
from app.live.snapshot import LogLine, ReplaySource, load_replay
from app.runfile.metadata.run_metadata import RunMetadata, TargetMetadata
from app.runfile.metadata.typed_json import values_of
from app.runfile.series import RunData, load_run_data
from tests.fix_runs import WARM_UP_S, Shape, write_run
from tests.gui.live_bench import SECONDS, LiveBench
from ui.live.header import join_problems, steps_of, usual_lengths
from ui.live.number_tiles import shown_numbers
from ui.live.page import LivePage, line_text
from ui.live.words import NOTHING, format_rate, three_digits
from ui.theme import Scheme, Theme
from ui.widgets.texts import tooltip

LONG_NAME = "ext4 on four NVMe disks, RAID 10, chunk 64 KiB, noatime, wal on its own two disks"[:80]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LiveBench]:
    made = LiveBench.create(tmp_path)
    yield made
    made.close()


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[LivePage]:
    theme = Theme(Scheme.LIGHT)
    made = LivePage(theme)
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    yield made
    made.stop()


def follow(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    """Show a campaign and wait for the first look at it."""
    with qtbot.waitSignal(page.poller.watched):
        page.set_campaign(bench.folder)


def look(qtbot: QtBot, page: LivePage) -> None:
    """Wait for a look that begins now."""
    with qtbot.waitSignal(page.poller.watched):
        page.poller.look()


def tile(page: LivePage, name: str) -> str:
    return page.numbers.tiles[name].value.text()


def seconds_of(data: RunData | None) -> int:
    return 0 if data is None else len(data.series("pgbench.tps")[0])


def current_step(page: LivePage) -> tuple[str, str]:
    (step,) = [step for step in page.phases.steps if step.current]
    return step.name, step.words


def test_setup_times_negative_in_log() -> None:
    """Of a negative time, hours, minutes and seconds are those of its amount."""
    found = [line_text(LogLine(t_ms, "note", "so")) for t_ms in (-53_000, -3_700_000, -400, 0, 61_000)]
    assert [line.split()[0] for line in found] == ["−00:53", "−1:01:40", "00:00", "00:00", "01:01"]  # noqa: RUF001 - minus


def test_ended_campaign_lists_free_and_kept_disks(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + 20)
    page.set_campaign(bench.folder)
    look(qtbot, page)
    assert not page.header.disks.isVisible()
    free = "Released, not zeroed: /dev/sdc (S2)."
    kept = "/dev/sdb (serial number S1) could not be released. xfs, label PRECIOUS, lies there."
    (bench.folder / DISKS_NAME).write_text(json.dumps({"free": free, "kept": [kept]}))
    look(qtbot, page)
    assert not page.header.disks.isVisible(), "as long as it runs it has its disks"
    bench.finish(writer)
    bench.release()
    qtbot.waitUntil(lambda: page.watched.ended)
    look(qtbot, page)
    assert page.header.disks.isVisible()
    assert page.header.disks.text() == free
    assert kept in page.banner.words.text()
    assert page.banner.isVisible()


# A campaign that runs


def test_growing_run_shown_second_by_second(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + 20)
    follow(qtbot, page, bench)
    assert page.header.run.text() == "ext4 #1"
    assert "Disks of db7: run 1 of 4" in page.header.campaign.text()
    assert current_step(page)[0] == "Measure"
    assert current_step(page)[1].endswith("/ 01:00")
    first = tile(page, "tps")
    assert first != NOTHING
    bench.grow(writer, WARM_UP_S + 20, WARM_UP_S + 30)
    look(qtbot, page)
    run = page.watched.run
    assert run is not None
    assert tile(page, "tps") == format_rate(run.numbers.tps) != first
    assert len(run.data.series("pgbench.tps")[0]) == WARM_UP_S + 30
    assert page.chart_feed.live is run.data
    assert page.command.text().startswith("pgbench: tpcb-like, clients 4")
    assert not page.banner.isVisible()


def test_the_page_looks_again_by_itself(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, 5)
    page.set_campaign(bench.folder)
    qtbot.waitUntil(lambda: page.watched.run is not None)
    bench.grow(writer, 5, 8)

    def seen() -> bool:
        run = page.watched.run
        return run is not None and len(run.data.series("pgbench.tps")[0]) == 8

    qtbot.waitUntil(seen)


def test_earlier_runs_pale_behind_live_run(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    bench.add_done(1)
    bench.add_done(2)
    bench.grow(bench.begin(3), 0, WARM_UP_S + 5)
    follow(qtbot, page, bench)
    behind = page.chart_feed.behind
    assert tuple(page.charts.runs) == behind
    assert [(trace.label, trace.colour_index, trace.pale) for trace in behind] == [
        ("ext4", 0, True),
        ("xfs #1", 1, True),
    ]
    assert set(page.charts.charts[0].labels.shown) == {"ext4", "xfs #1", "xfs #2"}, "nobody needs the mouse"
    assert page.chart_feed.live is not None
    assert (page.chart_feed.live.name, page.chart_feed.colour) == ("xfs #2", 1)


def test_the_charts_are_painted_where_they_stand(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    """The stack does not lie in the window's corner: what is painted must not lie there either."""
    bench.grow(bench.begin(1), 0, WARM_UP_S + SECONDS)
    follow(qtbot, page, bench)
    page.charts.set_charts(["tps", "latency", "iops"])
    qtbot.wait(50)
    image = page.charts.grab().toImage()
    whole = page.grab().toImage()
    corner = page.charts.mapTo(page, QPoint(0, 0))
    colour = page._theme.series_colour(0).rgb()

    def rows_of(picture: object, left: int, top: int) -> set[int]:
        assert picture is image or picture is whole
        shown = image if picture is image else whole
        return {
            y
            for y in range(page.charts.height() // 3)
            for x in range(100, page.charts.width() // 2, 3)
            if shown.pixel(left + x, top + y) == colour
        }

    alone = rows_of(image, 0, 0)
    assert alone
    assert rows_of(whole, corner.x(), corner.y()) == alone


def test_next_run_replaces_ended_run(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + SECONDS)
    follow(qtbot, page, bench)
    bench.finish(writer)
    look(qtbot, page)
    assert page.numbers.tiles["tps"].beneath.text() == "run mean"
    bench.grow(bench.begin(2), 0, 3)
    look(qtbot, page)
    assert page.header.run.text() == "xfs #1"
    assert [trace.label for trace in page.chart_feed.behind] == ["ext4"]
    assert page.chart_feed.live is not None
    assert page.chart_feed.live.name == "xfs #1"


def test_page_before_first_run(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    follow(qtbot, page, bench)
    assert page.header.run.text() == "Disks of db7"
    assert "the first about to start" in page.header.campaign.text()
    assert tile(page, "tps") == NOTHING
    assert page.header.stop.isVisible()


@pytest.mark.parametrize(
    ("phases", "name"),
    [
        ((Phase.PREPARE,), "Prepare"),
        ((Phase.PREPARE, Phase.INITDB), "Prepare"),
        ((Phase.PREPARE, Phase.INITDB, Phase.LOAD), "Load"),
        ((Phase.PREPARE, Phase.INITDB, Phase.LOAD, Phase.SETTLE), "Settle"),
    ],
)
def test_setup_phases_shown_with_times(
    qtbot: QtBot, page: LivePage, bench: LiveBench, phases: tuple[Phase, ...], name: str
) -> None:
    bench.begin_phases(bench.begin(1, started_epoch_s=time.time() - 3 * len(phases)), *phases)
    follow(qtbot, page, bench)
    shown, words = current_step(page)
    assert shown == name
    assert words.startswith("00:")
    assert [step.name for step in page.phases.steps] == [
        "Prepare",
        "Load",
        "Settle",
        "Warm-up",
        "Measure",
        "Clean up",
    ]
    assert page.phases.steps[4].words == "01:00"
    assert page.phases.accessibleDescription().startswith(name)


def test_phase_estimate_from_earlier_runs(bench: LiveBench) -> None:
    bench.add_done(1)
    writer = bench.begin(2)
    bench.begin_phases(writer, Phase.PREPARE, Phase.LOAD)
    follower = RunFollower(bench.path(2))
    earlier = load_run_data(bench.path(1))
    usual = usual_lengths([earlier])
    assert usual[Phase.WARM_UP] == pytest.approx(WARM_UP_S)
    step = steps_of(follower.poll(), {Phase.LOAD: 12.0})[1]
    assert "of about 00:12" in step.words


def test_a_campaign_without_warm_up_says_none(bench: LiveBench) -> None:
    workload: Json = {"label": "x", "clients": 1, "duration_s": 60, "warmup_s": 0}
    writer = bench.begin(1, workload=workload)
    bench.begin_phases(writer, Phase.PREPARE)
    steps = steps_of(RunFollower(bench.path(1)).poll(), {})
    assert steps[3].words == "none"


# Bad days


def test_dead_runner_never_shown_as_running(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    bench.grow(bench.begin(1), 0, WARM_UP_S + 20)
    follow(qtbot, page, bench)
    bench.release()
    with qtbot.waitSignal(page.finished) as ended:
        page.poller.look()
    assert ended.args == [bench.folder]
    assert "runner of this run died" in page.banner.words.text()
    assert page.banner.isVisible()
    assert "its runner died" in page.header.campaign.text()
    assert not page.header.stop.isVisible()
    assert page.header.runs.isVisible()
    assert current_step(page)[1].startswith("ended (")
    assert page.numbers.tiles["tps"].beneath.text() == "run mean"
    assert page.command.text() == ""
    assert not page.poller.is_running


def test_memory_run_explains_missing_operations(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1, target={"kind": "memory", "path": "/dev/shm"})
    with writer.transaction():
        sample = Sample("pgbench.tps", 100.0)
        writer.add_tick(0, 1000, lateness_us=0, missed=0, samples=[(1000, sample)])
    follow(qtbot, page, bench)
    assert tile(page, "iops") == NOTHING
    assert page.numbers.tiles["iops"].beneath.text() == "memory: no disk underneath"


def test_failed_run_explained_and_campaign_continues(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + 20)
    with writer.transaction():
        writer.set_run({"error": {"code": "server", "message": "The server ended.", "hint": "See its log."}})
    bench.finish(writer, RunState.FAILED, WARM_UP_S + 20)
    follow(qtbot, page, bench)
    assert page.banner.words.text() == "This run failed. The server ended. See its log."
    assert page.header.stop.isVisible()
    bench.grow(bench.begin(2), 0, 3)
    look(qtbot, page)
    assert page.header.run.text() == "xfs #1"
    assert page.banner.words.text() == "ext4 #1: The server ended."


def test_file_removed_while_shown(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    bench.grow(bench.begin(1), 0, WARM_UP_S + 20)
    follower = RunFollower(bench.path(1))
    with qtbot.waitSignal(page.poller.watched):
        page.set_source(follower)
    for path in bench.folder.glob("01-*"):
        path.unlink()
    look(qtbot, page)
    assert "was removed" in page.banner.words.text()
    assert tile(page, "tps") == NOTHING


def test_unreadable_folder_reported_and_retried(qtbot: QtBot, page: LivePage, tmp_path: Path) -> None:
    with qtbot.waitSignal(page.poller.failed):
        page.set_campaign(tmp_path / "none")
    assert "cannot be read" in page.banner.words.text()
    assert page.poller.is_running


def test_silence_of_the_runner_is_told(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + 20)
    with writer.transaction():
        writer.set_run({"started_epoch_s": time.time() - WARM_UP_S - 60})
    follow(qtbot, page, bench)
    assert page.banner.words.text().startswith("No new data for 4")


def test_unsafe_run_marked_next_to_name(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    with writer.transaction():
        writer.add_mark("unsafe", "fsync = off: commits are lost on power loss")
        writer.add_mark("clock-step", "")
    bench.grow(writer, 0, 3)
    follow(qtbot, page, bench)
    assert "UNSAFE" in page.header.marks.text()
    assert "fsync = off" in page.header.marks.toolTip()
    assert "clock set" in page.header.marks.text(), "in the words of every other page, and so in its language"


@pytest.mark.parametrize("stall_s", [0.8])  # as long as one likes: the runner does not know of it
def test_window_stall_loses_no_second(qtbot: QtBot, page: LivePage, bench: LiveBench, stall_s: float) -> None:
    """The window hangs while the runner writes: afterwards every second is there."""
    writer = bench.begin(1)
    bench.grow(writer, 0, 5)
    follow(qtbot, page, bench)
    until_s = time.monotonic() + stall_s
    second = 5
    while time.monotonic() < until_s or second < 30:  # this is the GUI thread: nothing is delivered
        bench.grow(writer, second, second + 1)
        second += 1
        time.sleep(0.02)
    look(qtbot, page)
    run = page.watched.run
    assert run is not None
    t_s = run.data.series("pgbench.tps")[0]
    assert len(t_s) == second
    assert set(t_s[1:] - t_s[:-1]) == {1.0}


# Stopping


@pytest.mark.parametrize("request_", list(Request))
def test_each_choice_of_stop_reaches_the_runner(
    qtbot: QtBot, page: LivePage, bench: LiveBench, request_: Request
) -> None:
    control = ControlServer(bench.folder)
    bench.grow(bench.begin(1), 0, WARM_UP_S + 5)
    follow(qtbot, page, bench)
    QTest.mouseClick(page.header.stop, Qt.MouseButton.LeftButton)
    dialog = page._dialog
    assert dialog is not None
    assert dialog.isVisible()
    with qtbot.waitSignal(page.stop_requested) as asked:
        QTest.mouseClick(dialog.buttons[request_], Qt.MouseButton.LeftButton)
    assert asked.args == [request_]
    heard: list[Request] = []

    def hears() -> bool:
        got = control.poll()
        if got is not None:
            heard.append(got)
        return bool(heard)

    qtbot.waitUntil(hears)
    assert heard == [request_]
    words = {Request.FINISH: "ends after this run", Request.STOP: "kept", Request.DISCARD: "discarded"}
    qtbot.waitUntil(lambda: words[request_] in page.header.campaign.text())
    qtbot.waitUntil(lambda: page._dialog is None)
    control.close()


def test_going_on_asks_nothing_of_the_runner(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    control = ControlServer(bench.folder)
    bench.grow(bench.begin(1), 0, 3)
    follow(qtbot, page, bench)
    page.ask_to_stop()
    dialog = page._dialog
    assert dialog is not None
    QTest.keyClick(dialog, Qt.Key.Key_Return)  # the harmless answer is the default one
    qtbot.waitUntil(lambda: page._dialog is None)
    assert control.poll() is None
    control.close()


def test_unresponsive_runner_reported(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    bench.grow(bench.begin(1), 0, 3)
    follow(qtbot, page, bench)
    page.request_stop(Request.STOP)
    qtbot.waitUntil(lambda: "No runner answers" in page.banner.words.text())


def test_question_closes_when_campaign_ends(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    bench.add_done(1)
    follow(qtbot, page, bench)
    page.ask_to_stop()
    assert page._dialog is not None
    bench.release()
    look(qtbot, page)
    qtbot.waitUntil(lambda: page._dialog is None)


def test_discarded_run_marked(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    control = ControlServer(bench.folder)
    bench.grow(bench.begin(1), 0, 3)
    follow(qtbot, page, bench)
    page.request_stop(Request.DISCARD)
    qtbot.waitUntil(lambda: control.poll() is Request.DISCARD)
    qtbot.waitUntil(lambda: "discarded" in page.header.campaign.text())
    control.close()
    for path in bench.folder.glob("01-*"):
        path.unlink()
    bench.release()
    look(qtbot, page)
    assert "was discarded, as you asked" in page.banner.words.text()


# What is remembered, sizes


def test_log_events_and_drawer_remembered(qtbot: QtBot, bench: LiveBench, tmp_path: Path) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + 30)
    with writer.transaction():
        writer.add_event(2_000, "warning", "two\nlines")
    page = LivePage(Theme(Scheme.DARK), settings)
    qtbot.addWidget(page)
    page.show()
    follow(qtbot, page, bench)
    assert not page.log.isVisible()
    page.log_button.click()
    lines = page.log.toPlainText().splitlines()
    assert lines[0].split() == ["00:02", "warning", "two", "lines"]
    assert any("checkpoint starting" in line for line in lines)
    page.charts.set_charts(["cpu", "tps"])
    page.stop()
    other = LivePage(Theme(Scheme.DARK), settings)
    qtbot.addWidget(other)
    other.show()
    assert other.log.isVisible()
    assert other.charts.chart_ids == ("cpu", "tps")


def test_settings_that_somebody_broke_count_as_none(qtbot: QtBot, tmp_path: Path) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    settings.setValue("live/charts", ["nonsense", 7])
    settings.setValue("live/log", "perhaps")
    page = LivePage(Theme(Scheme.DARK), settings)
    qtbot.addWidget(page)
    assert page.charts.chart_ids == ("tps", "iops", "cpu")
    assert not page.log.isVisibleTo(page)


@pytest.mark.parametrize("size", [(1024, 700), (3840, 2160)])
def test_a_long_name_widens_nothing(
    qtbot: QtBot, page: LivePage, bench: LiveBench, size: tuple[int, int]
) -> None:
    bench.grow(bench.begin(1, name=LONG_NAME * 3), 0, WARM_UP_S + 5)
    page.resize(*size)
    follow(qtbot, page, bench)
    assert page.minimumSizeHint().width() <= 1024
    assert page.width() == size[0]
    assert LONG_NAME in page.header.run.toolTip()


@pytest.mark.usefixtures("large_type")
@pytest.mark.parametrize("kind", ["campaign", "replay"])
def test_double_size_type_in_smallest_window(
    qtbot: QtBot, bench: LiveBench, replay: ReplaySource, kind: str
) -> None:
    writer = bench.begin(1, name=LONG_NAME)
    with writer.transaction():
        writer.add_mark("unsafe", "fsync = off")
    bench.grow(writer, 0, WARM_UP_S + 5)
    page = LivePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(page)
    page.resize(1024, 700)
    page.show()
    replay.pause()
    replay.jump(30)
    with qtbot.waitSignal(page.poller.watched):
        if kind == "campaign":
            page.set_campaign(bench.folder)
        else:
            page.set_source(replay)
    qtbot.wait(10)
    assert (page.width(), page.height()) == (1024, 700)
    for shown in page.numbers.tiles.values():
        assert shown.value.width() >= shown.value.sizeHint().width()
        assert shown.unit.width() >= shown.unit.sizeHint().width()


def test_buttons_have_mnemonics_controls_names(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    buttons = page.findChildren(QPushButton)
    assert len(buttons) > 5
    assert all("&" in button.text() for button in buttons)
    assert page.log.accessibleName()
    assert page.replay.slider.accessibleName()
    bench.grow(bench.begin(1), 0, WARM_UP_S + 5)
    follow(qtbot, page, bench)
    assert page.numbers.tiles["tps"].accessibleName().startswith("Transactions: ")


def test_hidden_page_keeps_watching(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, 3)
    follow(qtbot, page, bench)
    page.hide()
    bench.grow(writer, 3, WARM_UP_S + 9)
    look(qtbot, page)
    assert current_step(page)[0] == "Warm-up"
    page.show()
    assert current_step(page)[0] == "Measure"


# Replay


@pytest.fixture
def replay(tmp_path: Path) -> ReplaySource:
    path = write_run(tmp_path / "run.footing", Shape(seconds=120, checkpoint_every_s=40, seed=5))
    return load_replay(path)


def test_replay_controls_on_live_view(qtbot: QtBot, page: LivePage, replay: ReplaySource) -> None:
    replay.pause()
    replay.jump(30)
    with qtbot.waitSignal(page.poller.watched):
        page.set_source(replay)
    bar = page.replay
    assert bar.isVisible()
    assert not page.header.stop.isVisible()
    assert "replay of a recorded run" in page.header.campaign.text()
    assert current_step(page) == ("Measure", "00:30 / 02:00")
    assert bar.clock.text() == "00:30 / 02:00"
    assert bar.play.text() == "&Play"
    with qtbot.waitSignal(page.poller.watched):
        bar.after.click()
    assert current_step(page)[1] == f"{replay.position_s // 60:02.0f}:{replay.position_s % 60:02.0f} / 02:00"
    with qtbot.waitSignal(page.poller.watched):
        QTest.keyClick(page, Qt.Key.Key_J)
    before = replay.position_s
    with qtbot.waitSignal(page.poller.watched):
        bar.slider.triggerAction(bar.slider.SliderAction.SliderPageStepAdd)
    assert replay.position_s > before
    QTest.keyClick(page, Qt.Key.Key_BracketRight)
    assert replay.speed == 2.0
    QTest.keyClick(page, Qt.Key.Key_P)
    assert not replay.paused
    assert bar.play.text() == "&Pause"


def test_replay_backwards_shows_less(qtbot: QtBot, page: LivePage, replay: ReplaySource) -> None:
    replay.pause()
    replay.jump(90)
    with qtbot.waitSignal(page.poller.watched):
        page.set_source(replay)
    assert seconds_of(page.chart_feed.live) == 100
    replay.jump(20)
    look(qtbot, page)
    assert seconds_of(page.chart_feed.live) == 30


def test_replay_end_figures_and_restart(qtbot: QtBot, page: LivePage, replay: ReplaySource) -> None:
    replay.jump(119.9)
    page.set_source(replay)
    qtbot.waitUntil(lambda: page.watched.ended)
    assert not page.poller.is_running
    assert page.numbers.tiles["tps"].beneath.text() == "run mean"
    with qtbot.waitSignal(page.poller.watched):
        page.replay.play.click()
    assert not page.watched.ended
    assert page.poller.is_running


def test_a_paused_replay_costs_no_looks(qtbot: QtBot, page: LivePage, replay: ReplaySource) -> None:
    replay.pause()
    with qtbot.waitSignal(page.poller.watched):
        page.set_source(replay)
    assert not page.poller.is_running
    with qtbot.waitSignal(page.poller.watched):
        page.replay.play.click()
    assert page.poller.is_running


def test_a_replay_without_checkpoints_offers_no_jump(page: LivePage, tmp_path: Path) -> None:
    source = load_replay(write_run(tmp_path / "run.footing", Shape(seconds=20)))
    source.pause()
    page.set_source(source)
    assert not page.replay.after.isEnabled()
    assert "No checkpoint" in page.replay.after.toolTip()


def test_an_odd_speed_is_offered_too(page: LivePage, replay: ReplaySource) -> None:
    replay.pause()
    replay.set_speed(7.5)
    page.set_source(replay)
    assert page.replay.speed.currentData() == 7.5


def test_campaign_after_replay_has_no_bar(
    qtbot: QtBot, page: LivePage, bench: LiveBench, replay: ReplaySource
) -> None:
    page.set_source(replay)
    bench.grow(bench.begin(1), 0, 3)
    follow(qtbot, page, bench)
    assert not page.replay.isVisible()
    assert page.header.run.text() == "ext4 #1"


# Words


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.000"), (0.0123, "0.012"), (0.5, "0.500"), (4, "4.00"), (26.84, "26.8"), (999.6, "1,000")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, NOTHING), (0, "0"), (3.14159, "3.14"), (42.4, "42"), (7707.2, "7,707")]
)
def test_rates_are_whole_with_thousands_separators(value: float | None, text: str) -> None:
    assert format_rate(value) == text


def test_ended_run_shows_means(bench: LiveBench) -> None:
    bench.add_done(1)
    run = RunFollower(bench.path(1)).poll()
    numbers = shown_numbers(run)
    summary = run.data.summary
    tps = summary["tps"]
    assert tps is not None
    assert numbers.tps == tps
    assert numbers.p99_ms == summary["latency_p99_ms"]
    t_s, writes = run.data.series("storage.writes")
    reads = run.data.series("storage.reads")[1]
    assert numbers.iops == pytest.approx(float((writes + reads)[t_s > 0].mean()), rel=0.02)
    user, system = (run.data.series(f"process.cpu_{kind}", "postgres")[1] for kind in ("user", "system"))
    assert numbers.cpu_server == pytest.approx(float((user + system)[t_s > 0].mean()), rel=0.02)


def test_runner_reason_shown_for_failed_run() -> None:
    seen = "This run is incomplete: its runner died."
    said = "The run file /x.footing cannot be written: full. Make room."
    assert join_problems(seen, said) == f"{seen}\n{said}"
    assert join_problems("", said) == said
    assert join_problems(f"This run failed. {said}", said) == f"This run failed. {said}"
    assert join_problems(seen, "") == seen


def test_mean_so_far_below_newest_second(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    writer = bench.begin(1)
    bench.grow(writer, 0, WARM_UP_S + 1)
    page.set_campaign(bench.folder)
    look(qtbot, page)
    assert "mean" not in page.numbers.tiles["tps"].beneath.text()
    bench.grow(writer, WARM_UP_S + 1, WARM_UP_S + 20)
    qtbot.waitUntil(lambda: seconds_of(page.chart_feed.live) == WARM_UP_S + 20)
    data = page.chart_feed.live
    assert data is not None
    t_s, tps = data.series("pgbench.tps")
    mean = float(tps[t_s > 0].mean())
    assert page.numbers.tiles["tps"].beneath.text().startswith(f"mean {mean:,.0f} · ")
    for name in ("iops", "cpu", "wal"):
        assert page.numbers.tiles[name].accessibleDescription().startswith("mean ")
    assert "mean" not in page.numbers.tiles["p99"].beneath.text()  # a mean of percentiles is none


def test_charts_before_first_run(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    page.set_campaign(bench.folder)
    assert page.charts.shown.words_for_nothing == "Waiting for the first run …"
    look(qtbot, page)
    assert page.charts.shown.words_for_nothing == "The first run is being prepared: ext4 #1."
    assert [chart.view.isVisible() for chart in page.charts.charts] == [
        True,
        False,
        False,
    ]  # once, not thrice
    bench.release()
    qtbot.waitUntil(lambda: page.watched.ended)
    assert page.charts.shown.words_for_nothing == "The campaign ended before its first run."


def test_narrow_tiles_shorten_without_cutting_words(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    bench.grow(bench.begin(1), 0, WARM_UP_S + 20)
    follow(qtbot, page, bench)
    cpu = page.numbers.tiles["cpu"]
    whole = cpu.accessibleDescription()
    assert whole.startswith("mean ")
    assert " · I/O wait " in whole
    longest = cpu.fontMetrics().horizontalAdvance(whole)
    for label in (cpu.title, cpu.beneath):
        label.setFixedWidth(longest)
    qtbot.waitUntil(lambda: (cpu.title.text(), cpu.beneath.text()) == ("PostgreSQL CPU", whole))
    for label in (cpu.title, cpu.beneath):
        label.setFixedWidth(cpu.fontMetrics().horizontalAdvance(whole.partition(" · ")[0] + " or"))
    qtbot.waitUntil(lambda: cpu.title.text() == "CPU")
    assert cpu.beneath.text() == whole.partition(" · ")[0]
    assert (cpu.title.toolTip(), cpu.beneath.toolTip()) == (tooltip("PostgreSQL CPU"), tooltip(whole))


def test_spare_disks_named_by_serial(qtbot: QtBot, page: LivePage, bench: LiveBench) -> None:
    serials = "S6Z2NJ0W001", "S6Z2NJ0W002"
    disks = tuple(DiskIdentity(serial, None, "Trial", 1 << 40, "8:16") for serial in serials)
    plan = StoragePlan(Group(disks, Level.MIRROR, "xfs"))
    writer = bench.begin(
        1, **values_of(RunMetadata(target=TargetMetadata(kind="disks", path="x", plan=plan)))
    )
    bench.grow(writer, 0, WARM_UP_S + 5)
    page.set_campaign(bench.folder)
    look(qtbot, page)
    assert page.header.disks.text() == "XFS, mirror of 2 disks (S6Z2NJ0W001, S6Z2NJ0W002)"
    assert page.header.disks.isVisible()
