"""What is to lie in each partition, what is looked at after each step, and what no step is made of."""

from __future__ import annotations

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Assembler, Level
from app.domain.storage_plan.plan import Group, Role, StoragePlan
from app.domain.text import KIB
from app.storage.layout.commands import build_steps
from app.storage.layout.commands_filesystem import filesystem_steps
from app.storage.layout.conditions import POOL_GUID, NoBtrfs
from app.storage.layout.partitions import alignment_of, members_of
from app.storage.layout.steps import Command, ReadBack, describe
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, disks, plan_of, walk

SINGLE = Level.SINGLE


def signatures(plan: StoragePlan) -> list[tuple[Role, str, str, str]]:
    found = members_of(plan, devices(plan), NAMES)
    return [(it.role, it.signature.type, it.signature.uuid, it.signature.label) for it in found]


def test_partition_signature_of_its_group() -> None:
    wal = Group((disk(2),), SINGLE, "xfs")
    data = Group((disk(1),), SINGLE, "ext4")
    assert signatures(StoragePlan(data, wal=wal)) == [
        (Role.DATA, "ext4", NAMES.filesystem(Role.DATA), ""),
        (Role.WAL, "xfs", NAMES.filesystem(Role.WAL), ""),
    ]
    mirror = Group((disk(3), disk(4)), Level.MIRROR, "xfs")
    assert (
        signatures(StoragePlan(data, wal=mirror))[1:]
        == [(Role.WAL, "linux_raid_member", NAMES.array_uuid(Role.WAL), "")] * 2
    )
    assert NAMES.array_uuid(Role.WAL) != NAMES.array_uuid(Role.DATA)


def test_log_in_data_pool_wal_pool_apart() -> None:
    plan = StoragePlan(
        Group((disk(1),), SINGLE, "zfs"), wal=Group((disk(2),), SINGLE, "zfs"), zfs_log=(disk(3),)
    )
    pools = {role: label for role, _, _, label in signatures(plan)}
    assert pools[Role.ZFS_LOG] == pools[Role.DATA] == NAMES.pool(Role.DATA)
    assert pools[Role.WAL] == NAMES.pool(Role.WAL) != pools[Role.DATA]
    assert {(kind, identifier) for _, kind, identifier, _ in signatures(plan)} == {("zfs_member", POOL_GUID)}


@pytest.mark.parametrize("spec", FILESYSTEMS, ids=lambda spec: spec.id)
def test_only_btrfs_waits_for_kernel_to_forget(spec: object) -> None:
    for each in FILESYSTEMS:
        if each is not spec or SINGLE not in each.levels:
            continue
        plan = plan_of(each, SINGLE, {})
        steps = walk(build_steps(plan, devices(plan), NAMES, FOLDER))
        unmounts = [it for it in steps if isinstance(it, Command) and it.argv[0] == "umount"]
        assert unmounts
        for unmount in unmounts:
            forgotten = [it for it in unmount.after if isinstance(it, NoBtrfs)]
            assert bool(forgotten) is (each.several is Assembler.BTRFS)


@pytest.mark.parametrize("name", [spec.id for spec in FILESYSTEMS if spec.mkfs is None])
def test_filesystem_without_mkfs_is_rejected(name: str) -> None:
    spec, plan = filesystem(name), plan_of(filesystem("xfs"), SINGLE, {})
    members = members_of(plan, devices(plan), NAMES)
    with pytest.raises(ValueError, match=name):
        list(filesystem_steps(plan.data, spec, members, (members[0].node,), NAMES))


@pytest.mark.parametrize(
    "chosen",
    [{"su": 64 * KIB}, {"sw": 4}, {"stride": 16}, {"stripe_width": 32}],
    ids=lambda it: next(iter(it)),
)
def test_partial_stripe_options_not_mixed_with_array(chosen: dict[str, OptionValue]) -> None:
    options = tuple(chosen.items())
    assert alignment_of(Group(disks(4), Level.RAID5, "xfs", options), Assembler.MD) is None
    assert alignment_of(Group(disks(4), Level.RAID5, "xfs"), Assembler.MD) is not None


def test_the_attribute_of_a_folder_is_set() -> None:
    spec = filesystem("btrfs")
    plan = plan_of(spec, SINGLE, {"nocow_attribute": True})
    lines = [describe(it) for it in build_steps(plan, devices(plan), NAMES, FOLDER)]
    assert [line for line in lines if line.startswith("chattr")] == [f"chattr +C {FOLDER}/storage"]


@pytest.mark.parametrize("name", [spec.id for spec in FILESYSTEMS if spec.expected is not None])
def test_filesystem_stripes_on_array_are_read_back(name: str) -> None:
    plan = plan_of(filesystem(name), Level.RAID5, {}, 4)
    (read_back,) = [it for it in build_steps(plan, devices(plan), NAMES, FOLDER) if isinstance(it, ReadBack)]
    assert read_back.expected
