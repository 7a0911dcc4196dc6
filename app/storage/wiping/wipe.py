"""Wipe the signatures of a session: check users, content and ownership, and only then write zeros.

Before every write root inspects the current content. The inspection and the wipe use one descriptor that the
kernel gives to no other program in between. Any signature that was not made by this session, any user of the
disk and any other partition makes it keep the disk, with the finding and advice for the user.

The decision whether content may be wiped is pure, from the journal's mark and the signatures found. The
journal proves that something is ours: a signature with its type and identifier, which this session began to
make, made, or began to wipe. Everything else was put there by others, and is kept. Separately,
`app.storage.system.device` checks whether the bytes are those that the session saw last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Final, NoReturn

from app.domain.disk import DiskIdentity
from app.domain.errors import RefusedError, StorageError
from app.domain.messages.message import joined, say, without_full_stop
from app.domain.options.format_spec import Area
from app.storage.checks.disk_checks import ConditionResult, Hooks, User, locked
from app.storage.layout.conditions import Condition, OwnTable, SessionPartition, SignatureIs, array_place
from app.storage.layout.steps import (
    Mark,
    Step,
    Wipe,
    WipeTable,
    ends_fact,
    look_fact,
    mark_fact,
    mark_of,
    table_fact,
    written_fact,
)
from app.storage.spare.rules_content import blanking
from app.storage.system import state
from app.storage.system.device import (
    OpenDevice,
    content_digest,
    ends_digest,
    exclusive,
    table_areas,
    table_digest,
)
from app.storage.system.programs import CompletedProgram
from app.storage.wiping.found import (
    FoundSignature,
    OfferedDisk,
    areas,
    is_ours,
    is_whole,
    look,
    look_at,
    look_through,
    resolved,
)


class WipeVerdict(Enum):
    """Wipe our content, do nothing (there is none), or keep all of it."""

    WIPE = auto()
    NOTHING = auto()
    KEEP = auto()


@dataclass(frozen=True, slots=True)
class WipeDecision:
    """A decision and its reason.

    Attributes:
        verdict: the decision.
        reason: the finding, a clause that follows the name of the device; empty unless it is kept.
    """

    verdict: WipeVerdict
    reason: str = ""


def _keep(reason: str) -> WipeDecision:
    return WipeDecision(WipeVerdict.KEEP, reason)


def judge_content(
    mark: Mark | None, ours: SignatureIs | None, found: Sequence[FoundSignature], *, is_whole: bool
) -> WipeDecision:
    """Decide about the content of our partition or array.

    Args:
        mark: of its signature; None if making it never began.
        ours: the signature that it should have, its identifier resolved.
        found: every signature there.
        is_whole: whether no part of ours was overwritten.
    """
    own = [each for each in found if mark is not None and is_ours(each, ours)]
    others = [each for each in found if each not in own]
    what = _wanted(ours)
    reason = ""
    if others:
        listed = joined("; ", [each.words() for each in others])
        reason = say("holds-foreign", what=listed)
    elif mark is Mark.MADE and not own:
        reason = say("holds-none", what=what)
    elif mark is Mark.MADE and not is_whole:
        reason = say("holds-part", what=what)
    elif mark in {Mark.WIPED, Mark.RELEASED} and own:
        reason = say("holds-again", what=what)
    return _keep(reason) if reason else WipeDecision(WipeVerdict.WIPE if own else WipeVerdict.NOTHING)


def _wanted(ours: SignatureIs | None) -> str:
    return FoundSignature(ours.type, 0, ours.uuid, ours.label).words() if ours else say("own-signature")


READERS_S: Final = 10.0
"""How long to wait for readers of a disk before they are named, and for an array to run."""
MOST_USERS_NAMED: Final = 16
"""Number of users of a disk that are named: the reason is kept in the journal, and there may be many."""
_AGAIN_S: Final = 0.2
_MARK_OF_ARRAY: Final = mark_fact(array_place(""))
_OF_A_GPT: Final = frozenset({"gpt", "PMBR"})


class KeptError(StorageError):
    """Something on a disk is not ours: nothing was written, and the journal keeps the disk.

    Attributes:
        disk: its node.
    """

    def __init__(self, disk: str, message: str, hint: str) -> None:
        """Name the disk, the finding and a remedy."""
        super().__init__(message, hint=hint)
        self.disk = disk


class InUseError(KeptError):
    """The disk is in use, so that nothing was written to it; that may end."""


@dataclass(frozen=True, slots=True)
class Wiper:
    """Wipe signatures for one execution.

    Attributes:
        disks: identity of each chosen disk, by its node.
        hooks: of the execution.
        facts: the journal's, including the marks.
        know: makes facts durable.
        begin: called with a step before it changes anything.
        run: runs a program that only reads.
        check: returns whether a condition holds now.
        ours: places whose content this process may undo: it has made that, or has unmounted it, by the mount
            recorded in the journal.
        agreed: digest of the content that the user saw and agreed to release (`OfferedDisk.digest`), by node.
    """

    disks: Mapping[str, DiskIdentity]
    hooks: Hooks
    facts: Mapping[str, str]
    know: Callable[[Mapping[str, str]], None]
    begin: Callable[[Step], None]
    run: Callable[[Sequence[str]], CompletedProgram]
    check: Callable[[Condition], ConditionResult]
    ours: Collection[str] = frozenset()
    agreed: Mapping[str, str] = field(default_factory=dict)

    def wipe(self, step: Wipe) -> str:
        """Wipe our signature from a partition or an array; return why that was skipped, empty if it was not.

        Raises:
            KeptError: the content is not ours, or in use.
            RefusedError: a disk is another one, or a condition does not hold.
            StorageError: it could not be inspected or wiped.
            OSError: a disk cannot be read or written, or the journal cannot be written.
        """
        node = step.node
        if step.array is not None:
            seen = self.check(step.array)
            if not seen.holds:
                self._keep_what_was_in(step)
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
            # SECURITY: content that this process has neither made nor unmounted itself may have been used by
            # anyone since.
            if not all(each.table_place in self.ours for each in present):
                return say("skipped-not-unmounted")
            for each in sorted(present, key=lambda one: one.disk):
                locks.enter_context(locked(each.disk, self.disks[each.disk], self.hooks))
            changed = [each for each in present if not self.check(each.own).holds]
            if step.array is None:
                return self._wipe_partition(step, changed)
            return self._wipe_array(step, node, present, changed)

    def _is_held(self, partition: SessionPartition) -> bool:
        """Return whether a disk is present and was not released; a released one is no longer ours."""
        released = mark_of(self.facts, partition.table_place) in {Mark.WIPED, Mark.RELEASED}
        return not released and bool(state.size_bytes(partition.disk))

    def _wipe_array(
        self,
        step: Wipe,
        node: str,
        present: Sequence[SessionPartition],
        changed: Sequence[SessionPartition],
    ) -> str:
        self._nobody_uses(node, present[0])
        self._require(step)
        if not self._runs(node, mark_of(self.facts, step.place)):
            self._keep(present[0], node, say("array-does-not-run"))
        with exclusive(node, state.device_number(node), self.hooks.patience.pause) as device:
            # If a table was changed, nothing is written into the array. If its content is as it was seen
            # last, it is taken apart, and its other disks are freed.
            stays = say("skipped-no-table", disk=changed[0].disk) if changed else ""
            return self._wipe_content(step, device, nullcontext(), stays)

    def _keep_what_was_in(self, step: Wipe) -> None:
        """Make sure that an array that does not run is empty: others may have used its content.

        A partition with a changed table is kept anyway, and if others unmounted the content all are offered.

        Raises:
            KeptError: it may have content.
        """
        if mark_of(self.facts, step.place) in {None, Mark.WIPED}:
            return
        for each in step.partitions:
            if self._is_held(each) and each.table_place in self.ours and self.check(each.own).holds:
                self._keep(each, step.node, say("array-does-not-run"), self._offer_words(each.disk))

    def _wipe_partition(self, step: Wipe, changed: Sequence[SessionPartition]) -> str:
        (partition,) = step.partitions
        disk = partition.disk
        if changed:
            self._keep(partition, disk, say("holds-changed-table"))
        self._nobody_uses(disk, partition)
        self._require(step)
        with exclusive(disk, state.device_number(disk), self.hooks.patience.pause) as device:
            if not is_where_made(partition):
                self._keep(partition, step.node, say("moved-for-kernel"))
            part = device.part(step.node, partition.start_bytes, partition.size_bytes)
            return self._wipe_content(step, part, self._forgotten(partition, device))

    def _runs(self, node: str, mark: Mark | None) -> bool:
        """Return whether an array shows its content; at boot its disks may come one after the other.

        Content that was never begun, or is wiped, need not be seen.
        """
        waited_s = 0.0
        while mark not in {None, Mark.WIPED} and not state.size_bytes(node):
            waited_s += _AGAIN_S
            if waited_s > READERS_S or not self.hooks.patience.pause(_AGAIN_S):
                return False
        return True

    def _require(self, step: Wipe) -> None:
        for condition in step.before:
            seen = self.check(condition)
            if not seen.holds:
                raise RefusedError(say("wipe-refused", what=step.why, evidence=seen.evidence))

    def _wipe_content(
        self, step: Wipe, device: OpenDevice, alone: AbstractContextManager[None], stays: str = ""
    ) -> str:
        """Inspect the content of a partition or an array, and wipe it if it is ours and as it was seen last.

        Args:
            step: the wipe.
            device: the array; or the part of the disk, through the disk, that is our partition.
            alone: inside of it no program has the partition open.
            stays: why content that is ours and as it was seen last still stays; empty if it does not.
        """
        mark, ours = mark_of(self.facts, step.place), resolved(step.signature, self.facts)
        partition = step.partitions[0]
        found = look(device, ours, self.run, may_be_partial=mark in {Mark.BEGUN, Mark.WIPING})
        whole = mark is not Mark.MADE or is_whole(ours, device)
        decided = judge_content(mark, ours, found, is_whole=whole)
        if decided.verdict is WipeVerdict.KEEP:
            self._keep(partition, device.node, decided.reason)
        if decided.verdict is WipeVerdict.NOTHING:
            if mark is not Mark.WIPED:
                self._mark(step.place, Mark.WIPED)
            return say("skipped-nothing-ours")
        with alone:
            # SECURITY: once no program has it open any more, and through the descriptor that then writes.
            if content_digest(device) != self.facts.get(look_fact(step.place)):
                self._keep(
                    partition, device.node, say("changed-since-seen"), self._offer_words(partition.disk)
                )
            if stays:
                return stays
            self.begin(step)
            self._mark(step.place, Mark.WIPING)
            self._zero(device, areas(ours, device), step.place)
        if left := look(device, ours, self.run, may_be_partial=True):
            words = joined("; ", [each.words() for each in left])
            raise StorageError(say("signature-stays", node=device.node, what=words))
        self._mark(step.place, Mark.WIPED)
        return ""

    @contextmanager
    def _forgotten(self, partition: SessionPartition, device: OpenDevice) -> Iterator[None]:
        """Make the kernel forget our partition inside; restore it if wiping had not begun.

        Raises:
            KeptError: the partition is open: the kernel's own answer, which includes invisible processes.
        """
        known = state.partition_place(partition.node) if state.size_bytes(partition.node) else None
        self._forget_partition(partition, device)
        try:
            yield
        except BaseException:
            marks = {mark_of(self.facts, place.name) for place in partition.places}
            if known and Mark.WIPING not in marks:
                with suppress(OSError):  # the first failure is reported
                    device.add_partition(1, *known)
            raise

    def wipe_table(self, step: WipeTable) -> str:
        """Remove our table and release the disk; return why that was skipped, empty if it was not.

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
            if place not in self.ours and disk not in self.agreed:
                self._offer(step)
            self._nobody_uses(disk, partition)
            with exclusive(disk, state.device_number(disk), self.hooks.patience.pause) as device:
                if place not in self.ours:
                    self._release_agreed(step, device)
                elif not self._give_back(step, mark, device):
                    return say("skipped-nothing-ours")
        return ""

    def _give_back(self, step: WipeTable, mark: Mark | None, device: OpenDevice) -> bool:
        """Remove our table, if it is as this process made it; return whether there was any."""
        partition = step.partition
        disk, place = partition.disk, partition.table_place
        found = look(device, None, self.run, may_be_partial=False)
        others = [each for each in found if each.type not in _OF_A_GPT]
        if others:
            words = joined("; ", [each.words() for each in others])
            self._keep(partition, disk, say("holds-foreign", what=words))
        if mark is Mark.WIPED:
            if found or ends_digest(device) != self.facts.get(ends_fact(place)):
                self._keep(partition, disk, say("changed-since-wiped"))
            self.begin(step)
        elif mark is Mark.BEGUN and not found:  # sfdisk had no effect
            self._mark(place, Mark.RELEASED)
            return False
        else:
            if not found:
                self._keep(partition, disk, say("holds-no-table"))
            if mark_of(self.facts, partition.place) is not Mark.WIPED:
                self._keep(partition, disk, say("holds-unwiped"))
            # SECURITY: a table that sfdisk had begun is ours by its identifier only; its bytes alone prove
            # nothing.
            is_named = mark is Mark.MADE or self.check(OwnTable(disk, partition.table_uuid)).holds
            if not is_named or not self._is_our_table(partition, device):
                self._keep(partition, disk, say("holds-changed-table"))
            with self._forgotten(partition, device):
                # SECURITY: once no program has it open any more, and through the descriptor that then writes.
                if not self._is_our_table(partition, device):
                    self._keep(partition, disk, say("holds-changed-table"))
                self._remove_table(step, device)
        self.hooks.release({disk: self.disks[disk]})
        self._mark(place, Mark.RELEASED)
        return True

    def _is_our_table(self, partition: SessionPartition, device: OpenDevice) -> bool:
        return table_digest(device) == self.facts.get(table_fact(partition.table_place))

    def _offer(self, step: WipeTable) -> NoReturn:
        """Leave a disk that this process has neither made nor unmounted to the user, who sees its content.

        Raises:
            KeptError: always.
        """
        partition = step.partition
        disk = partition.disk
        if users := self.hooks.users(disk, self.disks[disk]):
            self._in_use(partition, disk, users)
        why = self.hooks.since.get(disk) or say("found-unmounted")
        lies = look_at(partition, step.signature, self.facts, self.run)
        words = [each.words() for each in (*lies.on_disk, *lies.inside, *lies.held)]
        words += [] if lies.is_our_table else [say("table-not-ours")]
        what = joined("; ", words) or say("none")
        hint = self._offer_words(disk) if lies.is_ours else self._hint_of_foreign(disk)
        raise KeptError(disk, say("kept-offered", node=disk, why=why, what=what), hint)

    def _release_agreed(self, step: WipeTable, device: OpenDevice) -> None:
        """Wipe content that the user saw and agreed to release, if it is ours; else only forget the disk.

        Raises:
            KeptError: the content has changed since it was shown.
        """
        partition = step.partition
        disk, place = partition.disk, partition.table_place
        ours = resolved(step.signature, self.facts)
        if not self._as_agreed(step, device).is_ours:
            self._mark(place, Mark.RELEASED)  # SECURITY: and others' content there is not recorded
            return
        if not is_where_made(partition):
            self._keep(partition, partition.node, say("moved-for-kernel"))
        with self._forgotten(partition, device):
            lies = self._as_agreed(step, device)
            self.begin(step)
        part = device.part(partition.node, partition.start_bytes, partition.size_bytes)
        if lies.inside:
            self._mark(partition.place, Mark.WIPING)
            self._zero(part, areas(ours, part), partition.place)
            if left := look(part, ours, self.run, may_be_partial=True):
                words = joined("; ", [each.words() for each in left])
                raise StorageError(say("signature-stays", node=part.node, what=words))
        self._mark(partition.place, Mark.WIPED)
        self._remove_table(step, device)
        self.hooks.release({disk: self.disks[disk]})
        self._mark(place, Mark.RELEASED)

    def _as_agreed(self, step: WipeTable, device: OpenDevice) -> OfferedDisk:
        """Return the content of a disk, if it is exactly as shown to the user.

        Raises:
            KeptError: it was changed since.
        """
        lies = look_through(device, step.partition, step.signature, self.facts, self.run)
        if lies.digest != self.agreed[step.partition.disk]:
            self._keep(step.partition, step.partition.disk, say("changed-since-shown"))
        return lies

    def _gone(self, disk: str) -> NoReturn:
        """Refuse to forget an absent disk: our signatures are still on it.

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
        """Return whether the disk was blanked by others, so that there is nothing to undo."""
        return not state.size_bytes(partition.node) and not self.hooks.refusals({disk: self.disks[disk]})

    def _forget_partition(self, partition: SessionPartition, device: OpenDevice) -> None:
        """Make the kernel forget our partition, which it refuses while the partition is open.

        Raises:
            KeptError: it stays open.
        """
        waited_s = 0.0
        while not device.forget_partition(1):
            waited_s += _AGAIN_S
            if waited_s > READERS_S or not self.hooks.patience.pause(_AGAIN_S):
                users = self.hooks.users(partition.disk, self.disks[partition.disk])
                # The disk is claimed by our own descriptor, by no other program.
                if others := [each for each in users if not each.is_claim]:
                    self._in_use(partition, partition.disk, others)
                self._keep(partition, partition.node, self._unseen())

    def _unseen(self) -> str:
        """Return that a partition is open, with the processes that may have it open without a trace."""
        hiding = self.hooks.hiding()
        return say("open-hidden", who=hiding) if hiding else say("open-unseen")

    def _remove_table(self, step: WipeTable, device: OpenDevice) -> None:
        place = step.partition.table_place
        ours = tuple(reversed(table_areas(device)))
        self.begin(step)
        self.know({mark_fact(place): Mark.WIPING.value, ends_fact(place): ends_digest(device, ours)})
        self._zero(device, ours, place)
        left = look(device, None, self.run, may_be_partial=False)
        if left:
            words = joined("; ", [each.words() for each in left])
            raise StorageError(say("signature-stays", node=device.node, what=words))
        self._mark(place, Mark.WIPED)

    def _zero(self, device: OpenDevice, ours: Sequence[Area], place: str) -> None:
        """Save areas and fill them with zeros."""
        name = "-".join((Path(device.node).name, *place.split()))
        for area in ours:
            self.hooks.save(name, area.offset, device.read(area.offset, area.length))
        for area in ours:
            device.zero(area.offset, area.length)
        device.flush()

    def _nobody_uses(self, node: str, partition: SessionPartition) -> None:
        """Make sure that a disk or an array is unused; waits for programs that only read.

        Raises:
            KeptError: it is in use.
        """
        waited_s = 0.0
        while users := self.hooks.users(node, self.disks[partition.disk]):
            waited_s += _AGAIN_S
            is_enough = waited_s > READERS_S or not all(each.only_reads for each in users)
            if is_enough or not self.hooks.patience.pause(_AGAIN_S):
                self._in_use(partition, node, users)

    def _in_use(self, partition: SessionPartition, node: str, users: Sequence[User]) -> NoReturn:
        """Refuse to write to a device in use.

        Raises:
            InUseError: always.
        """
        named = users[:MOST_USERS_NAMED]
        more = [f"+ {len(users) - len(named)}"] if len(users) > len(named) else []
        said = joined("; ", [*(joined(" ", (each.message, each.evidence)) for each in named), *more])
        remedy = joined(" ", dict.fromkeys(each.remedy for each in named))
        message = say("kept-in-use", node=node, who=without_full_stop(said))
        raise InUseError(
            partition.disk, joined(" ", (message, self._written(partition))), remedy or say("end-use")
        )

    def _mark(self, place: str, mark: Mark) -> None:
        self.know({mark_fact(place): mark.value})

    def _keep(self, partition: SessionPartition, node: str, reason: str, hint: str = "") -> NoReturn:
        message = joined(" ", (say("kept", node=node, reason=reason), self._written(partition)))
        raise KeptError(partition.disk, message, hint or self._hint_of_foreign(partition.disk))

    def _offer_words(self, disk: str) -> str:
        return say("release-offered", serial=self.disks[disk].typed_name())

    def _hint_of_foreign(self, disk: str) -> str:
        return joined(" ", (say("left-alone", disk=disk), blanking(disk)))

    def _written(self, partition: SessionPartition) -> str:
        """Return a sentence on whether anything was written while undoing, from the journal."""
        places = (partition.place, partition.table_place)
        marks = {mark_of(self.facts, place) for place in places}
        marks |= {Mark(value) for name, value in self.facts.items() if name.startswith(_MARK_OF_ARRAY)}
        is_written = marks & {Mark.WIPING, Mark.WIPED} or written_fact(partition.place) in self.facts
        return say("more-not-written") if is_written else say("nothing-written")


def is_where_made(partition: SessionPartition) -> bool:
    """Return whether the kernel has our partition at its original place, or not at all."""
    known = state.size_bytes(partition.node) and state.partition_place(partition.node)
    return not known or known == (partition.start_bytes, partition.size_bytes)
