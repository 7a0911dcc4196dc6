"""What others do to the machine: files as the kernel writes them, and such that are absent or lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from app.domain.errors import ProgramError
from app.probes.base.backing_devices import Backing, BackingDevice, Mount, Resolver, merged
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sampling.sampler import ProbeSlot
from app.probes.sources.cpu import PAGE_BYTES, FrequencyProbe, SwapInProbe, ThrottlingProbe, parse_swapped_in
from app.probes.sources.others.foreign_io import (
    ForeignIoProbe,
    MaintenanceProbe,
    PoolScanProbe,
    maintenance_of,
    other_groups,
    parse_io_stat,
    parse_scan,
)
from tests.unit.probes.fakes import CONTEXT, HandClock, values, write

DATA: Final = Path(__file__).parents[2] / "data"

# recorded on Linux 6.18, shortened
VMSTAT = "nr_free_pages 5969811\npgpgout 120312\npswpin {pages}\npswpout 96\npgalloc_dma 0\n"


# --- swap


def test_swap_in_rate_in_bytes(tmp_path: Path) -> None:
    clock, file = HandClock(), write(tmp_path / "vmstat", VMSTAT.format(pages=1000))
    probe = SwapInProbe(str(file), clock)
    probe.open(CONTEXT)
    assert probe.read() == []
    clock.advance(2)
    write(file, VMSTAT.format(pages=1200))
    assert values(probe.read()) == {"memory.swap_in": 100 * PAGE_BYTES}
    probe.close()


def test_swapped_in_only_at_line_start() -> None:
    assert parse_swapped_in(b"pswpin 7\n") == 7
    assert parse_swapped_in(b"zswpin 5\nnot_pswpin 6\npswpin 7\n") == 7
    with pytest.raises(ValueError, match="not counted"):
        parse_swapped_in(b"not_pswpin 6\n")


def test_on_this_machine_swapping_is_known() -> None:
    assert parse_swapped_in(Path("/proc/vmstat").read_bytes()) >= 0


@pytest.mark.parametrize(("text", "reason"), [(None, "does not exist"), ("nr_free 1\n", "not counted")])
def test_kernel_without_swap_counters(tmp_path: Path, text: str | None, reason: str) -> None:
    if text is not None:
        write(tmp_path / "vmstat", text)
    with pytest.raises(ProbeUnavailable, match=reason):
        SwapInProbe(str(tmp_path / "vmstat")).open(CONTEXT)


# --- heat


def cpu(sys: Path, number: int, counts: dict[str, int], *, package: int = 0, core: int = 0) -> None:
    folder = sys / f"devices/system/cpu/cpu{number}"
    write(folder / "topology/physical_package_id", f"{package}\n")
    write(folder / "topology/core_id", f"{core}\n")
    for name, value in counts.items():
        write(folder / "thermal_throttle" / name, f"{value}\n")


# names as the kernel documents them in sysfs-devices-system-cpu; not recorded: no such processor was here
COOL = {
    "core_throttle_count": 0,
    "core_throttle_total_time_ms": 0,
    "package_throttle_count": 12,
    "package_throttle_total_time_ms": 340,
}


def test_the_hottest_core_or_package_counts(tmp_path: Path) -> None:
    clock = HandClock()
    for number in range(4):
        cpu(tmp_path, number, COOL, core=number // 2)
    probe = ThrottlingProbe(str(tmp_path), clock)
    probe.open(CONTEXT)
    assert len(probe._watched) == 3
    assert probe.read() == []
    clock.advance(1)
    assert values(probe.read()) == {"cpu.throttled": 0}
    clock.advance(1)
    hot = {"core_throttle_count": 3, "core_throttle_total_time_ms": 250}
    cpu(tmp_path, 2, {**COOL, **hot}, core=1)
    assert values(probe.read()) == {"cpu.throttled": 25}
    probe.close()


def test_lasting_throttle_counts_fully(tmp_path: Path) -> None:
    clock = HandClock()
    cpu(tmp_path, 0, COOL)
    probe = ThrottlingProbe(str(tmp_path), clock)
    probe.open(CONTEXT)
    probe.read()
    clock.advance(1)
    cpu(tmp_path, 0, {**COOL, "package_throttle_count": 13})
    assert values(probe.read()) == {"cpu.throttled": 100}
    clock.advance(1)
    cpu(tmp_path, 0, {**COOL, "package_throttle_count": 13, "package_throttle_total_time_ms": 1900})
    assert values(probe.read()) == {"cpu.throttled": 100}  # more time than there was is all of it
    clock.advance(1)
    cpu(tmp_path, 0, {**COOL, "package_throttle_count": 1})  # went backwards: only the core still tells
    assert values(probe.read()) == {"cpu.throttled": 0}


def test_throttle_count_without_times(tmp_path: Path) -> None:
    clock = HandClock()
    cpu(tmp_path, 0, {"core_throttle_count": 0, "package_throttle_count": 0})
    probe = ThrottlingProbe(str(tmp_path), clock)
    probe.open(CONTEXT)
    probe.read()
    clock.advance(1)
    cpu(tmp_path, 0, {"core_throttle_count": 1, "package_throttle_count": 0})
    assert values(probe.read()) == {"cpu.throttled": 100}


def test_a_processor_without_counters_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="not counted"):
        ThrottlingProbe(str(tmp_path)).open(CONTEXT)


def test_malformed_counter_ends_only_its_probe(tmp_path: Path) -> None:
    cpu(tmp_path, 0, COOL)
    write(tmp_path / "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "many\n")
    slot = ProbeSlot(ThrottlingProbe(str(tmp_path)), CONTEXT)
    slot.open()
    assert slot.read() == []
    assert slot.reason == "not counted by this kernel"


# --- frequency


def frequencies(sys: Path, *khz: int | str, limit: int = 3_600_000) -> None:
    for number, value in enumerate(khz):
        folder = sys / f"devices/system/cpu/cpu{number}/cpufreq"
        write(folder / "scaling_cur_freq", f"{value}\n")
        write(folder / "scaling_max_freq", f"{limit}\n")


def test_frequency_means_every_five_seconds(tmp_path: Path) -> None:
    clock = HandClock()
    frequencies(tmp_path, 3_000_000, 2_000_000)
    probe = FrequencyProbe(str(tmp_path), clock)
    probe.open(CONTEXT)
    assert values(probe.read()) == {"cpu.frequency": 2500, "cpu.frequency_limit": 3600}
    clock.advance(1)
    assert probe.read() == []
    clock.advance(4)
    frequencies(tmp_path, 3_000_000, "<unknown>", limit=1_800_000)
    assert values(probe.read()) == {"cpu.frequency": 3000, "cpu.frequency_limit": 1800}
    clock.advance(5)
    frequencies(tmp_path, 0, "", limit=-1)
    assert probe.read() == []
    probe.close()


def test_a_machine_without_cpufreq_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="no cpufreq"):
        FrequencyProbe(str(tmp_path)).open(CONTEXT)


# --- I/O of others

# in the form of cgroup-v2.rst, io.stat; not recorded: the controller was not at hand
IO_STAT = b"""8:0 rbytes=117223424 wbytes=4096000 rios=4271 wios=511 dbytes=0 dios=0
254:0 rbytes=1459200 wbytes=331776 rios=106 wios=27 dbytes=0 dios=0
7:0
"""


def test_cgroup_io_of_chosen_devices() -> None:
    assert parse_io_stat(IO_STAT, ["8:0"]) == (117223424, 4096000)
    assert parse_io_stat(IO_STAT, ["8:0", "254:0"]) == (117223424 + 1459200, 4096000 + 331776)
    assert parse_io_stat(IO_STAT, ["7:0", "8:1"]) == (0, 0)
    assert parse_io_stat(b"", ["8:0"]) == (0, 0)


MOUNT = Mount(1, "8:3", "/", "/", (), "ext4", "/dev/sda3", ())
DISK = BackingDevice("sda", "disk", is_leaf=True, partitions=("sda3",))


def stat(read_sectors: int, write_sectors: int) -> str:
    """Return a line of /sys/block/DEVICE/stat, as Linux 6.18 writes it."""
    return f"  10 0 {read_sectors} 1 20 0 {write_sectors} 2 0 3 3 0 0 0 0 4 5\n"


def machine(tmp_path: Path, *, whole: tuple[int, int], part: tuple[int, int]) -> None:
    write(tmp_path / "sys/block/sda/stat", stat(*whole))
    write(tmp_path / "sys/block/sda/dev", "8:0\n")
    write(tmp_path / "sys/block/sda/sda3/stat", stat(*part))


def group(tmp_path: Path, path: str, wbytes: int) -> None:
    write(tmp_path / "sys/fs/cgroup" / path / "io.stat", f"8:0 rbytes=0 wbytes={wbytes} rios=0 wios=1\n")


def foreign(tmp_path: Path, clock: HandClock, device: BackingDevice = DISK) -> ForeignIoProbe:
    return ForeignIoProbe(
        lambda path: Backing(path, MOUNT, (device,)), str(tmp_path / "sys"), str(tmp_path / "proc"), clock
    )


SERVER = ProbeContext(ServerSources(data_directory="/data", postmaster_pid=77))


def test_disk_io_beyond_partition_is_foreign(tmp_path: Path) -> None:
    clock = HandClock()
    machine(tmp_path, whole=(1000, 5000), part=(900, 4000))
    probe = foreign(tmp_path, clock)
    probe.open(CONTEXT)
    assert probe.read() == []
    clock.advance(2)
    machine(tmp_path, whole=(2000, 9000), part=(1500, 6000))
    # 400 of 1000 sectors more were read elsewhere, 2000 of 4000 written
    assert values(probe.read()) == {"others.read_bytes": 400 * 256, "others.write_bytes": 2000 * 256}
    probe.close()


def test_partition_ahead_of_disk(tmp_path: Path) -> None:
    clock = HandClock()
    machine(tmp_path, whole=(0, 1000), part=(0, 1000))
    probe = foreign(tmp_path, clock)
    probe.open(CONTEXT)
    probe.read()
    for written in ((1500, 1600), (2600, 2600)):  # the partition's file was read a moment later
        clock.advance(1)
        machine(tmp_path, whole=(0, written[0]), part=(0, written[1]))
        assert values(probe.read()) == {"others.read_bytes": 0, "others.write_bytes": 0}


def test_other_cgroup_writes_are_foreign(tmp_path: Path) -> None:
    clock = HandClock()
    machine(tmp_path, whole=(0, 0), part=(0, 0))
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
    write(tmp_path / "proc/77/cgroup", "0::/user.slice/bench.scope\n")
    write(tmp_path / "proc/self/cgroup", "0::/user.slice/window.scope\n")
    paths = (
        "system.slice",
        "user.slice",
        "user.slice/bench.scope",
        "user.slice/window.scope",
        "user.slice/x",
    )
    for path in paths:
        group(tmp_path, path, 1000)
    probe = foreign(tmp_path, clock)
    probe.open(SERVER)
    probe.read()
    clock.advance(1)
    for path, wbytes in zip(paths, (6000, 90000, 80000, 70000, 3000), strict=True):
        group(tmp_path, path, wbytes)
    assert values(probe.read()) == {"others.read_bytes": 0, "others.write_bytes": 5000 + 2000}


def test_cgroup_appears_or_vanishes(tmp_path: Path) -> None:
    clock = HandClock()
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "io\n")
    write(tmp_path / "proc/77/cgroup", "0::/bench\n")
    machine(tmp_path, whole=(0, 0), part=(0, 0))
    group(tmp_path, "one", 0)
    probe = foreign(tmp_path, clock)
    probe.open(SERVER)
    probe.read()
    (tmp_path / "sys/fs/cgroup/one/io.stat").unlink()
    group(tmp_path, "two", 5_000_000)
    clock.advance(11)
    probe.read()  # what the new one wrote before it was seen is not of this second
    clock.advance(1)
    group(tmp_path, "two", 5_000_700)
    assert values(probe.read())["others.write_bytes"] == 700


def test_whole_disk_without_cgroups(tmp_path: Path) -> None:
    machine(tmp_path, whole=(0, 0), part=(0, 0))
    probe = foreign(tmp_path, HandClock(), BackingDevice("sda", "disk", is_leaf=True))
    with pytest.raises(ProbeUnavailable, match="has the whole disk"):
        probe.open(CONTEXT)


def test_cgroups_of_missing_path(tmp_path: Path) -> None:
    assert other_groups("/gone/deeper", [], tmp_path / "nowhere") == []


def test_partitions_of_one_and_two_folders(tmp_path: Path) -> None:
    sys = tmp_path / "sys"
    for name, number in (("sda3", "8:3"), ("sda4", "8:4")):
        write(sys / f"devices/pci/sda/{name}/partition", "3\n")
        write(sys / f"devices/pci/sda/{name}/stat", stat(0, 0))
        (sys / "dev/block").mkdir(parents=True, exist_ok=True)
        (sys / f"dev/block/{number}").symlink_to(sys / f"devices/pci/sda/{name}")
    write(sys / "devices/pci/sda/stat", stat(0, 0))
    (sys / "dev/block/8:0").symlink_to(sys / "devices/pci/sda")

    def resolved(number: str) -> Backing:
        mount = Mount(1, number, "/", "/", (), "ext4", "x", ())
        return Resolver(sys=str(sys), find_mount=lambda _path: mount).resolve("/data")

    assert resolved("8:3").devices[0].partitions == ("sda3",)
    assert resolved("8:0").devices[0].partitions == ()
    assert merged([resolved("8:3"), resolved("8:4")])[0].partitions == ("sda3", "sda4")
    assert merged([resolved("8:3"), resolved("8:0")])[0].partitions == ()


# --- scrubs of ZFS

# as zpool-scrub(8) and zpool-status(8) of OpenZFS 2.3 show them, not recorded: no ZFS was at hand
SCRUBS: Final = (
    DATA / "zpool_status/scan.txt",
    DATA / "zpool_status/stripe.txt",
)


def test_scrub_reported_only_in_progress() -> None:
    running, never = (path.read_text() for path in SCRUBS)
    assert parse_scan(running) == "scrub"
    assert parse_scan(never) == ""
    assert parse_scan("  scan: resilver in progress since Sun Jul 25 16:07:49 2021\n") == "resilver"
    for over in (
        "scan: scrub repaired 0B in 00:00:00 with 0 errors on Sun Jul 25 16:07:49 2021",
        "scan: scrub paused since Sun Jul 25 16:07:49 2021",
        "scan: scrub canceled on Sun Jul 25 16:07:49 2021",
        "",
    ):
        assert parse_scan(over) == ""


def test_pool_asked_every_ten_seconds() -> None:
    clock, asked, answers = HandClock(), [], [SCRUBS[0].read_text(), SCRUBS[1].read_text()]

    def ask(argv: Sequence[str]) -> str:
        asked.append(tuple(argv))
        return answers[len(asked) - 1]

    probe = PoolScanProbe(lambda path: Backing(path, MOUNT, (), "tank"), ask, clock)
    probe.open(CONTEXT)
    seen = []
    for _ in range(12):
        seen.append(values(probe.read()))
        clock.advance(1)
    assert asked == [("zpool", "status", "tank")] * 2
    assert seen == [{"others.maintaining zpool scrub": 1}] * 10 + [{}] * 2
    probe.close()
    assert probe.read() == []


def test_zpool_failure_and_folder_without_pool() -> None:
    def fail(_argv: Sequence[str]) -> str:
        raise ProgramError("zpool is not installed")

    probe = PoolScanProbe(lambda path: Backing(path, MOUNT, (), "tank"), fail)
    probe.open(CONTEXT)
    with pytest.raises(ProbeUnavailable, match="not installed"):
        probe.read()
    with pytest.raises(ProbeUnavailable, match="not on ZFS"):
        PoolScanProbe(lambda path: Backing(path, MOUNT, ())).open(CONTEXT)


# --- maintenance


@pytest.mark.parametrize(
    ("name", "command", "what"),
    [
        ("fstrim", b"/sbin/fstrim\0--listed-in\0/etc/fstab:/proc/self/mountinfo\0", "fstrim"),
        ("btrfs", b"btrfs\0scrub\0start\0-B\0/\0", "btrfs scrub start"),
        ("btrfs", b"/usr/bin/btrfs\0balance\0start\0/\0", "btrfs balance"),
        ("btrfs", b"btrfs\0subvolume\0list\0/\0", ""),
        ("zpool", b"zpool\0trim\0-w\0tank\0", "zpool trim"),
        ("zpool", b"zpool\0status\0tank\0", ""),
        ("postgres", b"postgres: fstrim\0", ""),
        ("btrfs", b"", ""),
    ],
)
def test_maintenance_by_name_and_arguments(name: str, command: bytes, what: str) -> None:
    assert maintenance_of(name, command) == what


def process(proc: Path, pid: int, name: str, command: str = "") -> None:
    write(proc / str(pid) / "comm", f"{name}\n")
    write(proc / str(pid) / "cmdline", command)


def test_a_trim_is_seen_while_it_runs(tmp_path: Path) -> None:
    clock = HandClock()
    write(tmp_path / "self/stat", "x")
    process(tmp_path, 10, "postgres")
    probe = MaintenanceProbe(str(tmp_path), str(tmp_path / "sys"), clock)
    probe.open(CONTEXT)
    assert values(probe.read()) == {"others.maintenance": 0}
    process(tmp_path, 11, "fstrim")
    process(tmp_path, 12, "btrfs", "btrfs\0scrub\0start\0/\0")
    clock.advance(1)
    assert values(probe.read()) == {
        "others.maintenance": 2,
        "others.maintaining btrfs scrub start": 1,
        "others.maintaining fstrim": 1,
    }
    for pid in (11, 12):
        for file in (tmp_path / str(pid)).iterdir():
            file.unlink()
        (tmp_path / str(pid)).rmdir()
    clock.advance(1)
    assert values(probe.read()) == {"others.maintenance": 0}
    probe.close()


def test_hidden_or_vanished_process(tmp_path: Path) -> None:
    write(tmp_path / "self/stat", "x")
    (tmp_path / "13").mkdir()
    probe = MaintenanceProbe(str(tmp_path), str(tmp_path / "sys"))
    probe.open(CONTEXT)
    assert values(probe.read()) == {"others.maintenance": 0}


def test_what_btrfs_does_by_itself_is_seen(tmp_path: Path) -> None:
    write(tmp_path / "self/stat", "x")
    operation = write(tmp_path / "sys/fs/btrfs/12-34/exclusive_operation", "none\n")
    probe = MaintenanceProbe(str(tmp_path), str(tmp_path / "sys"))
    probe.open(CONTEXT)
    assert values(probe.read()) == {"others.maintenance": 0}
    write(operation, "balance\n")
    assert values(probe.read()) == {"others.maintenance": 1, "others.maintaining btrfs balance": 1}


def test_without_procfs_programs_cannot_be_seen(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="not mounted"):
        MaintenanceProbe(str(tmp_path)).open(CONTEXT)


def test_many_processes_listed_less_often(tmp_path: Path) -> None:
    clock = HandClock()
    write(tmp_path / "self/stat", "x")
    for pid in range(1000, 1300):
        process(tmp_path, pid, "idle")
    probe = MaintenanceProbe(str(tmp_path), str(tmp_path / "sys"), clock)
    probe.open(CONTEXT)
    probe.read()
    process(tmp_path, 11, "fstrim")
    seen = []
    for _ in range(4):
        clock.advance(1)
        seen.append(values(probe.read())["others.maintenance"])
    assert seen == [0, 0, 1, 1]  # 300 processes: every three seconds
