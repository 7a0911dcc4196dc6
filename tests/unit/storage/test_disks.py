"""Snapshots, and what UDisks2 adds to them, as the disks that people see."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from app.domain.disk import SpareAnswer
from app.storage.inspect.snapshot import DeviceUse, DiskFacts, Policy, Snapshot, needs_root, read, unreadable
from app.storage.inspect.sources import SourceFolders
from app.storage.inspect.udisks_objects import drive_of, properties, text_of_bytes, with_udisks
from app.storage.spare.disks import DiskChange, changes, listing_of
from app.storage.spare.rules import decide
from tests.unit.storage.blank_disk import DISK, IDENTITY, MACHINE

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data/udisks/objects.json").read_text(encoding="utf-8")
)
POLICY = Policy()
PLACES = SourceFolders(sys=Path("/nowhere"), as_root=True)
SATA = "/org/freedesktop/UDisks2/block_devices/sdb"
BLOCK = "org.freedesktop.UDisks2.Block"


@pytest.fixture
def objects() -> dict[str, Any]:
    return copy.deepcopy(RECORDED)


def numbered(number: str) -> DiskFacts:
    return dataclasses.replace(DISK, number=number)


def snapshot_with(disk: DiskFacts = DISK) -> Snapshot:
    return Snapshot(MACHINE, (disk,))


def against(objects: dict[str, Any]) -> set[str]:
    """Return the rules by which UDisks2 speaks against the recorded SATA disk."""
    snapshot = with_udisks(snapshot_with(), objects)
    return {rule for rule, _ in snapshot.disks[0].udisks.known(())}


def test_drive_by_device_number(objects: dict[str, Any]) -> None:
    assert drive_of(objects, numbered("8:16")).model == "RIG SATA DISK"
    nvme = drive_of(objects, numbered("259:0"))
    assert (nvme.model, nvme.firmware, nvme.rotation_rpm) == ("QEMU NVMe Ctrl", "7.2.22", None)
    assert drive_of(objects, numbered("99:99")).model == ""
    assert drive_of({}, numbered("8:16")).model == ""


def test_rotation_rate(objects: dict[str, Any]) -> None:
    drive = properties(objects, SATA, "Block")["Drive"]
    objects[drive]["org.freedesktop.UDisks2.Drive"]["RotationRate"] = 7200
    assert drive_of(objects, numbered("8:16")).rotation_rpm == 7200


def test_nothing_found_by_udisks(objects: dict[str, Any]) -> None:
    assert against(objects) == set()


@pytest.mark.parametrize(
    ("change", "rule", "what"),
    [
        ({"HintIgnore": True}, "D17", "HintIgnore"),
        ({"IdUsage": "filesystem", "IdType": "ntfs"}, "D08", "ntfs"),
        ({"IdUsage": "filesystem", "IdType": ""}, "D08", "filesystem"),
        ({"IdUsage": "raid", "IdType": "zfs_member"}, "D09", "zfs_member"),
        ({"IdUsage": "raid", "IdType": ""}, "D09", "raid"),
        ({"IdUsage": "crypto", "IdType": "crypto_LUKS"}, "D09", "crypto_LUKS"),
        ({"IdUsage": "other", "IdType": "swap"}, "D09", "swap"),
        ({"MDRaidMember": "/org/freedesktop/UDisks2/mdraid/x"}, "D09", "MDRaidMember"),
        ({"Configuration": [["fstab", {"dir": [47, 115, 0]}]]}, "D11", "fstab /s"),
    ],
)
def test_udisks_speaks_against_a_disk(
    objects: dict[str, Any], change: dict[str, Any], rule: str, what: str
) -> None:
    objects[SATA][BLOCK].update(change)
    assert against(objects) == {rule}
    snapshot = with_udisks(snapshot_with(), objects)
    refusals = decide(snapshot, "sdb", POLICY).refusals
    assert [(each.rule, each.evidence) for each in refusals] == [(rule, f"UDisks2: /dev/sdb: {what}")]


def test_partition_content_counts_for_disk(objects: dict[str, Any]) -> None:
    part = {
        BLOCK: {"Device": [47, 0], "DeviceNumber": 2065, "IdUsage": "filesystem", "IdType": "xfs"},
        "org.freedesktop.UDisks2.Partition": {"Table": SATA},
    }
    objects[f"{SATA}1"] = part
    assert against(objects) == {"D08"}


def test_disk_that_expects_to_fail(objects: dict[str, Any]) -> None:
    drive = properties(objects, SATA, "Block")["Drive"]
    for interface, values in (
        ("Drive.Ata", {"SmartFailing": True}),
        ("NVMe.Controller", {"SmartCriticalWarning": ["spare"]}),
    ):
        changed = copy.deepcopy(objects)
        changed[drive][f"org.freedesktop.UDisks2.{interface}"] = values
        assert against(changed) == {"D16"}


@pytest.mark.parametrize(
    ("value", "text"),
    [([47, 97, 0], "/a"), ("already", "already"), (b"x\0", "x"), ([255, 0], "\udcff"), ([], "")],
)
def test_bytes_of_the_bus_become_text(value: Any, text: str) -> None:  # noqa: ANN401
    assert text_of_bytes(value) == text


def test_listing_answer_reasons_and_users() -> None:
    machine = dataclasses.replace(MACHINE, mounts=read((DeviceUse("8:16", "/srv", "xfs"),)))
    (disk,) = listing_of(Snapshot(machine, (DISK,)), POLICY, PLACES).disks
    assert (disk.answer, disk.held_by) == (SpareAnswer.NOT_SPARE, ("mounted at /srv",))
    assert (disk.identity, disk.rotational) == (IDENTITY, True)
    assert [refusal.rule for refusal in disk.refusals] == ["D05"]


def test_listing_with_udisks_facts(objects: dict[str, Any], tmp_path: Path) -> None:
    drive = properties(objects, SATA, "Block")["Drive"]
    objects[drive]["org.freedesktop.UDisks2.Drive"].update({"ConnectionBus": "ieee1394", "Revision": "F1"})
    objects[SATA][BLOCK]["HintIgnore"] = True
    (disk,) = listing_of(snapshot_with(), POLICY, PLACES, objects).disks
    assert (disk.bus, disk.firmware) == ("ieee1394", "F1")
    assert [refusal.rule for refusal in disk.refusals] == ["D17"]
    assert listing_of(snapshot_with(), POLICY, PLACES).disks[0].bus == ""
    device = tmp_path / "devices/ata3/host2"
    device.mkdir(parents=True)
    (tmp_path / "block/sdb").mkdir(parents=True)
    (tmp_path / "block/sdb/device").symlink_to(device)
    (disk,) = listing_of(snapshot_with(), POLICY, SourceFolders(sys=tmp_path, as_root=True), objects).disks
    assert disk.bus == "sata"


def test_nearly_unreadable_disk_is_listed() -> None:
    facts = dataclasses.replace(DISK, medium=unreadable("x"), identity=unreadable("y"))
    (disk,) = listing_of(snapshot_with(facts), POLICY, PLACES).disks
    assert (disk.answer, disk.identity.serial, disk.identity.device_number) == (
        SpareAnswer.NOT_SPARE,
        "",
        "8:16",
    )


def test_a_user_sees_what_is_open() -> None:
    (disk,) = listing_of(
        snapshot_with(dataclasses.replace(DISK, exclusive=needs_root("x"))), POLICY, PLACES
    ).disks
    assert disk.answer is SpareAnswer.LOOKS_SPARE
    assert [question.rule for question in disk.questions] == ["D14"]


def test_changes_tell_what_came_went_and_changed() -> None:
    (disk,) = listing_of(snapshot_with(), POLICY, PLACES).disks
    other = dataclasses.replace(
        disk, name="sdc", identity=dataclasses.replace(IDENTITY, serial="x", wwn=None)
    )
    used = dataclasses.replace(disk, held_by=("swap",))
    replugged = dataclasses.replace(disk, identity=dataclasses.replace(IDENTITY, diskseq=99))
    assert changes((disk,), (disk,)) == ()
    assert changes((), (disk,)) == (DiskChange(None, disk),)
    assert changes((disk, other), (used,)) == (DiskChange(other, None), DiskChange(disk, used))
    assert changes((disk,), (replugged,)) == (DiskChange(disk, None), DiskChange(None, replugged))
