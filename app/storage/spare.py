"""The spare-disk rules as an execution asks them: who a disk is, whether it may be written, and its release.

Reads this machine; the rules themselves are pure (`app.storage.rules`).
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.disk import Answer, DiskIdentity, Refusal
from app.storage.inspect import inspect_machine
from app.storage.inspect_content import read_content
from app.storage.inspect_disk import read_disk
from app.storage.places import Places
from app.storage.released import record_release
from app.storage.rules import decide
from app.storage.snapshot import Policy
from app.storage.state import sysfs_folder


@dataclass(frozen=True, slots=True)
class SpareDisks:
    """Answers about the disks of this machine, each read afresh.

    Attributes:
        policy: root's own; never a caller's.
        places: where to read.
    """

    policy: Policy = field(default_factory=Policy)
    places: Places = field(default_factory=Places.of_this_machine)

    def identify(self, node: str) -> DiskIdentity:
        """Return who the disk of a node is now.

        Raises:
            OSError: it is gone, or does not tell.
        """
        reading = read_disk(self.places, sysfs_folder(node).name).identity
        if reading.value is None:
            raise OSError(errno.ENODEV, reading.reason, node)
        return reading.value

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[Refusal]]:
        """Return why disks are not spare, by node; one snapshot answers for all of them.

        What cannot be decided refuses: there is nobody with more rights to ask.

        Raises:
            OSError: a disk is gone.
        """
        names = {node: sysfs_folder(node).name for node in chosen}
        snapshot = inspect_machine(self.policy, self.places, only=frozenset(names.values()))
        found: dict[str, Sequence[Refusal]] = {}
        for node, identity in chosen.items():
            decision = decide(snapshot, names[node], self.policy, chosen=identity)
            if decision.answer is not Answer.SPARE:
                found[node] = (*decision.refusals, *decision.questions)
        return found

    def release(self, disks: Mapping[str, DiskIdentity]) -> None:
        """Record that blank disks were ours, so that they may be used again with old data in their middle.

        Args:
            disks: identity by node, after everything on them was unmade.

        Raises:
            OSError: a disk cannot be read, or the record not be written.
        """
        for node, identity in disks.items():
            facts = read_disk(self.places, sysfs_folder(node).name)
            medium = facts.medium.value
            if medium is None:
                raise OSError(errno.EIO, facts.medium.reason, node)
            content = read_content(self.places, facts.name, facts.number, medium)
            if content.value is None:
                raise OSError(errno.EIO, content.reason or content.state.value, node)
            record_release(identity, content.value.digest, self.places.released)
