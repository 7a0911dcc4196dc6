"""The partitions that a plan's disks get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.filesystems import filesystem
from app.domain.options.raid import Assembler
from app.domain.storage_plan.plan import PARTITION_TYPE, Role, StoragePlan
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
from app.storage.layout.partition_size import planned_bytes, whole_disk_bytes

START_BYTES: Final = MIB
"""Where our partition begins on every disk."""


@dataclass(frozen=True, slots=True)
class PlanMember:
    """A disk of a plan with the partition on it.

    Attributes:
        role: what it is for.
        disk: node of the whole disk.
        node: node of the partition.
        partition_bytes: its size.
        table_uuid: identifier of the GPT.
        partition_uuid: identifier of the partition.
        name: GPT name of the partition.
        signature: what comes to lie in it: a filesystem, or that it is a member.
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
        """Return the partition as it is looked for before anything of it is wiped."""
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
        """Return the place of what lies in the partition."""
        return self.partition.places[0]

    @property
    def own_member(self) -> OwnMember:
        """Return the condition that the partition is ours, or still a member of what we made of it."""
        return OwnMember(self.partition, self.signature)


def members_of(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names
) -> tuple[PlanMember, ...]:
    """Return the members of a plan in the order in which its disks are claimed.

    Partitions of one group are equally large, so that no tool has to ask whether that is meant.

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
    """Return what is made in a partition of a group."""
    group = plan.data if role is Role.ZFS_LOG else plan.by_role[role]
    spec = filesystem(group.filesystem)
    match spec.assembler(group.level):
        case Assembler.ZFS:
            pool = names.pool(Role.DATA if role is Role.ZFS_LOG else role)
            return SignatureIs(node, "zfs_member", POOL_GUID, pool)
        case Assembler.MD:
            return SignatureIs(node, "linux_raid_member", names.array_uuid(role))
        case _:
            return SignatureIs(node, spec.id, names.filesystem(role))
