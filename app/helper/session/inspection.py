"""Decide as root whether a disk may be used now, and what the journal keeps of one. Reads only."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer, looked_to_wire, refusal_to_wire
from app.domain.errors import FootingError, StorageError
from app.domain.messages.message import WireMessage, error_text, message_to_wire, say
from app.domain.storage_plan.plan import KeptContent, KeptDisk, ReleaseOutcome, kept_to_wire
from app.domain.storage_plan.reader import identity_from_wire
from app.helper.base import audit
from app.helper.storage.devices import find_device, node_of
from app.helper.storage.journal import JournalEntry
from app.helper.storage.leftovers import RULE, Leftovers
from app.helper.storage.pending_plans import name_of
from app.storage.inspect.disk import read_disk
from app.storage.inspect.records import read_every_byte, record_full_read
from app.storage.inspect.snapshot import DiskFacts
from app.storage.layout.partitions import PlannedDevice
from app.storage.spare.content import opened_disk
from app.storage.spare.rules import SpareDecision, decide
from app.storage.spare.spare import SpareDisks
from app.storage.wiping.found import MEMBER_OF_ARRAY, MEMBER_OF_POOL, OfferedDisk

Progress = Callable[[str, int, int], None]
"""Called with a device number, the amount read and the total: places, or bytes if all are read."""
InspectionAnswer = tuple[
    str, str, list[tuple[str, WireMessage, WireMessage, WireMessage]], tuple[int | float, ...]
]
"""An answer on the bus: device number, answer, reasons, extent of the inspection."""

_DATA: Final = "D08b"
_REPORT_S: Final = 0.25


@dataclass(slots=True)
class _Pace:
    """Report the progress on one disk, at limited frequency."""

    number: str
    progress: Progress
    reported_s: float = 0.0

    def __call__(self, done: int, whole: int) -> None:
        now_s = time.monotonic()
        if now_s - self.reported_s >= _REPORT_S:
            self.reported_s = now_s
            self.progress(self.number, done, whole)


def inspected(wire: Sequence[Any], leftovers: Leftovers, progress: Progress) -> InspectionAnswer:
    """Return the answer of Inspect for one identity."""
    chosen = identity_from_wire(wire)
    try:
        return _answer_of(chosen, _seen(chosen, leftovers, progress)[1])
    except (OSError, KeyError):
        return _answer_of(chosen, _GONE)


def read_whole(
    wire: Sequence[Any], leftovers: Leftovers, progress: Progress, is_cancelled: Callable[[], bool]
) -> InspectionAnswer:
    """Read every byte of a disk, record the result, and return the answer of Read.

    Skips a disk that is refused for another reason, and one with data at its ends or in the samples.

    Raises:
        MethodError: Busy: it was called off. Unavailable: the kernel does not count writes to the disk.
    """
    chosen = identity_from_wire(wire)
    try:
        facts, decision = _seen(chosen, leftovers, progress)
        content = facts.content.known(None)
        others = [each for each in (*decision.refusals, *decision.questions) if each.rule != _DATA]
        if content is None or others or content.edges or content.samples:
            return _answer_of(chosen, decision)
        # SECURITY: a record that no write could end would call a disk blank for ever.
        if not facts.marks.appearance:
            raise MethodError("Unavailable", "not-counted")
        found = _read(facts, leftovers.disks, _Pace(chosen.device_number, progress), is_cancelled)
        return _answer_of(chosen, found or _seen(chosen, leftovers, progress)[1])
    except (OSError, KeyError):
        return _answer_of(chosen, _GONE)


def _read(
    facts: DiskFacts, disks: SpareDisks, pace: _Pace, is_cancelled: Callable[[], bool]
) -> SpareDecision | None:
    """Read every byte and record it; return why the result is invalid, None if it is valid.

    Raises:
        MethodError: Busy.
        OSError: the disk is gone, or the record cannot be written.
    """
    identity = facts.identity.value
    assert identity is not None  # noqa: S101 - the rules let nothing else pass

    def progress(done: int, whole: int) -> None:
        if is_cancelled():
            raise MethodError("Busy", "called-off")
        pace(done, whole)

    audit.note("every byte of %s is read", facts.name)
    with opened_disk(disks.places, facts.name, facts.number, os.O_DIRECT) as fd:
        try:
            first = read_every_byte(fd, identity.size_bytes, progress)
        except OSError as err:
            return _refused(say("not-read-to-end"), error_text(err))
    now = read_disk(disks.places, facts.name)
    if now.marks != facts.marks or now.identity != facts.identity:
        return _refused(say("written-while-read"), say("writes-counted"))
    record_full_read(identity, facts.marks, first, disks.places.read_whole)
    audit.note("every byte of %s was read: %s", facts.name, "zeros" if first is None else f"data at {first}")
    return None


def _seen(chosen: DiskIdentity, leftovers: Leftovers, progress: Progress) -> tuple[DiskFacts, SpareDecision]:
    """Return a disk and the rules' decision, after unmaking its leftovers as far as possible.

    Raises:
        OSError, KeyError: it is not here.
    """
    leftovers.retry([chosen])
    disks, node = leftovers.disks, node_of(chosen.device_number)
    name, pace = node.rpartition("/")[2], _Pace(chosen.device_number, progress)
    snapshot = disks.look(frozenset({name}), lambda _name, done, whole: pace(done, whole))
    decision = decide(snapshot, name, disks.policy, chosen=chosen)
    left = leftovers.refusal(node, chosen)
    if left is not None:
        decision = replace(decision, answer=SpareAnswer.NOT_SPARE, refusals=(left, *decision.refusals))
    return snapshot.disk(name), decision


def _answer_of(chosen: DiskIdentity, decision: SpareDecision) -> InspectionAnswer:
    reasons = [refusal_to_wire(each) for each in (*decision.refusals, *decision.questions)]
    answer = SpareAnswer.SPARE if decision.answer is SpareAnswer.SPARE else SpareAnswer.NOT_SPARE
    return chosen.device_number, answer.value, reasons, looked_to_wire(decision.looked)


def _refused(message: str, evidence: str, rule: str = _DATA) -> SpareDecision:
    return SpareDecision(SpareAnswer.NOT_SPARE, (DiskRefusal(rule, message, evidence),), (), ())


_GONE: Final = _refused(say("not-here"), "", "D15")


# Disks that the journal keeps: their content, and their release by a user who has seen it.


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
