"""Who uses a disk or an array that is about to be wiped: the rules about use, its content unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.text import tr
from app.storage.checks.hooks import User
from app.storage.inspect.processes import only_reads
from app.storage.inspect.snapshot import Policy, Snapshot, SourceKnowledge
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.rules import decide
from app.storage.system import state

_OPEN: Final = "D13"
_CLAIMED: Final = "D14"
_ABOUT_USE: Final = frozenset({"D03", "D04", "D05", "D06", "D07", "D10", "D11", "D12", _OPEN, _CLAIMED})
"""Rules about who uses a disk or means it; those about its content are answered by looking at it."""


def users_of(policy: Policy, places: SourceFolders, node: str, identity: DiskIdentity) -> Sequence[User]:
    """Return who uses a disk, or an array of our partitions; what cannot be told counts as a user.

    Args:
        policy: root's own.
        places: where to read.
        node: of the disk, or of an array that holds it.
        identity: of the disk.

    Raises:
        OSError: it is gone.
    """
    if state.device_number(node) != identity.device_number:
        return tuple(_array_users(policy, places, node))
    name = state.sysfs_folder(node).name
    snapshot = inspect_machine(policy, places, only=frozenset())
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


def _array_users(policy: Policy, places: SourceFolders, node: str) -> Iterator[User]:
    """Yield who uses an array: its members are held by itself, so the rules about disks cannot tell."""
    number, holders = state.device_number(node), state.holders(node)
    if holders:
        yield User(tr("A kernel device is built on it."), ", ".join(holders))
    machine = inspect_machine(policy, places, only=frozenset()).machine
    for reading in (machine.mounts, machine.swaps, machine.openers, machine.loops, machine.targets):
        if reading.state is SourceKnowledge.UNREADABLE:
            yield User(tr("It cannot be told who uses it."), reading.reason)
        for use in reading.known(()):
            if use.number == number:
                yield User(tr("Something uses it."), f"{use.user} ({use.detail})")


def _is_only_read(snapshot: Snapshot, numbers: frozenset[str]) -> bool:
    """Return whether all who have a disk open do so for reading, and nothing maps or serves it."""
    machine = snapshot.machine
    uses = (*machine.loops.known(()), *machine.targets.known(()), *machine.arrays.known(()))
    if any(use.number in numbers for use in uses):
        return False
    openers = [use for use in machine.openers.known(()) if use.number in numbers]
    return bool(openers) and all(only_reads(use.detail) for use in openers)
