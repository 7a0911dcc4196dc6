"""Probes of what lies between PostgreSQL and the disks, md, ZFS, btrfs, over recorded files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.probes.base.backing_devices import Backing, BackingDevice, Mount
from app.probes.base.probe import ProbeUnavailable
from app.probes.sources.block_devices import (
    ArraysProbe,
    BtrfsProbe,
    ZfsProbe,
    parse_kstat,
    parse_numbers,
    parse_sync_remaining,
)
from tests.unit.probes.fakes import CONTEXT, HandClock, values

RECORDED = Path(__file__).parents[2] / "data/probes"
MD, ZFS, BTRFS = RECORDED / "md-6.1", RECORDED / "zfs-2.1.11", RECORDED / "btrfs-6.1"


def lying_on(*devices: tuple[str, str], filesystem: str = "ext4") -> Callable[[str], Backing]:
    mount = Mount(1, "0:1", "/", "/srv", (), filesystem, "", ())
    found = tuple(BackingDevice(name, kind, is_leaf=kind == "disk") for name, kind in devices)
    return lambda path: Backing(path, mount, found)


def array(tmp_path: Path, state: str) -> ArraysProbe:
    """Return the opened probe over a recorded state of md0."""
    folder = tmp_path / "block/md0/md"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(MD / state, folder)
    probe = ArraysProbe(lying_on(("md0", "md"), ("sda", "disk")), str(tmp_path))
    probe.open(CONTEXT)
    return probe


def test_sync_remainder_and_speed(tmp_path: Path) -> None:
    probe = array(tmp_path, "resync")
    remaining, speed = (1226752 - 76800) * 512, 11232 * 1024
    assert values(probe.read()) == {"array.sync_remaining md0": remaining, "array.sync_speed md0": speed}
    probe.close()
    later = array(tmp_path, "resync-later")
    assert values(later.read())["array.sync_remaining md0"] < remaining
    later.close()


def test_a_check_is_a_synchronisation_too(tmp_path: Path) -> None:
    probe = array(tmp_path, "check")
    assert values(probe.read())["array.sync_remaining md0"] == 1226752 * 512
    probe.close()


def test_missing_member_and_idle_array(tmp_path: Path) -> None:
    probe = array(tmp_path, "degraded")
    assert values(probe.read()) == {"array.missing_members md0": 1}
    probe.close()


def test_raid5_under_construction_lacks_member(tmp_path: Path) -> None:
    probe = array(tmp_path, "recover")
    found = values(probe.read())
    assert found["array.missing_members md0"] == 1
    assert found["array.sync_speed md0"] == 1608 * 1024
    probe.close()


def test_an_array_without_redundancy_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "block/md0/md").mkdir(parents=True)
    probe = ArraysProbe(lying_on(("md0", "md")), str(tmp_path))
    with pytest.raises(ProbeUnavailable, match="no redundant md array"):
        probe.open(CONTEXT)
    with pytest.raises(ProbeUnavailable):
        ArraysProbe(lying_on(("sda", "disk")), str(tmp_path)).open(CONTEXT)


@pytest.mark.parametrize(("text", "remaining"), [("none", 0), ("delayed", 0), ("8 / 8", 0), ("0 / 8", 4096)])
def test_what_remains_is_counted_in_sectors(text: str, remaining: int) -> None:
    assert parse_sync_remaining(text) == remaining


def zfs(folder: Path, clock: HandClock, source: str = "tank/pg") -> ZfsProbe:
    """Return the opened probe over the first recording, or over what the test made of it."""
    if not (folder / "arcstats").exists():
        shutil.copytree(ZFS / "first", folder, dirs_exist_ok=True)
    mount = Mount(1, "0:38", "/", "/tank/pg", (), "zfs", source, ("rw", "xattr", "noacl"))
    probe = ZfsProbe(lambda _path: mount, str(folder), clock)
    probe.open(CONTEXT)
    return probe


def later(tmp_path: Path) -> None:
    """Write the second recording into the same files, which are open."""
    for file in (ZFS / "second").rglob("*"):
        if file.is_file():
            (tmp_path / file.relative_to(ZFS / "second")).write_bytes(file.read_bytes())


def test_dataset_arc_and_zil_rates(tmp_path: Path) -> None:
    clock = HandClock()
    probe = zfs(tmp_path, clock)
    assert set(values(probe.read())) == {"zfs.arc_size", "zfs.arc_target"}
    later(tmp_path)
    clock.advance(2)
    found = values(probe.read())
    assert found["zfs.writes"] == 150
    assert found["zfs.write_bytes"] == 300 * 8192 / 2
    assert found["zfs.reads"] > 0
    assert found["zfs.log_commits"] == 150
    assert found["zfs.log_bytes"] == found["zfs.log_device_bytes"] == (5132712 - 2562200) / 2
    assert found["zfs.arc_hits"] > 300 / 2
    assert found["zfs.arc_target"] == 64457728
    assert probe.omissions == ()
    probe.close()


def test_own_zil_of_dataset_first(tmp_path: Path) -> None:
    """OpenZFS 2.2 and newer: the names are in the dataset's own file; the sum of all pools is not needed."""
    clock = HandClock()
    shutil.copytree(ZFS / "first", tmp_path, dirs_exist_ok=True)
    dataset = tmp_path / "tank/objset-0x5d"
    names = "zil_commit_count", "zil_itx_metaslab_normal_bytes", "zil_itx_metaslab_slog_bytes"
    own = dataset.read_text() + "".join(f"{name:31} 4    7\n" for name in names)
    dataset.write_text(own)
    (tmp_path / "zil").unlink()
    probe = zfs(tmp_path, clock)
    probe.read()
    dataset.write_text(own.replace("4    7\n", "4    9\n"))
    clock.advance(1)
    assert values(probe.read())["zfs.log_commits"] == 2
    assert probe.omissions == ()
    probe.close()


