from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.errors import RunFileError
from app.domain.json_value import Json
from app.domain.run import Phase, RunState
from app.domain.step_progress import Operation, StepProgress
from app.execution.recovery import begin_live_file, move_to_library
from app.library.entries import CampaignLock
from app.live.campaign_follower import RunFollower
from app.live.snapshot import QUIET_S, latest_numbers
from app.process.starter import CommandOutcome
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.typed_json import values_of
from app.runfile.writer import RunFileWriter
from tests.fix_runs import WARM_UP_S, Shape, add_seconds, begin_run

TOP = Path(__file__).resolve().parents[3]
SHAPE = Shape(seconds=40, seed=3)


@dataclass(slots=True)
class Growing:
    """A run file that this test lets grow, in a campaign folder whose lock is held."""

    path: Path
    writer: RunFileWriter
    lock: CampaignLock
    released: bool = False

    def release(self) -> None:
        if not self.released:
            self.lock.release()
            self.released = True

    def add(self, begin: int, end: int) -> None:
        add_seconds(self.writer, SHAPE, begin, end)

    def finish(self, state: RunState = RunState.DONE) -> None:
        with self.writer.transaction():
            self.writer.end_phase(1000 * (SHAPE.seconds + WARM_UP_S))
            self.writer.set_run({"state": state.value})
        self.writer.close()
        finish_run_file(self.path, state, {"tps": 5000.0})


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    folder = tmp_path / "campaign"
    folder.mkdir()
    lock = CampaignLock(folder)
    path = folder / "01-ext4-r1.footing"
    writer = begin_run(path, SHAPE, "ext4 #1")
    made = Growing(path, writer, lock)
    yield made
    writer.close()
    made.release()


def test_seconds_seen_as_written(growing: Growing) -> None:
    follower = RunFollower(growing.path)
    growing.add(0, 3)
    first = follower.poll()
    assert first.state is RunState.RUNNING
    assert (first.phase, first.finished) == (Phase.WARM_UP, False)
    assert first.phase_planned_s == WARM_UP_S
    assert len(first.data.series("pgbench.tps")[0]) == 3
    growing.add(3, WARM_UP_S + 5)
    second = follower.poll()
    assert second.phase is Phase.MEASURE
    assert second.phase_planned_s == SHAPE.seconds
    assert second.phase_elapsed_s == pytest.approx(5.0)
    assert len(second.data.series("pgbench.tps")[0]) == WARM_UP_S + 5
    assert len(first.data.series("pgbench.tps")[0]) == 3, "an older snapshot does not change"


def test_numbers_are_latest_of_each_series(growing: Growing) -> None:
    growing.add(0, WARM_UP_S + 5)
    snapshot = RunFollower(growing.path).poll()
    numbers, data = snapshot.numbers, snapshot.data

    def last(metric: str, instance: str = "") -> float:
        return float(data.series(metric, instance)[1][-1])

    assert numbers.tps == last("pgbench.tps")
    assert numbers.latency_ms == last("pgbench.latency_mean")
    assert numbers.iops == pytest.approx(last("storage.reads") + last("storage.writes"))
    assert numbers.flushes == last("storage.flushes")
    assert numbers.cpu_server == pytest.approx(
        last("process.cpu_user", "postgres") + last("process.cpu_system", "postgres")
    )
    assert numbers.cpu_pgbench == pytest.approx(
        last("process.cpu_user", "pgbench") + last("process.cpu_system", "pgbench")
    )
    assert numbers.cpu_iowait == last("cpu.iowait")
    assert numbers.wal_bytes == last("wal.bytes")
    assert numbers.p99_ms == data.percentile(99.0)[1][-1]


def test_stale_numbers_not_shown(growing: Growing) -> None:
    growing.add(0, WARM_UP_S + 5)
    with growing.writer.transaction():
        growing.writer.add_tick(99, 1000 * (WARM_UP_S + 30), lateness_us=0, missed=0, samples=[])
    numbers = latest_numbers(RunFollower(growing.path).poll().data)
    assert (numbers.tps, numbers.p99_ms, numbers.cpu_server) == (None, None, None)


def test_finished_run_with_state(growing: Growing) -> None:
    follower = RunFollower(growing.path)
    growing.add(0, WARM_UP_S + 40)
    assert not follower.poll().finished
    growing.finish()
    snapshot = follower.poll()
    assert (snapshot.finished, snapshot.state, snapshot.problem) == (True, RunState.DONE, "")
    assert len(snapshot.data.series("pgbench.tps")[0]) == WARM_UP_S + 40
    assert follower.poll() is snapshot


def test_a_failed_run_tells_why(growing: Growing) -> None:
    growing.add(0, WARM_UP_S + 4)
    with growing.writer.transaction():
        error = {"code": "server", "message": "The server ended.", "hint": "See its log."}
        growing.writer.set_run({"error": error})
    growing.finish(RunState.FAILED)
    snapshot = RunFollower(growing.path).poll()
    assert snapshot.state is RunState.FAILED
    assert snapshot.problem == "The server ended. See its log."


