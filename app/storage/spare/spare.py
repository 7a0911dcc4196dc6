"""The spare-disk rules as an execution asks them: who a disk is, whether it may be written, and its release.

Reads this machine; the rules themselves are pure (`app.storage.spare.rules`).
"""

from __future__ import annotations

import errno
import os
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer
from app.storage.checks.hooks import User
from app.storage.inspect.disk import read_disk
from app.storage.inspect.snapshot import DiskFacts, Policy, ReleaseRecord, Snapshot
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.content import ends_of, opened_disk
from app.storage.spare.inspect import TellDisk, inspect_machine, tell_nobody
from app.storage.spare.release_ledger import read_released, record_of, record_release, with_places
from app.storage.spare.rules import decide
from app.storage.spare.users import users_of
from app.storage.system.state import sysfs_folder

ALL_WRITTEN: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SpareDisks:
    """Answers about the disks of this machine, each read afresh.

    Attributes:
        policy: root's own; never a caller's.
        places: where to read.
    """

    policy: Policy = field(default_factory=Policy)
    places: SourceFolders = field(default_factory=SourceFolders.of_this_machine)
    _looked: dict[str, DiskFacts] = field(default_factory=dict, init=False, compare=False)

    def identify(self, node: str) -> DiskIdentity:
        """Return who the disk of a node is now.

        Raises:
            OSError: it is gone, or does not tell.
        """
        reading = read_disk(self.places, sysfs_folder(node).name).identity
        if reading.value is None:
            raise OSError(errno.ENODEV, reading.reason, node)
        return reading.value

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        """Return why disks are not spare, by node; one snapshot answers for all of them.

        What cannot be decided refuses: there is nobody with more rights to ask.

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

    def look(self, names: frozenset[str], tell: TellDisk = tell_nobody) -> Snapshot:
        """Return the machine now, with the content of these disks.

        Their ends are read each time. Places between them were read before by this process, or are read now,
        where the kernel has counted a write since.
        """
        looked = dict(self._looked)
        snapshot = inspect_machine(self.policy, self.places, only=names, looked=looked, tell=tell)
        for name in names:
            with suppress(KeyError):
                self._looked[name] = snapshot.disk(name)
        return snapshot

    def users(self, node: str, identity: DiskIdentity) -> Sequence[User]:
        """Return who uses a disk, or an array of our partitions (`app.storage.spare.users`).

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
            written_ends: byte behind the last one that may have been written, by node; without it all.

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
                    digest=ends_of(fd, medium)[0].digest,
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
