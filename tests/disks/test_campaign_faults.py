"""Whatever dies or fills up while a campaign runs on a spare disk: the disk is free, the seconds are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.units import GIB, MIB
from app.runs.disk_ending import DiskEnding, read_disk_ending
from app.runs.runfile_reader import RunFile
from tests.disks.test_campaign import campaign, disks_table, erase, nothing_left, serial_of
from tests.fix_campaign import CampaignBench
from tests.fix_campaign import Running as RunningCampaign
from tests.fix_helper import Running, started_by_bus, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")


def storage() -> Path:
    """Where the disks of the one session are mounted."""
    (folder,) = RUN.glob("*/storage")
    return folder


def working_on_storage(program: str) -> list[int]:
    """Processes of a program that belong to the session: the postmaster before its children, pgbench."""
    folder = str(storage().parent).encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(f"/{program}".encode()) and any(folder in word for word in words):
            found.append(int(path.name))
    return sorted(found)


def run_of(bench: CampaignBench) -> RunFile:
    (path,) = bench.run_files()
    return RunFile(path)


@pytest.mark.parametrize("phase", ["load", "warm-up", "measure"])
@pytest.mark.parametrize("program", ["postgres", "pgbench"])
def test_a_server_or_pgbench_that_is_killed_ends_the_run_and_frees_the_disk(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench, program: str, phase: str
) -> None:
    disk = make_loop(GIB, partscan=True)
    workload = '[workload]\nscale = 20\nclients = 2\nwarmup = "5s"\nduration = "10s"\n'
    running = campaign_bench.start(campaign(("one", disks_table(disk)), workload=workload), *erase(disk))
    running.until_phase(phase)
    if phase == "measure":
        running.until_second(2)
    wait_until(lambda: bool(working_on_storage(program)))
    os.kill(working_on_storage(program)[0], signal.SIGKILL)
    assert running.end() == 1
    (ended,) = [event for event in running.events if event["event"] == "finished"]
    assert ended["state"] == "failed"
    assert ("server" if program == "postgres" else "pgbench") in ended["message"]
    with run_of(campaign_bench) as run:
        assert run.values["state"] == "failed"
        if phase == "measure":
            seconds = [event for event in running.events if event["event"] == "second"]
            assert len(seconds) >= 2
    assert nothing_left(disk)


@pytest.mark.parametrize("phase", ["prepare", "initdb", "load"])
def test_a_helper_that_is_killed_in_any_phase_ends_the_run_and_its_successor_frees_the_disk(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench, phase: str
) -> None:
    disk = make_loop(GIB, partscan=True)
    running = campaign_bench.start(campaign(("one", disks_table(disk))), *erase(disk))
    running.until_phase(phase)
    helper.kill()
    assert running.end() == 1
    (ended,) = [event for event in running.events if event["event"] == "finished"]
    assert ended["state"] == "failed"
    successor = Running()
    assert nothing_left(disk)
    again = campaign_bench.run(campaign(("one", disks_table(disk))), *erase(disk))
    assert again.returncode == 0, again.stderr
    assert nothing_left(disk)
    successor.end()


def told(running: RunningCampaign, kind: str) -> list[str]:
    return [event["message"] for event in running.events if event.get("kind") == kind]


TWO_RUNS = '[workload]\nscale = 1\nclients = 2\nwarmup = "1s"\nduration = "20s"\n'


def test_a_helper_that_dies_while_measured_is_lost_and_started_once_more_and_the_disk_is_free(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    """It is never said to be missing, and of a formatted disk never that nothing was touched."""
    disk = make_loop(GIB, partscan=True)
    text = campaign(("one", disks_table(disk)), workload=TWO_RUNS, repeats=2)
    with started_by_bus() as log:
        running = campaign_bench.start(text, *erase(disk))
        running.until_second(2)
        helper.kill()
        assert running.end() == 1
        (ended,) = [event for event in running.events if event["event"] == "finished"]
        words = f"{ended['message']} {ended['hint']}"
        assert "The helper was lost" in words
        everything = str(running.events)
        assert "not installed" not in everything
        assert "othing was touched" not in everything
        assert nothing_left(disk), log.read_text()
        assert told(running, "left-over") == []
        assert "started again" in " ".join(told(running, "helper-lost"))
        (left_out,) = told(running, "left-out")
        assert "The helper was lost" in left_out
        (free,) = told(running, "disks")
        assert free == f"The disk {disk} ({serial_of(disk)}) is free again: released, not zeroed."
        (folder,) = campaign_bench.library.iterdir()
        assert read_disk_ending(folder) == DiskEnding(free)
        with run_of(campaign_bench) as run:
            assert "helper-lost" in dict(run.marks())
            assert any("unmade what the lost one left" in event.message for event in run.events())


def test_a_helper_that_is_lost_for_good_is_told_and_nothing_is_said_to_be_free(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    running = campaign_bench.start(campaign(("one", disks_table(disk)), workload=TWO_RUNS), *erase(disk))
    running.until_second(2)
    helper.kill()
    assert running.end() == 1
    left = " ".join(told(running, "left-over"))
    assert "The helper could not be started again." in left
    assert "journalctl -u pgfooting-helper" in left
    assert told(running, "disks") == []
    assert "not installed" not in str(running.events)
    with run_of(campaign_bench) as run:
        assert "left-over" in dict(run.marks())
    shown = campaign_bench.command("show", str(campaign_bench.run_files()[0])).stdout
    assert "left-over: " in shown
    with started_by_bus() as log:
        listed = json.loads(campaign_bench.command("disks", "--json").stdout)["disks"]
        assert [each["is_left_over"] for each in listed if f"/dev/{each['name']}" == disk] == [True]
        released = campaign_bench.command("disks", "--release")
        assert released.returncode == 0, released.stderr
        assert nothing_left(disk), log.read_text()


def grow(disk: str) -> None:
    """Make the file below a loop device longer, and have the kernel look at it again."""
    backing = Path("/sys/block", Path(disk).name, "loop/backing_file").read_text().strip()
    os.truncate(backing, GIB + 64 * MIB)
    subprocess.run(["losetup", "--set-capacity", disk], check=True)


def ungrow(disk: str) -> None:
    backing = Path("/sys/block", Path(disk).name, "loop/backing_file").read_text().strip()
    os.truncate(backing, GIB)
    subprocess.run(["losetup", "--set-capacity", disk], check=True)


def test_a_disk_that_changes_while_measured_ends_the_campaign_for_that_disk_and_is_told_by_name(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    text = campaign(("one", disks_table(disk)), workload=TWO_RUNS, repeats=2)
    running = campaign_bench.start(text, *erase(disk))
    running.until_second(2)
    serial_of_it = serial_of(disk)
    grow(disk)
    assert running.end() == 1
    (ended,) = [event for event in running.events if event["event"] == "finished"]
    assert ended["message"].startswith(f"{disk} (serial number {serial_of_it}): ")
    assert "its size changed from 1 GiB" in ended["message"] or "capacity change" in ended["message"]
    (left_out,) = told(running, "left-out")
    assert disk in left_out
    with run_of(campaign_bench) as run:
        marks = dict(run.marks())
        assert marks["disk-failed"].startswith(f"{disk} ")
        assert [event.kind for event in run.events()].count("disk-failed") >= 1
        assert run.values["state"] == "failed"
    left = " ".join(told(running, "left-over"))
    assert disk in left, "root does not write to what is not the disk that was chosen"
    assert "another campaign" not in str(running.events)
    assert told(running, "disks") == []
    ungrow(disk)
    helper.end()
    Running().end()
    assert nothing_left(disk)


def fill_up(running: RunningCampaign) -> None:
    """Leave no byte on the storage, as a table that grows would."""
    running.until_phase("measure")
    running.until_second(2)
    with (storage() / "filler").open("wb") as file:
        while True:
            try:
                file.write(bytes(MIB))
                file.flush()
            except OSError:
                return


def test_a_filesystem_that_is_full_ends_the_run_with_that_reason_and_is_unmade(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    workload = '[workload]\nscale = 1\nclients = 2\nwarmup = "1s"\nduration = "60s"\n'
    running = campaign_bench.start(campaign(("one", disks_table(disk)), workload=workload), *erase(disk))
    fill_up(running)
    assert running.end() == 1
    (ended,) = [event for event in running.events if event["event"] == "finished"]
    assert ended["state"] == "failed"
    assert "space" in f"{ended['message']} {ended['hint']}", str(ended)
    with run_of(campaign_bench) as run:
        run.check()
    assert nothing_left(disk)