def test_no_runner_is_incomplete(growing: Growing) -> None:
    follower = RunFollower(growing.path)
    growing.add(0, WARM_UP_S + 5)
    assert follower.poll().state is RunState.RUNNING
    growing.release()
    snapshot = follower.poll()
    assert snapshot.state is RunState.INCOMPLETE
    assert snapshot.data.state is RunState.INCOMPLETE
    assert snapshot.finished
    assert "runner of this run died" in snapshot.problem
    tps = snapshot.data.series("pgbench.tps")[1][-5:]
    assert snapshot.data.summary["tps"] == pytest.approx(tps.mean()), "nobody has finished its file yet"
    assert len(snapshot.data.series("pgbench.tps")[0]) == WARM_UP_S + 5


def test_run_ended_before_lock_release(growing: Growing) -> None:
    follower = RunFollower(growing.path)
    growing.add(0, WARM_UP_S + 40)
    follower.poll()
    growing.finish()
    growing.release()
    assert follower.poll().state is RunState.DONE


RUNNER = """
import sys, time
from pathlib import Path
from app.library.entries import CampaignLock
from tests.fix_runs import Shape, add_seconds, begin_run
path = Path(sys.argv[1])
lock = CampaignLock(path.parent)
shape = Shape(seconds=1000)
writer = begin_run(path, shape, "ext4 #1")
for second in range(1000):
    add_seconds(writer, shape, second, second + 1)
    print(second, flush=True)
    time.sleep(0.002)
"""


def test_deleted_file_keeps_seen_data(growing: Growing) -> None:
    follower = RunFollower(growing.path)
    growing.add(0, WARM_UP_S + 5)
    follower.poll()
    for path in growing.path.parent.glob(f"{growing.path.name}*"):
        path.unlink()
    snapshot = follower.poll()
    assert snapshot.finished
    assert "was removed" in snapshot.problem
    assert snapshot.state is RunState.INCOMPLETE
    assert len(snapshot.data.series("pgbench.tps")[0]) == WARM_UP_S + 5


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFileError):
        RunFollower(tmp_path / "none.footing").poll()


def test_file_damaged_while_followed(growing: Growing) -> None:
    follower = RunFollower(growing.path)
    growing.add(0, WARM_UP_S + 5)
    follower.poll()
    growing.path.write_bytes(b"rubbish" * 100)
    snapshot = follower.poll()
    assert "not a pgFooting run file" in snapshot.problem
    assert not snapshot.finished, "its runner lives, it may only be a moment"
    growing.release()
    assert follower.poll().finished


def test_finished_file_replaces_memory_link(tmp_path: Path) -> None:
    folder, memory = tmp_path / "campaign", tmp_path / "memory"
    folder.mkdir()
    memory.mkdir()
    lock = CampaignLock(folder)
    file = begin_live_file(folder / "01-ext4-r1.footing", memory)
    writer = begin_run(file.live, SHAPE, "ext4 #1")
    follower = RunFollower(file.final)
    add_seconds(writer, SHAPE, 0, WARM_UP_S + 10)
    assert file.final.is_symlink()
    assert len(follower.poll().data.series("pgbench.tps")[0]) == WARM_UP_S + 10
    add_seconds(writer, SHAPE, WARM_UP_S + 10, WARM_UP_S + 40)
    with writer.transaction():
        writer.end_phase(1000 * (WARM_UP_S + 40))
    writer.close()
    finish_run_file(file.live, RunState.DONE, {"tps": 5000.0})
    move_to_library(file)
    assert not file.final.is_symlink()
    snapshot = follower.poll()
    assert (snapshot.state, snapshot.problem) == (RunState.DONE, "")
    assert len(snapshot.data.series("pgbench.tps")[0]) == WARM_UP_S + 40
    lock.release()


def test_link_with_lost_memory(tmp_path: Path) -> None:
    folder, memory = tmp_path / "campaign", tmp_path / "memory"
    folder.mkdir()
    memory.mkdir()
    lock = CampaignLock(folder)
    file = begin_live_file(folder / "01-ext4-r1.footing", memory)
    writer = begin_run(file.live, SHAPE, "ext4 #1")
    add_seconds(writer, SHAPE, 0, 5)
    follower = RunFollower(file.final)
    follower.poll()
    writer.close()
    for path in memory.iterdir():
        path.unlink()
    snapshot = follower.poll()
    assert snapshot.finished
    assert "has disappeared" in snapshot.problem
    lock.release()


def test_silent_runner_reported_during_pgbench(growing: Growing) -> None:
    growing.add(0, WARM_UP_S + 5)
    with growing.writer.transaction():
        began = time.time() - (WARM_UP_S + 5) - QUIET_S - 20
        growing.writer.set_run({"started_epoch_s": began})
    snapshot = RunFollower(growing.path).poll()
    assert snapshot.quiet_s == pytest.approx(QUIET_S + 20, abs=5)
    assert snapshot.phase_elapsed_s == pytest.approx(5 + QUIET_S + 20, abs=5)
    assert snapshot.state is RunState.RUNNING


