"""Disks that the journal keeps: their content, and their release by a user who has seen it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import FootingError, StorageError
from app.domain.messages.message import WireMessage, error_text, message_to_wire, say
from app.domain.storage_plan.kept_disk import KeptContent, KeptDisk, ReleaseOutcome, kept_to_wire
from app.domain.storage_plan.wire import identity_from_wire
from app.helper.base import audit
from app.helper.storage.devices import find_device
from app.helper.storage.journal import JournalEntry
from app.helper.storage.leftovers import RULE, Leftovers
from app.helper.storage.pending_plans import name_of
from app.storage.layout.names import PlannedDevice
from app.storage.wiping.found import MEMBER_OF_ARRAY, MEMBER_OF_POOL
from app.storage.wiping.offered import OfferedDisk

Released = tuple[str, WireMessage, WireMessage]
"""Outcome, reason for keeping the disk, and a remedy."""


def inspect_kept(wire: Sequence[Any], leftovers: Leftovers) -> tuple[tuple[Any, ...], str]:
    """Return the answer of InspectKept.

    Raises:
        MethodError: DiskRefused, Busy, Unknown.
        FootingError, OSError: the disk cannot be inspected.
    """
    disk = identity_from_wire(wire)
    device = find_device(leftovers.disks, disk)
    leftovers.retry([disk])
    entry = _kept_by(disk, leftovers)
    kept = KeptDisk(False, False, False, entry.began_s, (), entry.kept.get(disk.key(), ""))  # noqa: FBT003
    if running := leftovers.under_way(entry.session):  # a disk that hangs is not read
        unseen = DiskRefusal(RULE, say("not-looked-at"), running)
        return kept_to_wire(replace(kept, obstacles=(unseen,))), ""
    try:
        users = leftovers.disks.users(device.node, disk)
        seen = leftovers.offered(disk)
    except (FootingError, OSError) as err:  # without having seen it, a user cannot agree
        unseen = DiskRefusal(RULE, say("not-looked-at"), error_text(err))
        return kept_to_wire(replace(kept, obstacles=(unseen,))), ""
    if seen is None:  # it was released a moment ago
        raise MethodError("Unknown", "not-kept")
    kept = replace(
        kept,
        will_wipe=seen.is_ours,
        is_table_ours=seen.is_our_table,
        is_as_left=seen.is_as_left,
        contents=tuple(_contents(device, seen)),
        unseen="" if seen.held else _unseen(seen),
        obstacles=tuple(DiskRefusal(RULE, each.message, each.evidence, each.remedy) for each in users),
    )
    return kept_to_wire(kept), seen.digest


def check_kept(wire: Sequence[Any], leftovers: Leftovers) -> str:
    """Return the name of a disk for polkit's question, as root sees the disk.

    Raises:
        MethodError: DiskRefused: it is gone or another one. Busy, Unknown: the journal does not keep it.
    """
    disk = identity_from_wire(wire)
    find_device(leftovers.disks, disk)
    _kept_by(disk, leftovers)
    return name_of(disk)


def release_kept(wire: Sequence[Any], digest: str, user: int, leftovers: Leftovers) -> Released:
    """Release a disk as the user has agreed, and return the answer of ReleaseKept.

    Raises:
        MethodError: as `check_kept`: it may have changed while polkit asked.
    """
    disk = identity_from_wire(wire)
    name = check_kept(wire, leftovers)
    outcome, why, hint = ReleaseOutcome.KEPT, "", ""
    try:
        outcome = _released(disk, digest, leftovers)
    except FootingError as err:
        why, hint = err.message, err.hint
    except OSError as err:
        why = error_text(err)
    audit.note("release of %s, asked by user %d: %s %s", name, user, outcome.value, why)
    return outcome.value, message_to_wire(why), message_to_wire(hint)


def _released(disk: DiskIdentity, digest: str, leftovers: Leftovers) -> ReleaseOutcome:
    """Release a disk that is as it was shown; the helper inspects it again, exclusively, before that.

    Raises:
        FootingError, OSError: it is not released.
    """
    seen = leftovers.offered(disk)
    if seen is None or not secrets.compare_digest(seen.digest, digest):
        raise StorageError(say("not-as-shown", disk=name_of(disk)), hint=say("look-again"))
    is_wiped = disk in leftovers.release({disk: digest})
    return ReleaseOutcome.WIPED if is_wiped else ReleaseOutcome.DROPPED


def _kept_by(disk: DiskIdentity, leftovers: Leftovers) -> JournalEntry:
    if (entry := leftovers.left_on(disk)) is not None:
        return entry
    if any(entry.holds(disk) for entry in leftovers.journal.entries()[0]):
        raise MethodError("Busy", "session")
    raise MethodError("Unknown", "not-kept")


def _unseen(seen: OfferedDisk) -> str:
    """Return that the content of an array or pool is not visible, and how to see it; empty otherwise."""
    for each in seen.inside:
        if each.type == MEMBER_OF_ARRAY:
            return say("array-unseen", uuid=each.uuid)
        if each.type == MEMBER_OF_POOL:
            return say("pool-unseen", pool=each.label)
    return ""


def _contents(device: PlannedDevice, seen: OfferedDisk) -> Iterator[KeptContent]:
    """Yield the signatures of a disk; a superblock's details belong to the first one that is deepest."""
    for each in seen.on_disk:
        yield KeptContent(device.node, each.type, each.uuid, each.label)
    if seen.held:
        for each in seen.inside:
            yield KeptContent(device.partition, each.type, each.uuid, each.label)
    node, deepest = (f"{device.partition} (md)", seen.held) if seen.held else (device.partition, seen.inside)
    use = seen.use
    for each in deepest:
        content = KeptContent(node, each.type, each.uuid, each.label)
        if use is not None:
            content = replace(
                content,
                mounted_at=use.mounted_at,
                mounted_s=float(use.mounted_s),
                used_bytes=use.used_bytes,
                size_bytes=use.size_bytes,
            )
            use = None
        yield content
