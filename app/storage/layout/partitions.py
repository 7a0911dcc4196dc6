"""The names of a plan's objects, the partitions of its disks, and the stripes of an md array.

Each disk has one partition. By default it is as large as the run needs, so that runs can be interleaved
without hours of formatting and synchronising; the whole disk is a choice. Source: design.md, section 4;
stripes: storage reference, section 2.1.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.formats import format_of
from app.domain.options.format_spec import STRIPE_OPTIONS, StripeGeometry
from app.domain.options.raid import Assembler, layout
from app.domain.storage_plan.plan import (
    DEFAULT_CHUNK_BYTES,
    PARTITION_NAME_PREFIX,
    PARTITION_TYPE,
    TABLE_MARGIN_BYTES,
    Group,
    Role,
    StoragePlan,
)
from app.domain.text import MIB
from app.storage.layout.conditions import (
    POOL_GUID,
    OwnMember,
    OwnPartition,
    SessionPartition,
    SignatureIs,
    SignedPlace,
)

# Names and identifiers for the objects of a plan: all from one session id.
#
# Set by us wherever a tool accepts them, and checked after it ended: anything with another one is not ours.


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


def whole_disk_bytes(disk_sizes: Iterable[int]) -> int:
    """Return the largest partition, in whole MiB, that fits each of the disks with both copies of a GPT."""
    return max(0, (min(disk_sizes) - 2 * TABLE_MARGIN_BYTES) // MIB * MIB)


def planned_bytes(group: Group) -> int:
    """Return the size of the one partition on each disk of a group."""
    return group.partition_bytes or whole_disk_bytes(disk.size_bytes for disk in group.disks)


START_BYTES: Final = MIB
"""Start of our partition on every disk."""


@dataclass(frozen=True, slots=True)
class PlanMember:
    """A disk of a plan with the partition on it.

    Attributes:
        role: its purpose.
        disk: node of the whole disk.
        node: node of the partition.
        partition_bytes: its size.
        table_uuid: identifier of the GPT.
        partition_uuid: identifier of the partition.
        name: GPT name of the partition.
        signature: its future content: a filesystem, or a member.
    """

    role: Role
    disk: str
    node: str
    partition_bytes: int
    table_uuid: str
    partition_uuid: str
    name: str
    signature: SignatureIs

    @property
    def partition(self) -> SessionPartition:
        """Return the partition as it is checked before any of it is wiped."""
        return SessionPartition(
            self.disk,
            self.node,
            self.table_uuid,
            self.partition_uuid,
            PARTITION_TYPE,
            START_BYTES,
            self.partition_bytes,
        )

    @property
    def own(self) -> OwnPartition:
        """Return the condition that the partition is ours."""
        return self.partition.own

    @property
    def content(self) -> SignedPlace:
        """Return the place of the partition's content."""
        return self.partition.places[0]

    @property
    def own_member(self) -> OwnMember:
        """Return the condition that the partition is ours, or still a member of our array or pool."""
        return OwnMember(self.partition, self.signature)


def members_of(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names
) -> tuple[PlanMember, ...]:
    """Return the members of a plan in the order in which its disks are claimed.

    Partitions of one group have equal size: tools would question different sizes.

    Raises:
        KeyError: a disk of the plan is not among the devices.
    """
    sizes = {
        **{role: planned_bytes(group) for role, group in plan.by_role.items()},
        Role.ZFS_LOG: whole_disk_bytes(disk.size_bytes for disk in plan.zfs_log) if plan.zfs_log else 0,
    }
    found = []
    for role, identity in plan.members():
        key = identity.key()
        device = devices[key]
        found.append(
            PlanMember(
                role,
                device.node,
                device.partition,
                sizes[role],
                names.table(key),
                names.partition(key),
                names.partition_name(role),
                _signature(plan, role, device.partition, names),
            )
        )
    return tuple(found)


def _signature(plan: StoragePlan, role: Role, node: str, names: Names) -> SignatureIs:
    """Return the signature to be made in a partition of a group."""
    group = plan.data if role is Role.ZFS_LOG else plan.by_role[role]
    spec = format_of(group.filesystem)
    match spec.assembler(group.level):
        case Assembler.ZFS:
            pool = names.pool(Role.DATA if role is Role.ZFS_LOG else role)
            return SignatureIs(node, "zfs_member", POOL_GUID, pool)
        case Assembler.MD:
            return SignatureIs(node, "linux_raid_member", names.array_uuid(role))
        case _:
            return SignatureIs(node, spec.id, names.filesystem(role))


def chunk_bytes(group: Group) -> int:
    """Return the chunk of an md array with stripes."""
    return group.chunk_bytes or DEFAULT_CHUNK_BYTES


def alignment_of(group: Group, assembler: Assembler) -> StripeGeometry | None:
    """Return the stripes that a filesystem of this group must know; None if there are none.

    Stripes of a RAID controller, which are invisible, may be chosen as options and come first; they are read
    back like all options.
    """
    chosen = group.chosen
    if "su" in chosen and "sw" in chosen:
        return StripeGeometry(int(chosen["su"]), int(chosen["sw"]))
    if assembler is not Assembler.MD or chosen.keys() & set(STRIPE_OPTIONS):
        return None
    disks = layout(group.level, assembler).data_disks(len(group.disks))
    return StripeGeometry(chunk_bytes(group), disks) if disks else None
