"""What has to be true before and after a step, as data.

`app.storage.checks.conditions` looks whether it is; nothing here touches anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

POOL_GUID: Final = "{pool-guid}"
"""Stands in `SignatureIs` for the GUID that ZFS gave to the pool of that label; known only once it exists."""


def table_place(table_uuid: str) -> str:
    """Return the place of a partition table, for its mark."""
    return f"table {table_uuid}"


def partition_place(partition_uuid: str) -> str:
    """Return the place of what lies in a partition, for its mark."""
    return f"partition {partition_uuid}"


def array_place(array_uuid: str) -> str:
    """Return the place of what lies in an array, for its mark."""
    return f"array {array_uuid}"


@dataclass(frozen=True, slots=True)
class SignedPlace:
    """Where something of a session's lies, with its marks and digests in the journal.

    Attributes:
        name: of it, `table_place`, `partition_place` or that of an array.
        node: of the disk, partition or array.
        is_table: whether it is a partition table; else the content of a partition or array.
    """

    name: str
    node: str
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class OwnTable:
    """libblkid finds a GPT with the identifier that this plan gave it: asked once, of what was just made."""

    disk: str
    table_uuid: str


@dataclass(frozen=True, slots=True)
class OwnPartition:
    """The partition table of the disk and its copy are, byte for byte, as they were made."""

    disk: str
    partition_uuid: str
    table_uuid: str

    @property
    def place(self) -> str:
        """Return the place of what lies in the partition, for its mark."""
        return partition_place(self.partition_uuid)

    @property
    def table_place(self) -> str:
        """Return the place of the partition table, for its digest."""
        return table_place(self.table_uuid)


@dataclass(frozen=True, slots=True)
class SignatureIs:
    """libblkid finds exactly this signature on a device.

    Attributes:
        node: device.
        type: such as ``ext4`` or ``linux_raid_member``.
        uuid: UUID of it, or `POOL_GUID`; empty where any will do.
        label: label of it (the name of a pool); empty where any will do.
    """

    node: str
    type: str
    uuid: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class SessionPartition:
    """The one partition that a session makes on a disk.

    Attributes:
        disk: node of the disk.
        node: of the partition.
        table_uuid: identifier of the GPT.
        partition_uuid: of the partition.
        partition_type: of the partition.
        start_bytes: where it begins.
        size_bytes: of it.
    """

    disk: str
    node: str
    table_uuid: str
    partition_uuid: str
    partition_type: str
    start_bytes: int
    size_bytes: int

    @property
    def table_place(self) -> str:
        """Return the place of the partition table, for its mark."""
        return table_place(self.table_uuid)

    @property
    def place(self) -> str:
        """Return the place of what lies in the partition, for its mark."""
        return partition_place(self.partition_uuid)

    @property
    def own(self) -> OwnPartition:
        """Return the condition that it is ours."""
        return OwnPartition(self.disk, self.partition_uuid, self.table_uuid)

    @property
    def places(self) -> tuple[SignedPlace, SignedPlace]:
        """Return the places of its content and of the partition table."""
        return SignedPlace(self.place, self.node), SignedPlace(self.table_place, self.disk, is_table=True)


@dataclass(frozen=True, slots=True)
class OwnMember:
    """A partition that an array or a pool of ours holds is ours: by the table, or by what lies in it.

    As long as it is held the kernel takes no notice of a table that somebody changed. Taking the array or
    pool apart writes to its own superblocks or labels only (md.c, md_update_sb; spa.c, spa_export_common),
    and the other disks cannot be freed before.

    Attributes:
        partition: as it was made.
        signature: what makes it a member of ours.
    """

    partition: SessionPartition
    signature: SignatureIs

    @property
    def disk(self) -> str:
        """Return the node of the disk."""
        return self.partition.disk

    @property
    def place(self) -> str:
        """Return the place of what lies in the partition, for its mark."""
        return self.partition.place


@dataclass(frozen=True, slots=True)
class NoSignature:
    """libblkid finds no signature on a device; a device that is gone has none either."""

    node: str


@dataclass(frozen=True, slots=True)
class MountIs:
    """One of these sources is what is mounted, last, on the folder, by the mount that the journal holds.

    Where it holds none yet, the mount has just been made, or a helper died meanwhile.
    """

    folder: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotMounted:
    """Nothing is mounted on the folder."""

    folder: str


@dataclass(frozen=True, slots=True)
class NodeThere:
    """There is such a device."""

    node: str


@dataclass(frozen=True, slots=True)
class DeviceGone:
    """There is no such device."""

    node: str


@dataclass(frozen=True, slots=True)
class DeviceFree:
    """Nothing in the kernel claims the device: no holders, and it can be opened exclusively."""

    node: str


@dataclass(frozen=True, slots=True)
class ArrayRuns:
    """An md array with this UUID, made of nothing but some of the members, runs under whatever name.

    Attributes:
        node: name that this plan gave it; argument lists that contain it get the name that it has now.
        uuid: UUID of the array.
        members: partitions that it was made of.
    """

    node: str
    uuid: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoArray:
    """No md array holds any of the members."""

    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A partition has the superblock of the md array with this UUID."""

    node: str
    uuid: str


@dataclass(frozen=True, slots=True)
class PoolImported:
    """A pool of this name is imported."""

    pool: str


@dataclass(frozen=True, slots=True)
class OwnPool:
    """A pool of this name is imported, and its GUID is the one that the journal holds."""

    pool: str


@dataclass(frozen=True, slots=True)
class NoPool:
    """No pool of this name is imported."""

    pool: str


@dataclass(frozen=True, slots=True)
class PoolNotMounted:
    """A pool has no dataset but its own, and none is mounted in this mount namespace.

    ``zpool destroy`` would unmount it, and takes what others made in the pool with it. In another namespace
    the kernel keeps the pool busy.
    """

    pool: str


@dataclass(frozen=True, slots=True)
class NoBtrfs:
    """The kernel has no mounted btrfs of this UUID."""

    uuid: str


@dataclass(frozen=True, slots=True)
class FactIs:
    """The journal holds this text under this name."""

    name: str
    text: str


Condition = (
    OwnTable
    | OwnPartition
    | OwnMember
    | SignatureIs
    | NoSignature
    | MountIs
    | NotMounted
    | NodeThere
    | DeviceGone
    | DeviceFree
    | ArrayRuns
    | NoArray
    | MemberOf
    | PoolImported
    | OwnPool
    | NoPool
    | PoolNotMounted
    | NoBtrfs
    | FactIs
)
