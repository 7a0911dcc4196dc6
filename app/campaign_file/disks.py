"""The table ``[target.disks]`` of a campaign file: disks by serial or WWN, level, filesystem, options.

Kinds check each key alone; `app.domain.campaign.disk_target` checks keys together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from app.campaign_file.kinds import (
    CampaignField,
    EnumKind,
    Key,
    Name,
    ReadBackBy,
    SizeKind,
    TableKind,
    ValueKind,
    dotted_keys,
    find_key,
    join_values,
    parse_size,
    plain_key,
    read_fields,
    split_values,
    table_of,
)
from app.campaign_file.problems import InvalidValueError, printable, refusal, unfit
from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.campaign.disk_target import target_problems
from app.domain.errors import Problem
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.kinds import Integer, OptionValue
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import (
    FURTHER_ROLES,
    LARGEST_CHUNK_BYTES,
    MOST_READ_AHEAD_BYTES,
    SMALLEST_CHUNK_BYTES,
    Bitmap,
    InitialSync,
    Scheduler,
)
from app.domain.storage_plan.reader import MOST_DISKS, MOST_OPTIONS
from app.domain.text import MIB, TIB, tr

_LONGEST_NAME: Final = 200


class WholeDisk(StrEnum):
    """The word for partitions as large as their disks."""

    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class DiskNames(ValueKind):
    """Disks by full serial or WWN, never by a path: the kernel may assign paths differently at every boot."""

    @property
    @override
    def allowed(self) -> str:
        sentence = tr(
            "a list of 1 to {most} serial numbers or WWNs as “pgfooting disks” shows them, "
            'such as ["S4EWNX0N100001"]'
        )
        return sentence.format(most=MOST_DISKS)

    @override
    def read(self, value: object, folder: Path) -> tuple[str, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_DISKS:
            raise unfit(value, self.allowed)
        faults = [
            Problem(f"[{number}]", fault) for number, each in enumerate(value, 1) if (fault := _fault(each))
        ]
        if faults:
            raise InvalidValueError(*faults)
        return tuple(value)


def _fault(name: object) -> str:
    allowed = tr("a full serial number or WWN")
    if isinstance(name, str) and name.startswith("/"):
        return refusal(name, allowed) + " " + tr("Paths such as /dev/sdb can change at every boot.")
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= _LONGEST_NAME:
        return refusal(name, allowed)
    return "" if name == name.strip() else refusal(name, allowed)


@dataclass(frozen=True, slots=True)
class PartitionSize(SizeKind):
    """A size, rounded down to whole MiB because partitions are aligned, or ``whole``."""

    @override
    def read(self, value: object, folder: Path) -> int | StrEnum:
        size = SizeKind.read(self, value, folder)
        return size if isinstance(size, StrEnum) else size // MIB * MIB


@dataclass(frozen=True, slots=True)
class OptionsTable(TableKind):
    """Options of a filesystem; their names are checked once the filesystem is known (`disk_faults`)."""

    @property
    @override
    def allowed(self) -> str:
        return tr('a table of at most {most} options, such as {{ atime = "noatime" }}').format(
            most=MOST_OPTIONS
        )

    @override
    def read(self, value: object, folder: Path) -> tuple[tuple[str, OptionValue], ...]:
        if not isinstance(value, dict) or len(value) > MOST_OPTIONS:
            raise unfit(value, self.allowed)
        allowed = tr("true, false, a whole number or a word")
        faults = [
            Problem(f".{printable(name)}", refusal(each, allowed))
            for name, each in value.items()
            if not isinstance(each, bool | int | str)
        ]
        if faults:
            raise InvalidValueError(*faults)
        return tuple((name, _in_bytes(name, each)) for name, each in value.items())

    @override
    def plain_part(self, key: Key, value: OptionValue) -> OptionValue:
        if key[-1] in _BYTES and isinstance(value, int) and not isinstance(value, bool):
            return SizeKind(0, value).plain(value)
        return value


_BYTES: Final = frozenset(
    option.id
    for spec in FILESYSTEMS
    for option in spec.options
    if isinstance(option.kind, Integer) and option.kind.unit == "B"
)
"""Options in bytes, which accept a unit."""


def _in_bytes(name: str, value: OptionValue) -> OptionValue:
    """Return a size with its unit as bytes; other values are left to the check by filesystem."""
    if name not in _BYTES or not isinstance(value, str):
        return value
    try:
        return parse_size(value)
    except ValueError:
        return value


_DEFAULT: Final = tr("{value} (default)")
_DATA = tr("Full serial number or WWN of each disk, as “pgfooting disks” shows it, in member order.")
_LEVEL = tr(
    "RAID: stripe for speed, mirror or parity for redundancy. Usable size is before filesystem overhead."
)
_FILESYSTEM = tr("The filesystem to create on the disks.")
_PRESET = tr("A named set of filesystem options.")
_OPTIONS = tr("Options that override the preset.")
_PARTITION = tr(
    "Partition size on each disk. Default: 16 GiB or four times the data per data disk, whichever is "
    "larger, so runs can be interleaved quickly."
)
_CHUNK = tr("Chunk size of a striped md array.")
_BITMAP = tr(
    "Write-intent bitmap of a redundant md array. With internal, it resynchronises faster after a crash; "
    "with none, it writes less."
)
_SYNC = tr("Initial synchronisation of a redundant md array.")
_SCHEDULER = tr(
    "Orders the kernel's requests to the disks. pgFooting verifies the setting and restores it after the "
    "run, unless someone else changed it."
)
_READ_AHEAD = tr(
    "The kernel's read-ahead for sequential reads, on the disks and on md or btrfs above them. pgFooting "
    "restores it after the run. ZFS has its own."
)
_SEPARATE: Final = tr("Separate disks for the {what}, with the same keys as above.")
_WAL = _SEPARATE.format(what="WAL")
_TABLES = _SEPARATE.format(what=tr("tables"))
_INDEXES = _SEPARATE.format(what=tr("indexes"))
_ZFS_LOG = tr("Log devices of a ZFS pool; several are mirrored.")
_LIMIT = tr(
    "Memory limit for PostgreSQL and pgbench together, to make a small data set larger than memory. These "
    "runs are always labelled “memory-limited”."
)

_NAMES: Final = tuple(each.id for each in FILESYSTEMS if each.levels)

GROUP_FIELDS: Final = (
    CampaignField("data", DiskNames(), _DATA, attribute="disks", read_back=ReadBackBy.ROOT, fact=tr("disks")),
    CampaignField(
        "level",
        EnumKind(tuple(Level), Level),
        _LEVEL,
        read_back=ReadBackBy.ROOT,
        source="md(4); mkfs.btrfs(8); zpoolconcepts(7)",
    ),
    CampaignField("filesystem", EnumKind(_NAMES), _FILESYSTEM, read_back=ReadBackBy.ROOT),
    CampaignField("preset", Name(), _PRESET, read_back=ReadBackBy.PARTS, fact=tr("preset")),
    CampaignField("options", OptionsTable(), _OPTIONS, read_back=ReadBackBy.PARTS),
    CampaignField(
        "partition_size",
        PartitionSize(64 * MIB, 1024 * TIB, WholeDisk),
        _PARTITION,
        attribute="partition",
        read_back=ReadBackBy.ROOT,
        label=tr("&Partition on each disk:"),
        placeholder="64 GiB",
    ),
    CampaignField(
        "chunk_size",
        SizeKind(SMALLEST_CHUNK_BYTES, LARGEST_CHUNK_BYTES),
        _CHUNK,
        attribute="chunk_bytes",
        read_back=ReadBackBy.ROOT,
        fact=tr("chunk size"),
        label=tr("Array c&hunk size (--chunk):"),
        placeholder=_DEFAULT.format(value="512 KiB"),
    ),
    CampaignField(
        "bitmap",
        EnumKind(tuple(Bitmap), Bitmap),
        _BITMAP,
        read_back=ReadBackBy.ROOT,
        label=tr("Write-&intent bitmap (--bitmap):"),
        choices={
            "": _DEFAULT.format(value="internal"),
            **{each: each.value for each in Bitmap},
        },
    ),
    CampaignField(
        "initial_sync",
        EnumKind(tuple(InitialSync), InitialSync),
        _SYNC,
        read_back=ReadBackBy.NONE,
        fact=tr("initial synchronisation"),
        label=tr("Initial &synchronisation (--assume-clean):"),
        choices={
            "": _DEFAULT.format(value=tr("wait for it")),
            InitialSync.WAIT: tr("wait for it: the kernel first writes every block"),
            InitialSync.ASSUME_CLEAN: tr("skip it: safe for mirrors only"),
        },
    ),
    CampaignField(
        "scheduler",
        EnumKind(tuple(Scheduler), Scheduler),
        _SCHEDULER,
        read_back=ReadBackBy.ROOT,
        fact=tr("I/O scheduler"),
        label=tr("I/O sched&uler (queue/scheduler):"),
        source="Linux, Documentation/block/switching-sched.rst",
        choices={
            "": tr("unchanged"),
            **{each: each.value for each in Scheduler},
        },
    ),
    CampaignField(
        "read_ahead",
        SizeKind(0, MOST_READ_AHEAD_BYTES),
        _READ_AHEAD,
        attribute="read_ahead_bytes",
        read_back=ReadBackBy.ROOT,
        fact=tr("read-ahead"),
        label=tr("Read-&ahead (read_ahead_kb):"),
        source="Linux, Documentation/ABI/stable/sysfs-block",
        placeholder=tr("unchanged"),
    ),
)


@dataclass(frozen=True, slots=True)
class GroupTable(TableKind):
    """A further group of disks; its completeness is checked after all places that mention it are merged."""

    @property
    @override
    def allowed(self) -> str:
        return table_of(GROUP_FIELDS)

    @override
    def read(self, value: object, folder: Path) -> dict[str, Any]:
        values, faults = read_fields(value, GROUP_FIELDS, folder)
        if faults:
            raise InvalidValueError(*faults)
        return values

    @override
    def plain(self, value: Mapping[str, Any]) -> dict[str, Any]:
        given = (each for each in GROUP_FIELDS if each.attribute in value)
        return {each.name: each.kind.plain(value[each.attribute]) for each in given}

    @override
    def split(self, value: Mapping[str, Any]) -> dict[Key, Any]:
        return split_values(value, GROUP_FIELDS)

    @override
    def join(self, parts: Mapping[Key, Any]) -> dict[str, Any]:
        return join_values(parts, GROUP_FIELDS)

    @override
    def find(self, names: Sequence[str]) -> Key | None:
        return find_key(names, GROUP_FIELDS) if names else ()

    @property
    @override
    def part_names(self) -> tuple[str, ...]:
        return ("", *(".".join(key) for key in dotted_keys(GROUP_FIELDS)))

    @override
    def plain_part(self, key: Key, value: Any) -> Any:
        return plain_key(key, value, GROUP_FIELDS)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in the order of `GROUP_FIELDS`, without None."""
    names = (each.attribute for each in GROUP_FIELDS)
    return {name: values[name] for name in names if values.get(name) is not None}


