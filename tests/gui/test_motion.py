"""Reduced motion: what glides elsewhere goes on in steps, and everything still works."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QProgressBar
from pytestqt.qtbot import QtBot
from typing_extensions import override

from app.live.replay import load_replay
from tests.fix_runs import Shape, write_run
from tests.house import modules, tree_of
from ui.background import finish_background
from ui.flat_style import FlatStyle
from ui.live.leader_board import BoardRow, LeaderBoard
from ui.live.page import REPLAY_MS, LivePage
from ui.motion import STEP_MS, is_motion_reduced, set_reduced_motion
from ui.race.content import load_race
from ui.race.window import FRAME_MS, RaceWindow
from ui.style import qt_palette
from ui.theme import PALETTES, Scheme, Theme

ANIMATORS = {
    "QMovie",
    "QParallelAnimationGroup",
    "QPropertyAnimation",
    "QScroller",
    "QSequentialAnimationGroup",
    "QTimeLine",
    "QVariantAnimation",
}
TIMED = {"startTimer", "timerEvent"}
STANDING = {
    "ui.charts.stack.stack",
    "ui.report.preview",
    "ui.window.campaigns.starter",
    "ui.window.library.reader",
    "ui.wizard.background.validation",
}
"""Modules that wait less than a step for somebody to end, and move nothing meanwhile."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    set_reduced_motion(None)


def row(key: str) -> BoardRow:
    return BoardRow(key, "", key, "", 0, 1.0, "1")


def constants_of(path: Path) -> Iterator[tuple[str, float]]:
    """Yield the numbers that a module names."""
    for node in tree_of(path).body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Constant):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node.value.value, int | float):
                yield target.id, node.value.value


def board(qtbot: QtBot) -> LeaderBoard:
    made = LeaderBoard(Theme(Scheme.LIGHT))
    qtbot.addWidget(made)
    made.show_rows([row("ext4"), row("xfs")])
    made.show_rows([row("xfs"), row("ext4")])
    return made


def test_leader_board_rows_glide_or_jump(qtbot: QtBot) -> None:
    set_reduced_motion(False)
    gliding = board(qtbot)
    gliding.settle(0.05)
    assert 0 < gliding._places["xfs"] < 1
    set_reduced_motion(True)
    jumping = board(qtbot)
    jumping.settle(0.05)
    assert jumping._places == {"xfs": 0, "ext4": 1}


def test_without_a_preference_the_desktop_decides(qtbot: QtBot) -> None:
    class Still(FlatStyle):
        duration = 0

        @override
        def styleHint(self, *_: object) -> int:
            return self.duration

    asked, style = board(qtbot), Still("Fusion")
    style.setParent(asked)
    asked.setStyle(style)
    assert is_motion_reduced(asked)
    style.duration = 200
    assert not is_motion_reduced(asked)
    set_reduced_motion(True)
    assert is_motion_reduced(asked)


def test_menu_effects_off_and_restored(qtbot: QtBot) -> None:
    effects = (Qt.UIEffect.UI_AnimateMenu, Qt.UIEffect.UI_AnimateCombo, Qt.UIEffect.UI_FadeTooltip)
    before = [QApplication.isEffectEnabled(each) for each in effects]
    set_reduced_motion(True)
    assert not any(QApplication.isEffectEnabled(each) for each in effects)
    set_reduced_motion(None)
    assert [QApplication.isEffectEnabled(each) for each in effects] == before


@pytest.mark.parametrize("reduced", [False, True])
def test_race_finishes_with_any_motion(qtbot: QtBot, tmp_path: Path, *, reduced: bool) -> None:
    set_reduced_motion(reduced)
    paths = [
        write_run(tmp_path / f"{name}.footing", Shape(seconds=30, tps=tps), name)
        for name, tps in (("ext4", 1000.0), ("xfs", 2000.0))
    ]
    now = [0.0]
    race = RaceWindow(Scheme.DARK, load_race(paths), clock_s=lambda: now[0])
    race.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(race)
    assert race._timer.interval() == (STEP_MS if reduced else FRAME_MS)
    race._timer.stop()
    race.resize(1024, 768)
    race.show()
    while not race.clock.at_end:
        now[0] += race._timer.interval() / 1000
        race.advance()
    race.grab()
    assert [each.name for each in race.board.rows] == ["xfs", "ext4"]
    race.next_slide(-1)
    assert race.shows_verdict


@pytest.mark.parametrize("reduced", [False, True])
def test_replay_steps_with_reduced_motion(qtbot: QtBot, tmp_path: Path, *, reduced: bool) -> None:
    set_reduced_motion(reduced)
    page = LivePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(page)
    page.set_source(load_replay(write_run(tmp_path / "run.footing", Shape(seconds=30), "run")))
    assert page.poller._timer.interval() == (STEP_MS if reduced else REPLAY_MS)
    page.stop()
    finish_background()


def test_animations_check_reduced_motion() -> None:
    moving: dict[str, set[str]] = {}
    for module, path in modules().items():
        if module.startswith("ui."):
            used = {each.id for each in ast.walk(tree_of(path)) if isinstance(each, ast.Name)}
            called = {each.attr for each in ast.walk(tree_of(path)) if isinstance(each, ast.Attribute)}
            moving[module] = (used & ANIMATORS) | (called & TIMED)
    assert {module: found for module, found in moving.items() if found} == {}, "ask is_motion_reduced"
    quick = {
        module
        for module, path in modules().items()
        if module.startswith("ui.")
        for name, value in constants_of(path)
        if name.endswith("_MS") and value < STEP_MS
    }
    assert quick - STANDING == {"ui.race.window", "ui.live.page"}, "the two that repeat and may glide"


def test_busy_bar_stands_still(qtbot: QtBot) -> None:
    bar = QProgressBar()
    qtbot.addWidget(bar)
    style = FlatStyle("Fusion")
    style.setParent(bar)
    bar.setStyle(style)
    bar.setPalette(qt_palette(PALETTES[Scheme.LIGHT]))
    bar.setTextVisible(False)
    bar.setRange(0, 0)
    bar.resize(300, 20)
    bar.show()
    set_reduced_motion(True)
    picture = bar.grab().toImage()
    middle = {picture.pixelColor(x, 10).name() for x in range(10, 290)}
    assert len(middle) == 1
    bar.setRange(0, 10)
    assert {bar.grab().toImage().pixelColor(x, 10).name() for x in range(10, 290)} != middle, "it is seen"
