from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from app.domain.errors import UsageError
from app.live.race import (
    MOST,
    WIDTHS_S,
    Lane,
    Race,
    RacingRun,
    make_race,
    steady_position,
    take_runs,
    width_at,
)
from app.live.snapshot import ReplayClock
from app.runfile.series import RunData, load_run_data
from tests.fix_runs import Shape, tps_of, write_run


def runs_of(folder: Path, shapes: Sequence[Shape], names: Sequence[str] = ()) -> list[RunData]:
    labels = names or [f"fs{number} #1" for number in range(len(shapes))]
    return [
        load_run_data(write_run(folder / f"{number}.footing", shape, name))
        for number, (shape, name) in enumerate(zip(shapes, labels, strict=True))
    ]


def race_of(folder: Path, *shapes: Shape) -> Race:
    return make_race([(data, number) for number, data in enumerate(runs_of(folder, shapes))])


def test_leader_since_start_and_current_figures(tmp_path: Path) -> None:
    slow, fast = Shape(seconds=60, tps=1000.0, seed=1), Shape(seconds=60, tps=2000.0, seed=2)
    race = race_of(tmp_path, slow, fast)
    first, second = race.standings(30.0, speed=1.0)
    assert (first.run.name, first.rank, first.lane) == ("fs1 #1", 1, Lane.RUNNING)
    assert (second.run.name, second.rank) == ("fs0 #1", 2)
    seconds = tps_of(fast)[10:]
    assert first.mean == pytest.approx(seconds[:30].mean())
    assert first.newest == pytest.approx(seconds[25:30].mean()), "of the last five seconds"


def test_before_the_first_second_nothing_is_told(tmp_path: Path) -> None:
    race = race_of(tmp_path, Shape(seconds=20, seed=1), Shape(seconds=20, seed=2))
    assert [(each.newest, each.mean) for each in race.standings(0.0, 1.0)] == [(None, None)] * 2
    assert [each.rank for each in race.standings(0.0, 1.0)] == [None] * 2, "nobody has a place yet"
    assert [each.rank for each in race.standings(1.5, 1.0)] == [1, 2]


def test_who_is_overtaken_stands_behind(tmp_path: Path) -> None:
    early = Shape(seconds=60, tps=3000.0, seed=1, stall=(20, 30))
    race = race_of(tmp_path, early, Shape(seconds=60, tps=2000.0, seed=2))
    assert race.standings(15.0, 1.0)[0].run.name == "fs0 #1"
    assert race.standings(55.0, 1.0)[0].run.name == "fs1 #1"


def test_conditions_are_not_ranked(tmp_path: Path) -> None:
    found = runs_of(tmp_path, [Shape(seconds=60, tps=1000.0, seed=1), Shape(seconds=60, tps=2000.0, seed=2)])
    race = make_race([(data, 0) for data in found], is_ranked=False)
    standings = race.standings(30.0, speed=1.0)
    assert [(each.run.name, each.rank) for each in standings] == [("fs0 #1", None), ("fs1 #1", None)]
    assert "not ranked" in race.note


def test_stall_shown_then_counted(tmp_path: Path) -> None:
    race = race_of(tmp_path, Shape(seconds=60, seed=1, stall=(20, 5)), Shape(seconds=60, seed=2))
    lanes = {each.run.name: each for each in race.standings(23.0, 1.0)}
    assert lanes["fs0 #1"].lane is Lane.STALLED
    assert lanes["fs0 #1"].newly_stalled_s == pytest.approx(3.0)
    assert lanes["fs1 #1"].lane is Lane.RUNNING
    after = {each.run.name: each for each in race.standings(40.0, 1.0)}
    assert after["fs0 #1"].lane is Lane.RUNNING
    assert after["fs0 #1"].stalled_s == pytest.approx(5.0)


def test_stall_visible_one_second_at_any_speed(tmp_path: Path) -> None:
    race = race_of(tmp_path, Shape(seconds=200, seed=1, stall=(60, 1)), Shape(seconds=200, seed=2))
    shown = [
        any(each.lane is Lane.STALLED for each in race.standings(t_s, 60.0))
        for t_s in (59.0, 62.0, 119.0, 130.0)
    ]
    assert shown == [False, True, True, False]


def test_finished_run_keeps_last_standing(tmp_path: Path) -> None:
    short, long = Shape(seconds=30, tps=2000.0, seed=1), Shape(seconds=90, tps=1000.0, seed=2)
    race = race_of(tmp_path, short, long)
    assert race.end_s == pytest.approx(90.0)
    assert {each.lane for each in race.standings(29.0, 1.0)} == {Lane.RUNNING}
    at_end = race.standings(30.5, 1.0)[0]
    for t_s in (31.0, 60.0, 90.0):
        first, second = race.standings(t_s, 1.0)
        assert (first.run.name, first.lane, first.rank) == ("fs0 #1", Lane.ENDED, 1)
        assert (first.mean, first.newest) == (at_end.mean, at_end.newest)
        assert second.lane is (Lane.ENDED if t_s == 90.0 else Lane.RUNNING)


