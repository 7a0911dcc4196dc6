"""Reach and make folders by descriptor: never through a symbolic link, never a wrong one.

Standard library only: `app.process.starter.as_account` calls this as the account that owns the folders, in a
process that cannot import anything else. Nothing here may be called as root on a folder of another user.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import Final

WALK: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
READ: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

OWN_NAME: Final = re.compile(r"pgfooting-[0-9a-f]{16}")
"""Names of pgFooting's folders, and the only ones that it deletes."""


def own_name() -> str:
    """Return an unpredictable name for a folder of ours."""
    return f"pgfooting-{secrets.token_hex(8)}"


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


# Delete recorded folders, and nothing else: by descriptor, as their owner, compared by device and inode.
#
# Standard library only, as above.


DELETE_TIMEOUT_S: Final = 900.0
"""Deleting a data directory of a terabyte on a slow disk takes minutes."""
_DEEPEST: Final = 100
"""A data directory is 5 deep; anything far deeper is not a data directory."""


class Removal(Enum):
    """Result of a removal.

    REMOVED: it was there and is gone. GONE: it was gone already. ABSENT: its filesystem is not mounted, so
    that it may come back. FOREIGN: another file or folder has its name and was not touched.
    """

    REMOVED = "removed"
    GONE = "gone"
    ABSENT = "absent"
    FOREIGN = "foreign"


def remove(path: str, identity: FileIdentity | None, *, same_boot: bool, volatile: bool) -> Removal:
    """Remove a folder with its content, if it has this `identity` and is ours.

    Args:
        path: absolute, without symbolic links.
        identity: of the folder; None for one that was only about to be created and must be empty.
        same_boot: whether the machine has not restarted since `identity` was read.
        volatile: whether it is in memory, so that missing means gone.

    Raises:
        OSError: some of it could not be removed.
    """
    where = PurePosixPath(path)
    try:
        with strictly(str(where.parent)) as parent:
            return _remove_in(parent, where.name, identity, same_boot=same_boot)
    except FileNotFoundError:
        return _missing(where, identity, same_boot=same_boot, volatile=volatile)
    except NotADirectoryError:  # a link or a file took the place of a parent, or of the folder
        return Removal.FOREIGN


def _remove_in(parent: int, name: str, identity: FileIdentity | None, *, same_boot: bool) -> Removal:
    found, current = _identity_at(name, parent)
    if found.st_uid != os.geteuid():
        return Removal.FOREIGN
    if identity is None:
        return _remove_unfinished(name, parent)
    if not identity.is_same(current, same_boot=same_boot):
        return Removal.FOREIGN
    if not stat.S_ISDIR(found.st_mode):
        return Removal.FOREIGN
    return _remove_folder(name, parent, current)


def _identity_at(name: str, folder: int) -> tuple[os.stat_result, FileIdentity]:
    """Return status and identity of `name`, not following a link; its filesystem is that of `folder`."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return found, FileIdentity(found.st_dev, found.st_ino, os.fstatvfs(folder).f_fsid)


def _remove_unfinished(name: str, parent: int) -> Removal:
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as err:
        if err.errno in {errno.ENOTEMPTY, errno.ENOTDIR, errno.EEXIST}:
            return Removal.FOREIGN
        raise
    return Removal.REMOVED


def _remove_folder(name: str, parent: int, current: FileIdentity) -> Removal:
    with opened(name, READ, parent) as folder:
        opened_one = os.fstat(folder)
        if (opened_one.st_dev, opened_one.st_ino) != (current.device, current.inode):
            return Removal.FOREIGN
        _empty(folder, current.device, _DEEPEST)
    os.rmdir(name, dir_fd=parent)  # whatever has the name now: rmdir removes only an empty folder
    return Removal.REMOVED


def empty_folder(folder: int) -> None:
    """Delete the content of an open folder.

    Raises:
        OSError: some of it could not be deleted.
    """
    _empty(folder, os.fstat(folder).st_dev, _DEEPEST)


def _empty(folder: int, device: int, depth: int) -> None:
    """Delete the content of an open folder; links are removed, not followed; no other filesystem."""
    if depth == 0:
        raise OSError(errno.EMLINK, "nested too deep")
    with os.scandir(folder) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in names:
        with suppress(FileNotFoundError):
            if is_folder:
                with opened(name, READ, folder) as inner:
                    if os.fstat(inner).st_dev != device:
                        raise OSError(errno.EXDEV, "another filesystem is mounted there", name)
                    _empty(inner, device, depth - 1)
                os.rmdir(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)


def _missing(
    where: PurePosixPath, identity: FileIdentity | None, *, same_boot: bool, volatile: bool
) -> Removal:
    """Distinguish a deleted folder from one on a filesystem that is not mounted."""
    if identity is None or volatile:
        return Removal.GONE
    for ancestor in where.parents:
        with suppress(FileNotFoundError), strictly(str(ancestor)) as folder:
            nearest = identity_of(folder)
            if nearest.device == identity.device and same_boot:
                return Removal.GONE
            same = nearest.filesystem == identity.filesystem != 0
            return Removal.GONE if same else Removal.ABSENT
    return Removal.ABSENT
