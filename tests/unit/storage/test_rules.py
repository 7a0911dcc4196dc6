"""The spare-disk rules over snapshots: what each refuses, and that nothing unread is ever accepted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.disk import SpareAnswer
from app.domain.storage_plan.plan import PARTITION_TYPE
from app.storage.inspect.snapshot import (
    NO_MARKS,
    ChangesSinceRelease,
    Content,
    DeviceUse,
    DiskFacts,
    FullRead,
    Geometry,
    Hardware,
    KnownDisk,
    MachineSnapshot,
    PartitionFacts,
    Policy,
    Reading,
    Reference,
    ReleaseComparison,
    ReleaseRecord,
    Signature,
    Snapshot,
    SourceKnowledge,
    UdevProperties,
    absent,
    needs_root,
    read,
    unreadable,
)
from app.storage.spare.rules import RULES, SpareDecision, decide, is_in_use
from app.storage.spare.rules_disk import SpareRule, View, judge, reading_of
from tests.cases import each_case
from tests.unit.storage.blank_disk import (
    DISK,
    IDENTITY,
    MACHINE,
    MEDIUM,
    decided,
    replaced,
    rules_of,
    with_reading,
)

SPARE = Snapshot(MACHINE, (DISK,))
POLICY = Policy()
READINGS = [f"machine.{field.name}" for field in dataclasses.fields(MachineSnapshot)] + [
    f"disk.{field.name}"
    for field in dataclasses.fields(DiskFacts)
    if field.name not in {"name", "number", "written", "marks"}
]
PAIRS = [(rule, source) for rule in RULES for source in rule.sources]


def names(pair: tuple[SpareRule, str]) -> str:
    return f"{pair[0].id}-{pair[1]}"


def verdict_with(rule: SpareRule, source: str, reading: Reading[Any]) -> tuple[set[str], set[str]]:
    snapshot = with_reading(source, reading)
    verdict = judge(rule, View(snapshot.machine, snapshot.disks[0], POLICY))
    return {each.evidence for each in verdict.refusals}, {each.evidence for each in verdict.questions}


def test_blank_unused_disk_is_spare() -> None:
    decision = decide(SPARE, "sdb", POLICY)
    assert (decision.answer, decision.refusals, decision.questions) == (SpareAnswer.SPARE, (), ())


@each_case("pair", PAIRS)
def test_a_source_that_cannot_be_read_refuses(pair: tuple[SpareRule, str]) -> None:
    rule, source = pair
    refusals, _ = verdict_with(rule, source, unreadable("Input/output error"))
    assert refusals == {f"{source}: Input/output error"}
    assert rule.id in rules_of(decide(with_reading(source, unreadable("x")), "sdb", POLICY))


@each_case("pair", PAIRS)
def test_partial_source_refuses(pair: tuple[SpareRule, str]) -> None:
    rule, source = pair
    whole = reading_of(View(MACHINE, DISK, POLICY), source)
    refusals, _ = verdict_with(rule, source, unreadable("denied", whole.value))
    assert refusals == {f"{source}: denied"}


@each_case("pair", PAIRS)
def test_root_only_source_leaves_a_question(pair: tuple[SpareRule, str]) -> None:
    rule, source = pair
    refusals, questions = verdict_with(rule, source, needs_root("Permission denied"))
    assert (refusals, questions) == (set(), {f"{source}: Permission denied"})
    assert decide(with_reading(source, needs_root("x")), "sdb", POLICY).answer is SpareAnswer.LOOKS_SPARE


@each_case("pair", PAIRS)
def test_absent_source_refuses_unless_allowed(pair: tuple[SpareRule, str]) -> None:
    rule, source = pair
    refusals, questions = verdict_with(rule, source, absent("not here"))
    assert questions == set()
    assert refusals == (set() if source in rule.may_be_absent else {f"{source}: not here"})


@each_case("rule", RULES)
def test_rule_reads_only_its_sources(rule: SpareRule) -> None:
    """Otherwise a gap in that source would go unnoticed."""
    machine, disk = MACHINE, DISK
    for source in set(READINGS) - set(rule.sources):
        machine, disk = replaced(machine, disk, source, unreadable("not named"))
    assert judge(rule, View(machine, disk, POLICY)) == judge(rule, View(MACHINE, DISK, POLICY))


def test_every_source_belongs_to_a_rule() -> None:
    assert {source for rule in RULES for source in rule.sources} == set(READINGS)


@pytest.mark.parametrize("source", ["disk.hardware", "disk.medium", "disk.content", "disk.exclusive"])
def test_skipped_source_is_never_spare(source: str) -> None:
    decision = decide(with_reading(source, Reading(SourceKnowledge.PASSED_OVER)), "sdb", POLICY)
    assert decision.answer is SpareAnswer.NOT_SPARE


@given(
    states=st.fixed_dictionaries(
        {source: st.sampled_from(list(SourceKnowledge)) for source in READINGS},
    )
)
def test_spare_needs_every_source(states: dict[str, SourceKnowledge]) -> None:
    machine, disk = MACHINE, DISK
    for source, state in states.items():
        whole = reading_of(View(MACHINE, DISK, POLICY), source)
        changed = Reading(state, whole.value if state is SourceKnowledge.READ else None, "changed")
        if state is SourceKnowledge.READ and whole.state is not SourceKnowledge.READ:
            changed = read(())
        machine, disk = replaced(machine, disk, source, changed)
    answer = decide(Snapshot(machine, (disk,)), "sdb", POLICY).answer
    lacking = [
        source
        for rule in RULES
        for source in rule.sources
        if states[source] is not SourceKnowledge.READ
        and not (states[source] is SourceKnowledge.ABSENT and source in rule.may_be_absent)
    ]
    assert (answer is SpareAnswer.SPARE) == (not lacking)
    assert (answer is SpareAnswer.LOOKS_SPARE) <= all(
        states[source] is SourceKnowledge.NEEDS_ROOT for source in lacking
    )


BAD: list[tuple[str, str, object]] = [
    ("D01", "disk.hardware", Hardware("", hidden=False)),
    ("D01", "disk.hardware", Hardware("scsi", hidden=True, scsi_type=0)),
    ("D01", "disk.hardware", Hardware("scsi", hidden=False, scsi_type=5)),
    ("D01", "disk.hardware", Hardware("mmc", hidden=False)),
    ("D02", "disk.medium", dataclasses.replace(MEDIUM, size_bytes=0)),
    ("D02", "disk.medium", dataclasses.replace(MEDIUM, size_bytes=300 * 1024**2)),
    ("D02", "disk.medium", dataclasses.replace(MEDIUM, read_only=True)),
    ("D02", "disk.medium", dataclasses.replace(MEDIUM, removable=True)),
    ("D02", "disk.medium", dataclasses.replace(MEDIUM, zoned="host-managed")),
    ("D03", "disk.holders", (DeviceUse("8:16", "md127", "sdb"),)),
    ("D03", "disk.holders", (DeviceUse("8:16", "dm-3", "sdb"),)),
    ("D03", "disk.holders", (DeviceUse("8:16", "bcache0", "sdb"),)),
    ("D04", "machine.swaps", (DeviceUse("8:16", "/dev/sdb", "/proc/swaps"),)),
    ("D05", "machine.mounts", (DeviceUse("8:16", "/srv", "xfs, mnt:[1]"),)),
    ("D06", "machine.btrfs", (DeviceUse("8:16", "btrfs 0e1f", "/sys/fs/btrfs/0e1f/devices/sdb"),)),
    ("D07", "machine.pools", (DeviceUse("8:16", "tank", "zpool status: /dev/sdb"),)),
    ("D08", "disk.content", Content((Signature("ext4", "filesystem", 1080),), (1024,))),
    ("D08", "disk.content", Content((Signature("gpt", "table", 512),), (510,))),
    ("D08", "disk.partitions", (PartitionFacts("sdb1", "8:17", 1048576, 10**9),)),
    ("D08", "disk.udev", (UdevProperties("8:16", {"ID_PART_TABLE_TYPE": "dos"}, ()),)),
    ("D08", "disk.udev", (UdevProperties("8:16", {"ID_FS_TYPE": "ntfs", "ID_FS_USAGE": "filesystem"}, ()),)),
    ("D08b", "disk.content", Content(edges=(4096,))),
    ("D08b", "disk.content", Content(samples=(10**9,), sampled=71)),
    ("D09", "disk.content", Content((Signature("LVM2_member", "volume", 512),), (512,))),
    ("D09", "disk.content", Content((Signature("linux_raid_member", "raid", 4096),), (4096,))),
    ("D09", "disk.content", Content((Signature("crypto_LUKS", "encryption", 0),), (0,))),
    ("D09", "disk.content", Content((Signature("swap", "swap", 4086),), (4086,))),
    ("D09", "disk.udev", (UdevProperties("8:16", {"ID_FS_TYPE": "zfs_member", "ID_FS_USAGE": "raid"}, ()),)),
    ("D10", "machine.identities", (KnownDisk("sdb", "A", "naa.9"), KnownDisk("sdc", "B", "naa.9"))),
    ("D10", "machine.identities", (KnownDisk("sdb", "A123", None), KnownDisk("sdc", "A123", "naa.9"))),
    ("D10", "disk.udev", (UdevProperties("8:16", {"DM_MULTIPATH_DEVICE_PATH": "1"}, ()),)),
    ("D11", "machine.fstab", (Reference("/etc/fstab", "/dev/sdb", "8:16"),)),
    ("D11", "machine.crypttab", (Reference("/etc/crypttab", "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"),)),
    ("D11", "machine.mdadm", (Reference("/etc/mdadm/mdadm.conf", "/dev/sdb"),)),
    ("D11", "machine.lvm", (Reference("/etc/lvm/devices/system.devices", "IDNAME=naa.5000c500a1b2c3d4"),)),
    ("D11", "machine.zpool_cache", (Reference("/etc/zfs/zpool.cache", "/dev/disk/by-id/ata-x_Z1D0ABCD"),)),
    ("D11", "machine.units", (Reference("/etc/systemd/system/srv.mount", "/dev/sdb"),)),
    ("D11", "machine.cmdline", (Reference("/proc/cmdline", "/dev/sdb"),)),
    ("D12", "machine.hibernation", "8:16"),
    ("D12", "machine.stacking", {"8:1": ("253:0",), "253:0": ("8:16",)}),
    ("D13", "machine.openers", (DeviceUse("8:16", "qemu (process 9)", "/proc/9/fd/11"),)),
    ("D13", "machine.loops", (DeviceUse("8:16", "/dev/loop3", "/sys/block/loop3/loop"),)),
    ("D13", "machine.targets", (DeviceUse("8:16", "/dev/sdb", "/sys/kernel/config/nvmet"),)),
    ("D13", "machine.arrays", (DeviceUse("8:16", "md127", "/proc/mdstat"),)),
    ("D13", "machine.sees_all", False),
    ("D14", "disk.exclusive", "open(/dev/sdb, O_EXCL): Device or resource busy"),
    ("D15", "disk.identity", dataclasses.replace(IDENTITY, serial="", wwn=None)),
    ("D15", "disk.identity", dataclasses.replace(IDENTITY, serial="0000000000", wwn=None)),
    ("D16", "disk.health", ("SMART: a threshold is exceeded",)),
    ("D16", "disk.udisks", (("D16", "UDisks2: SmartFailing"),)),
    ("D17", "disk.udev", (UdevProperties("8:16", {"UDISKS_IGNORE": "1"}, ()),)),
]


@each_case("rule source value", BAD)
def test_each_reason_refused_by_its_rule(rule: str, source: str, value: object) -> None:
    decision = decided(source, value)
    assert rules_of(decision) == {rule}
    assert all(refusal.message and refusal.evidence for refusal in decision.refusals)


def test_every_rule_has_an_example_here() -> None:
    assert {rule for rule, _, _ in BAD} == {rule.id for rule in RULES}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("machine.mounts", (DeviceUse("8:17", "/srv", "ext4"),)),
        ("machine.swaps", (DeviceUse("8:17", "/dev/sdb1"),)),
        ("machine.openers", (DeviceUse("8:17", "dd (process 3)"),)),
    ],
)
def test_what_uses_a_partition_uses_the_disk(source: str, value: tuple[DeviceUse, ...]) -> None:
    disk = dataclasses.replace(DISK, partitions=read((PartitionFacts("sdb1", "8:17", 1048576, 10**9),)))
    machine, _ = replaced(MACHINE, disk, source, read(value))
    found = rules_of(decide(Snapshot(machine, (disk,)), "sdb", POLICY))
    assert found > {"D08"}
    assert is_in_use(Snapshot(machine, (disk,)), "sdb", POLICY)


def test_loop_device_only_in_development_mode() -> None:
    loop = dataclasses.replace(DISK, name="loop3", hardware=read(Hardware("", hidden=False)))
    snapshot = Snapshot(dataclasses.replace(MACHINE, identities=read(())), (loop,))
    refused = decide(snapshot, "loop3", POLICY)
    assert rules_of(refused) == {"D01"}
    assert decide(snapshot, "loop3", Policy(accept_loop_devices=True)).answer is SpareAnswer.SPARE


def test_container_accepts_only_test_loop_devices() -> None:
    machine = dataclasses.replace(MACHINE, sees_all=read(False), identities=read(()))  # noqa: FBT003
    loop = dataclasses.replace(DISK, name="loop3", hardware=read(Hardware("", hidden=False)))
    snapshot = Snapshot(machine, (DISK, loop))
    development = Policy(accept_loop_devices=True)
    assert rules_of(decide(snapshot, "sdb", development)) == {"D13"}
    assert decide(snapshot, "loop3", development).answer is SpareAnswer.SPARE


RECORD = ReleaseRecord(IDENTITY.serial, IDENTITY.wwn, IDENTITY.size_bytes, "d1", 1.8e9)
AS_LEFT = Content(
    edges=(1_050_000,), digest="d1", comparison=ReleaseComparison(ChangesSinceRelease.ALIKE, 1.8e9, 4000)
)
CHANGED = dataclasses.replace(
    AS_LEFT,
    samples=(10**9, 2 * 10**9),
    sampled=4321,
    comparison=ReleaseComparison(ChangesSinceRelease.PLACES, 1.8e9, 4000, (7 * 10**9,)),
)


def decided_with(
    content: Content, *released: ReleaseRecord, partitions: tuple[PartitionFacts, ...] = ()
) -> SpareDecision:
    machine = dataclasses.replace(MACHINE, released=read(released))
    disk = dataclasses.replace(DISK, content=read(content), partitions=read(partitions))
    return decide(Snapshot(machine, (disk,)), "sdb", POLICY)


def with_record(
    content: Content, *released: ReleaseRecord, partitions: tuple[PartitionFacts, ...] = ()
) -> set[str]:
    return rules_of(decided_with(content, *released, partitions=partitions))


def test_old_data_only_as_root_recorded() -> None:
    assert with_record(dataclasses.replace(AS_LEFT, comparison=None)) == {"D08b"}
    assert with_record(AS_LEFT, RECORD) == set()
    looked = decided_with(AS_LEFT, RECORD).looked
    assert looked is not None
    assert (looked.places, looked.released_s, looked.read_s) == (4000, 1.8e9, 0)


def test_record_excuses_no_new_format() -> None:
    assert with_record(Content((Signature("xfs", "filesystem", 0),), (0,)), RECORD) == {"D08"}
    assert with_record(Content((Signature("LVM2_member", "volume", 0),), (0,)), RECORD) == {"D09"}


@pytest.mark.parametrize(
    ("comparison", "evidence"),
    [
        (
            ReleaseComparison(ChangesSinceRelease.PLACES, 1.8e9, 4000, (7 * 10**9,)),
            "1 of 4000 secret samples",
        ),
        (
            ReleaseComparison(ChangesSinceRelease.WRITTEN, 1.8e9, written_bytes=5 * 2**20),
            "5 MiB written since then",
        ),
        (
            ReleaseComparison(ChangesSinceRelease.ENDS, 1.8e9),
            "first or last 16 MiB have changed",
        ),
    ],
    ids=lambda value: value.since.name if isinstance(value, ReleaseComparison) else "",
)
def test_changed_since_release_suggests_full_read(comparison: ReleaseComparison, evidence: str) -> None:
    decision = decided_with(dataclasses.replace(CHANGED, comparison=comparison), RECORD)
    assert rules_of(decision) == {"D08b"}
    first = decision.refusals[0]
    assert first.message == "It was changed since pgFooting released it."
    assert evidence in first.evidence
    assert "pgfooting disks --read Z1D0ABCD" in first.remedy
    assert "blkdiscard --zeroout /dev/sdb" in first.remedy


def test_writes_without_bytes_may_have_failed() -> None:
    failed = ReleaseComparison(ChangesSinceRelease.WRITTEN, 1.8e9)
    first = decided_with(dataclasses.replace(CHANGED, comparison=failed), RECORD).refusals[0]
    assert first.message == "It may have been changed since pgFooting released it."
    assert first.evidence.startswith("the kernel has counted writes since then, but no bytes")


def test_expired_record_excuses_nothing() -> None:
    content = dataclasses.replace(CHANGED, comparison=ReleaseComparison(ChangesSinceRelease.UNKNOWN, 1.8e9))
    decision = decided_with(content, RECORD)
    assert "is void, because the machine or the disk has restarted since" in decision.refusals[0].evidence
    assert decision.refusals[0].message == "It contains data that pgFooting does not recognise."


LOOKS_BLANK = Content(sampled=4321, certain_bytes=2**31)


def test_disk_written_since_release_is_not_blank() -> None:
    written = ReleaseComparison(ChangesSinceRelease.WRITTEN, 1.8e9, written_bytes=3 * 2**20)
    content = dataclasses.replace(LOOKS_BLANK, comparison=written)
    assert with_record(content, RECORD) == {"D08b"}
    everything = FullRead("", None, 1, NO_MARKS, None, 1.9e9)
    assert with_record(dataclasses.replace(content, full_read=everything), RECORD) == set()
    over = dataclasses.replace(written, written_bytes=IDENTITY.size_bytes)
    assert with_record(dataclasses.replace(content, comparison=over), RECORD) == set(), "it was blanked"


def test_data_found_by_full_read_refuses() -> None:
    seen = FullRead("", None, 1, NO_MARKS, 123_456_789, 1.9e9)
    decision = decided_with(dataclasses.replace(LOOKS_BLANK, full_read=seen))
    assert rules_of(decision) == {"D08b"}
    assert "byte 123456789 is not zero" in decision.refusals[0].evidence


def test_unreadable_record_named_where_it_mattered() -> None:
    broken: Reading[tuple[ReleaseRecord, ...]] = Reading(
        SourceKnowledge.READ, (), "These records are broken: x.json"
    )
    content = dataclasses.replace(CHANGED, comparison=None)
    disk = dataclasses.replace(DISK, content=read(content))
    decision = decide(Snapshot(dataclasses.replace(MACHINE, released=broken), (disk,)), "sdb", POLICY)
    assert "x.json" in decision.refusals[0].evidence
    blank = Snapshot(dataclasses.replace(MACHINE, released=broken), (DISK,))
    assert decide(blank, "sdb", POLICY).answer is SpareAnswer.SPARE


def test_a_partition_of_ours_is_never_blank() -> None:
    own = Content(signatures=(Signature("gpt", "table", 512),))
    part = (PartitionFacts("sdb1", "8:17", 1048576, 10**9),)
    assert with_record(own, RECORD, partitions=part) == {"D08"}
    assert with_record(own, partitions=part) == {"D08"}


def test_user_of_our_partition_is_reported() -> None:
    udev = UdevProperties("8:17", {"ID_PART_ENTRY_TYPE": PARTITION_TYPE}, ())
    part = PartitionFacts("sdb1", "8:17", 1048576, 10**9)
    disk = dataclasses.replace(DISK, content=needs_root("x"), partitions=read((part,)), udev=read((udev,)))
    assert rules_of(decide(Snapshot(MACHINE, (disk,)), "sdb", POLICY)) == {"D08"}


@pytest.mark.parametrize(
    "change",
    [
        {"serial": "other"},
        {"wwn": None},
        {"diskseq": 13},
        {"device_number": "8:32"},
        {"size_bytes": 1},
        {"model": "x"},
    ],
)
def test_replaced_disk_is_refused(change: dict[str, Any]) -> None:
    decision = decide(SPARE, "sdb", POLICY, chosen=dataclasses.replace(IDENTITY, **change))
    assert rules_of(decision) == {"D15"}
    assert next(iter(change)) in decision.refusals[0].evidence
    assert decide(SPARE, "sdb", POLICY, chosen=IDENTITY).answer is SpareAnswer.SPARE


@pytest.mark.parametrize(
    ("text", "udev", "means"),
    [
        ("/dev/sdb2", (), False),
        ("/dev/sda", (), False),
        ("/dev/disk/by-path/pci-1-ata-2", (UdevProperties("8:16", {}, ("disk/by-path/pci-1-ata-2",)),), True),
        (
            "/dev/disk/by-path/pci-1-ata-3",
            (UdevProperties("8:16", {}, ("disk/by-path/pci-1-ata-2",)),),
            False,
        ),
        ("UUID=1-2", (UdevProperties("8:16", {"ID_FS_UUID": "1-2"}, ()),), True),
        ("UUID=1-3", (UdevProperties("8:16", {"ID_FS_UUID": "1-2"}, ()),), False),
        ("PARTLABEL=x", (UdevProperties("8:16", {"ID_PART_ENTRY_NAME": "x"}, ()),), True),
        ("/dev/disk/by-id/ata-ST4000NM0033_z1d0abcd-part1", (), True),
        ("/dev/mapper/Z1D0ABCD", (), False),
    ],
)
def test_reference_by_name_link_serial_or_uuid(
    text: str, udev: tuple[UdevProperties, ...], *, means: bool
) -> None:
    machine = dataclasses.replace(MACHINE, fstab=read((Reference("/etc/fstab", text),)))
    disk = dataclasses.replace(DISK, udev=read(udev))
    refusals = decide(Snapshot(machine, (disk,)), "sdb", POLICY).refusals
    assert any(refusal.rule == "D11" for refusal in refusals) is means


def test_two_namespaces_are_two_disks() -> None:
    known = (KnownDisk("sdb", "S5GX", "eui.01"), KnownDisk("nvme0n2", "S5GX", "eui.02"))
    assert rules_of(decided("machine.identities", known)) == set()


def test_erasing_remedies_say_so_without_force() -> None:
    for _, source, value in BAD:
        for refusal in decided(source, value).refusals:
            assert "--force" not in refusal.remedy
            assert ("wipefs" in refusal.remedy) == ("erase everything" in refusal.remedy)


def test_no_unmount_or_erase_of_system_disk() -> None:
    disk = dataclasses.replace(
        DISK,
        partitions=read((PartitionFacts("sdb1", "8:17", 1048576, 10**9),)),
        udev=read((UdevProperties("8:16", {"ID_PART_TABLE_TYPE": "gpt"}, ()),)),
    )
    machine = dataclasses.replace(
        MACHINE, mounts=read((DeviceUse("8:17", "/", "ext4"),)), stacking=read({"8:17": ("8:16",)})
    )
    refusals = decide(Snapshot(machine, (disk,)), "sdb", POLICY).refusals
    assert {refusal.rule for refusal in refusals} == {"D05", "D08", "D12"}
    assert [refusal.remedy for refusal in refusals if refusal.remedy] == []


def test_no_erase_remedy_for_disk_in_use() -> None:
    disk = dataclasses.replace(DISK, partitions=read((PartitionFacts("sdb1", "8:17", 1048576, 10**9),)))
    machine = dataclasses.replace(MACHINE, mounts=read((DeviceUse("8:17", "/srv", "ext4"),)))
    refusals = decide(Snapshot(machine, (disk,)), "sdb", POLICY).refusals
    assert {refusal.rule: refusal.remedy for refusal in refusals} == {
        "D05": "Unmount it: umount /srv",
        "D08": "",
    }


def test_users_of_a_disk_in_words() -> None:
    decision = decided("machine.mounts", (DeviceUse("8:16", "/srv", "xfs"),))
    assert decision.users == ("mounted at /srv",)
    assert decision.refusals[0].remedy == "Unmount it: umount /srv"


def test_smallest_medium_is_enough() -> None:
    medium: Geometry = dataclasses.replace(MEDIUM, size_bytes=Policy().minimum_bytes)
    assert decided("disk.medium", medium).answer is SpareAnswer.SPARE


def test_no_rule_reads_anything_itself() -> None:
    """The rules are pure: none of their modules can open, list or run something."""
    folder = Path(__file__).parents[3] / "app/storage"
    for file in (folder / "inspect/snapshot.py", *folder.glob("spare/rule*.py")):
        source = file.read_text()
        for word in ("import os", "pathlib", "subprocess", "run_program"):
            assert word not in source, (file.name, word)
