"""Whatever dies or fills up while a campaign runs on a spare disk: the disk is free, the seconds are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.domain.text import GIB, MIB
from app.execution.disks.session import DiskEnding, read_disk_ending
from app.runfile.reader import RunFile
from app.storage.system.programs import naming_pattern
from tests.disks.helper_owner import client
from tests.disks.test_campaign import campaign, disks_table, erase, nothing_left, serial_of
from tests.disks.test_helper_release import release, shown
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
def test_killed_server_or_pgbench_frees_disk(
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
def test_killed_helper_successor_frees_disk(
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


def messages_of(running: RunningCampaign, kind: str) -> list[str]:
    return [event["message"] for event in running.events if event.get("kind") == kind]


TWO_RUNS = '[workload]\nscale = 1\nclients = 2\nwarmup = "1s"\nduration = "20s"\n'


def test_dead_helper_restarted_once(
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
        assert "The helper no longer answers" in words
        everything = str(running.events)
        assert "not installed" not in everything
        assert "othing was touched" not in everything
        assert nothing_left(disk), log.read_text()
        assert messages_of(running, "left-over") == []
        assert "restarts it" in " ".join(messages_of(running, "helper-lost"))
        (left_out,) = messages_of(running, "left-out")
        assert "The helper stopped" in left_out
        (free,) = messages_of(running, "disks")
        assert free == f"Released, not zeroed: {disk} ({serial_of(disk)})."
        (folder,) = campaign_bench.library.iterdir()
        assert read_disk_ending(folder) == DiskEnding(free)
        with run_of(campaign_bench) as run:
            assert "helper-lost" in dict(run.marks())
            assert any(
                "The restarted helper has removed the remains" in event.message for event in run.events()
            )


def test_lost_helper_claims_nothing_free(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    running = campaign_bench.start(campaign(("one", disks_table(disk)), workload=TWO_RUNS), *erase(disk))
    running.until_second(2)
    helper.kill()
    assert running.end() == 1
    left = " ".join(messages_of(running, "left-over"))
    assert "The helper could not be restarted." in left
    assert "journalctl -u pgfooting-helper" in left
    assert messages_of(running, "disks") == []
    assert "not installed" not in str(running.events)
    with run_of(campaign_bench) as run:
        assert "left-over" in dict(run.marks())
    shown = campaign_bench.command("show", str(campaign_bench.run_files()[0])).stdout
    assert "left-over: " in shown
    with started_by_bus() as log:
        listed = json.loads(campaign_bench.command("disks", "--json").stdout)["disks"]
        # The question starts the helper, which unmounts and wipes what is still mounted as it was left.
        assert [each["is_left_over"] for each in listed if f"/dev/{each['name']}" == disk] == [False]
        assert nothing_left(disk), log.read_text()
        released = campaign_bench.command("disks", "--release")
        assert released.returncode == 0, released.stderr


@pytest.fixture
def small_place(system_namespace: None, tmp_path: Path) -> Iterator[Path]:
    """A place that a test can fill: the writes of a disk whose file lies there fail then."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(tmp_path)], check=True)
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.fixture
def breakable(small_place: Path) -> Iterator[str]:
    """A loop device whose file lies in the small place."""
    image = small_place / "disk.img"
    with image.open("wb") as file:
        file.truncate(GIB)
    losetup = ["losetup", "--find", "--show", "--partscan", str(image)]
    device = subprocess.run(losetup, capture_output=True, text=True, check=True).stdout.strip()
    yield device
    subprocess.run(["losetup", "--detach", device], check=True)


def break_writes(disk: str, place: Path) -> None:
    """Let writes to a disk fail until the kernel has said so; then they succeed again.

    The kernel tells only some such errors a second, of all disks together.
    """
    naming = naming_pattern(Path(disk).name)
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)

    def is_reported() -> bool:
        with suppress(OSError), (storage() / "more").open("ab") as file:  # where it was never written
            file.write(bytes(MIB))
            file.flush()
            os.fsync(file.fileno())
        with suppress(BlockingIOError, BrokenPipeError):
            while True:
                line = os.read(log, 8192).decode(errors="replace").partition(";")[2]
                if naming.search(line) and "error" in line and "not supported" not in line:
                    return True
        return False

    filler = place / "filler"
    try:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(MIB))
        wait_until(is_reported)
    finally:
        filler.unlink()
        os.close(log)


def test_failing_disk_named_others_continue(
    breakable: str,
    helper: Running,
    small_place: Path,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
) -> None:
    broken, sound = breakable, make_loop(GIB, partscan=True)
    workload = '[workload]\nscale = 1\nclients = 2\nwarmup = "1s"\nduration = "15s"\n'
    text = campaign(
        ("broken", disks_table(broken)), ("sound", disks_table(sound)), workload=workload, repeats=2
    )
    serial = serial_of(broken)
    running = campaign_bench.start(text, *erase(broken, sound))
    running.until(lambda event: event["event"] == "run" and event["configuration"] == "broken")
    running.until_second(2)
    break_writes(broken, small_place)
    assert running.end() == 1
    runs = [event for event in running.events if event["event"] == "finished"]
    states = [(Path(event["path"]).name[3:-8], event["state"]) for event in runs]
    assert sorted(states) == [("broken-r1", "failed"), ("sound-r1", "done"), ("sound-r2", "done")], states
    (left_out,) = messages_of(running, "left-out")
    assert f"{broken} (serial number {serial}): the kernel reports “" in left_out
    (path,) = [Path(event["path"]) for event in runs if event["state"] == "failed"]
    with RunFile(path) as run:
        reason = dict(run.marks())["disk-failed"]
        assert reason.startswith(f"{broken} (serial number {serial}): the kernel reports “")
        line = reason.partition("reports “")[2]
        assert "error" in line
        assert Path(broken).name in line
        assert [event.message for event in run.events() if event.kind == "disk-failed"] == [reason]
    (free,) = messages_of(running, "disks")
    assert broken in free
    assert sound in free
    assert nothing_left(broken, sound)


def grow(disk: str) -> None:
    """Make the file below a loop device longer, and have the kernel look at it again."""
    backing = Path("/sys/block", Path(disk).name, "loop/backing_file").read_text().strip()
    os.truncate(backing, GIB + 64 * MIB)
    subprocess.run(["losetup", "--set-capacity", disk], check=True)


def ungrow(disk: str) -> None:
    backing = Path("/sys/block", Path(disk).name, "loop/backing_file").read_text().strip()
    os.truncate(backing, GIB)
    subprocess.run(["losetup", "--set-capacity", disk], check=True)


def test_changed_disk_dropped_from_campaign(
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
    (left_out,) = messages_of(running, "left-out")
    assert disk in left_out
    with run_of(campaign_bench) as run:
        marks = dict(run.marks())
        assert marks["disk-failed"].startswith(f"{disk} ")
        assert [event.kind for event in run.events()].count("disk-failed") >= 1
        assert run.values["state"] == "failed"
    left = " ".join(messages_of(running, "left-over"))
    assert disk in left, "root does not write to what is not the disk that was chosen"
    assert "another campaign" not in str(running.events)
    assert messages_of(running, "disks") == []
    ungrow(disk)
    helper.end()
    successor = Running()
    with client() as connection:  # it was found unmounted: a person decides
        assert release(connection, disk, shown(connection, disk)[1]) == ("wiped", "", "")
    successor.end()
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


def test_full_filesystem_ends_run(
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
