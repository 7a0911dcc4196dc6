"""Campaigns on spare disks, from the command line to the run file: real helper, polkit, disks, PostgreSQL."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.analysis.data_set import MOST_CACHED
from app.analysis.facts import command_line, read_run_facts
from app.domain.run import Phase
from app.domain.text import GIB, MIB
from app.execution.launch import LaunchError, start_campaign
from app.runfile.metadata.environment import counted_devices, read_environment_facts
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.disks.helper_owner import SPARE
from tests.disks.layout_proof import leftovers
from tests.fix_campaign import PATIENCE_S, SETTINGS, CampaignBench, kill, server_settings_of
from tests.fix_helper import Running, journaled, standing_in, wait_until
from tests.launched import wait_for_end, wait_for_folder

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

LITTLE_WAL = 'max_wal_size = "128MB"\nmin_wal_size = "32MB"\n'
WORKLOAD = '[workload]\nscale = 1\nclients = 2\nwarmup = "1s"\nduration = "5s"\n'


def serial_of(device: str) -> str:
    return SPARE.identify(device).serial


def disks_table(*devices: str, filesystem: str = "ext4", level: str = "single", extra: str = "") -> str:
    names = ", ".join(f'"{serial_of(device)}"' for device in devices)
    return (
        f'[configuration.target.disks]\ndata = [{names}]\nlevel = "{level}"\nfilesystem = "{filesystem}"\n'
        f'partition_size = "900 MiB"\n{extra}\n'
    )


def campaign(*configurations: tuple[str, str], repeats: int = 1, workload: str = WORKLOAD) -> str:
    # What the storage can do by itself has tests of its own (test_campaign_baseline): half a minute each.
    head = f'name = "Disks"\nrepeats = {repeats}\norder = "AB BA"\nio_baseline = false\n'
    head += f"{SETTINGS}{LITTLE_WAL}{workload}"
    return head + "".join(f'[[configuration]]\nname = "{name}"\n{text}' for name, text in configurations)


def erase(*devices: str) -> list[str]:
    return [word for device in devices for word in ("--erase", serial_of(device))]


def content(device: str) -> tuple[int, bytes]:
    """Tell what is on a disk from everything else, quickly: a helper that idles for a minute ends.

    Bytes that were ever written to the sparse file below it, and its first and last 8 MiB.
    """
    backing = Path("/sys/block", Path(device).name, "loop/backing_file").read_text().strip()
    with Path(device).open("rb") as disk:
        first = disk.read(8 * MIB)
        disk.seek(-8 * MIB, os.SEEK_END)
        return Path(backing).stat().st_blocks, hashlib.sha256(first + disk.read()).digest()


def nothing_left(*devices: str) -> bool:
    return leftovers(list(devices), Path("/run/pgfooting")) == ["/run/pgfooting/lock"] and journaled() == []


def programs_of_root(run: RunFile) -> list[str]:
    return [Path(command.argv[0]).name for command in run.commands() if command.account == "root"]


def overheads(run: RunFile) -> str:
    """Tell what is ours until a server answers, and how long it takes until the disks are free, in s."""
    times = {each.phase: each for each in run.phases()}
    programs = ("mkfs.", "mount", "initdb")
    needed_ms = sum(
        command.duration_ms
        for command in run.commands()
        if Path(command.argv[0]).name.startswith(programs)
        and command.started_ms < times[Phase.LOAD].started_ms
    )
    begun_ms = times[Phase.LOAD].started_ms - times[Phase.PREPARE].started_ms
    released_ms = (times[Phase.TEARDOWN].ended_ms or 0) - times[Phase.TEARDOWN].started_ms
    ours_s, begun_s = (begun_ms - needed_ms) / 1000, begun_ms / 1000
    return f"begin {ours_s:.2f} of {begun_s:.2f}, release {released_ms / 1000:.2f}"


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_campaign_leaves_spare_disk_free(
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
    filesystem: str,
    record_property: Callable[[str, object], None],
) -> None:
    disk = make_loop(GIB, partscan=True)
    text = campaign(("one disk", disks_table(disk, filesystem=filesystem, extra='preset = "recommended"')))
    ended = campaign_bench.run(text, *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "TEST DEVICE" in ended.stderr
    assert f"mkfs.{filesystem}" in ended.stderr, "what root will do is shown"
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        assert [times.phase for times in run.phases()] == [
            each for each in Phase if each not in {Phase.BASELINE, Phase.MAINTENANCE, Phase.PART}
        ]
        record_property("overhead", overheads(run))
        print(f"overhead of {filesystem}: {overheads(run)}")  # noqa: T201 - shown with -s
        target = run.values["target"]
        assert isinstance(target, dict)
        assert (target["kind"], target["filesystem"], target["raid"]) == ("disks", filesystem, None)
        commands = [command for command in run.commands() if command.account == "root"]
        assert {"sfdisk", "umount", f"mkfs.{filesystem}"} <= set(programs_of_root(run))
        assert all(command.exit_code == 0 for command in commands)
        lines = [command_line(each) for each in read_run_facts(path).commands if each.account == "root"]
        wiped = f"# {disk}p1: our signature [{filesystem}] is wiped from our partition"
        texts = ["umount", wiped, f"# {disk}: our partition table is removed"]
        places = [next(at for at, line in enumerate(lines) if what in line) for what in texts]
        assert places[0] < places[1] < places[2], "what root wiped is told in words, among its commands"
        assert all(command.duration_ms < 60_000 for command in commands)
        assert f"mkfs.{filesystem} " in "\n".join(map(str, target["described"]))
        assert serial_of(disk) in str(target["plan"])
        marks = dict(run.marks())
        assert "test-devices" in marks
        assert run.summary()["tps"]
        counted = counted_devices(read_environment_facts(run.facts("before")))
        assert counted == f"{Path(disk).name} (loop device)", "not the disk below its file"
        writes = run.summary()["device_writes"]
        assert writes is not None
        assert writes > 0.1, "each commit writes to the chosen disk"
        assert run.samples("sessions.clients")[1].max() > 0
        assert run.facts("before")["disk_health"]
        assert run.facts("after")["disk_health"]
        assert filesystem in str(run.facts("before")["storage"])
        chosen, shown = server_settings_of(run, "filesystem")
        assert chosen == ({"wal_init_zero": "off", "wal_recycle": "off"} if filesystem == "btrfs" else {})
        assert shown == chosen
    (listed,) = campaign_bench.listed()
    assert listed["filesystem"] == filesystem
    assert "test-devices" in listed["marks"]
    assert nothing_left(disk)


def test_layouts_interleaved_with_wal_disk(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    first, second, third = (make_loop(GIB, partscan=True) for _ in range(3))
    wal = f'wal = {{data = ["{serial_of(third)}"], filesystem = "ext4", partition_size = "600 MiB"}}'
    text = campaign(
        ("mirror", disks_table(first, second, level="mirror", filesystem="btrfs")),
        ("wal apart", disks_table(first, extra=wal)),
        repeats=2,
        workload=WORKLOAD.replace('"5s"', '"2s"'),
    )
    ended = campaign_bench.run(text, *erase(first, second, third))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [path.name for path in campaign_bench.run_files()] == [
        "01-mirror-r1.footing",
        "02-wal-apart-r1.footing",
        "03-wal-apart-r2.footing",
        "04-mirror-r2.footing",
    ]
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            assert run.values["state"] == "done"
            apart = "wal-apart" in path.name
            initdb = next(command for command in run.commands() if command.argv[0].endswith("initdb"))
            assert ("--waldir" in initdb.argv) == apart
            target = run.values["target"]
            assert isinstance(target, dict)
            assert target["raid"] == (None if apart else "mirror")
            counted = counted_devices(read_environment_facts(run.facts("before")))
            disks = (first, third) if apart else (first, second)
            assert counted == ", ".join(f"{Path(disk).name} (loop device)" for disk in disks)
    assert helper.log.read_text().count("authorised") <= 1
    assert nothing_left(first, second, third)


def test_erase_words_required_without_terminal(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    first, second = (make_loop(GIB, partscan=True) for _ in range(2))
    before = [content(disk) for disk in (first, second)]
    text = campaign(("pair", disks_table(first, second, level="mirror", filesystem="btrfs")))
    for words, status in (
        ([], 3),
        (erase(first), 3),
        ([*erase(first, second), "--erase", "OTHER"], 2),
        (["--erase", serial_of(first)[-4:], "--erase", serial_of(second)[-4:]], 2),
    ):
        ended = campaign_bench.run(text, *words)
        assert ended.returncode == status, ended.stderr
        assert "Nothing was done" in ended.stderr
    assert serial_of(second) in campaign_bench.run(text, *erase(first)).stderr
    assert campaign_bench.run_files() == []
    assert [content(disk) for disk in (first, second)] == before
    assert nothing_left(first, second)


def test_disk_with_data_refused_untouched(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)
    before = content(disk)
    ended = campaign_bench.run(campaign(("taken", disks_table(disk))), *erase(disk))
    assert ended.returncode == 3, ended.stderr
    assert "D08" in ended.stderr
    assert "Nothing was touched" in ended.stderr
    assert content(disk) == before
    assert journaled() == []


@pytest.mark.parametrize("phase", ["prepare", "load", "measure"])
def test_killed_runner_frees_disks_keeps_seconds(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench, phase: str
) -> None:
    disk = make_loop(GIB, partscan=True)
    words = erase(disk)
    running = campaign_bench.start(campaign(("one", disks_table(disk))), *words)
    running.until_phase(phase)
    if phase == "measure":
        running.until_second(2)
    kill(running.process)
    wait_until(lambda: nothing_left(disk))
    (listed,) = campaign_bench.listed()
    assert listed["state"] == "incomplete"
    again = campaign_bench.run(campaign(("one", disks_table(disk))), *words)
    assert again.returncode == 0, again.stdout + again.stderr
    assert nothing_left(disk)


@pytest.mark.parametrize("phase", ["prepare", "initdb", "measure"])
def test_stopped_campaign_returns_disks(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench, phase: str
) -> None:
    disk = make_loop(GIB, partscan=True)
    running = campaign_bench.start(campaign(("one", disks_table(disk))), *erase(disk))
    running.until_phase(phase)
    kill(running.process, signal.SIGINT)
    assert running.end() == 130
    assert nothing_left(disk)


def test_killed_helper_ends_run_and_recovers(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    running = campaign_bench.start(campaign(("one", disks_table(disk))), *erase(disk))
    running.until_phase("measure")
    running.until_second(2)
    helper.kill()
    assert running.end() == 1
    (failed,) = [event for event in running.events if event["event"] == "finished"]
    assert (failed["state"], failed["error"]) == ("failed", "target-lost")
    assert "helper" in failed["message"]
    second = Running()
    assert nothing_left(disk)
    second.end()


def test_failed_storage_records_root_commands(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    script = 'case "$*" in *-V*) echo "mkfs.xfs version 6.1.0";; *) echo no more >&2; exit 7;; esac'
    with standing_in("mkfs.xfs", script):
        ended = campaign_bench.run(campaign(("one", disks_table(disk, filesystem="xfs"))), *erase(disk))
    assert ended.returncode == 1, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.values["state"] == "failed"
        assert "no more" in str(run.values["error"])
        roots = [command for command in run.commands() if command.account == "root"]
        found = [(Path(command.argv[0]).name, command.exit_code) for command in roots]
        middle = found.index(("mkfs.xfs", 7))
        assert ("sfdisk", 0) in found[:middle]
        assert ("umount", 0) in found[middle:]
        assert "no more" in roots[middle].stdout
    assert nothing_left(disk)


def can_limit_memory() -> bool:
    """Whether control groups of version 2 have the memory controller here."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [Path(words[1]) for words in mounts if words[2] == "cgroup2"]
    return any("memory" in (root / "cgroup.controllers").read_text().split() for root in roots)


