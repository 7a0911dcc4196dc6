"""Disks of a campaign looked for on a machine: found, told apart, large enough, or named with their key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.disk_answers import Disk
from app.domain.options.option_spec import KERNEL
from app.domain.options.raid import Level
from app.domain.storage_plan.reader import PlanError, plan_problems
from app.domain.text import GIB, MIB, TIB
from app.storage.layout.disk_target import (
    Support,
    check_support,
    find_disks,
    is_test_device,
    storage_plan,
    usable_bytes,
)
from app.storage.layout.partitions import whole_disk_bytes
from tests.unit.storage.plans import disk


def machine(*sizes: int) -> list[Disk]:
    """Return disks SERIAL1, SERIAL2 ... of these sizes."""
    return [
        Disk(
            identity=replace(disk(number), size_bytes=size),
            name=f"sd{'abcdefgh'[number]}",
            bus="sas",
            rotational=False,
            removable=False,
            read_only=False,
            logical_block_bytes=512,
            physical_block_bytes=4096,
        )
        for number, size in enumerate(sizes, 1)
    ]


DISKS = machine(TIB, TIB, TIB, TIB, 100 * GIB)
ONE = GroupChoice(("SERIAL1",), Level.SINGLE, "ext4")


def refused(target: DiskTarget, disks: list[Disk], need: int = GIB) -> PlanError:
    with pytest.raises(PlanError) as caught:
        storage_plan(target, disks, need)
    return caught.value


@pytest.mark.parametrize("name", ["SERIAL2", "0x5000c50000000002", " SERIAL2 "])
def test_disk_found_by_serial_and_wwn(name: str) -> None:
    assert [found.identity.serial for found in find_disks(name, DISKS)] == ["SERIAL2"]


@pytest.mark.parametrize("name", ["SERIAL", "ERIAL2", "sdb", "/dev/sdb", "8:16", "", "serial2"])
def test_partial_serial_or_kernel_name(name: str) -> None:
    assert find_disks(name, DISKS) == ()


def test_serial_with_blank_by_file_name() -> None:
    (odd,) = machine(TIB)
    odd = replace(odd, identity=replace(odd.identity, serial="WD WCC4", wwn=None))
    assert find_disks("WD WCC4", [odd]) == find_disks("WD_WCC4", [odd]) == (odd,)


def test_wwn_with_blank_by_file_name() -> None:
    (odd,) = machine(TIB)
    odd = replace(odd, identity=replace(odd.identity, wwn="nvme.1b36-51454d 55"))
    assert find_disks("nvme.1b36-51454d 55", [odd]) == find_disks("nvme.1b36-51454d_55", [odd]) == (odd,)


def nameless() -> Disk:
    (found,) = machine(TIB)
    return replace(found, identity=replace(found.identity, serial="", wwn=None))


def test_disks_without_serial_and_wwn() -> None:
    assert find_disks("", [nameless()]) == ()


def test_loop_devices_alone_are_test_devices() -> None:
    found = {
        number: is_test_device(replace(disk(1), device_number=number))
        for number in ("7:0", "7:12", "8:7", "70:7")
    }
    assert found == {"7:0": True, "7:12": True, "8:7": False, "70:7": False}


def test_plan_from_campaign_preset_and_options() -> None:
    data = GroupChoice(("SERIAL3", "SERIAL1"), Level.MIRROR, "xfs", (("agcount", 8),), preset="recommended")
    plan = storage_plan(DiskTarget(data, GroupChoice(("SERIAL2",), Level.SINGLE, "ext4")), DISKS, GIB)
    assert [item.serial for item in plan.data.disks] == ["SERIAL3", "SERIAL1"]
    assert plan.data.chosen["agcount"] == 8
    assert len(plan.data.chosen) > 1  # what the preset says is said as well
    assert plan.wal is not None
    assert plan.wal.disks[0].serial == "SERIAL2"
    assert plan_problems(plan) == ()


def test_default_partition_size() -> None:
    stripe = GroupChoice(("SERIAL1", "SERIAL2"), Level.STRIPE, "ext4")
    assert storage_plan(DiskTarget(ONE), DISKS, GIB).data.partition_bytes == 16 * GIB
    assert storage_plan(DiskTarget(ONE), DISKS, 10 * GIB).data.partition_bytes == 40 * GIB
    assert storage_plan(DiskTarget(stripe), DISKS, 10 * GIB).data.partition_bytes == 20 * GIB
    mirror = replace(stripe, level=Level.MIRROR)
    assert storage_plan(DiskTarget(mirror), DISKS, 10 * GIB).data.partition_bytes == 40 * GIB
    small = replace(ONE, disks=("SERIAL5",))
    assert storage_plan(DiskTarget(small), DISKS, 90 * GIB).data.partition_bytes == whole_disk_bytes(
        [100 * GIB]
    )


def test_stated_size_and_whole_disk() -> None:
    stated = replace(ONE, partition_bytes=3 * GIB)
    assert storage_plan(DiskTarget(stated), DISKS, GIB).data.partition_bytes == 3 * GIB
    assert storage_plan(DiskTarget(replace(ONE, whole_disk=True)), DISKS, GIB).data.partition_bytes is None


def test_absent_disk_named_with_present_ones() -> None:
    data = GroupChoice(("SERIAL1", "S\x1b[2J"), Level.MIRROR, "xfs")
    target = DiskTarget(data, GroupChoice(("GONE",), Level.SINGLE, "xfs"))
    error = refused(target, DISKS)
    assert [problem.path for problem in error.problems] == [
        "target.disks.data[2]",
        "target.disks.wal.data[1]",
    ]
    assert "SERIAL4" in error.message
    assert "\x1b" not in str(error)


@pytest.mark.parametrize(("count", "cut"), [(12, ""), (13, " …")])
def test_at_most_twelve_disks_named(count: int, cut: str) -> None:
    without_serial = replace(DISKS[0], identity=replace(disk(0), serial=" "))
    here = [
        nameless(),
        without_serial,
        *(
            replace(DISKS[0], identity=replace(disk(1), serial=f"S{number}"))
            for number in range(2, count + 1)
        ),
    ]
    (problem,) = refused(DiskTarget(replace(ONE, disks=("GONE",))), here).problems
    names = ["0x5000c50000000000", *(f"S{number}" for number in range(2, 13))]
    assert problem.hint == ", ".join(names) + cut


def test_btrfs_mirror_copies_need_room() -> None:
    size = (("mirror_copies", "3"),)
    three = GroupChoice(("SERIAL1", "SERIAL2", "SERIAL3"), Level.MIRROR, "btrfs", partition_bytes=3 * GIB)
    used = {
        options: usable_bytes(storage_plan(DiskTarget(replace(three, options=options)), DISKS, MIB).data)
        for options in ((), size)
    }
    assert used == {(): 9 * GIB // 2, size: 3 * GIB}


def test_duplicate_serials_told_apart_by_wwn() -> None:
    twins = [replace(each, identity=replace(each.identity, serial="TWIN")) for each in DISKS[:2]]
    error = refused(DiskTarget(replace(ONE, disks=("TWIN",))), twins)
    assert error.field == "target.disks.data[1]"
    assert "sdb, sdc" in error.message
    by_wwn = DiskTarget(replace(ONE, disks=("0x5000c50000000001",)))
    assert storage_plan(by_wwn, twins, GIB).data.disks[0].device_number == "8:16"


def test_one_disk_under_two_names() -> None:
    pair = GroupChoice(("SERIAL1", "0x5000c50000000001"), Level.MIRROR, "xfs")
    error = refused(DiskTarget(pair), DISKS)
    assert {problem.path for problem in error.problems} == {"target.disks.data[1]", "target.disks.data[2]"}


def test_what_is_too_small_is_named() -> None:
    assert refused(DiskTarget(ONE), machine(GIB), 2 * GIB).field == "target.disks.data"
    stated = DiskTarget(replace(ONE, partition_bytes=GIB))
    assert refused(stated, DISKS, 2 * GIB).field == "target.disks.partition_size"
    assert refused(stated, machine(512 * MIB), GIB).field == "target.disks.partition_size"
    tiny = DiskTarget(replace(ONE, filesystem="xfs"))
    assert refused(tiny, machine(32 * MIB), MIB).field == "target.disks.partition_size"


def test_campaign_position_in_field_name() -> None:
    with pytest.raises(PlanError) as caught:
        storage_plan(DiskTarget(ONE), [], GIB, place="configuration[2].target.disks")
    assert caught.value.field == "configuration[2].target.disks.data[1]"


MODERN = Support(
    "6.1.0",
    frozenset({"ext4", "xfs"}),
    programs={
        name: f"/usr/sbin/{name}" for name in ("mkfs.ext4", "dumpe2fs", "e2fsck", "mkfs.xfs", "xfs_info")
    },
    versions={KERNEL: (6, 1)},
)


def unsupported(target: DiskTarget) -> str:
    with pytest.raises(PlanError) as caught:
        check_support(target, MODERN)
    return caught.value.message


def test_unavailable_plan_refused_before_asking() -> None:
    assert "target.disks.filesystem: " in unsupported(DiskTarget(replace(ONE, filesystem="btrfs")))
    old = replace(ONE, filesystem="xfs", options=(("barrier", False),))
    assert "target.disks.wal.options.barrier: " in unsupported(DiskTarget(ONE, old))
    mirror = replace(ONE, disks=("SERIAL1", "SERIAL2"), level=Level.MIRROR)
    assert "mdadm" in unsupported(DiskTarget(mirror))
