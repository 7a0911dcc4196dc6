"""Delete recorded folders, and nothing else: by descriptor, as their owner, compared by device and inode.

Standard library only, see `app.hosts.folders.descriptors`.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from enum import Enum
from pathlib import PurePosixPath
from typing import Final

from app.hosts.folders.descriptors import READ, FileIdentity, identity_of, opened, strictly

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
