"""Reach and make folders by descriptor: never through a symbolic link, never a wrong one.

Standard library only: `app.process.starter.as_account` calls this as the account that owns the folders, in a
process that cannot import anything else. Nothing here may be called as root on a folder of another user.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

WALK: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
READ: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Identity of a file or folder, independent of its path.

    Attributes:
        device: st_dev; may change when the machine restarts.
        inode: st_ino.
        filesystem: f_fsid; survives a restart on most filesystems, 0 if there is none.
    """

    device: int
    inode: int
    filesystem: int

    def is_same(self, other: FileIdentity, *, same_boot: bool) -> bool:
        """Return whether both are the same; after a restart a changed device number is ignored."""
        if self.inode != other.inode:
            return False
        if self.device == other.device:
            return True
        return not same_boot and self.filesystem == other.filesystem != 0


@contextmanager
def opened(path: str, flags: int, folder: int | None = None) -> Iterator[int]:
    """Open for the duration of a with statement."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def strictly(path: str) -> Iterator[int]:
    """Reach an absolute folder component by component; a symbolic link anywhere is an error.

    Yields:
        A descriptor that was opened with O_PATH.

    Raises:
        OSError: with the path up to the failing component as its file name.
    """
    names = PurePosixPath(path).parts
    if not names or names[0] != "/" or ".." in names:
        raise OSError(errno.EINVAL, "not an absolute path", path)
    descriptor = os.open("/", WALK | os.O_CLOEXEC)
    try:
        for depth, name in enumerate(names[1:], start=2):
            try:
                following = os.open(name, WALK | os.O_CLOEXEC, dir_fd=descriptor)
            except OSError as err:
                reached = str(PurePosixPath(*names[:depth]))
                raise OSError(err.errno, err.strerror, reached) from err
            os.close(descriptor)
            descriptor = following
        yield descriptor
    finally:
        os.close(descriptor)


def identity_of(descriptor: int) -> FileIdentity:
    """Return the identity of an open file or folder."""
    found = os.fstat(descriptor)
    return FileIdentity(found.st_dev, found.st_ino, os.fstatvfs(descriptor).f_fsid)


def make_folder(path: str) -> FileIdentity:
    """Create a new folder with mode 0700, and return its identity.

    Raises:
        OSError: it exists; EPERM if the filesystem keeps neither owner nor permissions (FAT).
    """
    where = PurePosixPath(path)
    with strictly(str(where.parent)) as parent:
        os.mkdir(where.name, 0o700, dir_fd=parent)
        with opened(where.name, READ, parent) as folder:
            found = os.fstat(folder)
            with suppress(OSError):
                os.fchmod(folder, 0o700)
                found = os.fstat(folder)
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
                os.rmdir(where.name, dir_fd=parent)
                raise OSError(errno.EPERM, "the filesystem keeps no owners and permissions", path)
            return identity_of(folder)


def write_file(folder: str, identity: FileIdentity, name: str, content: bytes) -> None:
    """Write a new file with mode 0600 into a folder of known identity.

    Raises:
        OSError: ESTALE if the folder is another one now; EEXIST if the file exists.
    """
    with strictly(folder) as parent:
        if not identity.is_same(identity_of(parent), same_boot=True):
            raise OSError(errno.ESTALE, "the folder was replaced", folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb") as file:
            file.write(content)
