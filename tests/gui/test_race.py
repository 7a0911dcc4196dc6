from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app import TOP
from app.domain.errors import UsageError
from app.library.entries import find_examples
from tests.fix_runs import Shape, change_run, write_run
from ui.live.presentation_window import SCHEMES
from ui.live.words import NOTHING
from ui.race.content import RaceContent, load_race
from ui.race.starting import RaceChoice, RaceStarter, usual_speed
from ui.race.window import HOMEPAGE, RaceWindow, rounded
from ui.theme import Scheme, Theme
from ui.widgets.texts import plain_label

if TYPE_CHECKING:
    from tests.fix_main_window import OpenWindow


LONG = "ext4 " + "on a very long array of disks " * 10
RIGHT_TO_LEFT = "قرص \u202eسريع\u202c #1"


def write_runs(folder: Path, shapes: Sequence[Shape], names: Sequence[str] = ()) -> list[Path]:
    labels = names or [f"fs{number} #1" for number in range(len(shapes))]
    return [
        write_run(folder / f"{number}.footing", shape, name)
        for number, (shape, name) in enumerate(zip(shapes, labels, strict=True))
    ]


class Room:
    """A race with a clock that stands still until a test moves it."""

    def __init__(self, content: RaceContent, speed: float = 1.0) -> None:
        self.now_s = 0.0
        self.window = RaceWindow(Scheme.DARK, content, speed=speed, clock_s=lambda: self.now_s)
        self.window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        self.window._timer.stop()
        self.window.resize(1024, 768)
        self.window.show()

    def wait(self, seconds: float, frames: int = 30) -> None:
        for _ in range(frames):
            self.now_s += seconds / frames
            self.window.advance()
            self.window.grab()

    @property
    def names(self) -> list[str]:
        return [row.name for row in self.window.board.rows]


Enter = Callable[..., Room]


@pytest.fixture
def enter(qtbot: QtBot) -> Iterator[Enter]:
    """Open rooms that stay until the end: a window that nobody holds may go while it is painted."""
    rooms: list[Room] = []

    def make(content: RaceContent, speed: float = 1.0) -> Room:
        rooms.append(Room(content, speed))
        return rooms[-1]

    yield make
    for room in rooms:
        room.window.close()
        room.window.deleteLater()
    qtbot.wait(1)


@pytest.fixture
def room(enter: Enter, tmp_path: Path) -> Room:
    shapes = [
        Shape(seconds=120, tps=2000.0, seed=1, stall=(30, 60), checkpoint_every_s=50),
        Shape(seconds=120, tps=1500.0, seed=2),
        Shape(seconds=40, tps=3000.0, seed=3),
    ]
    return enter(load_race(write_runs(tmp_path, shapes)))


def test_board_before_first_second(room: Room) -> None:
    assert [row.rank for row in room.window.board.rows] == [NOTHING] * 3
    assert "1 fs" not in room.window.board.accessible_text()


def test_board_names_leader_of_two(room: Room) -> None:
    room.wait(20.0)
    assert room.names == ["fs2 #1", "fs0 #1", "fs1 #1"]
    assert [row.rank for row in room.window.board.rows] == ["1", "2", "3"]
    room.wait(90.0)
    assert room.names == ["fs2 #1", "fs1 #1", "fs0 #1"], "who stalled was overtaken"
    assert "1 fs2 #1" in room.window.board.accessible_text()


def test_stall_shown_large_until_over(room: Room) -> None:
    room.wait(34.0)
    rows = {row.name: row for row in room.window.board.rows}
    assert rows["fs0 #1"].alarm == "STALLED 4 s of 5"
    assert not rows["fs1 #1"].alarm
    room.wait(20.0)
    rows = {row.name: row for row in room.window.board.rows}
    assert (rows["fs2 #1"].note, rows["fs2 #1"].is_over) == ("ended", True)
    assert rows["fs2 #1"].beneath == "run mean"
    room.wait(100.0)
    assert {row.note.partition(" ")[0] for row in room.window.board.rows} == {"ended"}
    assert not any(row.is_over for row in room.window.board.rows), "the final standing is no quiet one"
    assert room.window.time.text().endswith("ended")


