"""What tests that run inside of the guest may count on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.machine.conftest import RigBlockDevice
from tests.machine.rig_disks import Kind, parse_disk
from tests.machine.test_refused import RIG

pytestmark = [pytest.mark.machine, pytest.mark.inside(*RIG)]


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_root_in_guest_with_spaced_path() -> None:
    assert os.getuid() == 0
    assert Path("/proc/sys/kernel/hostname").read_text() == "rig\n"
    assert " " in str(Path.cwd())


def test_disk_kinds_found_by_serial(rig_disks: list[RigBlockDevice]) -> None:
    found = [(disk.kind, disk.serial) for disk in rig_disks]
    asked = [(disk.kind.value, disk.serial) for disk in map(parse_disk, RIG, range(1, len(RIG) + 1))]
    assert found == [each for each in asked if each[1] and asked.count(each) == 1]
    assert {disk.kind for disk in rig_disks} == set(Kind)
    assert {disk.size_bytes for disk in rig_disks} == {1024**3}
    assert len({disk.path for disk in rig_disks}) == len(rig_disks)


def first(rig_disks: list[RigBlockDevice], kind: Kind) -> RigBlockDevice:
    return next(disk for disk in rig_disks if disk.kind == kind)


def test_udisks_tells_the_serials(rig_disks: list[RigBlockDevice]) -> None:
    status = run("udisksctl", "status")
    assert [disk.serial for disk in rig_disks if disk.serial not in status] == []


def test_rotation_and_world_wide_name_are_told(rig_disks: list[RigBlockDevice]) -> None:
    sata, scsi = first(rig_disks, Kind.SATA), first(rig_disks, Kind.SCSI)
    assert Path(f"/sys/block/{sata.name}/queue/rotational").read_text() == "1\n"
    assert Path(f"/sys/block/{scsi.name}/queue/rotational").read_text() == "0\n"
    assert "5000c50015ea71aa" in run("udevadm", "info", "--query=property", scsi.path)


@pytest.mark.parametrize("module", ["raid1", "raid10", "raid456", "zfs", "f2fs", "btrfs", "xfs", "ext4"])
def test_the_kernel_has(module: str) -> None:
    run("modprobe", module)


def test_zfs_makes_a_pool(rig_disks: list[RigBlockDevice]) -> None:
    disk = first(rig_disks, Kind.VIRTIO).path
    run("modprobe", "zfs")
    run("zpool", "create", "-O", "mountpoint=none", "rigpool", disk)
    try:
        assert "ONLINE" in run("zpool", "status", "rigpool")
    finally:
        run("zpool", "destroy", "rigpool")
        run("wipefs", "--all", disk)
        run("udevadm", "settle")


def test_polkit_and_udisks_answer() -> None:
    names = run(
        "busctl", "--system", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ListNames"
    )
    assert "org.freedesktop.UDisks2" in names
    assert "org.freedesktop.PolicyKit1" in names
