"""A disk that changes, goes or fails below a run is found in sysfs and in the kernel's lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity
from app.hosts.helper import Members

DISK = DiskIdentity("S4EW-1", None, "Model", 2048 * 512, "8:16", 7)
OTHER = replace(DISK, serial="", device_number="8:32", diskseq=8)


@pytest.fixture
def sys_folder(tmp_path: Path) -> Path:
    for name, disk in (("sdb", DISK), ("sdc", OTHER)):
        folder = tmp_path / "devices" / name
        (folder / "device").mkdir(parents=True)
        (folder / "size").write_text("2048\n")
        (folder / "diskseq").write_text(f"{disk.diskseq}\n")
        (folder / "device" / "state").write_text("running\n")
        link = tmp_path / "dev" / "block" / disk.device_number
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
    return tmp_path


def troubles(members: Members) -> list[str]:
    return [trouble.text for trouble in members.troubles()]


def shrink(folder: Path) -> None:
    (folder / "size").write_text("1024\n")


def replaced(folder: Path) -> None:
    (folder / "diskseq").write_text("9\n")


def offline(folder: Path) -> None:
    (folder / "device" / "state").write_text("offline\n")


def gone(folder: Path) -> None:
    (folder / "size").unlink()


def faulty(folder: Path) -> None:
    state = folder / "sdb1" / "holders" / "md127" / "md" / "dev-sdb1" / "state"
    state.parent.mkdir(parents=True)
    state.write_text("faulty,write_error\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shrink, "its size changed from 1 MiB to 512 KiB (524,288 bytes)."),
        (replaced, "the disk was disconnected, or another one is in its place."),
        (offline, "the kernel has taken the disk offline (state “offline”)."),
        (gone, "the disk is gone."),
        (faulty, "the array md127 has marked the disk as faulty."),
    ],
)
def test_changed_disk_by_node_and_serial(
    sys_folder: Path, change: Callable[[Path], None], words: str
) -> None:
    members = Members((DISK, OTHER), sys_folder)
    assert troubles(members) == []
    change(sys_folder / "devices" / "sdb")
    assert troubles(members) == [f"/dev/sdb (serial number S4EW-1): {words}"]


def test_healthy_array_member_is_no_trouble(sys_folder: Path) -> None:
    faulty(sys_folder / "devices" / "sdb")
    (sys_folder / "devices/sdb/sdb1/holders/md127/md/dev-sdb1/state").write_text("in_sync\n")
    assert troubles(Members((DISK,), sys_folder)) == []


@pytest.mark.parametrize(
    "line",
    [
        "I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        "Buffer I/O error on dev sdb1, logical block 23, lost async page write",
        "sd 2:0:0:0: [sdb] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT",
        "md/raid1:md127: Disk failure on sdb1, disabling device.",
        "sdb: detected capacity change from 6291456 to 6100000",
        "EXT4-fs error (device sdb1): ext4_find_entry:1463: inode #2: comm postgres: reading directory",
        "BTRFS error (device sdb1): bdev /dev/sdb1 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0",
        "XFS (sdb1): Filesystem has been shut down due to log error (0x2).",
    ],
)
def test_kernel_line_about_failing_disk(sys_folder: Path, line: str) -> None:
    (found,) = Members((DISK, OTHER), sys_folder).reported_by_kernel(("nothing", line))
    assert found.disk is DISK
    assert found.text == f"/dev/sdb (serial number S4EW-1): the kernel reports “{line.rstrip('.')}”."


@pytest.mark.parametrize(
    "line",
    [
        "EXT4-fs (sdb1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
        "EXT4-fs (sdb1): unmounting filesystem 6f6a4d4e.",
        "XFS (sdb1): Ending clean mount",
        "BTRFS info (device sdb1): using free space tree",
        "operation not supported error, dev sdb, sector 2048 op 0x9:(WRITE_ZEROES) flags 0x800",
        "critical target error, dev sdb, sector 2048 op 0x3:(DISCARD) flags 0x800",
        "I/O error, dev sdbb, sector 2048 op 0x1:(WRITE)",
        "I/O error, dev asdb, sector 2048 op 0x1:(WRITE)",
        " sdb: sdb1",
    ],
)
def test_harmless_or_unrelated_kernel_line(sys_folder: Path, line: str) -> None:
    assert list(Members((DISK, OTHER), sys_folder).reported_by_kernel((line,))) == []
