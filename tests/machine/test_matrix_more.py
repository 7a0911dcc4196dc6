"""Layouts that the matrix has not: other disks, blocks of 4 KiB, WAL on disks of its own, a log device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Bitmap, Group, InitialSync, StoragePlan
from app.domain.text import KIB, MIB
from app.storage.spare.spare import SpareDisks
from tests.disks.layout_proof import digest, fill, make_and_unmake
from tests.machine.conftest import RigBlockDevice

pytestmark = [
    pytest.mark.machine,
    pytest.mark.inside(
        "nvme:768M",
        "sata:768M:7200",
        "scsi:768M:1",
        "virtio:768M,block=4096",
        "virtio:768M,block=4096",
        "virtio:16M",
    ),
]

SMALL = 128 * MIB


@pytest.fixture
def untouched(rig_disks: list[RigBlockDevice]) -> Iterator[None]:
    before = fill(rig_disks[-1].path)
    yield
    assert digest(rig_disks[-1].path) == before


@pytest.fixture
def disks(rig_disks: list[RigBlockDevice], untouched: None) -> tuple[DiskIdentity, ...]:
    return tuple(SpareDisks().identify(disk.path) for disk in rig_disks[:-1])


def prove(plan: StoragePlan, rig_disks: list[RigBlockDevice], numbers: list[int], tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    nodes = [rig_disks[number].path for number in numbers]
    for _ in range(2):
        make_and_unmake(plan, nodes, folder, SpareDisks())


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs", "zfs"])
def test_disks_with_blocks_of_4_kib(
    rig_disks: list[RigBlockDevice], disks: tuple[DiskIdentity, ...], tmp_path: Path, filesystem: str
) -> None:
    plan = StoragePlan(Group(disks[3:4], Level.SINGLE, filesystem, partition_bytes=320 * MIB))
    prove(plan, rig_disks, [3], tmp_path)


def test_mirrored_wal_beside_nvme_data(
    rig_disks: list[RigBlockDevice], disks: tuple[DiskIdentity, ...], tmp_path: Path
) -> None:
    wal = Group(
        disks[1:3],
        Level.MIRROR,
        "ext4",
        (("atime", "noatime"),),
        SMALL,
        bitmap=Bitmap.NONE,
        initial_sync=InitialSync.ASSUME_CLEAN,
    )
    data = Group(disks[:1], Level.SINGLE, "xfs", partition_bytes=320 * MIB)
    prove(StoragePlan(data, wal), rig_disks, [0, 1, 2], tmp_path)


def test_unlike_disks_of_a_mirror(
    rig_disks: list[RigBlockDevice], disks: tuple[DiskIdentity, ...], tmp_path: Path
) -> None:
    """What an earlier session left on one of them is where the mirror, never synchronised, is looked at."""
    for name, plan, numbers in (
        ("one", Group(disks[1:2], Level.SINGLE, "btrfs", partition_bytes=320 * MIB), [1]),
        (
            "mirror",
            Group(disks[1:3], Level.MIRROR, "ext4", (), SMALL, initial_sync=InitialSync.ASSUME_CLEAN),
            [1, 2],
        ),
    ):
        (tmp_path / name).mkdir()
        prove(StoragePlan(plan), rig_disks, numbers, tmp_path / name)


def test_a_pool_with_a_mirrored_log_device(
    rig_disks: list[RigBlockDevice], disks: tuple[DiskIdentity, ...], tmp_path: Path
) -> None:
    plan = StoragePlan(Group(disks[:1], Level.SINGLE, "zfs", partition_bytes=SMALL), zfs_log=disks[1:3])
    prove(plan, rig_disks, [0, 1, 2], tmp_path)


def test_custom_chunk_array_over_mixed_disks(
    rig_disks: list[RigBlockDevice], disks: tuple[DiskIdentity, ...], tmp_path: Path
) -> None:
    plan = StoragePlan(Group(disks[:3], Level.RAID5, "ext4", (), SMALL, chunk_bytes=64 * KIB))
    prove(plan, rig_disks, [0, 1, 2], tmp_path)


def test_a_mirror_of_btrfs_with_three_copies(
    rig_disks: list[RigBlockDevice], disks: tuple[DiskIdentity, ...], tmp_path: Path
) -> None:
    plan = StoragePlan(Group(disks[:3], Level.MIRROR, "btrfs", (("mirror_copies", "3"),), 256 * MIB))
    prove(plan, rig_disks, [0, 1, 2], tmp_path)
