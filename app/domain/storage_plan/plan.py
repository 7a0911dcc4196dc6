"""What is to be made of which disks: the storage plan of one target.

Data only. `app.storage.layout.commands` turns it into steps; `plan_problems` says what is wrong with it
before anyone touches a disk; `parse_plan` reads what `plan_as_mapping` wrote. Source: design.md, sections 1
and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.units import KIB, MIB

PLAN_SCHEMA: Final = 1
"""Version of the mapping that `plan_as_mapping` writes; a newer one is refused."""

PARTITION_TYPE: Final = "d9306214-c9a4-4a79-8d08-4529ebc0eb40"
"""GPT partition type of every partition that pgFooting makes; nobody else's (drawn at random once)."""

PARTITION_NAME_PREFIX: Final = "pgfooting-"
"""How the GPT name of every partition that pgFooting makes begins."""

TABLE_MARGIN_BYTES: Final = MIB
"""Left free before and after the partition: room for both copies of a GPT, and alignment."""

SMALLEST_CHUNK_BYTES: Final = 4 * KIB
LARGEST_CHUNK_BYTES: Final = 16 * MIB
DEFAULT_CHUNK_BYTES: Final = 512 * KIB
"""Default of mdadm(8), said explicitly because defaults have changed before."""


class Role(StrEnum):
    """What a disk is for; part of the GPT name of its partition."""

    DATA = "data"
    WAL = "wal"
    ZFS_LOG = "log"


class InitialSync(StrEnum):
    """What happens to the blocks of a new md array before it is used."""

    WAIT = "wait"
    """The kernel synchronises every block; it is waited for."""
    ASSUME_CLEAN = "assume-clean"
    """Declared synchronous: sound for mirrors only, whose unwritten blocks nobody reads."""


class Bitmap(StrEnum):
    """Write-intent bitmap of an md array: a crash costs less synchronising, each write costs more."""

    INTERNAL = "internal"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Group:
    """Disks that make one filesystem.

    Attributes:
        disks: in the order in which they become members.
        level: how they are combined.
        filesystem: id of a `app.domain.options.filesystem_spec.FilesystemSpec`.
        options: (option id, value) pairs of that filesystem; everything else stays as tools and kernel
        have it. partition_bytes: size of the one partition on each disk; None for as much as the
        smallest disk has. chunk_bytes: of md arrays with stripes; None for 512 KiB where there are any.
        bitmap: of md arrays with redundancy; None for internal where there can be one.
        initial_sync: of md arrays with redundancy; None for waiting where there is one.
    """

    disks: tuple[DiskIdentity, ...]
    level: Level
    filesystem: str
    options: tuple[tuple[str, OptionValue], ...] = ()
    partition_bytes: int | None = None
    chunk_bytes: int | None = None
    bitmap: Bitmap | None = None
    initial_sync: InitialSync | None = None

    @property
    def chosen(self) -> dict[str, OptionValue]:
        """Return the options by id."""
        return dict(self.options)


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Everything that is made for one target.

    Attributes:
        data: holds the data directory.
        wal: holds pg_wal; None where that lies in the data directory.
        zfs_log: log devices of the pool of `data`; more than one are mirrored.
    """

    data: Group
    wal: Group | None = None
    zfs_log: tuple[DiskIdentity, ...] = ()

    def members(self) -> Iterator[tuple[Role, DiskIdentity]]:
        """Yield every disk with its role, in the order in which disks are claimed."""
        for disk in self.data.disks:
            yield Role.DATA, disk
        for disk in self.wal.disks if self.wal else ():
            yield Role.WAL, disk
        for disk in self.zfs_log:
            yield Role.ZFS_LOG, disk


def plan_as_mapping(plan: StoragePlan) -> Mapping[str, object]:
    """Return a plan as plain values for JSON or TOML; `parse_plan` reads them."""
    return {
        "schema": PLAN_SCHEMA,
        "data": _group_mapping(plan.data),
        **({"wal": _group_mapping(plan.wal)} if plan.wal else {}),
        **({"zfs_log": [identity_as_mapping(disk) for disk in plan.zfs_log]} if plan.zfs_log else {}),
    }


def identity_as_mapping(disk: DiskIdentity) -> Mapping[str, object]:
    """Return an identity as plain values; fields that are unknown are left out."""
    values = {
        "serial": disk.serial,
        "wwn": disk.wwn,
        "model": disk.model,
        "size_bytes": disk.size_bytes,
        "device_number": disk.device_number,
        "diskseq": disk.diskseq,
    }
    return {name: value for name, value in values.items() if value is not None}


def _group_mapping(group: Group) -> Mapping[str, object]:
    values: dict[str, object] = {
        "disks": [identity_as_mapping(disk) for disk in group.disks],
        "level": group.level.value,
        "filesystem": group.filesystem,
        "options": dict(group.options),
        "partition_bytes": group.partition_bytes,
        "chunk_bytes": group.chunk_bytes,
        "bitmap": group.bitmap.value if group.bitmap else None,
        "initial_sync": group.initial_sync.value if group.initial_sync else None,
    }
    return {name: value for name, value in values.items() if value is not None}
