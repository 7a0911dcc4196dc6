"""A storage plan as commands that somebody types on a machine of their own: without temporary names.

They come from the same builders that made what was measured (`app.storage.layout.commands`). What only a
session of pgFooting needs is left out; disks, places and UUIDs are variables of the shell.
"""

from __future__ import annotations

import itertools
import re
import shlex
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.filesystems import filesystem
from app.domain.quoting.shell import comment
from app.domain.storage_plan.plan import Role, StoragePlan
from app.domain.text import tr
from app.domain.units import KIB, format_size
from app.storage.layout.commands import MOUNT_NAMES, build_steps
from app.storage.layout.names import HOST, Names, PlannedDevice
from app.storage.layout.steps import Command

PLACES: Final[Mapping[Role, str]] = {
    Role.DATA: "/srv/pgdata",
    Role.WAL: "/srv/pgwal",
    Role.TABLES: "/srv/pgtables",
    Role.INDEXES: "/srv/pgindexes",
}
"""Where the filesystems are mounted: names to be changed at will."""

_SESSION: Final = uuid.UUID(int=0)
_FOLDER: Final = "/session"
_OF_A_SESSION: Final = re.compile(
    rf" (--homehost={HOST}|--uuid=\S+|-o cachefile=none|-o failmode=continue|-O canmount=noauto)(?= |$)"
)
"""So that no machine takes array or pool for its own at boot, and a failed disk is an error at once."""

_WITH_MOUNT: Final = ("--types", "--options", "--source", "--target")
_OURS: Final = re.compile(r"^(nodev|nosuid|device=.*)$")
_LEFT_OUT: Final = frozenset({"sfdisk", "partx", "mount"})


@dataclass(frozen=True, slots=True)
class StorageCommands:
    """What makes a storage, and what mounts it.

    Attributes:
        commands: lines for a shell, as root; comments begin with #.
        fstab: lines for /etc/fstab.
    """

    commands: tuple[str, ...]
    fstab: tuple[str, ...]


def storage_commands(plan: StoragePlan) -> StorageCommands:
    """Return the commands that make a plan on disks that are filled in, and the lines that mount it.

    Raises:
        KeyError: the plan has a filesystem that this version does not know.
        ValueError: it is one that cannot be made.
    """
    plan = _numbered(plan)
    members = tuple(plan.members())
    devices = {disk.key(): PlannedDevice(_node(number)) for number, (_, disk) in enumerate(members, 1)}
    names = Names(_SESSION)
    made, fstab, later = [], [], []
    for step in build_steps(plan, devices, names, _FOLDER):
        if not isinstance(step, Command):
            continue
        if step.argv[0] == "mount":
            fstab.append(_fstab_line(step.argv, plan))
        elif step.argv[0] == "chattr":
            later.append(_named(shlex.join(step.argv), plan, names, len(members)))
        elif step.argv[0] not in _LEFT_OUT:
            made.append(_named(shlex.join(step.argv), plan, names, len(members)))
    disks = [
        line
        for number, (_, disk) in enumerate(members, 1)
        for line in (comment(f"DISK{number}: {_told(disk)}"), f"DISK{number}=/dev/disk/by-id/FILL-IN")
    ]
    ids = [f"UUID_{role.value.upper()}=$(uuidgen)" for role in plan.by_role if not _is_pool(plan, role)]
    places = " ".join(PLACES[role] for role in plan.by_role)
    mounting = [
        f"mkdir -p {places}",
        comment(tr("now the lines for /etc/fstab below, then:")),
        *(f"mount {PLACES[role]}" for role in plan.by_role),
    ]
    return StorageCommands(
        (*disks, *_sizes(plan), *ids, *made, *mounting, *later, *_queue(plan)), tuple(fstab)
    )


def _numbered(plan: StoragePlan) -> StoragePlan:
    """Return the same plan of disks that are told apart by their number only."""
    numbers = itertools.count(1)

    def numbered(disks: tuple[DiskIdentity, ...]) -> tuple[DiskIdentity, ...]:
        return tuple(replace(disk, serial=f"disk-{next(numbers)}", wwn=None) for disk in disks)

    groups = {role.value: replace(group, disks=numbered(group.disks)) for role, group in plan.by_role.items()}
    return replace(plan, **groups, zfs_log=numbered(plan.zfs_log))


def _node(number: int) -> str:
    return f"@{number}@disk"


def _told(disk: DiskIdentity) -> str:
    """Return what a disk was, without what tells it from others of its kind."""
    size = format_size(disk.size_bytes) if disk.size_bytes else ""
    return ", ".join(filter(None, (disk.model.strip(), size))) or tr("as large as you need")


def _sizes(plan: StoragePlan) -> Iterator[str]:
    """Yield of which part of each disk was measured: the rest was not."""
    for role, group in plan.by_role.items():
        if group.partition_bytes:
            words = tr("{place}: measured on a partition of {size} at the beginning of each disk")
            told = words.format(place=PLACES[role], size=format_size(group.partition_bytes))
            yield comment(told)


def _is_pool(plan: StoragePlan, role: Role) -> bool:
    return filesystem(plan.by_role[role].filesystem).mkfs is None


def _named(line: str, plan: StoragePlan, names: Names, disks: int) -> str:
    """Return a line with variables and lasting names instead of those of a session."""
    line = _OF_A_SESSION.sub("", line)
    for number in range(1, disks + 1):
        line = line.replace(f"{_node(number)}1", f'"$DISK{number}"')
    for role in plan.by_role:
        line = line.replace(names.array_node(role), f"/dev/md/pg{role.value}")
        line = line.replace(names.array(role), f"pg{role.value}").replace(names.pool(role), f"pg{role.value}")
        line = line.replace(names.filesystem(role), f"$UUID_{role.value.upper()}")
        line = line.replace(f"{_FOLDER}/{MOUNT_NAMES[role]}", PLACES[role])
    return line


def _fstab_line(argv: tuple[str, ...], plan: StoragePlan) -> str:
    told = {name: argv[argv.index(name) + 1] for name in _WITH_MOUNT}
    [role] = [role for role in plan.by_role if told["--target"] == f"{_FOLDER}/{MOUNT_NAMES[role]}"]
    options = [each for each in told["--options"].split(",") if not _OURS.match(each)]
    source = f"pg{role.value}" if _is_pool(plan, role) else f"UUID=$UUID_{role.value.upper()}"
    last = "0 0" if told["--types"] in {"zfs", "btrfs", "xfs"} else "0 2"
    return f"{source}  {PLACES[role]}  {told['--types']}  {','.join(options) or 'defaults'}  {last}"


def _queue(plan: StoragePlan) -> Iterator[str]:
    """Yield what sets scheduler and read-ahead of disks at each boot: rules of udev."""
    for role, group in plan.by_role.items():
        settings = []
        if group.scheduler is not None:
            settings.append(f'ATTR{{queue/scheduler}}="{group.scheduler.value}"')
        if group.read_ahead_bytes is not None:
            settings.append(f'ATTR{{queue/read_ahead_kb}}="{group.read_ahead_bytes // KIB}"')
        if settings:
            words = tr("for each disk of {place}, in /etc/udev/rules.d/60-postgresql.rules:")
            yield comment(words.format(place=PLACES[role]))
            match = 'ACTION=="add|change", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL}=="FILL-IN"'
            yield f"# {match}, {', '.join(settings)}"
