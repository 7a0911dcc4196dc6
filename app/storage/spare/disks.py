"""List the disks of this machine for users: each with its answer, reasons and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.disk_answers import Disk
from app.domain.storage_plan.plan import PARTITION_TYPE
from app.storage.inspect.snapshot import DiskFacts, Geometry, Policy, Snapshot
from app.storage.inspect.sources import SourceFolders
from app.storage.inspect.udisks_objects import Drive, Objects, drive_of, with_udisks
from app.storage.spare.inspect import DiskProgress, ignore_progress, inspect_machine
from app.storage.spare.rules import SpareDecision, decide
from app.storage.spare.rules_disk import is_loop

_NO_MEDIUM = Geometry(0, False, False, "", 512, 512, rotational=None)  # noqa: FBT003 - by position, as sysfs has them


MOUNTS: Final = "/run/pgfooting/"
"""The helper mounts below this folder (`app.helper.base.audit.RUN`)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Result of `list_disks`.

    Attributes:
        disks: all possible disks, by name.
        others: names of block devices that cannot be disks.
        as_root: whether every question could be answered.
    """

    disks: tuple[Disk, ...]
    others: tuple[str, ...]
    as_root: bool


def list_disks(
    policy: Policy,
    places: SourceFolders | None = None,
    objects: Objects | None = None,
    progress: DiskProgress = ignore_progress,
) -> Listing:
    """Inspect this machine and return its disks, without asking UDisks2 itself.

    Takes well under a second; as root, which reads the content, some ten seconds per TB of a rotating disk;
    disks are read in parallel.

    Args:
        policy: the caller's.
        places: sources; this machine's without it.
        objects: of UDisks2, if it was asked.
        progress: called with the progress on a disk, in threads.
    """
    places = SourceFolders.of_this_machine() if places is None else places
    return listing_of(inspect_machine(policy, places, progress=progress), policy, places, objects)


def listing_of(
    snapshot: Snapshot, policy: Policy, places: SourceFolders, objects: Objects | None = None
) -> Listing:
    """Return the disks of a snapshot."""
    snapshot = with_udisks(snapshot, objects) if objects is not None else snapshot
    disks = tuple(
        _disk(
            facts,
            decide(snapshot, facts.name, policy),
            bus_of(places, facts.name),
            drive_of(objects or {}, facts),
            is_left_over=_is_left_over(snapshot, facts),
        )
        for facts in snapshot.disks
    )
    return Listing(disks, snapshot.others, places.as_root)


def _is_left_over(snapshot: Snapshot, facts: DiskFacts) -> bool:
    """Return whether pgFooting's partition is on a disk, or it is mounted at the helper's place.

    A running session looks the same: callers of the helper can distinguish them.
    """
    numbers = facts.numbers
    mounted = (use.user for use in snapshot.machine.mounts.known(()) if use.number in numbers)
    types = (record.properties.get("ID_PART_ENTRY_TYPE") for record in facts.udev.known(()))
    return PARTITION_TYPE in types or any(place.startswith(MOUNTS) for place in mounted)


def _disk(facts: DiskFacts, decision: SpareDecision, bus: str, drive: Drive, *, is_left_over: bool) -> Disk:
    medium = facts.medium.known(_NO_MEDIUM)
    identity = facts.identity.known(DiskIdentity("", None, "", medium.size_bytes, facts.number))
    return Disk(
        identity=identity,
        name=facts.name,
        bus=bus or drive.bus,
        rotational=medium.rotational,
        removable=medium.removable,
        read_only=medium.read_only,
        logical_block_bytes=medium.logical_block_bytes,
        physical_block_bytes=medium.physical_block_bytes,
        held_by=decision.users,
        answer=decision.answer,
        refusals=decision.refusals,
        questions=decision.questions,
        is_test_device=is_loop(facts.name),
        is_left_over=is_left_over,
        rotation_rpm=drive.rotation_rpm,
        firmware=drive.firmware,
        looked=decision.looked,
    )


@dataclass(frozen=True, slots=True)
class DiskChange:
    """A disk that came, went or changed: None means absent."""

    before: Disk | None
    after: Disk | None


def changes(before: Sequence[Disk], after: Sequence[Disk]) -> tuple[DiskChange, ...]:
    """Return the changes; a disk that was pulled and plugged in again went and came."""

    def keyed(disks: Sequence[Disk]) -> dict[tuple[str, str, int | None], Disk]:
        return {(disk.name, disk.identity.key(), disk.identity.diskseq): disk for disk in disks}

    old, new = keyed(before), keyed(after)
    gone = [DiskChange(disk, None) for key, disk in old.items() if key not in new]
    come = [DiskChange(None, disk) for key, disk in new.items() if key not in old]
    changed = [DiskChange(old[key], disk) for key, disk in new.items() if key in old and old[key] != disk]
    return (*gone, *changed, *come)


def bus_of(places: SourceFolders, name: str) -> str:
    """Return how a disk is attached: nvme, sata, usb, sas, iscsi, scsi, virtio ...; empty if unknown."""
    if name.startswith("loop"):
        return "loop"
    folder = (places.sys / "block" / name / "device").resolve()
    parts = "/".join(folder.parts)
    if name.startswith("nvme"):
        return "nvme"
    words = (("/usb", "usb"), ("/ata", "sata"), ("/session", "iscsi"), ("/end_device", "sas"))
    for word, bus in words:
        if word in parts:
            return bus
    with suppress(OSError):
        return (folder / "subsystem").readlink().name
    return ""