def test_log_orders_events_and_commands(growing: Growing) -> None:
    growing.add(0, 2)
    with growing.writer.transaction():
        growing.writer.add_event(1500, "warning", "the disk is nearly full")
        growing.writer.add_event(500, "note", "early")
    lines = RunFollower(growing.path).poll().log
    assert [(line.t_ms, line.kind, line.text) for line in lines] == [
        (500, "note", "early"),
        (1500, "warning", "the disk is nearly full"),
    ]


def test_ended_program_not_shown_as_running(growing: Growing) -> None:
    growing.add(0, 2)
    with growing.writer.transaction():
        growing.writer.add_command(CommandOutcome(("initdb",), "postgres", 0.0, 60.0, 0, "", ""))
    snapshot = RunFollower(growing.path).poll()
    assert snapshot.command.startswith("pgbench: tpcb-like, clients 4")
    assert [line.text for line in snapshot.log] == ["initdb"]


def test_own_calls_logged_without_internals(growing: Growing) -> None:
    growing.add(0, 2)
    call = ("own_folders", "make_folder", '{"path": "/home/dba/run", "identity": [65024, 7]}')
    with growing.writer.transaction():
        growing.writer.add_command(CommandOutcome(call, "postgres", 0.0, 0.1, 0, "", ""))
    assert [line.text for line in RunFollower(growing.path).poll().log] == ["# make folder /home/dba/run"]


def test_storage_step_with_progress(tmp_path: Path) -> None:
    lock = CampaignLock(tmp_path)
    path = tmp_path / "run.footing"
    writer = RunFileWriter(path)
    follower = RunFollower(path)

    def command_after(
        text: str, fraction: float | None, left_s: float | None = None, number: int = 12
    ) -> str:
        step = values_of(StepProgress(Operation.COMMAND, 12, 26, text, fraction, left_s))
        argv: Json = {"phase": "prepare", "argv": [text], "step": number}
        with writer.transaction():
            writer.set_run({"running_command": argv, "storage_step": step})
        return follower.poll().command

    with writer.transaction():
        writer.set_run({"state": "running", "name": "x"})
        writer.begin_phase(Phase.PREPARE, 0)
    assert command_after("md127: resync, 70 KiB/s", 0.256) == "12/26 md127: resync, 70 KiB/s  26 %"
    assert command_after("mkfs.xfs", None) == "12/26 mkfs.xfs"
    assert command_after("mkfs.xfs", None, number=0) == "mkfs.xfs", (
        "not root's step, although its text is the same"
    )
    assert command_after("md127", 0.5, 90) == "12/26 md127  50 %, about 01:30 left"
    writer.close()
    lock.release()


def test_every_phase_has_words(tmp_path: Path) -> None:
    lock = CampaignLock(tmp_path)
    path = tmp_path / "run.footing"
    writer = RunFileWriter(path)
    with writer.transaction():
        writer.set_run({"state": "running", "name": "x", "scale": 13})
    said = set()
    follower = RunFollower(path)
    for number, phase in enumerate(Phase):
        with writer.transaction():
            writer.begin_phase(phase, 1000 * number)
        snapshot = follower.poll()
        assert snapshot.phase is phase
        said.add(snapshot.command)
    assert "" not in said
    assert len(said) == len(Phase) - 2, "warm-up and measuring, one phase or several, are the same command"
    writer.close()
    lock.release()


def test_cold_caches_mention_emptying(tmp_path: Path) -> None:
    lock = CampaignLock(tmp_path)
    path = tmp_path / "run.footing"
    writer = RunFileWriter(path)
    with writer.transaction():
        writer.set_run({"state": "running", "name": "x", "workload": {"caches": "cold"}})
        writer.begin_phase(Phase.SETTLE, 1000)
    snapshot = RunFollower(path).poll()
    assert snapshot.command == "checkpoint, stopping the server, emptying the caches, starting it again"
    writer.close()
    lock.release()


@pytest.mark.long
def test_stalled_reader_does_not_block_writer(tmp_path: Path) -> None:
    """A window that hangs for a while: the runner writes on, and all of it is seen afterwards."""
    path = tmp_path / "run.footing"
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(path)], cwd=TOP, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "0\n"
        follower = RunFollower(path)
        follower.poll()
        assert sum(1 for _ in process.stdout) == 999  # nobody has looked meanwhile
    snapshot = follower.poll()
    ticks = snapshot.data.series("pgbench.tps")[0]
    assert len(ticks) == 1000
    assert set(ticks[1:] - ticks[:-1]) == {1.0}


def test_descriptor_closed_between_polls(growing: Growing) -> None:
    descriptors = Path("/proc/self/fd")
    follower = RunFollower(growing.path)
    growing.add(0, 3)
    follower.poll()
    before = len(list(descriptors.iterdir()))
    for _ in range(5):
        follower.poll()
    assert len(list(descriptors.iterdir())) == before
