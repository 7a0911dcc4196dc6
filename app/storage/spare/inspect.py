"""Read everything that the spare-disk rules need into one frozen snapshot, as root or as a user.

Only reads, opens disks read-only and leaves those in use in peace: their content is passed over. Each source
is read once for all disks. Only the standard library and app.domain: root imports this.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from app.domain.messages.message import say
from app.storage.inspect import processes, uses
from app.storage.inspect.disk import read_disk
from app.storage.inspect.records import read_whole
from app.storage.inspect.sampling import Progress
from app.storage.inspect.snapshot import (
    DiskFacts,
    KnownDisk,
    MachineSnapshot,
    Policy,
    Reading,
    Snapshot,
    SourceKnowledge,
    read,
    unreadable,
)
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.content import PreviousContent, read_content, read_exclusive, read_health
from app.storage.spare.release_ledger import read_released, record_of
from app.storage.spare.rules import is_in_use
from app.storage.spare.rules_disk import DISK_KINDS, is_loop
from app.storage.system.programs import NoAnswerError, check_answers, find_unanswered

DiskProgress = Callable[[str, int, int], None]
"""Called with the name of a disk, the number of places read and the total."""

_AT_ONCE: Final = 8
_NOTHING_LOOKED_AT: Final[Mapping[str, DiskFacts]] = MappingProxyType({})


def ignore_progress(_name: str, _done: int, _all: int) -> None:
    """Ignore the progress."""


def inspect_machine(
    policy: Policy,
    places: SourceFolders,
    *,
    only: frozenset[str] | None = None,
    previous: Snapshot | None = None,
    looked: Mapping[str, DiskFacts] = _NOTHING_LOOKED_AT,
    progress: DiskProgress = ignore_progress,
) -> Snapshot:
    """Return the snapshot of this machine now.

    Args:
        policy: decides whether loop devices are included.
        places: sources.
        only: names of the disks to open and read; all without it. The other facts are always read of all
            disks, to find duplicates of an identity; no disk is opened for that.
        previous: for showing only: provides the content of disks that were not written since.
        looked: disks as this process saw them before, by name. If the kernel has counted no write since,
            places between the ends are not read again.
        progress: called with the progress on a disk, in threads.
    """
    names, others = _block_devices(places, policy)
    backings = uses.read_loop_backings(places)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        disks = tuple(
            facts
            for facts in pool.map(
                lambda name: _disk(places, name, opened=only is None or name in only), names
            )
            if facts
        )
        machine = _machine(places, backings, disks)
        known = Snapshot(machine, disks, others)

        def fully(facts: DiskFacts) -> DiskFacts:
            if only is not None and facts.name not in only:
                return facts
            if (earlier := find_unanswered(_node(places, facts))) is not None:
                return dataclasses.replace(facts, content=unreadable(earlier.reason))
            if is_in_use(known, facts.name, policy):
                return facts
            if (unchanged := _unchanged(facts, previous)) is not None:
                return unchanged
            before = _before(facts, machine, looked.get(facts.name))
            return _content(places, facts, before, partial(progress, facts.name))

        return dataclasses.replace(known, disks=tuple(pool.map(fully, disks)))


def _block_devices(places: SourceFolders, policy: Policy) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of disks, and of block devices that cannot be disks."""
    disks, others = [], []
    for folder in sorted((places.sys / "block").iterdir(), key=lambda each: (len(each.name), each.name)):
        is_disk = any(kind.fullmatch(folder.name) for kind, _ in DISK_KINDS)
        attached = _is_attached(folder)
        if is_disk or (is_loop(folder.name) and policy.accept_loop_devices and attached):
            disks.append(folder.name)
        elif attached and not folder.name.startswith(("ram", "zram")):
            others.append(folder.name)
    return disks, tuple(others)


