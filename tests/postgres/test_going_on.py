"""A campaign that was killed goes on from its folder: no run is lost, none counts twice."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from app.domain.errors import ExitStatus
from app.execution.resume.begun import begun_campaign, begun_runs, interrupted_campaigns
from app.library.campaign_end import CampaignEnd, read_end
from tests.fix_campaign import CampaignBench, campaign_text, kill

pytestmark = pytest.mark.long

SHORT = 'scale = 1\nclients = 1\nwarmup = "0s"\nduration = "1s"'


def counted(folder: Path) -> dict[int, list[str]]:
    """The files that count, by number of their run."""
    runs = begun_runs(folder, begun_campaign(folder)).done
    return {number: [Path(each.path or "").name for each in runs[number]] for number in sorted(runs)}


def test_repeated_kills_lose_no_run(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, repeats=2, workload=SHORT)
    running = campaign_bench.start(text)
    running.until(lambda event: event["event"] == "campaign")
    (folder,) = campaign_bench.library.iterdir()
    for phase in ("load", "measure", "teardown"):
        running.until_phase(phase)
        kill(running.process)
        assert read_end(folder) is None
        running = campaign_bench.start_command("run", "--resume", str(folder))
    assert running.end() == 0, running.errors
    assert [event["runs"] for event in running.events if event["event"] == "campaign"] == [2]
    done = counted(folder)
    assert sorted(done) == [1, 2]
    assert [len(names) for names in done.values()] == [1, 1]
    assert len(campaign_bench.run_files()) == 5  # those that were killed are kept
    assert read_end(folder) is CampaignEnd.FINISHED
    again = campaign_bench.command("run", "--resume", str(folder), status=2)
    assert "is complete" in again.stderr


@pytest.mark.longest
def test_resume_in_moved_folder_with_damage(campaign_bench: CampaignBench) -> None:
    running = campaign_bench.start(campaign_text(memory=True, repeats=2, workload=SHORT))
    running.until(lambda event: event["event"] == "finished")
    kill(running.process, signal.SIGINT)
    assert running.end() == 130
    (folder,) = campaign_bench.library.iterdir()
    assert read_end(folder) is CampaignEnd.STOPPED
    moved = campaign_bench.folder / "moved"
    shutil.move(folder, moved)
    first = moved / "01-memory-r1.footing"
    first.write_bytes(first.read_bytes()[:9000])
    ended = campaign_bench.command("run", "--resume", str(moved), status=0)
    assert "01-memory-r1.footing" in ended.stdout
    assert "The run is repeated" in ended.stdout
    assert counted(moved)[1] == ["01-memory-r1-2.footing"]
    assert not any(campaign_bench.library.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_campaign_ended_by_shutdown_is_offered(campaign_bench: CampaignBench, number: signal.Signals) -> None:
    running = campaign_bench.start(campaign_text(memory=True, repeats=2, workload=SHORT))
    running.until(lambda event: event["event"] == "finished")
    running.until_phase("measure")
    kill(running.process, number)
    running.end()
    (folder,) = campaign_bench.library.iterdir()
    assert read_end(folder) is None
    (waiting,) = interrupted_campaigns(campaign_bench.library)
    assert (waiting.folder, waiting.done, waiting.total) == (folder, 1, 2)
    assert "was interrupted: 1 of 2 runs are done." in waiting.sentence


def test_several_campaigns_end_in_one_table(campaign_bench: CampaignBench) -> None:
    one = campaign_bench.write(campaign_text(memory=True, workload=SHORT), "one.toml")
    text = campaign_text(folder=campaign_bench.folder / "nowhere", workload=SHORT).replace("Trial", "Lost")
    lost = campaign_bench.write(text, "lost.toml")
    ended = campaign_bench.command("run", lost, one, "--output", str(campaign_bench.library))
    assert ended.returncode == 2, ended.stdout  # the worst of both
    assert len(campaign_bench.run_files()) == 1
    table = ended.stdout[ended.stdout.index("All campaigns") :]
    assert "lost.toml" in table
    assert "did not start" in table
    assert "1 of 1" in table
    assert "all runs are done" in table


def test_stop_ends_all(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, workload=SHORT)
    files = [campaign_bench.write(text, f"{name}.toml") for name in "ab"]
    running = campaign_bench.start_command("run", *files, "--output", str(campaign_bench.library))
    running.until_phase("measure")
    kill(running.process, signal.SIGINT)
    assert running.end() == ExitStatus.CANCELLED
    assert len(list(campaign_bench.library.iterdir())) == 1


def test_later_campaign_checked_before_first(campaign_bench: CampaignBench) -> None:
    one = campaign_bench.write(campaign_text(memory=True, workload=SHORT), "one.toml")
    bad = campaign_bench.write("name = 3\n", "bad.toml")
    ended = campaign_bench.command("run", one, bad, "--output", str(campaign_bench.library), status=2)
    assert "bad.toml" in ended.stderr
    assert campaign_bench.run_files() == []