def test_shorter_run_waits_with_its_mean(enter: Enter, tmp_path: Path) -> None:
    paths = write_runs(
        tmp_path, [Shape(seconds=20, tps=3000.0, seed=1), Shape(seconds=60, tps=1000.0, seed=2)]
    )
    room = enter(load_race(paths))
    window = room.window
    short, long = window.content.race.runs
    assert window.clock.end_s == pytest.approx(long.end_s)
    assert short.end_s < 0.4 * long.end_s
    assert [line.main.t_s[-1] for line in window.charts.charts[0].lines] == pytest.approx(
        [short.end_s, long.end_s], abs=1.0
    )
    room.wait(short.end_s / 2)
    assert [row.note for row in window.board.rows] == ["", ""]
    room.wait(long.end_s / 2)
    ended, goes_on = window.board.rows
    assert (ended.name, ended.note, ended.beneath, ended.is_over) == (
        "fs0 #1",
        "ended",
        "run mean",
        True,
    )
    assert (goes_on.name, goes_on.note, goes_on.is_over) == ("fs1 #1", "", False)
    reached = ended.number
    assert float(reached.replace(",", "")) == pytest.approx(3000, rel=0.05)
    room.wait(long.end_s)
    assert [(row.note, row.number == reached) for row in window.board.rows] == [
        ("ended", True),
        ("ended", False),
    ]
    assert window.time.text().endswith("ended")
    window.show_verdict()
    assert "fs0" in window.verdict.sentence.text()


def test_numbers_change_twice_a_second_at_most(enter: Enter, tmp_path: Path) -> None:
    shapes = [Shape(seconds=900, tps=5000.0, seed=number) for number in range(6)]
    room = enter(load_race(write_runs(tmp_path, shapes)), speed=60.0)
    seen: list[str] = []
    for _ in range(30 * 10):
        room.now_s += 1 / 30
        room.window.advance()
        seen.append({row.key: row.number for row in room.window.board.rows}[str(tmp_path / "0.footing")])
    changes = sum(one != other for one, other in pairwise(seen))
    assert changes <= 20
    found = [float(text.replace(",", "")) for text in seen[60:]]
    assert max(found) < 1.03 * min(found), "seconds scatter by five percent, their mean does not"


def test_numbers_have_three_digits_that_count() -> None:
    assert [rounded(tps) for tps in (None, 7712.4, 123_456.0, 12.345, 0.0)] == [
        NOTHING,
        "7,710",
        "123,000",
        "12",
        "0",
    ]


def test_keys_steer_the_race(room: Room) -> None:
    window = room.window
    QTest.keyClick(window, Qt.Key.Key_Plus)
    assert window.clock.speed == 2.0
    QTest.keyClick(window, Qt.Key.Key_Minus)
    QTest.keyClick(window, Qt.Key.Key_S)
    assert window.clock.position_s == pytest.approx(27.0)
    QTest.keyClick(window, Qt.Key.Key_C)
    assert 30.0 < window.clock.position_s < 60.0
    QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ShiftModifier)
    assert window.clock.position_s == pytest.approx(27.0)
    QTest.keyClick(window, Qt.Key.Key_Space)
    assert window.clock.paused
    assert window.time.text().endswith("paused")
    QTest.keyClick(window, Qt.Key.Key_B)
    assert window.clock.position_s == 0.0
    with_closed: list[bool] = []
    window.closed.connect(lambda: with_closed.append(True))
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert with_closed == [True]


def on_verdict(window: RaceWindow) -> bool:
    return window.shows_verdict


def test_presenter_keys_reach_verdict(room: Room) -> None:
    window = room.window
    assert window.content.charts[:2] == ("tps", "latency")
    assert "array-missing" not in window.content.charts, "no run has samples of it"
    for chart in window.content.charts[1:]:
        QTest.keyClick(window, Qt.Key.Key_PageDown)
        assert window.charts.chart_ids == (chart,)
    assert not on_verdict(window)
    QTest.keyClick(window, Qt.Key.Key_PageDown)
    assert on_verdict(window)
    assert "highest mean" in window.verdict.sentence.text()
    assert window.verdict.figure.figure is not None
    QTest.keyClick(window, Qt.Key.Key_Right)
    assert not on_verdict(window)
    assert window.charts.chart_ids == ("tps",)
    QTest.keyClick(window, Qt.Key.Key_V)
    assert on_verdict(window)
    QTest.keyClick(window, Qt.Key.Key_V)
    assert not on_verdict(window)


def test_charts_in_configured_order(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, [Shape(seconds=20, seed=1), Shape(seconds=20, seed=2)])
    content = load_race(paths, order=["cpu", "no such chart", "latency"])
    assert content.charts[:3] == ("cpu", "latency", "tps")


