from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import RunFileError
from app.domain.run import RunState
from app.library.entries import CAMPAIGN_NAME, CampaignLock
from app.live.campaign_follower import CampaignFollower, CampaignWatch, RunStatus, remaining_seconds
from app.runfile.writer import RunFileWriter
from tests.fix_window import Trial, begin_trial, write_trial

CAMPAIGN = """
name = "Disks"
repeats = 2
[workload]
scale = 1
warmup = "10s"
duration = "60s"
[[configuration]]
name = "ext4"
[configuration.target.folder]
path = "/srv/ext4"
[[configuration]]
name = "memory"
[configuration.target.memory]
"""
ORDER = [("ext4", 0), ("memory", 0), ("memory", 1), ("ext4", 1)]
NOW = 1.8e9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "20261120-1200-disks"
    made.mkdir()
    (made / CAMPAIGN_NAME).write_text(CAMPAIGN)
    return made


@pytest.fixture
def live(folder: Path) -> Iterator[Path]:
    """The folder of a campaign whose runner lives."""
    lock = CampaignLock(folder)
    yield folder
    lock.release()


def trial(number: int, state: RunState = RunState.DONE, length_s: float = 90.0, seconds: int = 12) -> Trial:
    configuration, repeat = ORDER[number - 1]
    started = NOW + 100 * number
    more = {"number": number, "ended_epoch_s": started + length_s}
    if state is RunState.RUNNING:
        more.pop("ended_epoch_s")
    return Trial(
        name=f"{configuration} #{repeat + 1}",
        configuration=configuration,
        repeat=repeat,
        state=state,
        seconds=seconds,
        started=started,
        more={**more},
    )


def path_of(folder: Path, number: int) -> Path:
    return folder / f"{number:02}-{ORDER[number - 1][0]}-r{ORDER[number - 1][1] + 1}.footing"


def write(folder: Path, number: int, state: RunState = RunState.DONE) -> Path:
    return write_trial(path_of(folder, number), trial(number, state))


def begin(folder: Path, number: int) -> RunFileWriter:
    return begin_trial(path_of(folder, number), trial(number, RunState.RUNNING))


def parsed(text: str) -> Campaign:
    return parse_campaign(text, base_directory=Path("/"), source_name="campaign.toml")


def states(runs: tuple[RunStatus, ...]) -> list[str | None]:
    return [run.state.value if run.state else None for run in runs]


def test_planned_runs_in_execution_order(live: Path) -> None:
    status = CampaignWatch(live).read()
    assert [(run.configuration, run.repeat) for run in status.runs] == ORDER
    assert [run.name for run in status.runs] == ["ext4 #1", "memory #1", "memory #2", "ext4 #2"]
    assert states(status.runs) == [None] * 4
    assert (status.name, status.live, status.done, status.total) == ("Disks", True, 0, 4)
    assert (status.current, status.newest, status.left_s) == (None, None, None)


def test_running_run_is_current(live: Path) -> None:
    write(live, 1)
    writer = begin(live, 2)
    status = CampaignWatch(live).read()
    assert states(status.runs) == ["done", "running", None, None]
    assert (status.done, status.total) == (1, 4)
    assert status.current is not None
    assert status.current.path == path_of(live, 2)
    assert status.runs[0].tps == 1000.0
    writer.close()


def test_newest_between_runs_is_last_ended(live: Path) -> None:
    write(live, 1)
    status = CampaignWatch(live).read()
    assert status.current is None
    assert status.newest is not None
    assert status.newest.number == 1


def test_no_runner_makes_running_incomplete(folder: Path) -> None:
    write(folder, 1)
    begin(folder, 2).close()
    status = CampaignWatch(folder).read()
    assert states(status.runs) == ["done", "incomplete", None, None]
    assert (status.live, status.current, status.left_s) == (False, None, 0.0)


def test_unstarted_configuration_left_out(live: Path) -> None:
    path = path_of(live, 2)
    writer = RunFileWriter(path)
    error = {"code": "server", "message": "initdb failed.", "hint": ""}
    with writer.transaction():
        writer.set_run({"number": 2, "configuration": "memory", "state": "failed", "error": error})
    writer.close()
    status = CampaignWatch(live).read()
    assert [run.left_out for run in status.runs] == [False, False, True, False]
    assert status.runs[1].problem == "initdb failed."
    assert status.done == 2


def test_new_file_belongs_to_starting_run(live: Path) -> None:
    path_of(live, 1).touch()
    status = CampaignWatch(live).read()
    assert states(status.runs)[0] == "running"
    assert (status.runs[0].configuration, status.runs[0].name) == ("ext4", "ext4 #1")
    assert "not a pgFooting run file" in status.runs[0].problem


def test_damaged_file_of_dead_campaign_incomplete(folder: Path) -> None:
    path_of(folder, 1).write_text("rubbish" * 100)
    run = CampaignWatch(folder).read().runs[0]
    assert run.state is RunState.INCOMPLETE
    assert "not a pgFooting run file" in run.problem


def test_done_attempt_counts(folder: Path) -> None:
    write(folder, 1, RunState.FAILED)
    again = replace(trial(1), started=NOW + 5000)
    write_trial(folder / "01-ext4-r1-2.footing", again)
    run = CampaignWatch(folder).read().runs[0]
    assert run.state is RunState.DONE
    assert run.path == folder / "01-ext4-r1-2.footing"


def test_repeat_shown_while_running_else_previous(live: Path) -> None:
    write(live, 1)
    path = live / "01-ext4-r1-2.footing"
    for state, shown in ((RunState.RUNNING, path), (RunState.DONE, path), (RunState.FAILED, None)):
        path.unlink(missing_ok=True)
        write_trial(path, replace(trial(1, state), started=NOW + 5000))
        assert CampaignWatch(live).read().runs[0].path == (shown or path_of(live, 1))


