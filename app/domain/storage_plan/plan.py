"""The storage plan of one target: which disks become what; and a disk that the helper's journal keeps.

Data only. `app.storage.layout.commands` turns it into steps; `plan_problems` checks it before any disk is
touched; `parse_plan` reads the result of `plan_as_mapping`. Source: design.md, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from app.domain.disk import DiskIdentity, DiskRefusal, refusal_from_wire, refusal_to_wire
from app.domain.messages.message import MESSAGE, message_from_wire, message_to_wire
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.text import GIB, KIB, MIB

PLAN_SCHEMA: Final = 1
"""Version of `plan_as_mapping`'s format; a newer one is refused."""

PARTITION_TYPE: Final = "d9306214-c9a4-4a79-8d08-4529ebc0eb40"
"""GPT partition type of every partition created by pgFooting, and of no other (drawn at random once)."""

PARTITION_NAME_PREFIX: Final = "pgfooting-"
"""Prefix of the GPT name of every partition created by pgFooting."""

TABLE_MARGIN_BYTES: Final = MIB
"""Free space before and after the partition, for both copies of a GPT, and alignment."""

SMALLEST_CHUNK_BYTES: Final = 4 * KIB
LARGEST_CHUNK_BYTES: Final = 16 * MIB
DEFAULT_CHUNK_BYTES: Final = 512 * KIB
"""Default of mdadm(8), passed explicitly because defaults have changed before."""

READ_AHEAD_UNIT_BYTES: Final = 4 * KIB
"""The kernel counts read-ahead in KiB and keeps whole pages (block/blk-sysfs.c, queue_ra_store)."""
MOST_READ_AHEAD_BYTES: Final = GIB


class Role(StrEnum):
    """Purpose of a disk; part of the GPT name of its partition."""

    DATA = "data"
    WAL = "wal"
    TABLES = "tables"
    INDEXES = "indexes"
    ZFS_LOG = "log"


FURTHER_ROLES: Final = (Role.WAL, Role.TABLES, Role.INDEXES)
"""Possible groups in addition to the data directory's, in the order of creation.

Each is a field of a plan and of a target, a key of campaign files, and a word on the bus.
"""

MOST_GROUPS: Final = 1 + len(FURTHER_ROLES)
"""Maximum number of filesystems in a plan."""

RELATION_ROLES: Final = (Role.TABLES, Role.INDEXES)
"""Roles with a tablespace."""


class InitialSync(StrEnum):
    """Initialisation of the blocks of a new md array before use."""

    WAIT = "wait"
    """The kernel synchronises every block, and we wait for it."""
    ASSUME_CLEAN = "assume-clean"
    """Declared as synchronous: sound for mirrors only, whose unwritten blocks are never read."""


class Bitmap(StrEnum):
    """Write-intent bitmap of an md array: faster synchronisation after a crash, slower writes."""

    INTERNAL = "internal"
    NONE = "none"


class Scheduler(StrEnum):
    """I/O schedulers of Linux (Documentation/block: none is the multi-queue path without any)."""

    NONE = "none"
    MQ_DEADLINE = "mq-deadline"
    KYBER = "kyber"
    BFQ = "bfq"


Member = TypeVar("Member")
"""Names a disk: its identity in a plan, a serial or WWN in a campaign."""