def test_example_race_shows_btrfs_stall(enter: Enter) -> None:
    room = enter(load_race(find_examples()), 60.0)
    room.wait(20.0)
    rows = {row.name: row for row in room.window.board.rows}
    assert list(rows) == ["ext4", "xfs", "zfs", "btrfs"]
    assert rows["btrfs"].alarm.startswith("STALLED ")
    assert not any(rows[name].alarm for name in ("ext4", "xfs", "zfs"))
    assert room.window.content.charts == ("tps", "latency")
    setting = room.window.setting
    assert setting.text().startswith("6 x 100GB Intel S3700 SSD (SATA) · i5-2500K · PostgreSQL 16devel · ")
    assert "16 clients" in setting.text()
    assert setting.text().endswith(" · Measured by Tomas Vondra in September 2022")
    assert setting.isVisible()
    room.window.show_verdict()
    assert room.window.verdict.address.text() == HOMEPAGE.split("/")[2]
    assert f'Homepage = "{HOMEPAGE}"' in (TOP / "pyproject.toml").read_text()


def test_dark_light_projector_keys(room: Room) -> None:
    seen = [room.window.theme.scheme]
    for _ in SCHEMES[1:]:
        QTest.keyClick(room.window, Qt.Key.Key_D)
        seen.append(room.window.theme.scheme)
        room.window.grab()
    assert seen == [Scheme.DARK, Scheme.PROJECTOR, Scheme.LIGHT], "light, dark, projector, and from the start"
    assert room.window.palette().color(room.window.backgroundRole()).name() == "#ffffff"


def test_lines_and_names_end_at_the_moment(room: Room) -> None:
    room.wait(60.0)
    chart = room.window.charts.charts[0]
    picture = room.window.charts.grab().toImage()
    place = chart.view.mapRectToScene(chart.view.boundingRect()).toRect()
    inside = picture.copy(place.adjusted(0, 4, 0, -8))
    drawn = [x for x in range(inside.width()) if colours_at(inside, x) > 4]
    assert max(drawn) == pytest.approx(inside.width() / 2, abs=8)
    assert chart.labels.shown == ("fs2 #1", "fs1 #1", "fs0 #1")


def colours_at(picture: QImage, x: int) -> int:
    """Return how many colours a column of pixels has; ground and grid alone are few."""
    return len({picture.pixel(x, y) for y in range(picture.height())})


def test_runs_deleted_during_race(enter: Enter, tmp_path: Path) -> None:
    paths = write_runs(tmp_path, [Shape(seconds=60, seed=1), Shape(seconds=60, seed=2)])
    room = enter(load_race(paths))
    for path in paths:
        path.unlink()
    room.wait(30.0)
    for _ in range(len(room.window.content.charts) + 1):
        QTest.keyClick(room.window, Qt.Key.Key_PageDown)
        room.window.grab()
    room.wait(60.0)
    assert room.window.clock.at_end
    assert all(row.number != NOTHING for row in room.window.board.rows)


def test_unreadable_run_named_others_race(enter: Enter, tmp_path: Path) -> None:
    paths = write_runs(tmp_path, [Shape(seconds=20, seed=1), Shape(seconds=20, seed=2)])
    content = load_race([*paths, tmp_path / "gone.footing"])
    assert len(content.race.runs) == 2
    room = enter(content)
    assert room.window.remark.text().startswith("gone.footing is not in the race: ")
    assert room.window.remark.isVisibleTo(room.window)
    with pytest.raises(UsageError, match="two to six runs"):
        load_race([paths[0], tmp_path / "gone.footing"])


@pytest.mark.parametrize("size", [(1024, 768), (1920, 1080)])
def test_long_and_rtl_names_leave_room(enter: Enter, tmp_path: Path, size: tuple[int, int]) -> None:
    names = [f"{LONG}#1", RIGHT_TO_LEFT, "<b>xfs</b> #1"]
    shapes = [Shape(seconds=60, seed=number) for number in range(3)]
    room = enter(load_race(write_runs(tmp_path, shapes, names)))
    room.window.resize(*size)
    room.wait(30.0)
    assert room.window.width() == size[0], "no name makes the window wider"
    assert not any("\u202e" in row.name for row in room.window.board.rows)
    assert any(row.name.startswith("<b>xfs</b>") for row in room.window.board.rows)


