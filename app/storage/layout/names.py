"""Names and identifiers for the objects of a plan: all from one session id.

Set by us wherever a tool accepts them, and checked after it ended: anything with another one is not ours.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from app.domain.storage_plan.plan import PARTITION_NAME_PREFIX, Role

HOST: Final = "pgfooting"
"""Home host of arrays (mdadm(8)): no machine's name, so that none takes them for its own at boot."""


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """A disk of a plan on this machine.

    Attributes:
        node: of the whole disk, such as ``/dev/sdb``.
        logical_block_bytes: smallest unit that can be addressed.
    """

    node: str
    logical_block_bytes: int = 512

    @property
    def partition(self) -> str:
        """Return the node of its first partition, in the kernel's naming (block/partitions/core.c)."""
        return f"{self.node}p1" if self.node[-1:].isdigit() else f"{self.node}1"


@dataclass(frozen=True, slots=True)
class Names:
    """Names of one session.

    Attributes:
        session: random identifier of the session, from the journal.
    """

    session: uuid.UUID

    def table(self, disk_key: str) -> str:
        """Return the identifier of a disk's GPT."""
        return self._uuid(f"table {disk_key}")

    def partition(self, disk_key: str) -> str:
        """Return the identifier of a disk's partition."""
        return self._uuid(f"partition {disk_key}")

    def partition_name(self, role: Role) -> str:
        """Return the GPT name of a partition (at most 36 characters)."""
        return f"{PARTITION_NAME_PREFIX}{role.value}"

    def filesystem(self, role: Role) -> str:
        """Return the UUID of a filesystem."""
        return self._uuid(f"filesystem {role.value}")

    def array_uuid(self, role: Role) -> str:
        """Return the UUID of an array."""
        return self._uuid(f"array {role.value}")

    def array(self, role: Role) -> str:
        """Return the name of an array.

        With the home host and a colon it has fewer than 32 characters: else mdadm omits the home host (its
        super1.c). The first five letters distinguish the roles.
        """
        return f"pgf-{role.value[:5]}-{self.session.hex[:10]}"

    def array_node(self, role: Role) -> str:
        """Return the node of an array."""
        return f"/dev/md/{self.array(role)}"

    def pool(self, role: Role) -> str:
        """Return the name of a pool: letters, digits and hyphens, beginning with a letter."""
        return f"{PARTITION_NAME_PREFIX}{role.value}-{self.session.hex[:16]}"

    def _uuid(self, what: str) -> str:
        return str(uuid.uuid5(self.session, what))
