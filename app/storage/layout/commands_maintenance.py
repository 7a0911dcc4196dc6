"""Commands of root for the maintenance of a session's storage, and for ending it, by filesystem.

Source: fstrim(8); btrfs-balance(8), btrfs-scrub(8), btrfs-subvolume(8); zpool-trim(8), zpool-scrub(8),
zfs-snapshot(8). The kernel continues a balance or a scrub after its program was killed: another program ends
it. Snapshots that were not removed disappear with their filesystem, which is a session's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.maintenance import (
    BTRFS_BALANCE,
    BTRFS_SCRUB,
    FSTRIM,
    REMOVE_SNAPSHOTS,
    SNAPSHOT,
    ZPOOL_SCRUB,
    ZPOOL_TRIM,
    Maintenance,
)
from app.storage.layout.conditions import Condition, FactIs, MountIs
from app.storage.layout.steps import Command

_PLACE: Final = "{place}"
"""Placeholder for the mount point, or the name of the pool."""
_UUID: Final = "{uuid}"
"""Placeholder for the UUID of the filesystem."""
_PREFIX: Final = "pgfooting-snapshot-"
_SNAPSHOT: Final = "{snapshot}"
"""Placeholder for the name of a snapshot, random, so that nothing can have that name before."""
FOUND: Final = "FOUND"
"""Placeholder, in commands that are run once for each found thing, for that thing."""
_FRACTION: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?)% ?(left|done|\)|$|\s)")


@dataclass(frozen=True, slots=True)
class _Program:
    """Programs of a maintenance.

    Attributes:
        argv: the command; ends when it is done.
        end: ends the work in the kernel; empty if ending the program is enough.
        nothing: text in the error output of `end` that means that there was nothing to end.
        status: command that shows the progress; empty if there is none.
        on_pool: whether its argument is the name of the pool, not the mount point.
        leaves: root's files that remain after it, and are removed.
        found: pattern of a line of `argv`'s output, with the argument for `each` as its group; empty for
            none.
        each: run once for each match.
        then: run at the end; empty for nothing.
    """

    argv: tuple[str, ...]
    end: tuple[str, ...] = ()
    nothing: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    on_pool: bool = False
    leaves: tuple[str, ...] = ()
    found: str = ""
    each: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


_PROGRAMS: Final[Mapping[tuple[str, str], _Program]] = {
    **{(FSTRIM.name, each): _Program(("fstrim", "--verbose", _PLACE)) for each in FSTRIM.filesystems},
    (BTRFS_BALANCE.name, "btrfs"): _Program(
        ("btrfs", "balance", "start", "--full-balance", _PLACE),
        ("btrfs", "balance", "cancel", _PLACE),
        ("Not in progress", "not in progress"),
        ("btrfs", "balance", "status", _PLACE),
    ),
    (BTRFS_SCRUB.name, "btrfs"): _Program(
        ("btrfs", "scrub", "start", "-B", _PLACE),
        ("btrfs", "scrub", "cancel", _PLACE),
        ("not running",),
        ("btrfs", "scrub", "status", _PLACE),
        leaves=tuple(f"/var/lib/btrfs/scrub.{each}.{_UUID}" for each in ("status", "progress")),
    ),
    (SNAPSHOT.name, "btrfs"): _Program(
        ("btrfs", "subvolume", "snapshot", "-r", _PLACE, f"{_PLACE}/{_SNAPSHOT}")
    ),
    (ZPOOL_TRIM.name, "zfs"): _Program(
        ("zpool", "trim", "-w", _PLACE),
        ("zpool", "trim", "-c", _PLACE),
        ("no active trim", "there is no active trim"),
        ("zpool", "status", "-t", _PLACE),
        on_pool=True,
    ),
    (ZPOOL_SCRUB.name, "zfs"): _Program(
        ("zpool", "scrub", "-w", _PLACE),
        ("zpool", "scrub", "-s", _PLACE),
        ("no active scrub",),
        ("zpool", "status", _PLACE),
        on_pool=True,
    ),
    (SNAPSHOT.name, "zfs"): _Program(("zfs", "snapshot", f"{_PLACE}@{_SNAPSHOT}"), on_pool=True),
    # SECURITY: by number or name in the pool, never by path: the user may have put a link there.
    (REMOVE_SNAPSHOTS.name, "btrfs"): _Program(
        ("btrfs", "subvolume", "list", "-s", _PLACE),
        found=rf"^ID ([0-9]{{1,20}}) gen [^\n]* path (?:[^\n]*/)?{_PREFIX}[0-9a-f]{{16}}$",
        each=("btrfs", "subvolume", "delete", "--subvolid", FOUND, _PLACE),
        then=("btrfs", "subvolume", "sync", _PLACE),
    ),
    (REMOVE_SNAPSHOTS.name, "zfs"): _Program(
        ("zfs", "list", "-H", "-t", "snapshot", "-d", "1", "-o", "name", _PLACE),
        on_pool=True,
        found=rf"^[^@\n]*@({_PREFIX}[0-9a-f]{{16}})$",
        each=("zfs", "destroy", f"{_PLACE}@{FOUND}"),
    ),
}


@dataclass(frozen=True, slots=True)
class MaintenanceCommand:
    """A maintenance of a session's filesystem.

    Attributes:
        name: of the registry.
        mounted: condition that the session's filesystem is mounted there, else nothing is run.
        argv: the command.
        end: ends the work in the kernel; empty if ending the program is enough.
        nothing: texts of `end` that mean that there was nothing to end.
        status: command that shows the progress; empty if there is none.
        limit_s: time limit; then it is ended.
        leaves: root's files that remain after it, and are removed.
        found: pattern of a line of `argv`'s output, with the argument for `each` as its group; empty for
            none.
        each: run once for each match, which replaces `FOUND`.
        then: run at the end; empty for nothing.
    """

    name: str
    mounted: MountIs
    argv: tuple[str, ...]
    end: tuple[str, ...]
    nothing: tuple[str, ...]
    status: tuple[str, ...]
    limit_s: float
    leaves: tuple[str, ...] = ()
    found: str = ""
    each: tuple[str, ...] = ()
    then: tuple[str, ...] = ()

    @property
    def fact(self) -> str:
        """The journal's name for the maintenance that is running there."""
        return maintenance_fact(self.mounted.folder)


