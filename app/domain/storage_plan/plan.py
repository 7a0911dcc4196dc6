"""What is to be made of which disks: the storage plan of one target.

Data only. `app.storage.layout.commands` turns it into steps; `plan_problems` says what is wrong with it
before anyone touches a disk; `parse_plan` reads what `plan_as_mapping` wrote. Source: design.md, sections 1
and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, Generic, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.units import GIB, KIB, MIB

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

READ_AHEAD_UNIT_BYTES: Final = 4 * KIB
"""The kernel counts read-ahead in KiB and keeps whole pages (block/blk-sysfs.c, queue_ra_store)."""
MOST_READ_AHEAD_BYTES: Final = GIB


class Role(StrEnum):
    """What a disk is for; part of the GPT name of its partition."""

    DATA = "data"
    WAL = "wal"
    TABLES = "tables"
    INDEXES = "indexes"
    ZFS_LOG = "log"


FURTHER_ROLES: Final = (Role.WAL, Role.TABLES, Role.INDEXES)
"""What may have a group of disks of its own beside the data directory, in the order in which it is made.

Each is a field of a plan and of a target, a key of campaign files, and a word on the bus.
"""

MOST_GROUPS: Final = 1 + len(FURTHER_ROLES)
"""Filesystems that a plan makes at most."""

RELATION_ROLES: Final = (Role.TABLES, Role.INDEXES)
"""Those that hold a tablespace."""


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


class Scheduler(StrEnum):
    """I/O schedulers of Linux (Documentation/block: none is the multi-queue path without any)."""

    NONE = "none"
    MQ_DEADLINE = "mq-deadline"
    KYBER = "kyber"
    BFQ = "bfq"


Member = TypeVar("Member")
"""What names a disk: its identity in a plan, a serial or WWN in a campaign."""


@dataclass(frozen=True, slots=True)
class GroupOf(Generic[Member]):
    """Disks that make one filesystem, each named by a `Member`.

    Attributes:
        disks: in the order in which they become members.
        level: how they are combined.
        filesystem: id of a `app.domain.options.filesystem_spec.FilesystemSpec`.
        options: (option id, value) pairs of that filesystem.
        partition_bytes: size of the one partition on each disk.
        chunk_bytes: of md arrays with stripes; None for 512 KiB where there are any.
        bitmap: of md arrays with redundancy; None for internal where there can be one.
        initial_sync: of md arrays with redundancy; None for waiting where there is one.
        scheduler: of the disks as long as they are used; None for whatever the machine has set.
        read_ahead_bytes: of the disks and of what lies on them, as long as they are used; None likewise.
    """

    disks: tuple[Member, ...]
    level: Level
    filesystem: str
    options: tuple[tuple[str, OptionValue], ...] = ()
    partition_bytes: int | None = None
    chunk_bytes: int | None = None
    bitmap: Bitmap | None = None
    initial_sync: InitialSync | None = None
    scheduler: Scheduler | None = None
    read_ahead_bytes: int | None = None

    @property
    def chosen(self) -> dict[str, OptionValue]:
        """Return the options by id."""
        return dict(self.options)


@dataclass(frozen=True, slots=True)
class Group(GroupOf[DiskIdentity]):
    """A group of a plan: its disks are those of one machine.

    Attributes:
        options: everything else stays as tools and kernel have it.
        partition_bytes: None for as much as the smallest disk has.
    """


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Everything that is made for one target.

    Attributes:
        data: holds the data directory.
        wal: holds pg_wal; None where that lies in the data directory.
        zfs_log: log devices of the pool of `data`; more than one are mirrored.
        tables: holds the tablespace of the tables; None where they lie in the data directory.
        indexes: holds the tablespace of the indexes; None likewise.
    """

    data: Group
    wal: Group | None = None
    zfs_log: tuple[DiskIdentity, ...] = ()
    tables: Group | None = None
    indexes: Group | None = None

    @property
    def by_role(self) -> Mapping[Role, Group]:
        """Every group by what it is for, the data's first, in the order in which they are made."""
        found = {role: getattr(self, role.value) for role in (Role.DATA, *FURTHER_ROLES)}
        return {role: group for role, group in found.items() if group is not None}

    @property
    def groups(self) -> tuple[Group, ...]:
        """The data's group and those that there are beside it."""
        return tuple(self.by_role.values())

    @property
    def of_relations(self) -> tuple[Group, ...]:
        """The groups on which tables or indexes may lie: the data's, and those with a tablespace."""
        return tuple(group for role, group in self.by_role.items() if role is not Role.WAL)

    def members(self) -> Iterator[tuple[Role, DiskIdentity]]:
        """Yield every disk with its role, in the order in which disks are claimed."""
        for role, group in self.by_role.items():
            for disk in group.disks:
                yield role, disk
        for disk in self.zfs_log:
            yield Role.ZFS_LOG, disk


def names_of(part: type[Group | DiskIdentity | StoragePlan]) -> tuple[str, ...]:
    """Return the fields of a part of a plan: its keys in files, and its order on the bus."""
    return tuple(each.name for each in fields(part))


def plan_as_mapping(plan: StoragePlan) -> Mapping[str, object]:
    """Return a plan as plain values for JSON or TOML; `parse_plan` reads them."""
    values = part_as_mapping(plan)
    return {"schema": PLAN_SCHEMA, **{name: value for name, value in values.items() if value}}


def part_as_mapping(part: Group | DiskIdentity | StoragePlan) -> dict[str, object]:
    """Return a part of a plan as plain values by field; fields that are None are left out."""
    values = {name: getattr(part, name) for name in names_of(type(part))}
    if isinstance(part, Group):
        values["options"] = part.chosen
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, Group | DiskIdentity):
        return part_as_mapping(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, StrEnum) else value
