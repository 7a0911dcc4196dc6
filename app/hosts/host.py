"""What gives a run its storage; `app.hosts.own_server` asks it, nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from app.domain.campaign.configuration import Target
from app.domain.maintenance import MaintenanceEnd
from app.hosts.folders.run_folders import RunFolders
from app.hosts.recovery.cleanup import SweepEvent
from app.process.starter import Account, Hold

Watch = Callable[[], None]
"""Called often while something takes long; what it raises ends it, and everything is undone."""


def look_at_nothing() -> None:
    """Watch nothing."""


class ProcessRole(StrEnum):
    """Whose process it is: their CPU, memory and I/O are counted apart."""

    SERVER = "server"
    PGBENCH = "pgbench"


class Host(Protocol):
    """Gives a run its storage and takes it back; used by one run at a time, from one thread."""

    account: Account

    def prepare(self, target: Target, need_bytes: int, watch: Watch = look_at_nothing) -> RunFolders:
        """Make storage and the folders of one run.

        Args:
            target: of the configuration.
            need_bytes: what the run needs at most.
            watch: called often where it takes long.

        Raises:
            TargetError: the target cannot be used; what had been made is removed.
            FootingError: the host cannot make it.
        """

    def release(self, released: RunFolders) -> tuple[SweepEvent, ...]:
        """Remove and unmake everything of a run; what cannot be is told as an event."""

    def check_alive(self, checked: RunFolders, reserve_bytes: int) -> None:
        """Make sure that a run can go on; once a second.

        Raises:
            TargetLostError: the target vanished, was replaced, is read-only, nearly full, or over its limit.
        """

    def hold(self, part: ProcessRole) -> Hold | None:
        """Return what has to happen with a process before its program is executed; None for nothing."""

    def loaded(self, of: RunFolders, watch: Watch = look_at_nothing) -> None:
        """Do what belongs between loading and measuring; `watch` is called often where it takes long."""

    def empty_caches(self, of: RunFolders, watch: Watch = look_at_nothing) -> None:
        """Let the machine forget what it has cached of the data; no server works on it.

        Raises:
            ServerError: what is dirty cannot be written, or a file cannot be reached.
        """

    def maintain(self, name: str) -> MaintenanceEnd:
        """Have root do a maintenance of the storage by its name; called in a thread of its own.

        What root runs is heard by whoever looks after the storage meanwhile (`check_alive`).

        Raises:
            TargetError: the storage is none of root's.
            CannotError: the storage has no such thing.
            FootingError: another one is under way, or the helper is lost.
        """

    def end_maintenance(self) -> None:
        """Have what is under way end; whoever waits for it is answered then.

        Raises:
            FootingError: the helper is lost.
        """

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return what the disks tell of themselves now, by device number; None where nobody can ask."""