def snapshot_name(letters: str) -> str:
    """Return the name of a snapshot with 16 random hexadecimal digits."""
    return f"{_PREFIX}{letters}"


def maintenance_fact(place: str) -> str:
    """Return the journal's name for the maintenance that is running on a mount point."""
    return f"maintenance of {place}"


def maintenance_command(
    kind: Maintenance, filesystem_id: str, mounted: MountIs, uuid: str, snapshot: str
) -> MaintenanceCommand | None:
    """Return the command of a maintenance on a filesystem; None if the filesystem has none.

    Args:
        kind: of the registry.
        filesystem_id: type of the filesystem.
        mounted: mount point and sources; the name of a pool.
        uuid: of the filesystem.
        snapshot: unpredictable name for a snapshot.
    """
    program = _PROGRAMS.get((kind.name, filesystem_id))
    if program is None:
        return None
    place = mounted.sources[0] if program.on_pool else mounted.folder

    def with_values(words: tuple[str, ...]) -> tuple[str, ...]:
        values = {_PLACE: place, _UUID: uuid, _SNAPSHOT: snapshot}
        for name, value in values.items():
            words = tuple(word.replace(name, value) for word in words)
        return words

    return MaintenanceCommand(
        kind.name,
        mounted,
        with_values(program.argv),
        with_values(program.end),
        program.nothing,
        with_values(program.status),
        kind.limit_s,
        with_values(program.leaves),
        program.found,
        with_values(program.each),
        with_values(program.then),
    )


def following(command: MaintenanceCommand, printed: str) -> tuple[tuple[str, ...], ...]:
    """Return the commands for all matches in the output of a maintenance's program.

    Skips an incomplete last line: it may have been cut.
    """
    whole = printed[: printed.rfind("\n") + 1]
    found = re.findall(command.found, whole, re.MULTILINE | re.ASCII) if command.found else []
    return tuple(tuple(word.replace(FOUND, each) for word in command.each) for each in found)


def ending_steps(filesystem_id: str, mounted: MountIs) -> Iterator[Command]:
    """Yield the commands that end, before an unmount, maintenance left running by a helper that died."""
    for (name, on), program in _PROGRAMS.items():
        if on == filesystem_id and program.end:
            place = mounted.sources[0] if program.on_pool else mounted.folder
            under_way: tuple[Condition, ...] = (FactIs(maintenance_fact(mounted.folder), name), mounted)
            yield Command(
                tuple(word.replace(_PLACE, place) for word in program.end),
                f"what is under way on it is ended ({name})",
                when=under_way,
                forgives=program.nothing,
            )


def left_files_steps(filesystem_id: str, place: str, uuid: str) -> Iterator[Command]:
    """Yield the commands that remove, after an unmount, root's files left by a helper that died.

    Args:
        filesystem_id: type of the filesystem.
        place: mount point.
        uuid: of the filesystem.
    """
    for (name, on), program in _PROGRAMS.items():
        if on == filesystem_id and program.leaves:
            yield Command(
                ("rm", "--", *(path.replace(_UUID, uuid) for path in program.leaves)),
                f"what was noted of it is removed ({name})",
                when=(FactIs(maintenance_fact(place), name),),
                forgives=("No such file or directory",),
            )


def fraction_of(status: str) -> float | None:
    """Return the progress, 0 to 1, in the output of `_Program.status`; None if it shows none.

    ``67% left`` of a balance, ``(45.60%)`` of a scrub of btrfs, ``12.50% done`` of a scrub of a pool.
    """
    found = _FRACTION.search(status)
    if found is None or (percent := float(found[1])) > 100:
        return None
    return 1 - percent / 100 if found[2] == "left" else percent / 100
