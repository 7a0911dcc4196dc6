"""The folders of one run, and checks of them while it runs."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from app.domain.errors import ServerError, TargetLostError
from app.domain.storage_plan.plan import Role
from app.domain.text import MIB, format_size, tr
from app.hosts.folders.descriptors import FileIdentity, identity_of, strictly
from app.hosts.folders.private_folder import PrivateFolder, replaced
from app.process.starter import Recorder, run_command

_LOG_RESERVE_BYTES: Final = 4 * MIB
_BLOCK_BYTES: Final = 512
"""Unit of st_blocks (stat(2))."""


@dataclass(frozen=True, slots=True)
class TablespaceFolder:
    """An empty folder for a tablespace, on a separate filesystem.

    Attributes:
        role: its future content.
        path: mode 0700, of the server's account.
        identity: of the root folder of that filesystem.
    """

    role: Role
    path: str
    identity: FileIdentity

    @property
    def root(self) -> str:
        """Root of its filesystem."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class RunFolders:
    """The folders of one run.

    Attributes:
        root: our own folder in the target; everything in it is ours.
        data_directory: empty, mode 0700, for initdb.
        socket_directory: the server's socket; its path is short even if the target's is long.
        private: the private folder.
        limit_bytes: largest size of `root`; None for no limit but the filesystem.
        identity: of `root`.
        notes: sentences about imperfections, for the run file.
        wal_directory: folder for pg_wal on a separate filesystem, which initdb makes; empty if the WAL is in
            the data directory.
        wal_identity: of that filesystem's root; None without one.
        tablespaces: on separate filesystems.
    """

    root: str
    data_directory: str
    socket_directory: str
    private: PrivateFolder
    limit_bytes: int | None
    identity: FileIdentity
    notes: tuple[str, ...] = ()
    wal_directory: str = ""
    wal_identity: FileIdentity | None = None
    tablespaces: tuple[TablespaceFolder, ...] = ()

    @property
    def contents(self) -> tuple[str, ...]:
        """Every folder that the server writes to, the data directory first."""
        spaces = (each.path for each in self.tablespaces)
        return (self.data_directory, *filter(None, [self.wal_directory]), *spaces)

    @property
    def wal_root(self) -> str:
        """Root of the WAL's own filesystem; empty without one."""
        return self.wal_directory.rpartition("/")[0]


def check_alive(site: RunFolders, reserve_bytes: int) -> None:
    """Make sure that the run can continue; cheap enough for once a second, but blocks if the device hangs.

    Args:
        site: result of `LocalHost.prepare`.
        reserve_bytes: free space below which the run must stop.

    Raises:
        TargetLostError: the target vanished, was replaced, is read-only, nearly full, or over its limit.
    """
    places = [(site.root, site.identity)]
    if site.wal_identity is not None:
        places.append((site.wal_root, site.wal_identity))
    places += [(each.root, each.identity) for each in site.tablespaces]
    for path, identity in places:
        free_bytes = _check_folder(path, identity, site)
        if free_bytes < reserve_bytes:
            raise TargetLostError(
                tr("{path} is nearly full: {free} are left.").format(path=path, free=format_size(free_bytes)),
                hint=tr("Free some space there, or choose less data or a shorter run."),
            )
    log_bytes = _check_folder(site.private.path, site.private.identity, site)
    if log_bytes < _LOG_RESERVE_BYTES:
        raise TargetLostError(
            tr("{path} is nearly full: {free} are left.").format(
                path=site.private.path, free=format_size(log_bytes)
            )
        )


def _check_folder(path: str, identity: FileIdentity, site: RunFolders) -> int:
    """Return the free bytes in a folder, or those left of its limit."""
    try:
        with strictly(path) as folder:
            if not identity_of(folder).is_same(identity, same_boot=True):
                raise replaced(path)
            volume = os.fstatvfs(folder)
            if volume.f_flag & os.ST_RDONLY:
                raise TargetLostError(
                    tr("The filesystem of {path} has become read-only.").format(path=path),
                    hint=tr("dmesg usually shows the device or filesystem error that caused this."),
                )
            free_bytes = volume.f_bavail * volume.f_frsize
            if path == site.root:
                os.stat("data", dir_fd=folder, follow_symlinks=False)
                if site.limit_bytes is not None:
                    free_bytes = min(free_bytes, site.limit_bytes - _used_bytes(folder))
            return free_bytes
    except OSError as err:
        raise TargetLostError(
            tr("{path} has vanished: {reason}.").format(path=path, reason=err.strerror),
            hint=tr("Nothing was written anywhere else."),
        ) from err


def _used_bytes(folder: int) -> int:
    """Return the allocated bytes below a folder, following no links (1000 files in a fresh cluster)."""
    used_bytes = 0
    for _, _, names, inner in os.fwalk(".", dir_fd=folder):
        for name in names:
            try:
                used_bytes += os.stat(name, dir_fd=inner, follow_symlinks=False).st_blocks * _BLOCK_BYTES
            except FileNotFoundError:  # the server deletes files all the time
                continue
    return used_bytes


# Drop files from the kernel's page cache: without root, as any user who may read them.
#
# posix_fadvise(2), POSIX_FADV_DONTNEED: "pages that have not yet been written out will be unaffected", so
# dirty pages are written first. It has no effect on ZFS, which has its own cache.


SYNC_TIMEOUT_S: Final = 600.0


def empty_page_cache(of: RunFolders, record: Recorder, watch: Callable[[], None]) -> None:
    """Write the dirty pages of a run's filesystems, then drop the files of its data from the page cache.

    Args:
        of: of a server that does not run.
        record: called with the command.
        watch: called at every file.

    Raises:
        ServerError: dirty pages cannot be written, or a file cannot be reached.
    """
    folders = of.contents
    argv = ("sync", "--file-system", *folders)
    outcome = run_command(argv, account=of.private.account, timeout_s=SYNC_TIMEOUT_S, record=record)
    if not outcome.succeeded:
        sentence = tr("Dirty data could not be written: {reason}")
        raise ServerError(sentence.format(reason=outcome.describe()))
    try:
        for folder in folders:
            for file in _files_below(folder):
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                watch()
    except OSError as err:
        sentence = tr("{path} cannot be read: {reason}.")
        raise ServerError(sentence.format(path=of.data_directory, reason=err.strerror)) from err


def _files_below(folder: str) -> Iterator[int]:
    """Yield a descriptor of each regular file; closed when the next one is requested.

    SECURITY: the runner may have other rights than the owner of these files: no link is followed, and nothing
    but the kernel's memory changes.
    """
    for _, _, names, parent in os.fwalk(folder, onerror=_refuse):
        for name in names:
            if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                continue
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
            try:
                yield file
            finally:
                os.close(file)


def _refuse(error: OSError) -> None:
    raise error