def test_six_names_with_warnings_fit(enter: Enter, tmp_path: Path) -> None:
    names = [
        f"{name} #1" for name in ("ext4", "ext4 noatime", "ext4 nobarrier", "xfs", "xfs nobarrier", "btrfs")
    ]
    paths = write_runs(tmp_path, [Shape(seconds=60, tps=3000.0 + 9 * n, seed=n) for n in range(6)], names)
    for path in (paths[2], paths[4]):
        change_run(path, "INSERT INTO mark VALUES ('unsafe', 'barrier = off')")
    room = enter(load_race(paths))
    room.window.resize(1280, 800)
    room.wait(30.0)
    labels = room.window.charts.charts[0].labels
    assert sorted(labels.shown) == sorted(run.name for run in room.window.content.race.runs)


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def starter(qtbot: QtBot, notices: list[str]) -> Iterator[RaceStarter]:
    window = plain_label("the main window")
    qtbot.addWidget(window)
    window.show()
    made = RaceStarter(window, Theme(Scheme.LIGHT), notices.append)
    yield made
    made.stop()


def test_full_screen_race_returns_to_window(qtbot: QtBot, starter: RaceStarter, tmp_path: Path) -> None:
    paths = write_runs(tmp_path, [Shape(seconds=600, seed=1), Shape(seconds=600, seed=2)])
    starter.start(RaceChoice(paths))
    qtbot.waitUntil(lambda: starter.window is not None)
    assert starter.window is not None
    assert starter.window.isFullScreen()
    assert starter.window.clock.speed == usual_speed(600.0) == 10.0
    parent = starter.parent()
    assert isinstance(parent, type(plain_label()))
    parent.hide()
    assert starter.window is None


def test_closed_race_stops(qtbot: QtBot, tmp_path: Path) -> None:
    race = RaceWindow(
        Scheme.DARK, load_race(write_runs(tmp_path, [Shape(seconds=20, seed=n) for n in (1, 2)]))
    )
    race.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(race)
    race.show()
    qtbot.waitUntil(lambda: race.clock.position_s > 0)
    assert race._timer.isActive()
    race.close()
    assert not race._timer.isActive(), "nobody sees it, and a screen reader would hear it"


@pytest.mark.parametrize(
    ("count", "words"), [(1, "a single run can be replayed"), (7, "7 runs of 7 configurations")]
)
def test_one_and_seven_runs_refused(
    qtbot: QtBot, starter: RaceStarter, notices: list[str], tmp_path: Path, count: int, words: str
) -> None:
    starter.start(RaceChoice(write_runs(tmp_path, [Shape(seconds=12, seed=n) for n in range(count)])))
    qtbot.waitUntil(lambda: bool(notices))
    assert words in notices[0]
    assert starter.window is None


def test_ticked_runs_of_the_library_race(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "library"
    (library / "one").mkdir(parents=True)
    paths = write_runs(library / "one", [Shape(seconds=60, seed=number) for number in (1, 2)])
    window = open_window(library)
    qtbot.waitUntil(lambda: window.runs_page.model.runs == 2)
    window.runs_page.choose(map(str, paths))
    race = window.commands["race"]
    qtbot.waitUntil(race.isEnabled)
    race.trigger()

    def shown() -> RaceWindow | None:
        starter = window.findChild(RaceStarter)
        return None if starter is None else starter.window

    qtbot.waitUntil(lambda: shown() is not None)
    racing = shown()
    assert racing is not None
    colours = window.runs_page.model.chosen
    for run in racing.content.race.runs:
        assert run.colour_index == colours[run.run_id], "the same as in the library"
    window.close_without_question()
    assert shown() is None


def test_facts_button_replays_or_races(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "library"
    (library / "one").mkdir(parents=True)
    paths = [str(path) for path in write_runs(library / "one", [Shape(seconds=20, seed=n) for n in (1, 2)])]
    window = open_window(library)
    qtbot.waitUntil(lambda: window.runs_page.model.runs == 2)

    def offered() -> set[str]:
        buttons = window.runs_page.facts.findChildren(QToolButton)
        return {button.defaultAction().text() for button in buttons if button.isVisible()}

    window.runs_page.choose(paths)
    qtbot.waitUntil(lambda: offered() == {"R&ace"})
    window.runs_page.choose(paths[:1])
    qtbot.waitUntil(lambda: offered() == {"&Replay"})