DISK_FIELDS: Final = (
    *GROUP_FIELDS,
    CampaignField("wal", GroupTable(), _WAL, read_back=ReadBackBy.TARGET),
    CampaignField("tables", GroupTable(), _TABLES, read_back=ReadBackBy.TARGET),
    CampaignField("indexes", GroupTable(), _INDEXES, read_back=ReadBackBy.TARGET),
    CampaignField("zfs_log", DiskNames(), _ZFS_LOG, read_back=ReadBackBy.ROOT, fact=tr("ZFS log disks")),
    CampaignField(
        "memory_limit",
        SizeKind(64 * MIB, 16 * TIB),
        _LIMIT,
        attribute="memory_limit_bytes",
        read_back=ReadBackBy.TARGET,
        label=tr("&Memory for PostgreSQL and pgbench:"),
        placeholder=tr("no limit"),
        fact=tr("memory limit"),
        condition="machine",
    ),
)

FURTHER_GROUPS: Final = tuple(role.value for role in FURTHER_ROLES)
"""Keys, and attributes of the target, of groups other than the data's."""

DATA_GROUP: Final = ""
"""Name of the data's group, among `FURTHER_GROUPS`: its keys are the target's own."""


_REQUIRED: Final = {
    "disks": ("data", DiskNames().allowed),
    "filesystem": ("filesystem", EnumKind(_NAMES).allowed),
}


