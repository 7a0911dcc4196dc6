"""The spare-disk rules for an execution: identity of a disk, permission to write, and its release.

Reads this machine; the rules themselves are pure (`app.storage.spare.rules`).
"""

from __future__ import annotations

import errno
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer
from app.domain.messages.message import say
from app.storage.checks.disk_checks import User
from app.storage.inspect.disk import read_disk
from app.storage.inspect.processes import only_reads
from app.storage.inspect.snapshot import DiskFacts, Policy, ReleaseRecord, Snapshot, SourceKnowledge
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.content import ends_of, opened_disk, read_exclusive
from app.storage.spare.inspect import DiskProgress, ignore_progress, inspect_machine
from app.storage.spare.release_ledger import read_released, record_of, record_release, with_places
from app.storage.spare.rules import decide
from app.storage.system import state
from app.storage.system.state import sysfs_folder

ALL_WRITTEN: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SpareDisks:
    """Answers about the disks of this machine, each read afresh.

    Attributes:
        policy: root's own; never a caller's.
        places: sources.
    """

    policy: Policy = field(default_factory=Policy)
    places: SourceFolders = field(default_factory=SourceFolders.of_this_machine)
    _looked: dict[str, DiskFacts] = field(default_factory=dict, init=False, compare=False)

    def identify(self, node: str) -> DiskIdentity:
        """Return the current identity of a node's disk.

        Raises:
            OSError: it is gone, or cannot be identified.
        """
        reading = read_disk(self.places, sysfs_folder(node).name).identity
        if reading.value is None:
            raise OSError(errno.ENODEV, reading.reason, node)
        return reading.value

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        """Return why disks are not spare, by node; one snapshot answers for all of them.

        An undecided question refuses: there is no user with more rights to ask.

        Raises:
            OSError: a disk is gone.
        """
        names = {node: sysfs_folder(node).name for node in chosen}
        snapshot = self.look(frozenset(names.values()))
        found: dict[str, Sequence[DiskRefusal]] = {}
        for node, identity in chosen.items():
            decision = decide(snapshot, names[node], self.policy, chosen=identity)
            if decision.answer is not SpareAnswer.SPARE:
                found[node] = (*decision.refusals, *decision.questions)
        return found

    def look(self, names: frozenset[str], progress: DiskProgress = ignore_progress) -> Snapshot:
        """Return the machine now, with the content of these disks.

        Their ends are read each time. Places between them were read before by this process, or are read now
        if the kernel has counted a write since.
        """
        looked = dict(self._looked)
        snapshot = inspect_machine(self.policy, self.places, only=names, looked=looked, progress=progress)
        for name in names:
            with suppress(KeyError):
                self._looked[name] = snapshot.disk(name)
        return snapshot

    def users(self, node: str, identity: DiskIdentity) -> Sequence[User]:
        """Return the users of a disk, or of an array of our partitions.

        Raises:
            OSError: it is gone.
        """
        return users_of(self.policy, self.places, node, identity)

    def release(
        self, disks: Mapping[str, DiskIdentity], written_ends: Mapping[str, int] = ALL_WRITTEN
    ) -> None:
        """Record that disks were ours, so that they may be used again with old data in their middle.

        Args:
            disks: identity by node, after everything on them was unmade.
            written_ends: byte after the last one that may have been written, by node; without it all.

        Raises:
            OSError: a disk cannot be read, or the record not be written.
        """
        known = read_released(self.places).known(())
        for node, identity in disks.items():
            facts = read_disk(self.places, sysfs_folder(node).name)
            medium = facts.medium.value
            if medium is None:
                raise OSError(errno.EIO, facts.medium.reason, node)
            with opened_disk(self.places, facts.name, facts.number, os.O_DIRECT) as fd:
                now = ReleaseRecord(
                    *(identity.serial, identity.wwn, medium.size_bytes),
                    digest=ends_of(fd, medium).digest,
                    released_s=time.time(),
                    marks=facts.marks,
                    discards=medium.discards,
                )
                left = with_places(
                    *(fd, now, medium.logical_block_bytes),
                    before=record_of(identity, known),
                    written_end=written_ends.get(node, medium.size_bytes),
                    choose=random.SystemRandom(),
                )
            record_release(identity, left, self.places.released)


# --- Users of a disk or an array that is about to be wiped: the rules about use, its content unread.


_OPEN: Final = "D13"
_CLAIMED: Final = "D14"
_ABOUT_USE: Final = frozenset({"D03", "D04", "D05", "D06", "D07", "D10", "D11", "D12", _OPEN, _CLAIMED})
"""Rules about uses of and references to a disk; those about its content are answered by reading it."""


def users_of(policy: Policy, places: SourceFolders, node: str, identity: DiskIdentity) -> Sequence[User]:
    """Return the users of a disk, or of an array of our partitions; unknown counts as used.

    Args:
        policy: root's own.
        places: sources.
        node: of the disk, or of an array that holds it.
        identity: of the disk.

    Raises:
        OSError: it is gone.
    """
    if state.device_number(node) != identity.device_number:
        return tuple(_array_users(policy, places, node))
    name = state.sysfs_folder(node).name
    snapshot = _with_exclusive(inspect_machine(policy, places, only=frozenset()), places, name)
    decision = decide(snapshot, name, policy, chosen=identity)
    is_only_read = _is_only_read(snapshot, frozenset(snapshot.disk(name).numbers))
    return tuple(
        User(
            each.message,
            each.evidence,
            each.remedy,
            each.rule == _OPEN and is_only_read,
            each.rule == _CLAIMED,
        )
        for each in (*decision.refusals, *decision.questions)
        if each.rule in _ABOUT_USE
    )


def _with_exclusive(snapshot: Snapshot, places: SourceFolders, name: str) -> Snapshot:
    """Return a snapshot with one disk tested for exclusiveness; its content is not read."""
    disks = (
        replace(each, exclusive=read_exclusive(places, name, each.number)) if each.name == name else each
        for each in snapshot.disks
    )
    return replace(snapshot, disks=tuple(disks))


def _array_users(policy: Policy, places: SourceFolders, node: str) -> Iterator[User]:
    """Yield the users of an array: it holds its own members, so the rules about disks do not apply."""
    number, holders = state.device_number(node), state.holders(node)
    if holders:
        yield User(say("rule-held"), ", ".join(holders))
    machine = inspect_machine(policy, places, only=frozenset()).machine
    for reading in (machine.mounts, machine.swaps, machine.openers, machine.loops, machine.targets):
        if reading.state is SourceKnowledge.UNREADABLE:
            yield User(say("users-not-told"), reading.reason)
        for use in reading.known(()):
            if use.number == number:
                yield User(say("something-uses-it"), say("user-detail", user=use.user, detail=use.detail))


def _is_only_read(snapshot: Snapshot, numbers: frozenset[str]) -> bool:
    """Return whether a disk is open for reading only, and nothing maps or serves it."""
    machine = snapshot.machine
    uses = (*machine.loops.known(()), *machine.targets.known(()), *machine.arrays.known(()))
    if any(use.number in numbers for use in uses):
        return False
    openers = [use for use in machine.openers.known(()) if use.number in numbers]
    return bool(openers) and all(only_reads(use.detail) for use in openers)
