"""Wiping what a session signed: who uses the disk, what lies there, is it ours, and only then zeros.

Before every write root looks at what lies there now. The look and the wipe happen through one descriptor that
the kernel gives to nobody else meanwhile; every signature that was not made by this session, everybody who
uses the disk and every other partition leaves it as it is, with what was found and what a person can do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from app.domain.disk import DiskIdentity
from app.domain.errors import RefusedError, StorageError
from app.domain.messages.message import joined, say, unstopped
from app.domain.options.on_disk import Area
from app.domain.units import KIB, MIB
from app.storage.checks.conditions import ConditionResult
from app.storage.checks.disk_checks import locked
from app.storage.checks.hooks import Hooks, User
from app.storage.layout.conditions import Condition, SessionPartition
from app.storage.layout.steps import Mark, Step, Wipe, WipeTable, ends_fact, mark_fact, mark_of
from app.storage.spare.rules_content import blanking
from app.storage.system import state
from app.storage.system.programs import CompletedProgram
from app.storage.wiping import decision
from app.storage.wiping.decision import WipeDecision, WipeVerdict
from app.storage.wiping.device import OpenDevice, exclusive
from app.storage.wiping.found import areas, is_whole, look, resolved

EDGE_BYTES: Final = 16 * MIB
"""How much of both ends is compared after a crash between wiping a table and giving the disk back."""
READERS_S: Final = 10.0
"""How long it is waited for those who only read a disk before they are named, and for an array to run."""
MOST_TOLD: Final = 16
"""Of those who use a disk, that are named: the reason is kept in the journal, and anybody can be many."""
_AGAIN_S: Final = 0.2
_ENTRIES_BYTES: Final = 16 * KIB
"""Entries of a GPT as sfdisk makes it: 128 of 128 bytes."""
_OF_A_GPT: Final = frozenset({"gpt", "PMBR"})


class KeptError(StorageError):
    """Something of a disk is not ours: nothing was written, and the journal keeps the disk.

    Attributes:
        disk: its node.
    """

    def __init__(self, disk: str, message: str, hint: str) -> None:
        """Say of which disk, what was found and what helps."""
        super().__init__(message, hint=hint)
        self.disk = disk


class InUseError(KeptError):
    """Somebody uses the disk, so that nothing was written to it; that may end."""


@dataclass(frozen=True, slots=True)
class Wiper:
    """Wipes for one execution.

    Attributes:
        disks: identity of each disk as it was chosen, by its node.
        hooks: what is asked and told.
        facts: the journal's, among them the marks.
        know: makes facts durable.
        begin: told of a step before it changes anything.
        run: runs a program that only reads.
        check: whether a condition holds now.
    """

    disks: Mapping[str, DiskIdentity]
    hooks: Hooks
    facts: Mapping[str, str]
    know: Callable[[Mapping[str, str]], None]
    begin: Callable[[Step], None]
    run: Callable[[Sequence[str]], CompletedProgram]
    check: Callable[[Condition], ConditionResult]

    def wipe(self, step: Wipe) -> str:
        """Wipe our signature from a partition or an array; return why it was left out, else nothing.

        Raises:
            KeptError: what lies there is not ours, or somebody uses it; nothing was written.
            RefusedError: a disk is another one, or a condition does not hold; nothing was written.
            StorageError: it could not be looked at or wiped.
            OSError: a disk cannot be read or written, or the journal cannot be written.
        """
        node = step.node
        if step.array is not None:
            seen = self.check(step.array)
            if not seen.holds:
                return seen.evidence
            node = seen.renamed or node
        else:
            table_mark = mark_of(self.facts, step.partitions[0].table_place)
            if table_mark in {None, Mark.WIPED, Mark.RELEASED}:
                return say("skipped-no-partition")
        with ExitStack() as locks:
            present = [each for each in step.partitions if self._is_held(each)]
            if not present:
                return say("skipped-disk-away", disk=step.partitions[0].disk)
            for each in sorted(present, key=lambda one: one.disk):
                locks.enter_context(locked(each.disk, self.disks[each.disk], self.hooks))
            for each in present:
                if why := self._not_our_table(each, in_array=step.array is not None):
                    return why
            if step.array is None and not self._has_node(step):
                return say("skipped-node-away", node=node)
            self._nobody_uses(node if step.array else present[0].disk, present[0].disk)
            self._require(step)
            if step.array is not None and not self._runs(node, mark_of(self.facts, step.place)):
                self._keep(present[0].disk, node, say("array-does-not-run"))
            with exclusive(node, state.device_number(node), self.hooks.patience.pause) as device:
                return self._wipe_content(step, device)

    def _is_held(self, partition: SessionPartition) -> bool:
        """Return whether a disk is here and was not given back; one that was is nothing of ours any more."""
        released = mark_of(self.facts, partition.table_place) in {Mark.WIPED, Mark.RELEASED}
        return not released and bool(state.size_bytes(partition.disk))

    def _not_our_table(self, partition: SessionPartition, *, in_array: bool) -> str:
        """Return why a partition is not looked at any further: no table of ours; `wipe_table` tells it.

        Nothing is written into an array of which one disk's table was changed, and nobody is kept by that: it
        can be taken apart, and its other disks are freed.

        Raises:
            KeptError: it is our table, and holds something that is not ours.
        """
        table = state.read_table(partition.disk)
        if table is None or table.uuid != partition.table_uuid:
            return say("skipped-no-table", disk=partition.disk)
        empty = mark_of(self.facts, partition.table_place) is Mark.WIPING
        if why := decision.differs(table, partition, may_be_empty=empty):
            if in_array:
                return why
            self._keep(partition.disk, partition.disk, why)
        return "" if table.partitions else say("skipped-removed")

    def _runs(self, node: str, mark: Mark | None) -> bool:
        """Return whether an array shows what it holds; at boot its disks may come one after the other.

        What was never begun in it, or is wiped, need not be seen.
        """
        waited_s = 0.0
        while mark not in {None, Mark.WIPED} and not state.size_bytes(node):
            waited_s += _AGAIN_S
            if waited_s > READERS_S or not self.hooks.patience.pause(_AGAIN_S):
                return False
        return True

    def _has_node(self, step: Wipe) -> bool:
        """Return whether the kernel knows our partition; tell it, if it has forgotten it since it started.

        Raises:
            KeptError: it knows it at another place, or has forgotten what we made there.
        """
        partition = step.partitions[0]
        mark = mark_of(self.facts, step.place)
        is_needed = mark not in {None, Mark.WIPED}
        if not state.size_bytes(step.node):
            if not is_needed:
                return False
            if not self.hooks.other_boot:
                self.run(("partx", "--update", "--nr", "1", partition.disk))
            if not state.size_bytes(step.node):
                self._keep(partition.disk, step.node, say("unknown-to-kernel"))
        known = state.partition_place(step.node)
        if known != (partition.start_bytes, partition.size_bytes):
            self._keep(partition.disk, step.node, say("moved-for-kernel"))
        return True

    def _require(self, step: Wipe) -> None:
        for condition in step.before:
            seen = self.check(condition)
            if not seen.holds:
                raise RefusedError(say("wipe-refused", what=step.why, evidence=seen.evidence))

    def _wipe_content(self, step: Wipe, device: OpenDevice) -> str:
        mark, ours = mark_of(self.facts, step.place), resolved(step.signature, self.facts)
        may_be_partial = mark in {Mark.BEGUN, Mark.WIPING}
        found = look(device, ours, self.run, may_be_partial=may_be_partial)
        whole = mark is not Mark.MADE or is_whole(ours, device)
        decided = decision.judge_content(mark, ours, found, is_whole=whole)
        disk = step.partitions[0].disk
        if decided.verdict is WipeVerdict.KEEP:
            self._keep(disk, device.node, decided.reason)
        if decided.verdict is WipeVerdict.NOTHING:
            if mark is not Mark.WIPED:
                self._mark(step.place, Mark.WIPED)
            return say("skipped-nothing-ours")
        self.begin(step)
        self._mark(step.place, Mark.WIPING)
        self._zero(device, areas(ours, device), step.place)
        left = look(device, ours, self.run, may_be_partial=True)
        if left:
            words = joined("; ", [each.words() for each in left])
            raise StorageError(say("signature-stays", node=device.node, what=words))
        self._mark(step.place, Mark.WIPED)
        return ""

    def wipe_table(self, step: WipeTable) -> str:
        """Remove our table and give the disk back; return why it was left out, empty where it was not.

        Raises:
            KeptError, RefusedError, StorageError, OSError: as `wipe`.
        """
        partition = step.partition
        disk, place = partition.disk, partition.table_place
        mark = mark_of(self.facts, place)
        if mark in {None, Mark.RELEASED}:
            return say("skipped-nothing-ours")
        if not state.size_bytes(disk):
            self._gone(disk)
        with locked(disk, self.disks[disk], self.hooks):
            if self._is_blank(disk, partition):
                self._mark(place, Mark.RELEASED)
                return say("skipped-blank")
            self._nobody_uses(disk, disk)
            with exclusive(disk, state.device_number(disk), self.hooks.patience.pause) as device:
                self._check_content_is_wiped(partition)
                decided = self._judge_table(partition, mark, device)
                if decided.verdict is WipeVerdict.KEEP:
                    self._keep(disk, disk, decided.reason)
                if decided.verdict is WipeVerdict.WIPE:
                    self._forget_partition(partition, device)
                    self._remove_table(step, device)
                elif mark is Mark.BEGUN:
                    self._mark(place, Mark.RELEASED)
                    return say("skipped-nothing-ours")
                elif self._ends(device) != self.facts.get(ends_fact(place)):
                    self._keep(disk, disk, say("changed-since-wiped"))
                else:
                    self.begin(step)
                    self._mark(place, Mark.WIPED)
                self.hooks.release({disk: self.disks[disk]})
                self._mark(place, Mark.RELEASED)
        return ""

    def _gone(self, disk: str) -> NoReturn:
        """Refuse to forget a disk that is away: what we made is still on it.

        Raises:
            KeptError: always.
        """
        identity = self.disks[disk]
        raise KeptError(
            disk,
            say("kept-disk-away", serial=identity.serial or identity.wwn),
            say("released-when-here"),
        )

    def _is_blank(self, disk: str, partition: SessionPartition) -> bool:
        """Return whether somebody blanked the disk meanwhile, so that there is nothing to be undone."""
        table = state.read_table(disk)
        if table is not None or state.size_bytes(partition.node):
            return False
        return not self.hooks.refusals({disk: self.disks[disk]})

    def _check_content_is_wiped(self, partition: SessionPartition) -> None:
        """Make sure that what lies in our partition was looked at, by the step before, and is nothing.

        A partition that the kernel was never told of was never anybody's to write to.

        Raises:
            KeptError: it was not.
        """
        mark = mark_of(self.facts, partition.place)
        if mark is Mark.WIPED or (mark is None and not state.size_bytes(partition.node)):
            return
        table = state.read_table(partition.disk)
        if table is not None and table.uuid == partition.table_uuid:
            self._keep(partition.disk, partition.disk, say("holds-unwiped"))

    def _judge_table(
        self, partition: SessionPartition, mark: Mark | None, device: OpenDevice
    ) -> WipeDecision:
        found = look(device, None, self.run, may_be_partial=False)
        others = [each for each in found if each.type not in _OF_A_GPT]
        block, size = device.block_bytes, device.size_bytes
        first = state.parse_table(device.read, block)
        second = state.parse_table(device.read, block, size - block)
        decided = [decision.judge_table(mark, partition, each, others) for each in (first, second)]
        for each in decided:
            if each.verdict is WipeVerdict.KEEP:
                return each
        if state.size_bytes(partition.node) and first is None and second is None:
            self._forget_partition(partition, device)
        return next((each for each in decided if each.verdict is WipeVerdict.WIPE), decided[0])

    def _forget_partition(self, partition: SessionPartition, device: OpenDevice) -> None:
        """Have the kernel forget our partition, which it refuses while somebody has it open.

        Raises:
            KeptError: somebody has it open for longer.
        """
        waited_s = 0.0
        while not device.forget_partition(1):
            waited_s += _AGAIN_S
            if waited_s > READERS_S or not self.hooks.patience.pause(_AGAIN_S):
                users = self.hooks.users(partition.disk, self.disks[partition.disk])
                # The disk is claimed by the descriptor that we hold: that is nobody else's.
                if others := [each for each in users if not each.is_claim]:
                    self._in_use(partition.disk, partition.disk, others)
                self._keep(partition.disk, partition.node, say("open-unseen"))

    def _remove_table(self, step: WipeTable, device: OpenDevice) -> None:
        place = step.partition.table_place
        block, size = device.block_bytes, device.size_bytes
        ours = (
            Area(size - block - _ENTRIES_BYTES, block + _ENTRIES_BYTES),
            Area(0, 2 * block + _ENTRIES_BYTES),
        )
        self.begin(step)
        self.know({mark_fact(place): Mark.WIPING.value, ends_fact(place): self._ends(device, ours)})
        self._zero(device, ours, place)
        left = look(device, None, self.run, may_be_partial=False)
        if left:
            words = joined("; ", [each.words() for each in left])
            raise StorageError(say("signature-stays", node=device.node, what=words))
        self._mark(place, Mark.WIPED)

    def _ends(self, device: OpenDevice, without: Sequence[Area] = ()) -> str:
        """Return a digest of both ends of a disk as they will be without some areas."""
        digest = hashlib.sha256()
        length = min(EDGE_BYTES, device.size_bytes)
        for start in (0, device.size_bytes - length):
            content = bytearray(device.read(start, length))
            for area in without:
                low, high = max(area.offset - start, 0), min(area.offset + area.length - start, length)
                if low < high:
                    content[low:high] = bytes(high - low)
            _add_pieces(digest, content)
        return digest.hexdigest()

    def _zero(self, device: OpenDevice, ours: Sequence[Area], place: str) -> None:
        """Save areas and fill them with zeros."""
        name = "-".join((Path(device.node).name, *place.split()))
        for area in ours:
            self.hooks.save(name, area.offset, device.read(area.offset, area.length))
        for area in ours:
            device.zero(area.offset, area.length)
        device.flush()

    def _nobody_uses(self, node: str, disk: str) -> None:
        """Make sure that nobody uses a disk or an array; who only reads is waited for.

        Raises:
            KeptError: somebody does.
        """
        waited_s = 0.0
        while users := self.hooks.users(node, self.disks[disk]):
            waited_s += _AGAIN_S
            is_enough = waited_s > READERS_S or not all(each.only_reads for each in users)
            if is_enough or not self.hooks.patience.pause(_AGAIN_S):
                self._in_use(node, disk, users)

    def _in_use(self, node: str, disk: str, users: Sequence[User]) -> NoReturn:
        """Refuse to write to what others use.

        Raises:
            InUseError: always.
        """
        told = users[:MOST_TOLD]
        more = [f"+ {len(users) - len(told)}"] if len(users) > len(told) else []
        said = joined("; ", [*(joined(" ", (each.message, each.evidence)) for each in told), *more])
        remedy = joined(" ", dict.fromkeys(each.remedy for each in told))
        raise InUseError(
            disk,
            say("kept-in-use", node=node, who=unstopped(said)),
            remedy or say("end-use"),
        )

    def _mark(self, place: str, mark: Mark) -> None:
        self.know({mark_fact(place): mark.value})

    def _keep(self, disk: str, node: str, reason: str) -> NoReturn:
        when = say("since-other-boot") if self.hooks.other_boot else ""
        raise KeptError(
            disk,
            say("kept", node=node, reason=reason, when=when),
            say("left-alone", disk=disk) + " " + blanking(disk),
        )


def _add_pieces(digest: hashlib._Hash, content: bytearray) -> None:
    """Add what is not zero, each piece with its place: most is, and comparing is cheaper than hashing."""
    piece_bytes = 64 * KIB
    zeros = bytes(piece_bytes)
    for at in range(0, len(content), piece_bytes):
        piece = content[at : at + piece_bytes]
        if piece != zeros[: len(piece)]:
            digest.update(at.to_bytes(8, "little") + piece)
    digest.update(len(content).to_bytes(8, "little"))
