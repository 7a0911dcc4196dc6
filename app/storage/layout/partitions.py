"""The partitions of a plan's disks, and the stripes of an md array for its filesystem.

Each disk has one partition. By default it is as large as the run needs, so that runs can be interleaved
without hours of formatting and synchronising; the whole disk is a choice. Source: design.md, section 4;
stripes: storage reference, section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.formats import format_of
from app.domain.options.format_spec import STRIPE_OPTIONS, StripeGeometry
from app.domain.options.raid import Assembler, layout
from app.domain.storage_plan.plan import (
    DEFAULT_CHUNK_BYTES,
    PARTITION_TYPE,
    TABLE_MARGIN_BYTES,
    Group,
    Role,
    StoragePlan,
)
from app.domain.units import MIB
from app.storage.layout.conditions import (
    POOL_GUID,
    OwnMember,
    OwnPartition,
    SessionPartition,
    SignatureIs,
    SignedPlace,
)
from app.storage.layout.names import Names, PlannedDevice


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
