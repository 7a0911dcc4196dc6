"""Where the spare-disk rules end: what is just not refused, and what each part of a condition is for."""

from __future__ import annotations

import dataclasses

import pytest

from app.storage.inspect.snapshot import (
    NO_MARKS,
    ChangesSinceRelease,
    Content,
    DeviceUse,
    DiskFacts,
    FullRead,
    KnownDisk,
    MachineSnapshot,
    PartitionFacts,
    Policy,
    Reading,
    Reference,
    ReleaseComparison,
    ReleaseRecord,
    Snapshot,
    UdevProperties,
    needs_root,
    read,
    unreadable,
)
from app.storage.spare.rules import SpareDecision, decide, is_in_use
from app.storage.spare.rules_content import reading_whole
from app.storage.spare.rules_disk import View
from tests.unit.storage.blank_disk import DISK, IDENTITY, MACHINE, MEDIUM, decided, rules_of, with_reading

POLICY = Policy()
RECORD = ReleaseRecord(IDENTITY.serial, IDENTITY.wwn, IDENTITY.size_bytes, "d1", 1.8e9)
PART = (PartitionFacts("sdb1", "8:17", 1048576, 10**9),)
AS_LEFT = ReleaseComparison(ChangesSinceRelease.ALIKE, 1.8e9, 4000)
WRITTEN = ReleaseComparison(ChangesSinceRelease.WRITTEN, 1.8e9, written_bytes=3 * 2**20)


def decide_on(disk: DiskFacts, machine: MachineSnapshot = MACHINE) -> SpareDecision:
    return decide(Snapshot(machine, (disk,)), disk.name, POLICY)


def recorded(content: Content, *, partitions: tuple[PartitionFacts, ...] = ()) -> SpareDecision:
    disk = dataclasses.replace(DISK, content=read(content), partitions=read(partitions))
    return decide_on(disk, dataclasses.replace(MACHINE, released=read((RECORD,))))


# --- D01, D02: which device


@pytest.mark.parametrize("name", ["sr0", "mmcblk0", "sdb1", "st0"])
def test_unknown_device_name_is_no_disk(name: str) -> None:
    disk = dataclasses.replace(DISK, name=name)
    assert rules_of(decide_on(disk, dataclasses.replace(MACHINE, identities=read(())))) == {"D01"}


def test_no_medium_is_told_as_no_medium() -> None:
    decision = decided("disk.medium", dataclasses.replace(MEDIUM, size_bytes=0))
    assert [refusal.message for refusal in decision.refusals] == ["There is no medium in it."]


# --- D10, D15: which disk


@pytest.mark.parametrize(
    ("others", "doubled"),
    [
        ((KnownDisk("sdb", "A123", "naa.9"), KnownDisk("sdc", "A123", None)), True),
        ((KnownDisk("sdb", "", None), KnownDisk("sdc", "", None)), False),
        ((KnownDisk("sdb", "", "naa.9"), KnownDisk("sdc", "", None)), False),
        ((KnownDisk("sda", "A123", None), KnownDisk("sdc", "A123", None)), False),
    ],
)
def test_doubles_by_identifiers_both_have(others: tuple[KnownDisk, ...], *, doubled: bool) -> None:
    assert rules_of(decided("machine.identities", others)) == ({"D10"} if doubled else set())


@pytest.mark.parametrize(
    ("serial", "wwn", "has_one"),
    [("Z1D0ABCD", None, True), ("00000000", "naa.5000c500a1b2c3d4", True), ("0 0-0_0.", None, False)],
)
def test_serial_or_wwn_is_enough(serial: str, wwn: str | None, *, has_one: bool) -> None:
    identity = dataclasses.replace(IDENTITY, serial=serial, wwn=wwn)
    assert rules_of(decided("disk.identity", identity)) == (set() if has_one else {"D15"})


# --- D03 to D07, D12, D13: what uses it


def test_use_with_the_known_detail() -> None:
    use = DeviceUse("8:16", "/srv", "xfs, mnt:[1]")
    assert decided("machine.mounts", (use,)).refusals[0].evidence == "8:16: /srv (xfs, mnt:[1])"
    use = dataclasses.replace(use, detail="")
    assert decided("machine.mounts", (use,)).refusals[0].evidence == "8:16: /srv"


def test_system_location_with_layers_between() -> None:
    root = (DeviceUse("8:16", "/", "ext4"),)
    evidence = [each.evidence for each in decided("machine.mounts", root).refusals if each.rule == "D12"]
    assert evidence == ["/ is on device 8:16"]
    machine = dataclasses.replace(
        MACHINE, mounts=read((DeviceUse("253:0", "/", "ext4"),)), stacking=read({"253:0": ("8:16",)})
    )
    evidence = [each.evidence for each in decide_on(DISK, machine).refusals]
    assert evidence == ["/ is on device 8:16, through 253:0"]


def test_hibernation_remedy_chooses_another_disk() -> None:
    refusals = decided("machine.hibernation", "8:16").refusals
    assert [(each.rule, "another device for hibernation" in each.remedy) for each in refusals] == [
        ("D12", True)
    ]


