"""Conditions before and after a step, as data.

`app.storage.checks.disk_checks` checks them; nothing here touches anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

POOL_GUID: Final = "{pool-guid}"
"""Placeholder in `SignatureIs` for the GUID of the pool with that label; known only once the pool exists."""


def table_place(table_uuid: str) -> str:
    """Return the place of a partition table, for its mark."""
    return f"table {table_uuid}"


def partition_place(partition_uuid: str) -> str:
    """Return the place of a partition's content, for its mark."""
    return f"partition {partition_uuid}"


def array_place(array_uuid: str) -> str:
    """Return the place of an array's content, for its mark."""
    return f"array {array_uuid}"


@dataclass(frozen=True, slots=True)
class SignedPlace:
    """A place with something of a session, with its marks and digests in the journal.

    Attributes:
        name: of the place: `table_place`, `partition_place` or `array_place`.
        node: of the disk, partition or array.
        is_table: whether it is a partition table; else the content of a partition or array.
    """

    name: str
    node: str
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class OwnTable:
    """libblkid finds a GPT with the identifier of this plan: checked once, right after it was made."""

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
        """Return the place of the partition's content, for its mark."""
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
        uuid: UUID of it, or `POOL_GUID`; empty if any will do.
        label: label of it (the name of a pool); empty if any will do.
    """

    node: str
    type: str
    uuid: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class SessionPartition:
    """The one partition of a session on a disk.

    Attributes:
        disk: node of the disk.
        node: of the partition.
        table_uuid: identifier of the GPT.
        partition_uuid: of the partition.
        partition_type: of the partition.
        start_bytes: first byte.
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
        """Return the place of the partition's content, for its mark."""
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
    """A partition held by our array or pool is ours: proven by the table, or by its content.

    While it is held the kernel ignores a changed table. Taking the array or pool apart writes only to its own
    superblocks or labels (md.c, md_update_sb; spa.c, spa_export_common), and the other disks cannot be freed
    before.

    Attributes:
        partition: as it was made.
        signature: of our member.
    """

    partition: SessionPartition
    signature: SignatureIs

    @property
    def disk(self) -> str:
        """Return the node of the disk."""
        return self.partition.disk

    @property
    def place(self) -> str:
        """Return the place of the partition's content, for its mark."""
        return self.partition.place


@dataclass(frozen=True, slots=True)
class NoSignature:
    """libblkid finds no signature on a device; a device that is gone has none either."""

    node: str


@dataclass(frozen=True, slots=True)
class MountIs:
    """The topmost mount on the folder is one of these sources, and the mount recorded in the journal.

    If the journal has none yet, the mount has just been made, or a helper died in between.
    """

    folder: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotMounted:
    """Nothing is mounted on the folder."""

    folder: str


@dataclass(frozen=True, slots=True)
class NodeThere:
    """The device exists."""

    node: str


@dataclass(frozen=True, slots=True)
class DeviceGone:
    """The device does not exist."""

    node: str


@dataclass(frozen=True, slots=True)
class DeviceFree:
    """Nothing in the kernel claims the device: no holders, and it can be opened exclusively."""

    node: str


@dataclass(frozen=True, slots=True)
class ArrayRuns:
    """An md array with this UUID, consisting only of some of the members, runs under any name.

    Attributes:
        node: name in this plan; argument lists that contain it get the current name.
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
    """A pool with this name is imported."""

    pool: str


@dataclass(frozen=True, slots=True)
class OwnPool:
    """A pool with this name is imported, and its GUID is the journal's."""

    pool: str


@dataclass(frozen=True, slots=True)
class NoPool:
    """No pool with this name is imported."""

    pool: str


@dataclass(frozen=True, slots=True)
class PoolNotMounted:
    """A pool has only its root dataset, and none is mounted in this mount namespace.

    ``zpool destroy`` would unmount it, and delete anything that others made in the pool. In another namespace
    the kernel keeps the pool busy.
    """

    pool: str


@dataclass(frozen=True, slots=True)
class NoBtrfs:
    """The kernel has no mounted btrfs with this UUID."""

    uuid: str


@dataclass(frozen=True, slots=True)
class FactIs:
    """The journal has this text under this name."""

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