def test_mean_window_at_least_one_second() -> None:
    assert [width_at(speed) for speed in (0.5, 1, 5, 10, 60, 300, 1000)] == [5, 5, 5, 15, 60, 300, 300]
    assert width_at(60.0) in WIDTHS_S


@pytest.mark.parametrize("speed", [1.0, 10.0, 60.0, 300.0])
def test_numbers_change_every_half_second(speed: float) -> None:
    found = [steady_position(frame * speed / 30, speed) for frame in range(1, 301)]
    changes = int((np.diff(found) > 0).sum())
    assert changes <= 20, "ten seconds of the room"
    assert all(now >= then for then, now in pairwise(found))


def test_one_run_is_no_race(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a single run can be replayed"):
        take_runs(runs_of(tmp_path, [Shape(seconds=20)]))
    with pytest.raises(UsageError, match="two to six"):
        take_runs([])


def test_seven_configurations_are_too_many(tmp_path: Path) -> None:
    found = runs_of(tmp_path, [Shape(seconds=12, seed=number) for number in range(MOST + 1)])
    with pytest.raises(UsageError, match="7 runs of 7 configurations"):
        take_runs(found)
    assert take_runs(found[:MOST]) == (found[:MOST], "")


def test_median_repeat_of_each_configuration_races(tmp_path: Path) -> None:
    shapes = [Shape(seconds=12, tps=1000.0 + 100 * number, seed=number) for number in range(8)]
    found = [
        with_configuration(data, f"fs{number % 2}") for number, data in enumerate(runs_of(tmp_path, shapes))
    ]
    chosen, note = take_runs(found)
    assert [data.path.stem for data in chosen] == ["2", "3"], "the second lowest of four"
    assert "median run" in note
    alone = [with_configuration(data, "one") for data in found]
    with pytest.raises(UsageError, match="8 runs of 1 configuration"):
        take_runs(alone)


def with_configuration(data: RunData, name: str) -> RunData:
    return replace(data, metadata=replace(data.metadata, configuration=name))


def without_seconds(data: RunData) -> RunData:
    """Return the run as if nothing had been sampled of it."""

    class Empty:
        def keys(self) -> tuple[tuple[str, str], ...]:
            return ()

        def samples(self, key: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
            return np.empty(0), np.empty(0)

    return replace(data, source=Empty())  # type: ignore[arg-type]


def test_runs_without_samples_named(tmp_path: Path) -> None:
    found = runs_of(tmp_path, [Shape(seconds=20, seed=number) for number in range(3)])
    race = make_race([(without_seconds(found[0]), 0), (found[1], 1), (found[2], 2)])
    assert [run.name for run in race.runs] == ["fs1 #1", "fs2 #1"]
    assert race.left_out == ("fs0 #1 is not in the race: it has no per-second TPS.",)
    with pytest.raises(UsageError, match="at least two runs with per-second TPS"):
        make_race([(without_seconds(found[0]), 0), (found[1], 1)])


def test_missed_seconds_bend_no_mean() -> None:
    run = RacingRun("a", "a", "", 0, np.array([1.0, 2.0, 9.0]), np.array([100.0, 200.0, 300.0]), 9.0)
    assert run.mean(0.0, 9.0) == pytest.approx(200.0)
    assert run.mean(2.0, 8.0) is None


def test_clock_speed_and_jumps() -> None:
    now = [0.0]
    clock = ReplayClock(0.0, 100.0, speed=10.0, clock_s=lambda: now[0])
    now[0] = 2.0
    assert clock.position_s == pytest.approx(20.0)
    clock.toggle()
    now[0] = 5.0
    assert clock.paused
    assert clock.position_s == pytest.approx(20.0)
    assert clock.jump_to_next((10.0, 50.0))
    assert clock.position_s == pytest.approx(47.0)
    assert clock.jump_to_next((10.0, 50.0), backwards=True)
    assert clock.position_s == pytest.approx(7.0)
    assert not clock.jump_to_next((), backwards=True)
    clock.step_speed(1)
    assert clock.speed == 30.0
    clock.step_speed(-100)
    assert clock.speed == 0.5
    clock.jump(1000.0)
    assert clock.at_end
    clock.toggle()
    assert clock.position_s == pytest.approx(0.0), "from the begin"
