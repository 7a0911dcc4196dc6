"""What can be done with a server and its storage between phases of a run or beside them, by name. Pure.

A campaign names these and nothing else: no text of it becomes part of a command, least of all of root's
(`app.storage.layout.commands_maintenance` has the arguments of those that root executes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import tr

QUICK_S: Final = 600.0
"""Time limit of what writes little."""
LONG_S: Final = 4 * 3600.0
"""Time limit of what may read or write everything that is there."""


class DoneBy(StrEnum):
    """Who does it."""

    SERVER = "server"
    """The server, as its superuser says one statement."""
    PROGRAM = "program"
    """A program of PostgreSQL, with the rights of the account."""
    ROOT = "root"
    """Root's helper, on the storage of the session: spare disks only."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """One of them.

    Attributes:
        name: what campaign files say.
        label: what people read, without a full stop.
        done_by: who does it.
        limit_s: seconds after which it is ended, and has failed.
        filesystems: ids of those on which it exists; empty where that makes no difference.
        statement: of SQL, where the server does it.
    """

    name: str
    label: str
    done_by: DoneBy
    limit_s: float
    filesystems: tuple[str, ...] = ()
    statement: str = ""

    def is_on(self, filesystem_id: str) -> bool:
        """Whether it exists on a filesystem."""
        return not self.filesystems or filesystem_id in self.filesystems

    def obstacle(self, filesystems: Sequence[str]) -> str:
        """Return why it cannot be done, one sentence; empty where it can.

        Args:
            filesystems: ids of those that root makes for a run; none of a target that is no spare disk.
        """
        if self.done_by is not DoneBy.ROOT or any(map(self.is_on, filesystems)):
            return ""
        if not filesystems:
            words = tr("“{name}” is done by root, on spare disks only: this target has none.")
            return words.format(name=self.name)
        words = tr("“{name}” exists on {those} only; this target has {these}.")
        return words.format(
            name=self.name, those=", ".join(self.filesystems), these=", ".join(dict.fromkeys(filesystems))
        )


CHECKPOINT: Final = Maintenance(
    "checkpoint", tr("checkpoint of the server"), DoneBy.SERVER, LONG_S, statement="CHECKPOINT"
)
VACUUM: Final = Maintenance(
    "vacuum", tr("vacuum of all tables"), DoneBy.SERVER, LONG_S, statement="VACUUM (ANALYZE)"
)
BASE_BACKUP: Final = Maintenance("base-backup", tr("base backup (pg_basebackup)"), DoneBy.PROGRAM, LONG_S)
FSTRIM: Final = Maintenance(
    "fstrim",
    tr("trim of free space (fstrim)"),
    DoneBy.ROOT,
    LONG_S,
    ("ext4", "xfs", "btrfs", "f2fs", "ext3"),
)
BTRFS_BALANCE: Final = Maintenance("btrfs-balance", tr("balance of btrfs"), DoneBy.ROOT, LONG_S, ("btrfs",))
BTRFS_SCRUB: Final = Maintenance("btrfs-scrub", tr("scrub of btrfs"), DoneBy.ROOT, LONG_S, ("btrfs",))
ZPOOL_TRIM: Final = Maintenance("zpool-trim", tr("trim of the pool"), DoneBy.ROOT, LONG_S, ("zfs",))
ZPOOL_SCRUB: Final = Maintenance("zpool-scrub", tr("scrub of the pool"), DoneBy.ROOT, LONG_S, ("zfs",))
SNAPSHOT: Final = Maintenance(
    "snapshot", tr("snapshot of the filesystem"), DoneBy.ROOT, QUICK_S, ("btrfs", "zfs")
)
REMOVE_SNAPSHOTS: Final = Maintenance(
    "remove-snapshots", tr("removal of the snapshots"), DoneBy.ROOT, LONG_S, ("btrfs", "zfs")
)

MAINTENANCE: Final = (
    *(CHECKPOINT, VACUUM, BASE_BACKUP),
    *(FSTRIM, BTRFS_BALANCE, BTRFS_SCRUB, ZPOOL_TRIM, ZPOOL_SCRUB, SNAPSHOT),
    REMOVE_SNAPSHOTS,
)


class WorkEnd(StrEnum):
    """How one ended."""

    DONE = "done"
    ENDED = "ended"
    """It was called off."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Background:
    """What is done beside a phase for as long as it lasts.

    Attributes:
        name: what campaign files say.
        label: what people read.
        kinds: what it is, on one filesystem or another.
        has_interval: it is done at an interval, which a campaign says; else again as soon as it has ended.
        after: what takes away what is left of it when the phase has ended; None for nothing.
    """

    name: str
    label: str
    kinds: tuple[Maintenance, ...]
    has_interval: bool = False
    after: Maintenance | None = None

    def kind_on(self, filesystems: Sequence[str]) -> Maintenance | None:
        """Return what it is on the first of some filesystems that has it; None where none has."""
        return next((kind for kind in self.kinds if not kind.obstacle(filesystems)), None)

    def obstacle(self, filesystems: Sequence[str]) -> str:
        """Return why it cannot be done, as `Maintenance.obstacle` does."""
        if self.kind_on(filesystems) is not None:
            return ""
        if not filesystems:
            words = tr("“{name}” is done by root, on spare disks only: this target has none.")
            return words.format(name=self.name)
        words = tr("“{name}” exists on {those} only; this target has {these}.")
        those = ", ".join(each for kind in self.kinds for each in kind.filesystems)
        return words.format(name=self.name, those=those, these=", ".join(dict.fromkeys(filesystems)))


PG_BASEBACKUP: Final = Background("pg_basebackup", tr("base backups (pg_basebackup)"), (BASE_BACKUP,))
SNAPSHOTS: Final = Background(
    "snapshot", tr("snapshots of the filesystem"), (SNAPSHOT,), has_interval=True, after=REMOVE_SNAPSHOTS
)
SCRUB: Final = Background("scrub", tr("scrub of the filesystem"), (BTRFS_SCRUB, ZPOOL_SCRUB))

BACKGROUND: Final = (PG_BASEBACKUP, SNAPSHOTS, SCRUB)


def background(name: str) -> Background:
    """Return one.

    Raises:
        KeyError: there is none of that name.
    """
    for each in BACKGROUND:
        if each.name == name:
            return each
    raise KeyError(name)


@dataclass(frozen=True, slots=True)
class MaintenanceEnd:
    """How one ended that root did.

    Attributes:
        how: a `WorkEnd`.
        message: why it failed; else empty.
        seconds: how long it took.
    """

    how: str
    message: str
    seconds: float

    @property
    def is_done(self) -> bool:
        """Whether it was done to its end."""
        return self.how == WorkEnd.DONE


def maintenance(name: str) -> Maintenance:
    """Return one.

    Raises:
        KeyError: there is none of that name.
    """
    for each in MAINTENANCE:
        if each.name == name:
            return each
    raise KeyError(name)
