"""What root runs for a maintenance of a session's storage, and what ends it, for each filesystem.

Source: fstrim(8); btrfs-balance(8), btrfs-scrub(8), btrfs-subvolume(8); zpool-trim(8), zpool-scrub(8),
zfs-snapshot(8). The kernel goes on with a balance or a scrub whose program was killed: another program ends
it. Snapshots that nobody removed go with the filesystem that they are of, which is a session's own.
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
"""Mount point, or name of the pool."""
_UUID: Final = "{uuid}"
"""Of the filesystem."""
_PREFIX: Final = "pgfooting-snapshot-"
_SNAPSHOT: Final = "{snapshot}"
"""Name of a snapshot, random, so that nobody can have put something there before."""
FOUND: Final = "FOUND"
"""In words that are run once for each thing that was found: that thing."""
_FRACTION: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?)% ?(left|done|\)|$|\s)")


@dataclass(frozen=True, slots=True)
class _Program:
    """What is run.

    Attributes:
        argv: does it, and ends when it is done.
        end: ends what the kernel does of it; empty where the end of the program is enough.
        nothing: text in the error output of `end` that says that nothing was to be ended.
        status: tells how far it is; empty where nothing does.
        on_pool: whether it is told the name of the pool, not the mount point.
        leaves: files of root's that it leaves, and that are removed.
        found: pattern of a line that `argv` prints, whose group is what `each` is run for; empty for none.
        each: run for everything that was found.
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
    """One maintenance of one filesystem of a session.

    Attributes:
        name: of the registry.
        mounted: that the session's filesystem is what is mounted there, else nothing is run.
        argv: does it.
        end: ends what the kernel does of it; empty where the end of the program is enough.
        nothing: texts of `end` that say that nothing was to be ended.
        status: tells how far it is; empty where nothing does.
        limit_s: after which it is ended.
        leaves: files of root's that it leaves, and that are removed.
        found: pattern of a line that `argv` prints, whose group is what `each` is run for; empty for none.
        each: run for everything that was found, in the place of `FOUND`.
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
        """The name under which the journal holds what is under way there."""
        return maintenance_fact(self.mounted.folder)


def snapshot_name(letters: str) -> str:
    """Return the name of a snapshot with 16 hexadecimal digits that nobody knew before."""
    return f"{_PREFIX}{letters}"


def maintenance_fact(place: str) -> str:
    """Return the name under which the journal holds the name of the maintenance that is under way."""
    return f"maintenance of {place}"


def maintenance_command(
    kind: Maintenance, filesystem_id: str, mounted: MountIs, uuid: str, snapshot: str
) -> MaintenanceCommand | None:
    """Return what does it on a filesystem; None where the filesystem has no such thing.

    Args:
        kind: of the registry.
        filesystem_id: of which kind it is.
        mounted: where it is mounted, and what; of a pool its name.
        uuid: of the filesystem.
        snapshot: name for a snapshot that nobody knows yet.
    """
    program = _PROGRAMS.get((kind.name, filesystem_id))
    if program is None:
        return None
    place = mounted.sources[0] if program.on_pool else mounted.folder

    def told(words: tuple[str, ...]) -> tuple[str, ...]:
        values = {_PLACE: place, _UUID: uuid, _SNAPSHOT: snapshot}
        for name, value in values.items():
            words = tuple(word.replace(name, value) for word in words)
        return words

    return MaintenanceCommand(
        kind.name,
        mounted,
        told(program.argv),
        told(program.end),
        program.nothing,
        told(program.status),
        kind.limit_s,
        told(program.leaves),
        program.found,
        told(program.each),
        told(program.then),
    )


def following(command: MaintenanceCommand, printed: str) -> tuple[tuple[str, ...], ...]:
    """Return what is run for everything that the program of a maintenance found, by what that printed.

    A last line without its end counts for nothing: it may have been cut.
    """
    whole = printed[: printed.rfind("\n") + 1]
    found = re.findall(command.found, whole, re.MULTILINE | re.ASCII) if command.found else []
    return tuple(tuple(word.replace(FOUND, each) for word in command.each) for each in found)


def ending_steps(filesystem_id: str, mounted: MountIs) -> Iterator[Command]:
    """Yield what ends, before a filesystem is unmounted, what a helper that died left under way there."""
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
    """Yield what removes, after a filesystem was unmounted, files of root's that a helper that died left.

    Args:
        filesystem_id: of which kind it is.
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
    """Return how much is done, 0 to 1, by what a program of `_Program.status` prints; None where it does not.

    ``67% left`` of a balance, ``(45.60%)`` of a scrub of btrfs, ``12.50% done`` of a scrub of a pool.
    """
    found = _FRACTION.search(status)
    if found is None or (percent := float(found[1])) > 100:
        return None
    return 1 - percent / 100 if found[2] == "left" else percent / 100
