"""The partitions that a plan's disks get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.plan import Group, Role, StoragePlan
from app.storage.names import Device, Names
from app.storage.sizes import whole_disk_bytes
from app.storage.steps import OwnPartition


@dataclass(frozen=True, slots=True)
class Member:
    """A disk of a plan with the partition on it.

    Attributes:
        role: what it is for.
        disk: node of the whole disk.
        node: node of the partition.
        partition_bytes: its size.
        table_uuid: identifier of the GPT.
        partition_uuid: identifier of the partition.
        name: GPT name of the partition.
    """

    role: Role
    disk: str
    node: str
    partition_bytes: int
    table_uuid: str
    partition_uuid: str
    name: str

    @property
    def own(self) -> OwnPartition:
        """Return the condition that the partition is ours."""
        return OwnPartition(self.disk, self.partition_uuid)


def members_of(plan: StoragePlan, devices: Mapping[str, Device], names: Names) -> tuple[Member, ...]:
    """Return the members of a plan in the order in which its disks are claimed.

    Partitions of one group are equally large, so that no tool has to ask whether that is meant.

    Raises:
        KeyError: a disk of the plan is not among the devices.
    """
    sizes = {
        Role.DATA: _partition_bytes(plan.data),
        Role.WAL: _partition_bytes(plan.wal) if plan.wal else 0,
        Role.ZFS_LOG: whole_disk_bytes(disk.size_bytes for disk in plan.zfs_log) if plan.zfs_log else 0,
    }
    found = []
    for role, identity in plan.members():
        key = identity.key()
        device = devices[key]
        found.append(
            Member(
                role,
                device.node,
                device.partition,
                sizes[role],
                names.table(key),
                names.partition(key),
                names.partition_name(role),
            )
        )
    return tuple(found)


def _partition_bytes(group: Group) -> int:
    return group.partition_bytes or whole_disk_bytes(disk.size_bytes for disk in group.disks)