def test_zfs_gaps_have_reasons(tmp_path: Path) -> None:
    probe = zfs(tmp_path, HandClock(), source="tank/other")
    (omission, *_) = probe.omissions
    assert "tank/other" in omission.reason
    assert {each.metric for each in probe.omissions} == {
        "zfs.reads",
        "zfs.writes",
        "zfs.read_bytes",
        "zfs.write_bytes",
    }
    assert set(values(probe.read())) == {"zfs.arc_size", "zfs.arc_target"}
    probe.close()


def test_other_filesystems_without_zfs_and_btrfs() -> None:
    with pytest.raises(ProbeUnavailable, match="the data directory is not on ZFS"):
        ZfsProbe().open(CONTEXT)
    with pytest.raises(ProbeUnavailable, match="the data directory is not on btrfs"):
        BtrfsProbe(lying_on(("sda", "disk"))).open(CONTEXT)


@given(st.binary(max_size=300))
def test_no_bytes_make_a_kstat_fail(text: bytes) -> None:
    assert all(isinstance(value, str) for value in parse_kstat(text).values())


def btrfs(tmp_path: Path, clock: HandClock) -> tuple[BtrfsProbe, Path]:
    """Return the opened probe over the recorded files, and their folder."""
    folder = tmp_path / "fs/btrfs/347bf344-d469"
    shutil.copytree(BTRFS, folder)
    (folder / "devices").mkdir()
    (folder / "devices/sda").symlink_to(tmp_path)
    probe = BtrfsProbe(lying_on(("sda", "disk"), filesystem="btrfs"), str(tmp_path), clock)
    probe.open(CONTEXT)
    return probe, folder


def test_commits_and_errors_of_btrfs_are_told(tmp_path: Path) -> None:
    clock = HandClock()
    probe, folder = btrfs(tmp_path, clock)
    assert probe.read() == []
    (folder / "commit_stats").write_text(
        "commits 4\nlast_commit_ms 8\nmax_commit_ms 20\ntotal_commit_ms 50\n"
    )
    (folder / "devinfo/2/error_stats").write_text("write_errs 3\nread_errs 0\nflush_errs 2\n")
    clock.advance(2)
    assert values(probe.read()) == {
        "btrfs.commits": 2,
        "btrfs.commit_time": 12.5,
        "btrfs.device_errors 2": 5,
    }
    clock.advance(1)
    assert values(probe.read()) == {"btrfs.commits": 0, "btrfs.device_errors 2": 5}
    probe.close()


def test_older_kernels_name_missing_counters(tmp_path: Path) -> None:
    folder = tmp_path / "fs/btrfs/347bf344-d469"
    (folder / "devices").mkdir(parents=True)
    (folder / "devices/sda").symlink_to(tmp_path)
    probe = BtrfsProbe(lying_on(("sda", "disk"), filesystem="btrfs"), str(tmp_path), HandClock())
    probe.open(CONTEXT)
    assert {omission.metric for omission in probe.omissions} == {
        "btrfs.commits",
        "btrfs.commit_time",
        "btrfs.device_errors",
    }
    assert probe.read() == []


def test_lines_without_a_number_count_nothing() -> None:
    assert parse_numbers(b"write_errs 1\nstats invalid\n\n") == {"write_errs": 1}
