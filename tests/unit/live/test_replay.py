from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.run import Phase, RunState
from app.live.snapshot import LEAD_S, ReplaySource, load_replay
from app.process.starter import CommandOutcome
from app.runfile.finalize import finish_run_file
from app.runfile.reader import CommandRecord
from app.runfile.series import load_run_data
from tests.fix_runs import WARM_UP_S, Shape, add_seconds, begin_run, write_run
from tests.hand_clock import Clock

SHAPE = Shape(seconds=120, checkpoint_every_s=40, seed=5)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("recorded") / "run.footing", SHAPE)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def replay(recorded: Path, clock: Clock) -> ReplaySource:
    return ReplaySource(load_run_data(recorded), clock_s=clock)


def test_replay_begins_with_warm_up(replay: ReplaySource) -> None:
    assert replay.position_s == -WARM_UP_S
    snapshot = replay.poll()
    assert (snapshot.phase, snapshot.state, snapshot.finished) == (Phase.WARM_UP, RunState.RUNNING, False)


def test_replay_speed(replay: ReplaySource, clock: Clock) -> None:
    clock.now_s += 15
    assert replay.position_s == pytest.approx(5)
    replay.set_speed(10)
    assert replay.position_s == pytest.approx(5)
    clock.now_s += 2
    snapshot = replay.poll()
    assert replay.position_s == pytest.approx(25)
    assert snapshot.phase is Phase.MEASURE
    assert snapshot.phase_elapsed_s == pytest.approx(25)
    assert snapshot.data.series("pgbench.tps")[0][-1] == pytest.approx(25)


def test_replay_shows_only_the_past(replay: ReplaySource, recorded: Path) -> None:
    replay.jump(30)
    numbers = replay.poll().numbers
    t_s, tps = load_run_data(recorded).series("pgbench.tps")
    assert numbers.tps == tps[t_s.searchsorted(30.0)]
    assert replay.poll().data.summary == {}


def test_pause_and_continue(replay: ReplaySource, clock: Clock) -> None:
    clock.now_s += 20
    replay.pause()
    clock.now_s += 1000
    assert replay.paused
    assert replay.position_s == pytest.approx(10)
    replay.resume()
    clock.now_s += 3
    assert replay.position_s == pytest.approx(13)


def test_jump_while_paused_shown_at_once(replay: ReplaySource) -> None:
    replay.pause()
    replay.jump(77)
    assert replay.position_s == 77
    assert replay.poll().phase_elapsed_s == pytest.approx(77)


def test_jumps_end_at_the_ends(replay: ReplaySource) -> None:
    replay.jump(-1e9)
    assert replay.position_s == replay.begin_s
    replay.jump(1e9)
    assert replay.position_s == replay.end_s == SHAPE.seconds
    assert replay.at_end


def test_replay_end_equals_run(replay: ReplaySource, clock: Clock) -> None:
    clock.now_s += 1e6
    snapshot = replay.poll()
    assert (snapshot.finished, snapshot.state) == (True, RunState.DONE)
    assert snapshot.data is replay.data


def test_resuming_at_the_end_begins_again(replay: ReplaySource, clock: Clock) -> None:
    clock.now_s += 1e6
    assert replay.at_end
    replay.resume()
    assert replay.position_s == replay.begin_s


def test_jump_between_checkpoints(replay: ReplaySource) -> None:
    replay.pause()
    starts = replay.checkpoints_s
    assert len(starts) == 3
    for start_s in starts:
        assert replay.jump_to_checkpoint()
        assert replay.position_s == pytest.approx(start_s - LEAD_S)
    assert not replay.jump_to_checkpoint()
    assert replay.position_s == pytest.approx(starts[-1] - LEAD_S)
    assert replay.jump_to_checkpoint(backwards=True)
    assert replay.position_s == pytest.approx(starts[-2] - LEAD_S)


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_invalid_speed(replay: ReplaySource, speed: float) -> None:
    with pytest.raises(ValueError, match=r"."):
        replay.set_speed(speed)
    assert replay.speed == 1.0


@given(st.lists(st.tuples(st.sampled_from("pjsrt"), st.floats(0.01, 500)), max_size=20))
def test_position_stays_inside_run(recorded: Path, steps: list[tuple[str, float]]) -> None:
    clock = Clock()
    replay = ReplaySource(load_run_data(recorded), clock_s=clock)
    for what, value in steps:
        match what:
            case "p":
                replay.pause()
            case "r":
                replay.resume()
            case "j":
                replay.jump(value - 250)
            case "s":
                replay.set_speed(value)
            case _:
                before = replay.position_s
                clock.now_s += value
                assert replay.position_s >= before
        assert replay.begin_s <= replay.position_s <= replay.end_s


def test_executed_command_shown(recorded: Path) -> None:
    argv = ("/usr/bin/pgbench", "-c", "4", "db")
    commands = (
        CommandRecord(0, 9_900, "postgres", ("pgbench", "-T", "10"), 0, "", ""),
        CommandRecord(1000 * WARM_UP_S, 120_000, "postgres", argv, 0, "", ""),
        CommandRecord(5_000, 10, "postgres", ("false",), 1, "", ""),
    )
    replay = ReplaySource(load_run_data(recorded), commands, clock_s=Clock())
    replay.jump(50)
    snapshot = replay.poll()
    assert snapshot.command == "/usr/bin/pgbench -c 4 db"
    assert "false (exit status 1)" in [line.text for line in snapshot.log]
    replay.jump(-8)
    assert replay.poll().command == "pgbench -T 10"
    assert [line.text for line in replay.poll().log] == ["pgbench -T 10"]


def test_file_replay_is_self_contained(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    writer = begin_run(path, SHAPE, "ext4 #1")
    add_seconds(writer, SHAPE, 0, 60)
    with writer.transaction():
        writer.add_command(CommandOutcome(("initdb",), "postgres", 0.0, 1.0, 0, "", ""))
        writer.end_phase(60_000)
    writer.close()
    finish_run_file(path, RunState.STOPPED, {})
    replay = load_replay(path, speed=60)
    path.unlink()
    assert replay.speed == 60
    replay.jump(20)
    assert replay.poll().numbers.tps is not None
    assert replay.poll().numbers.p99_ms is not None


def test_dead_runner_recording_ends_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    writer = begin_run(path, SHAPE, "ext4 #1")
    add_seconds(writer, SHAPE, 0, 40)
    writer.close()
    clock = Clock()
    replay = ReplaySource(load_run_data(path), clock_s=clock)
    clock.now_s += 1e5
    assert replay.poll().state is RunState.INCOMPLETE
