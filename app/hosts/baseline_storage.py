"""Storage for the I/O baseline: made for it and unmade after it, before the server's own is made."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import IO

from app.domain.campaign.configuration import Target
from app.domain.storage_plan.plan import Role
from app.hosts.folders.private_folder import PrivateFolder, open_private
from app.hosts.folders.run_folders import RunFolders
from app.hosts.own_server import RESERVE_BYTES
from app.hosts.recovery.cleanup import CleanupAction
from app.hosts.server_under_test import Host, ProcessRole, Watch
from app.probes.base.probe import ServerSources
from app.process.starter import Hold


@dataclass(slots=True)
class BaselineStorage:
    """Storage as a server would have it, without a server.

    Attributes:
        host: makes and unmakes it.
        target: of the configuration.
        need_bytes: largest need of a run.
    """

    host: Host
    target: Target
    need_bytes: int
    _folders: RunFolders | None = field(default=None, init=False)

    @property
    def _prepared(self) -> RunFolders:
        assert self._folders is not None  # noqa: S101 - `prepare` comes first
        return self._folders

    def prepare(self, watch: Watch) -> None:
        """Make it; see `Host.prepare`."""
        self._folders = self.host.prepare(self.target, self.need_bytes, watch)

    @property
    def data_folder(self) -> str:
        """Folder where a server would have its tables; empty."""
        spaces = {each.role: each.path for each in self._prepared.tablespaces}
        return spaces.get(Role.TABLES, self._prepared.data_directory)

    @property
    def wal_folder(self) -> str:
        """A folder on the filesystem on which a server would have its WAL."""
        return self._prepared.wal_root or self._prepared.data_directory

    @property
    def private(self) -> PrivateFolder:
        """Folder for the output of programs."""
        return self._prepared.private

    @property
    def room_bytes(self) -> int:
        """Bytes that may still be written, without the reserve."""
        volume = os.statvfs(self.data_folder)
        free_bytes = volume.f_bavail * volume.f_frsize
        limit_bytes = self._prepared.limit_bytes
        return (free_bytes if limit_bytes is None else min(free_bytes, limit_bytes)) - RESERVE_BYTES

    @property
    def hold(self) -> Hold | None:
        """Hook for a program before it is executed: it takes the server's place."""
        return self.host.hold(ProcessRole.SERVER)

    def sources(self, folder: str) -> ServerSources:
        """Return the sources for probes that count the I/O of the disks below a folder."""
        return ServerSources(data_directory=folder)

    def open_output(self, name: str) -> IO[bytes]:
        """Open the output of a program; see `open_private`."""
        return open_private(self.private, name)

    def check(self) -> None:
        """Make sure that it exists and is not full; see `Host.check_alive`."""
        self.host.check_alive(self._prepared, RESERVE_BYTES)

    def release(self) -> tuple[str, ...]:
        """Delete its content and unmake it; return a sentence for everything that is left over."""
        folders, self._folders = self._folders, None
        if folders is None:
            return ()
        return tuple(event.text for event in self.host.release(folders) if event.action is CleanupAction.KEPT)
