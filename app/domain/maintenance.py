"""Maintenance of a server and its storage between or during the phases of a run, by name. Pure.

A campaign contains only these names: none of its text becomes part of a command, least of all of root's
(`app.storage.layout.commands_maintenance` has the arguments of root's commands).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import tr

QUICK_S: Final = 600.0
"""Time limit of maintenances that write little."""
LONG_S: Final = 4 * 3600.0
"""Time limit of maintenances that may read or write everything."""


class DoneBy(StrEnum):
    """Who performs it."""

    SERVER = "server"
    """The server, by one statement of its superuser."""
    PROGRAM = "program"
    """A program of PostgreSQL, with the rights of the account."""
    ROOT = "root"
    """Root's helper, on the storage of the session: spare disks only."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """One maintenance.

    Attributes:
        name: in campaign files.
        label: for users, without a full stop.
        done_by: who performs it.
        limit_s: time limit in seconds; then it is ended, and has failed.
        filesystems: ids of those that support it; empty for all.
        statement: SQL, for the server.
    """

    name: str
    label: str
    done_by: DoneBy
    limit_s: float
    filesystems: tuple[str, ...] = ()
    statement: str = ""

    def is_on(self, filesystem_id: str) -> bool:
        """Return whether a filesystem supports it."""
        return not self.filesystems or filesystem_id in self.filesystems


CHECKPOINT: Final = Maintenance(
    "checkpoint", tr("server checkpoint"), DoneBy.SERVER, LONG_S, statement="CHECKPOINT"
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
BTRFS_BALANCE: Final = Maintenance("btrfs-balance", tr("btrfs balance"), DoneBy.ROOT, LONG_S, ("btrfs",))
BTRFS_SCRUB: Final = Maintenance("btrfs-scrub", tr("btrfs scrub"), DoneBy.ROOT, LONG_S, ("btrfs",))
ZPOOL_TRIM: Final = Maintenance("zpool-trim", tr("pool trim"), DoneBy.ROOT, LONG_S, ("zfs",))
ZPOOL_SCRUB: Final = Maintenance("zpool-scrub", tr("pool scrub"), DoneBy.ROOT, LONG_S, ("zfs",))
SNAPSHOT: Final = Maintenance("snapshot", tr("filesystem snapshot"), DoneBy.ROOT, QUICK_S, ("btrfs", "zfs"))
REMOVE_SNAPSHOTS: Final = Maintenance(
    "remove-snapshots", tr("snapshot removal"), DoneBy.ROOT, LONG_S, ("btrfs", "zfs")
)

MAINTENANCE: Final = (
    *(CHECKPOINT, VACUUM, BASE_BACKUP),
    *(FSTRIM, BTRFS_BALANCE, BTRFS_SCRUB, ZPOOL_TRIM, ZPOOL_SCRUB, SNAPSHOT),
    REMOVE_SNAPSHOTS,
)


class WorkEnd(StrEnum):
    """How a maintenance ended."""

    DONE = "done"
    ENDED = "ended"
    """It was cancelled."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MaintenanceEnd:
    """How a maintenance by root ended.

    Attributes:
        how: a `WorkEnd`.
        message: why it failed; else empty.
        seconds: duration.
    """

    how: str
    message: str
    seconds: float

    @property
    def is_done(self) -> bool:
        """Whether it was completed."""
        return self.how == WorkEnd.DONE


def maintenance(name: str) -> Maintenance:
    """Return a maintenance by name.

    Raises:
        KeyError: there is none of that name.
    """
    for each in MAINTENANCE:
        if each.name == name:
            return each
    raise KeyError(name)