def disk_faults(values: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the problems of a target with individually valid keys.

    Args:
        values: by attribute, as `DISK_FIELDS` reads them.
    """
    missing = [*_missing(values)]
    for name in FURTHER_GROUPS:
        if name in values:
            missing += _missing(values[name], f".{name}.")
    return missing or [as_file_problem(problem) for problem in target_problems(make_disk_target(**values))]


def as_file_problem(problem: Problem, below: str = ".") -> Problem:
    """Return a problem of a target with the allowed values in its sentence, `below` another path."""
    allowed = tr("Allowed: {allowed}.").format(allowed=problem.hint) if problem.hint else ""
    return Problem(f"{below}{problem.path}", f"{problem.message} {allowed}".rstrip())


def _missing(values: Mapping[str, Any], below: str = ".") -> Sequence[Problem]:
    return [
        Problem(f"{below}{key}", tr("is missing; it must be {allowed}.").format(allowed=allowed))
        for attribute, (key, allowed) in _REQUIRED.items()
        if attribute not in values
    ]


def make_disk_group(values: Mapping[str, Any]) -> GroupChoice:
    """Return the group with these values by attribute; missing ones have `GroupChoice`'s defaults."""
    given = {"level": Level.SINGLE, **values}
    partition = given.pop("partition", None)
    whole = partition is WholeDisk.WHOLE
    return GroupChoice(partition_bytes=None if whole else partition, whole_disk=whole, **given)


def make_disk_target(**values: Any) -> DiskTarget:  # noqa: ANN401 - the fields have the types
    """Return the target with these values by attribute of `DISK_FIELDS`."""
    names = {each.attribute for each in GROUP_FIELDS}
    data = make_disk_group({name: value for name, value in values.items() if name in names})
    more = {name: value for name, value in values.items() if name not in names}
    return DiskTarget(
        data, **(more | {name: make_disk_group(more[name]) for name in FURTHER_GROUPS if name in more})
    )


def values_of_group(group: GroupChoice) -> dict[str, Any]:
    """Return values by attribute of `GROUP_FIELDS`; None for those that need not be written."""
    values = {name: getattr(group, name, None) for name in (each.attribute for each in GROUP_FIELDS)}
    partition = WholeDisk.WHOLE if group.whole_disk else group.partition_bytes
    return values | {"partition": partition, "options": group.options or None}


def values_of_disks(target: DiskTarget) -> dict[str, Any]:
    """Return values by attribute of `DISK_FIELDS`; None for those that need not be written."""
    groups = {name: getattr(target, name) for name in FURTHER_GROUPS}
    more = {
        **{name: each and _given(values_of_group(each)) for name, each in groups.items()},
        "zfs_log": target.zfs_log or None,
        "memory_limit_bytes": target.memory_limit_bytes,
    }
    return values_of_group(target.data) | more