def test_loop_device_in_container_two_reasons() -> None:
    machine = dataclasses.replace(MACHINE, sees_all=read(False), identities=read(()))  # noqa: FBT003
    loop = dataclasses.replace(DISK, name="loop3")
    assert rules_of(decide_on(loop, machine)) == {"D01", "D13"}


def test_content_alone_is_not_in_use() -> None:
    assert not is_in_use(with_reading("disk.content", read(Content(edges=(4096,)))), "sdb", POLICY)
    assert is_in_use(with_reading("disk.exclusive", read("busy")), "sdb", POLICY)


def test_data_alone_means_no_users() -> None:
    decision = decided("disk.content", Content(edges=(4096,)))
    assert (rules_of(decision), decision.users) == ({"D08b"}, ())


# --- D08, D09: what it carries


def test_table_type_from_udev_of_the_disk() -> None:
    disk = dataclasses.replace(DISK, udev=read((UdevProperties("8:17", {"ID_PART_TABLE_TYPE": "dos"}, ()),)))
    assert rules_of(decide_on(disk)) == set()


@pytest.mark.parametrize("type_", ["swap", "suspend"])
def test_swap_is_member_whatever_udev_says(type_: str) -> None:
    assert rules_of(
        decided("disk.udev", (UdevProperties("8:16", {"ID_FS_TYPE": type_, "ID_FS_USAGE": "other"}, ()),))
    ) == {"D09"}


# --- D08b: what lies on it


def test_expired_record_and_a_blank_disk() -> None:
    unknown = ReleaseComparison(ChangesSinceRelease.UNKNOWN, 1.8e9, written_bytes=7)
    assert rules_of(recorded(Content(sampled=4321, comparison=unknown))) == set()


def test_root_only_records_are_no_reason() -> None:
    machine = dataclasses.replace(MACHINE, released=needs_root("Permission denied"))
    disk = dataclasses.replace(DISK, content=read(Content(edges=(4096,))))
    refusals = decide_on(disk, machine).refusals
    assert [each.evidence for each in refusals] == ["byte 4096 is not zero"]


def test_unknown_size_with_the_written_value() -> None:
    disk = dataclasses.replace(
        DISK, content=read(Content(edges=(4096,), comparison=WRITTEN)), medium=unreadable("gone")
    )
    decision = decide_on(disk, dataclasses.replace(MACHINE, released=read((RECORD,))))
    assert rules_of(decision) == {"D02", "D08b"}


def test_full_read_command_names_the_disk() -> None:
    identity = dataclasses.replace(IDENTITY, serial="a b")
    for known, name in (
        (read(identity), "--read 'a b'"),
        (read(dataclasses.replace(identity, serial="")), f"--read {IDENTITY.wwn}"),
        (unreadable("gone"), "--read /dev/sdb"),
    ):
        view = View(MACHINE, dataclasses.replace(DISK, identity=known), POLICY)
        assert reading_whole(view).endswith(name)


@pytest.mark.parametrize(
    ("content", "read_s", "places"),
    [
        (Content(sampled=71, full_read=FullRead("", None, 1, NO_MARKS, None, 1.9e9)), 1.9e9, 71),
        (
            Content(sampled=71, full_read=FullRead("", None, 1, NO_MARKS, 5, 1.9e9), comparison=AS_LEFT),
            0,
            4000,
        ),
        (
            Content(
                sampled=71,
                comparison=dataclasses.replace(WRITTEN, places=4000, written_bytes=IDENTITY.size_bytes),
            ),
            0,
            71,
        ),
    ],
    ids=["all zeros", "old data, as it was left", "written over as a whole"],
)
def test_answer_rests_on_what_was_read(content: Content, read_s: float, places: int) -> None:
    looked = recorded(content).looked
    assert looked is not None
    assert (looked.read_s, looked.places) == (read_s, places)


# --- D11: who names it


@pytest.mark.parametrize(
    ("reference", "means"),
    [
        (Reference("/etc/fstab", "/dev/mapper/x", "8:16"), True),
        (Reference("/etc/fstab", "/dev/sdb", "8:32"), False),
    ],
)
def test_reference_by_device_number(reference: Reference, *, means: bool) -> None:
    assert (rules_of(decided("machine.fstab", (reference,))) == {"D11"}) is means


def test_short_serial_is_not_searched_in_names() -> None:
    disk = dataclasses.replace(DISK, identity=read(dataclasses.replace(IDENTITY, serial="ab", wwn=None)))
    fstab: Reading[tuple[Reference, ...]] = read((Reference("/etc/fstab", "/dev/disk/by-id/ata-cable"),))
    assert rules_of(decide_on(disk, dataclasses.replace(MACHINE, fstab=fstab))) == set()


def test_link_reference_with_unknown_identity() -> None:
    disk = dataclasses.replace(DISK, identity=unreadable("gone"))
    fstab: Reading[tuple[Reference, ...]] = read((Reference("/etc/fstab", "/dev/disk/by-id/ata-cable"),))
    refusals = decide_on(disk, dataclasses.replace(MACHINE, fstab=fstab)).refusals
    assert {each.evidence for each in refusals} == {"disk.identity: gone"}