def _disk(places: SourceFolders, name: str, *, opened: bool) -> DiskFacts | None:
    """Return the facts of a disk; None if it went away in between: it is not offered then."""
    try:
        facts = read_disk(places, name)
    except FileNotFoundError:
        return None
    if opened:
        facts = dataclasses.replace(facts, exclusive=read_exclusive(places, facts.name, facts.number))
    return facts if _is_attached(places.sys / "block" / name) else None


def _is_attached(folder: Path) -> bool:
    """Return whether a block device exists, and a loop device has a file."""
    return (folder / ("loop/backing_file" if is_loop(folder.name) else "size")).exists()


def _machine(
    places: SourceFolders, backings: Reading[tuple[uses.LoopBacking, ...]], disks: Iterable[DiskFacts]
) -> MachineSnapshot:
    return MachineSnapshot(
        mounts=processes.read_mounts(places),
        swaps=uses.read_swaps(places),
        btrfs=uses.read_btrfs(places),
        pools=uses.read_pools(places),
        arrays=uses.read_arrays(places),
        openers=processes.read_openers(places),
        sees_all=processes.read_sees_all(places),
        loops=uses.loop_uses(backings),
        targets=uses.read_targets(places),
        stacking=uses.read_stacking(places, backings),
        hibernation=uses.read_hibernation(places),
        identities=_identities(disks),
        released=read_released(places),
        fstab=uses.read_fstab(places),
        crypttab=uses.read_crypttab(places),
        mdadm=uses.read_mdadm(places),
        lvm=uses.read_lvm(places),
        zpool_cache=uses.read_zpool_cache(places),
        units=uses.read_units(places),
        cmdline=uses.read_cmdline(places),
        read_whole=read_whole(places),
    )


def _identities(disks: Iterable[DiskFacts]) -> Reading[tuple[KnownDisk, ...]]:
    """Return the identities of all disks; an unreadable one could be the duplicate of any."""
    known = []
    unread: Reading[tuple[KnownDisk, ...]] | None = None
    for facts in disks:
        identity = facts.identity.value
        if identity is None:
            reason = say("of-source", source=facts.name, what=facts.identity.reason)
            unread = Reading(facts.identity.state, None, reason)
        else:
            known.append(KnownDisk(facts.name, identity.serial, identity.wwn))
    if unread is not None:
        return Reading(unread.state, tuple(known), unread.reason)
    return read(tuple(known))


def _unchanged(facts: DiskFacts, previous: Snapshot | None) -> DiskFacts | None:
    """Return a disk with its content since it was last written; None if it must be read."""
    for before in previous.disks if previous is not None else ():
        is_unchanged = (before.identity, before.written) == (facts.identity, facts.written)
        if is_unchanged and before.content.state is SourceKnowledge.READ:
            return dataclasses.replace(facts, content=before.content, health=before.health)
    return None


def _node(places: SourceFolders, facts: DiskFacts) -> str:
    return str(places.dev / facts.name.replace("!", "/"))


def _content(
    places: SourceFolders, facts: DiskFacts, before: PreviousContent, progress: Progress
) -> DiskFacts:
    medium = facts.medium.value
    if medium is None:
        return facts
    try:
        check_answers(_node(places, facts))
    except NoAnswerError as err:
        return dataclasses.replace(facts, content=unreadable(err.reason))
    return dataclasses.replace(
        facts,
        content=read_content(places, facts.name, facts.number, medium, before, progress),
        health=read_health(places, facts.name, facts.number),
    )


def _before(facts: DiskFacts, machine: MachineSnapshot, looked: DiskFacts | None) -> PreviousContent:
    """Return the earlier knowledge of a disk."""
    identity = facts.identity.known(None)
    content = None
    if (
        looked is not None
        and looked.identity == facts.identity
        and looked.marks == facts.marks
        and looked.marks.is_same_appearance(facts.marks)
    ):
        content = looked.content.known(None)
    return PreviousContent(
        facts.marks,
        record_of(identity, machine.released.known(())),
        record_of(identity, machine.read_whole.known(())),
        content,
    )