def test_foreign_file_in_folder_ignored(live: Path) -> None:
    write_trial(live / "01-other.footing", replace(trial(1), configuration="something else"))
    assert states(CampaignWatch(live).read().runs) == [None] * 4


def test_finished_files_are_opened_once(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(live, 1)
    watch = CampaignWatch(live)
    first = watch.read()

    def refuse(path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr("app.live.campaign_follower.RunFile", refuse)
    assert watch.read().runs == first.runs


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="cannot be read"):
        CampaignWatch(tmp_path / "none").read()


def test_missing_campaign_file_keeps_started_runs(folder: Path) -> None:
    write(folder, 1)
    (folder / CAMPAIGN_NAME).unlink()
    status = CampaignWatch(folder).read()
    assert states(status.runs) == ["done"]
    assert status.problem


def test_time_left_from_overhead_of_runs(live: Path) -> None:
    write(live, 1)  # 90 s, of which 70 are warm-up and measuring
    campaign = parsed(CAMPAIGN)
    runs = CampaignWatch(live).read().runs
    assert remaining_seconds(campaign, runs, NOW) == pytest.approx(3 * 90)
    begun = replace(runs[1], state=RunState.RUNNING, started_epoch_s=NOW - 30)
    assert remaining_seconds(campaign, (runs[0], begun, *runs[2:]), NOW) == pytest.approx(3 * 90 - 30)
    late = replace(begun, started_epoch_s=NOW - 3000)
    assert remaining_seconds(campaign, (runs[0], late, *runs[2:]), NOW) == pytest.approx(2 * 90)
    slow = replace(begun, started_epoch_s=NOW - 100, before_benchmark_s=90.0)
    assert remaining_seconds(campaign, (runs[0], slow, *runs[2:]), NOW) == pytest.approx(60 + 2 * 90), (
        "it measures for as long as the others"
    )


def test_first_run_preparation_estimates_others(live: Path) -> None:
    campaign = parsed(CAMPAIGN)
    runs = CampaignWatch(live).read().runs
    begun = replace(runs[0], state=RunState.RUNNING, started_epoch_s=NOW - 20, before_benchmark_s=15.0)
    assert remaining_seconds(campaign, (begun, *runs[1:]), NOW) == pytest.approx(4 * 85 - 20)


def test_transaction_runs_time_left_from_ended(live: Path) -> None:
    campaign = parsed(CAMPAIGN.replace('duration = "60s"', "transactions = 1000"))
    write(live, 1)
    runs = CampaignWatch(live).read().runs
    assert remaining_seconds(campaign, runs, NOW) is None, "nothing is known of memory yet"
    write(live, 2)
    runs = CampaignWatch(live).read().runs
    prepared = tuple(replace(run, before_benchmark_s=20.0) for run in runs)
    assert remaining_seconds(campaign, prepared, NOW) == pytest.approx(2 * 90)


def test_campaign_followed_across_runs(live: Path) -> None:
    follower = CampaignFollower(live, ["pgbench.tps"])
    nothing = follower.poll()
    assert (nothing.run, nothing.earlier, nothing.ended) == (None, (), False)
    writer = begin(live, 1)
    first = follower.poll()
    assert first.run is not None
    assert (first.run.data.name, first.run.state, first.earlier) == ("ext4 #1", RunState.RUNNING, ())
    writer.close()
    for path in live.glob("01-*"):
        path.unlink()
    write(live, 1)
    writer = begin(live, 2)
    second = follower.poll()
    assert second.run is not None
    assert second.run.data.name == "memory #1"
    assert [each.data.name for each in second.earlier] == ["ext4 #1"]
    third = follower.poll()
    assert third.earlier[0].data is second.earlier[0].data, "an earlier run is loaded once"
    writer.close()


def test_campaign_end_with_last_run(folder: Path) -> None:
    lock = CampaignLock(folder)
    for number in range(1, 5):
        write(folder, number)
    follower = CampaignFollower(folder)
    assert not follower.poll().ended
    lock.release()
    watched = follower.poll()
    assert watched.ended
    assert watched.run is not None
    assert watched.run.state is RunState.DONE
    assert watched.status is not None
    assert watched.status.done == 4
    assert len(watched.earlier) == 3


def test_dead_campaign_has_incomplete_run(folder: Path) -> None:
    lock = CampaignLock(folder)
    writer = begin(folder, 1)
    follower = CampaignFollower(folder)
    running = follower.poll().run
    assert running is not None
    assert running.state is RunState.RUNNING
    lock.release()
    writer.close()
    watched = follower.poll()
    assert watched.ended
    assert watched.run is not None
    assert watched.run.state is RunState.INCOMPLETE
    assert watched.run.finished


def test_folder_removed_while_followed(folder: Path) -> None:
    lock = CampaignLock(folder)
    writer = begin(folder, 1)
    follower = CampaignFollower(folder)
    follower.poll()
    writer.close()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    lock.release()
    watched = follower.poll()
    assert watched.ended
    assert "cannot be read" in watched.problem
    assert watched.run is not None
    assert (watched.run.finished, watched.run.state) == (True, RunState.INCOMPLETE)
    with pytest.raises(RunFileError):
        CampaignFollower(folder).poll()


def test_live_campaign_uses_wall_clock(live: Path) -> None:
    writer = begin_trial(
        path_of(live, 1),
        replace(trial(1, RunState.RUNNING), started=time.time() - 30, seconds=2),
    )
    status = CampaignWatch(live).read()
    assert status.left_s == pytest.approx(4 * 70 - 30, abs=10)
    writer.close()
