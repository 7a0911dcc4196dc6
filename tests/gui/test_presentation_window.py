from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.domain.run import Phase
from app.library.entries import find_examples
from app.live.campaign_follower import CampaignFollower, SingleRun
from app.live.snapshot import ReplaySource, load_replay
from tests.fix_runs import WARM_UP_S, Shape, write_run
from tests.gui.live_bench import LiveBench
from ui.charts.data.curves import curve_samples
from ui.charts.data.registry import CHARTS
from ui.live.page import LivePage
from ui.live.presentation_window import MOST_LINES, NUMBER_POINTS, TalkWindow
from ui.live.words import NOTHING
from ui.theme import Scheme, Theme


@pytest.fixture
def replay(tmp_path: Path) -> ReplaySource:
    path = write_run(tmp_path / "run.footing", Shape(seconds=120, checkpoint_every_s=40, seed=5))
    source = load_replay(path)
    source.pause()
    source.jump(60)
    return source


@pytest.fixture
def talk(qtbot: QtBot, replay: ReplaySource) -> TalkWindow:
    window = TalkWindow(Scheme.DARK, replay)
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show_watched(SingleRun(replay).poll())
    window.show()
    return window


def test_numbers_are_large_on_every_screen(talk: TalkWindow) -> None:
    for size in ((800, 600), (1920, 1080), (3840, 2160)):
        talk.resize(*size)
        for value in talk.values.values():
            assert value.font().pointSizeF() >= NUMBER_POINTS
    assert talk.values["tps"].font().pointSizeF() > 2 * NUMBER_POINTS, "there is room on a 4K screen"


def test_arrow_and_presenter_keys_cycle_charts(talk: TalkWindow, replay: ReplaySource) -> None:
    seen = [talk.charts.chart_ids]
    while len(seen) <= len(CHARTS):
        QTest.keyClick(talk, Qt.Key.Key_PageDown)
        if talk.charts.chart_ids == seen[0]:
            break
        seen.append(talk.charts.chart_ids)
    names = [name for (name,) in seen]
    assert names == [
        name
        for name, spec in CHARTS.items()
        if any(len(curve_samples(replay.data, curve)[0]) for curve in spec.curves)
    ]
    assert 5 < len(names) < len(CHARTS), "of arrays the run knows nothing"
    QTest.keyClick(talk, Qt.Key.Key_Left)
    assert talk.charts.chart_ids == seen[-1]


def test_unmeasured_numbers_take_no_room(qtbot: QtBot) -> None:
    source = load_replay(find_examples()[0])
    window = TalkWindow(Scheme.LIGHT, source)
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    assert list(window.values) == ["tps", "p99"]
    source.pause()
    source.jump(600.0)
    window.show_watched(SingleRun(source).poll())
    assert all(value.text() != NOTHING for value in window.values.values())


def test_fast_playback_shows_means(talk: TalkWindow, replay: ReplaySource) -> None:
    t_s, tps = replay.data.series("pgbench.tps")
    newest = talk.values["tps"].text()
    while replay.speed < 60:
        QTest.keyClick(talk, Qt.Key.Key_Plus)
    talk.show_watched(SingleRun(replay).poll())
    text = float(talk.values["tps"].text().replace(",", ""))
    assert talk.values["tps"].text() != newest
    before = tps[t_s <= replay.position_s]
    assert before[-60:].min() < text < before[-60:].max()
    assert text == pytest.approx(before[-60:].mean(), rel=0.1)


def test_replaced_charts_leave_no_garbage(talk: TalkWindow) -> None:
    """Parts of a scene that Python destroys one by one crash Qt."""
    for _ in range(6 * len(CHARTS)):
        talk.next_chart(1)
        gc.collect(0)
    gc.collect()
    assert len(talk.charts.chart_ids) == 1


def test_summary_between_two_runs(qtbot: QtBot, bench: LiveBench) -> None:
    bench.add_done(1)
    bench.add_done(2)
    writer = bench.begin(3)
    bench.begin_phases(writer, Phase.PREPARE)
    window = TalkWindow(Scheme.LIGHT, None)
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    window.show_watched(CampaignFollower(bench.folder).poll())
    assert window.so_far.isVisible()
    assert re.fullmatch(r"TPS so far: ext4 [\d,]+, xfs [\d,]+", window.so_far.text())
    bench.grow(writer, 0, WARM_UP_S + 5)
    window.show_watched(CampaignFollower(bench.folder).poll())
    assert not window.so_far.isVisible()


def test_keys_steer_the_replay(qtbot: QtBot, talk: TalkWindow, replay: ReplaySource) -> None:
    with qtbot.waitSignal(talk.steered):
        QTest.keyClick(talk, Qt.Key.Key_Plus)
    assert replay.speed == 2.0
    QTest.keyClick(talk, Qt.Key.Key_Minus)
    assert replay.speed == 1.0
    start_s = next(start for start in replay.checkpoints_s if start > 60)
    QTest.keyClick(talk, Qt.Key.Key_C)
    assert start_s - 5 < replay.position_s < start_s
    QTest.keyClick(talk, Qt.Key.Key_C, Qt.KeyboardModifier.ShiftModifier)
    assert replay.position_s < 60
    QTest.keyClick(talk, Qt.Key.Key_B)
    assert replay.position_s == replay.begin_s
    with qtbot.waitSignal(talk.steered):
        QTest.keyClick(talk, Qt.Key.Key_Space)
    assert not replay.paused
    QTest.keyClick(talk, Qt.Key.Key_Space)
    assert replay.paused


def test_dark_and_light_change_for_the_projector(talk: TalkWindow) -> None:
    before = talk.palette().color(talk.backgroundRole())
    QTest.keyClick(talk, Qt.Key.Key_D)
    assert talk.palette().color(talk.backgroundRole()).lightness() > 200 > before.lightness()


def test_the_keys_are_shown_and_hidden(talk: TalkWindow) -> None:
    assert talk.hint.isVisible()
    QTest.keyClick(talk, Qt.Key.Key_H)
    assert not talk.hint.isVisible()
    QTest.keyClick(talk, Qt.Key.Key_H)
    assert talk.hint.isVisible()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LiveBench]:
    made = LiveBench.create(tmp_path)
    yield made
    made.close()


def test_few_lines_are_shown_at_a_time(qtbot: QtBot, bench: LiveBench) -> None:
    for number in (1, 2, 3):
        bench.add_done(number)
    bench.grow(bench.begin(4), 0, WARM_UP_S + 5)
    window = TalkWindow(Scheme.LIGHT, None)
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    window.show_watched(CampaignFollower(bench.folder).poll())
    for _ in CHARTS:
        assert len(window.charts.charts[0].lines) <= MOST_LINES
        window.next_chart(1)


def test_live_run_cannot_be_steered(qtbot: QtBot, bench: LiveBench) -> None:
    bench.grow(bench.begin(1), 0, WARM_UP_S + 5)
    page = LivePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(page)
    page.show()
    with qtbot.waitSignal(page.poller.watched):
        page.set_campaign(bench.folder)
    page.talk()
    window = page._talk
    assert window is not None
    assert window.isFullScreen()
    assert window.title.text() == "ext4 #1"
    QTest.keyClick(window, Qt.Key.Key_Space)
    QTest.keyClick(window, Qt.Key.Key_C)
    with qtbot.waitSignal(page.poller.watched):
        page.poller.look()
    assert window.values["tps"].text() == page.numbers.tiles["tps"].value.text()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert page._talk is None
    page.talk()
    page.stop()
    assert page._talk is None
