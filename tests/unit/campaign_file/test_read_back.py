"""Every key of target and server names who reads back what it chose, and that one really looks at it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.campaign_file.disks import DISK_FIELDS
from app.campaign_file.fields import POSTGRESQL_FIELDS
from app.campaign_file.kinds import CampaignField, ReadBackBy
from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.campaign.disk_target import unseen_choices
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Bitmap, Group, InitialSync, Scheduler, StoragePlan
from app.domain.text import KIB, MIB
from app.storage.layout.commands import build_steps
from app.storage.layout.steps import (
    AwaitNode,
    ClaimDisks,
    ReadBack,
    ReadBackArray,
    ReadBackPool,
    ReadBackQueue,
    Step,
)
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, disks

MIRROR = Group(disks(2), Level.MIRROR, "ext4", partition_bytes=700 * MIB)
STRIPE = Group(disks(2), Level.STRIPE, "ext4", chunk_bytes=64 * KIB)
POOL = Group(disks(2), Level.STRIPE, "zfs")

CHANGES: dict[str, list[tuple[StoragePlan, StoragePlan]]] = {
    "data": [(StoragePlan(MIRROR), StoragePlan(replace(MIRROR, disks=disks(3))))],
    "level": [
        (StoragePlan(STRIPE), StoragePlan(replace(STRIPE, level=Level.MIRROR, chunk_bytes=None))),
        (StoragePlan(POOL), StoragePlan(replace(POOL, level=Level.MIRROR))),
        *(
            (StoragePlan(Group(disks(4), one, name)), StoragePlan(Group(disks(4), other, name)))
            for name in ("xfs", "btrfs", "zfs")
            for one, other in ((Level.RAID5, Level.RAID6), (Level.STRIPE, Level.RAID10))
        ),
    ],
    "filesystem": [(StoragePlan(MIRROR), StoragePlan(replace(MIRROR, filesystem="xfs")))],
    "partition_size": [(StoragePlan(MIRROR), StoragePlan(replace(MIRROR, partition_bytes=701 * MIB)))],
    "chunk_size": [(StoragePlan(STRIPE), StoragePlan(replace(STRIPE, chunk_bytes=128 * KIB)))],
    "bitmap": [(StoragePlan(MIRROR), StoragePlan(replace(MIRROR, bitmap=Bitmap.NONE)))],
    "scheduler": [
        (StoragePlan(each), StoragePlan(replace(each, scheduler=Scheduler.NONE))) for each in (STRIPE, POOL)
    ],
    "read_ahead": [
        (StoragePlan(STRIPE), StoragePlan(replace(STRIPE, read_ahead_bytes=0))),
        (
            StoragePlan(replace(STRIPE, read_ahead_bytes=128 * KIB)),
            StoragePlan(replace(STRIPE, read_ahead_bytes=MIB)),
        ),
    ],
    "zfs_log": [
        (StoragePlan(POOL), StoragePlan(POOL, zfs_log=(disk(3),))),
        (StoragePlan(POOL, zfs_log=(disk(3),)), StoragePlan(POOL, zfs_log=(disk(3), disk(4)))),
    ],
}
"""Plans that differ in one key alone."""


def looked_at(plan: StoragePlan) -> set[Step]:
    """Return the steps of root's that look at what was made, and at which disks."""
    kinds = (ReadBack, ReadBackArray, ReadBackPool, ReadBackQueue, AwaitNode, ClaimDisks)
    return {each for each in build_steps(plan, devices(plan), NAMES, FOLDER) if isinstance(each, kinds)}


@pytest.mark.parametrize("field", [*DISK_FIELDS, *POSTGRESQL_FIELDS], ids=lambda field: field.name)
def test_every_key_names_who_reads_it_back(field: CampaignField) -> None:
    assert field.read_back is not None
    assert (field.read_back is ReadBackBy.ROOT) == (field.name in CHANGES and field in DISK_FIELDS)


@pytest.mark.parametrize("name", CHANGES)
def test_helper_view_changes_with_read_back_keys(name: str) -> None:
    for one, other in CHANGES[name]:
        assert looked_at(one) != looked_at(other), (one, other)


def test_choices_without_read_back_marked() -> None:
    (key,) = (field.name for field in DISK_FIELDS if field.read_back is ReadBackBy.NONE)
    group = GroupChoice(("A", "B"), Level.MIRROR, "ext4", initial_sync=InitialSync.ASSUME_CLEAN)
    ((name, value, _),) = unseen_choices(DiskTarget(group))
    assert (key, value) == (name, "assume-clean")