@dataclass(frozen=True, slots=True)
class GroupOf(Generic[Member]):
    """Disks that form one filesystem, each named by a `Member`.

    Attributes:
        disks: in the order in which they become members.
        level: how they are combined.
        filesystem: id of a `app.domain.options.filesystem_spec.FilesystemSpec`.
        options: (option id, value) pairs of that filesystem.
        partition_bytes: size of the one partition on each disk.
        chunk_bytes: of md arrays with stripes; None for 512 KiB.
        bitmap: of md arrays with redundancy; None for internal if possible.
        initial_sync: of md arrays with redundancy; None for waiting.
        scheduler: of the disks while they are used; None for the machine's setting.
        read_ahead_bytes: of the disks and the devices on them while they are used; None for the machine's
            setting.
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
    """A group of a plan, with the disks of one machine.

    Attributes:
        options: everything else keeps the defaults of tools and kernel.
        partition_bytes: None for the space of the smallest disk.
    """


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Everything that is created for one target.

    Attributes:
        data: holds the data directory.
        wal: holds pg_wal; None if that is in the data directory.
        zfs_log: log devices of the pool of `data`; several are mirrored.
        tables: holds the tablespace of the tables; None if they are in the data directory.
        indexes: holds the tablespace of the indexes; None if they are in the data directory.
    """

    data: Group
    wal: Group | None = None
    zfs_log: tuple[DiskIdentity, ...] = ()
    tables: Group | None = None
    indexes: Group | None = None

    @property
    def by_role(self) -> Mapping[Role, Group]:
        """Every group by its role, the data's first, in the order of creation."""
        found = {role: getattr(self, role.value) for role in (Role.DATA, *FURTHER_ROLES)}
        return {role: group for role, group in found.items() if group is not None}

    @property
    def groups(self) -> tuple[Group, ...]:
        """The data's group and the further ones."""
        return tuple(self.by_role.values())

    @property
    def of_relations(self) -> tuple[Group, ...]:
        """The groups that may hold tables or indexes: the data's, and those with a tablespace."""
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
    """Return a part of a plan as plain values by field, without fields that are None."""
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


# A disk kept in the helper's journal: the facts for deciding about its release.


KEPT: Final = f"(bbbda(sssssdtt){MESSAGE}{MESSAGE}a(s{MESSAGE}{MESSAGE}{MESSAGE}))"
"""A kept disk as it crosses the bus."""


class ReleaseOutcome(StrEnum):
    """What a release did to a disk.

    WIPED: the signatures in the session's partition and the partition table are wiped, and a copy of them is
    saved. DROPPED: the journal keeps the disk no longer; nothing on it was wiped, but what ran on it
    (an array of the session) may have been stopped, which writes to it. KEPT: the disk is not released.
    """

    WIPED = "wiped"
    DROPPED = "dropped"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class KeptContent:
    """One signature on a kept disk, and the contents of its superblock.

    Attributes:
        node: partition or disk that has it.
        type: as libblkid names it.
        uuid: of it; may be empty.
        label: of it; may be empty.
        mounted_at: folder where it was mounted last; empty if the format does not record it.
        mounted_s: when it was mounted or written last, seconds since the epoch; 0 if unknown.
        used_bytes: of the filesystem; 0 if unknown.
        size_bytes: of the filesystem; 0 if unknown.
    """

    node: str
    type: str
    uuid: str = ""
    label: str = ""
    mounted_at: str = ""
    mounted_s: float = 0.0
    used_bytes: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class KeptDisk:
    """Contents of a disk that the journal keeps; ``--json`` shows the fields by these names.

    Attributes:
        will_wipe: whether a release wipes it; otherwise the journal only forgets it.
        is_table_ours: whether the partition table is byte for byte the one that the session wrote.
        is_as_left: whether the session's partition is unchanged.
        began_s: when the session began to use the disk, seconds since the epoch; 0 if unknown.
        contents: every signature on the disk and in the session's partition.
        reason: why the disk was kept; may be empty.
        unseen: that the disk belongs to an array or pool whose content it does not show, and how to look at
            that; empty if all that is lost is in `contents`.
        obstacles: why it cannot be released now; empty if it can.
    """

    will_wipe: bool
    is_table_ours: bool
    is_as_left: bool
    began_s: float
    contents: tuple[KeptContent, ...]
    reason: str = ""
    unseen: str = ""
    obstacles: tuple[DiskRefusal, ...] = ()


def kept_to_wire(kept: KeptDisk) -> tuple[Any, ...]:
    """Return it as it crosses the bus (`KEPT`)."""
    return (
        *(kept.will_wipe, kept.is_table_ours, kept.is_as_left, kept.began_s),
        [astuple(each) for each in kept.contents],
        *(message_to_wire(kept.reason), message_to_wire(kept.unseen)),
        [refusal_to_wire(each) for each in kept.obstacles],
    )


def kept_from_wire(wire: Sequence[Any]) -> KeptDisk:
    """Restore it from the bus."""
    will_wipe, is_table_ours, is_as_left, began_s, contents, reason, unseen, obstacles = wire
    return KeptDisk(
        will_wipe,
        is_table_ours,
        is_as_left,
        began_s,
        tuple(KeptContent(*each) for each in contents),
        message_from_wire(reason),
        message_from_wire(unseen),
        tuple(map(refusal_from_wire, obstacles)),
    )