def test_memory_limit_enforced_or_run_refused(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    text = campaign(("limited", disks_table(disk, extra='memory_limit = "512 MiB"')))
    ended = campaign_bench.run(text, *erase(disk))
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert "memory-limited" in dict(run.marks())
        if can_limit_memory():
            assert ended.returncode == 0, ended.stderr
        else:
            assert ended.returncode == 1
            assert run.phase(Phase.INITDB) is None
            assert "memory limit of 512 MiB cannot be set here" in str(run.values["error"])
            assert "no memory controller" in str(run.values["error"])
    assert nothing_left(disk)


def test_cold_caches_on_spare_disk(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    workload = (
        '[workload]\nscale = 4\nclients = 2\ncaches = "cold"\nduration = "3s"\nscript = "select-only"\n'
    )
    text = campaign(("cold", disks_table(disk)), repeats=2, workload=workload)
    ended = campaign_bench.run(text, *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    files = campaign_bench.run_files()
    assert len(files) == 2, "root drops caches once in ten seconds at most: the second run waits"
    for path in files:
        with RunFile(path) as run:
            assert run.metadata.workload.caches == "cold"
            cached = or_none(run.metadata.cached)
            assert cached is not None
            assert cached.data_bytes > 50 * MIB
            assert cached.cached_bytes <= MOST_CACHED * cached.data_bytes
            assert (run.output("server.log") or "").count("database system is ready") == 2
            sentences = [each.message for each in run.events() if "machine's caches" in each.message]
            assert all("read-only" in sentence for sentence in sentences), "only where root may not drop them"
    assert nothing_left(disk)


def test_window_erases_only_confirmed_disks(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(GIB, partscan=True)
    text = campaign(("one", disks_table(disk)))
    refused = start_campaign(text, campaign_bench.library)
    with pytest.raises(LaunchError, match="no terminal to ask on") as caught:
        wait_for_folder(refused, PATIENCE_S)
    assert caught.value.status == 3
    launched = start_campaign(text, campaign_bench.library, [serial_of(disk)])
    assert wait_for_end(launched, PATIENCE_S) == 0
    assert len(campaign_bench.run_files()) == 1
    assert nothing_left(disk)
