"""Examine a folder as an account: whether it can be reached and written, and its free space.

Standard library only, see `app.hosts.folders.descriptors`.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from app.hosts.folders.descriptors import WALK, FileIdentity, identity_of

CLUSTER_MARK: Final = "PG_VERSION"
"""File that makes a folder a data directory (initdb of every PostgreSQL writes it)."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a folder cannot be reached.

    Attributes:
        number: errno.
        component: path up to the component that is missing, not a folder, or may not be entered.
        mode: its st_mode; 0 if it is missing.
        uid: its owner.
        gid: its group.
    """

    number: int
    component: str
    mode: int = 0
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """Facts about a folder that an account can reach.

    Attributes:
        identity: of the folder.
        mode: st_mode.
        uid: owner.
        gid: group.
        writable: whether this account may create files in it.
        read_only: whether the filesystem is mounted read-only.
        free_bytes: free for this account.
        total_bytes: size of the filesystem.
        free_inodes: number of files that can be created; None if the filesystem does not count them.
        cluster: the data directory that it is or is in; None for none.
    """

    identity: FileIdentity
    mode: int
    uid: int
    gid: int
    writable: bool
    read_only: bool
    free_bytes: int
    total_bytes: int
    free_inodes: int | None
    cluster: str | None


def examine(path: str) -> FolderFacts | Obstacle:
    """Return facts about a folder for this account; `path` contains no symbolic links."""
    cluster: str | None = None
    names = PurePosixPath(path).parts
    reached = "/"
    descriptor = os.open("/", WALK | os.O_CLOEXEC)
    try:
        for name in names[1:]:
            try:
                following = os.open(name, WALK | os.O_CLOEXEC, dir_fd=descriptor)
            except OSError as err:
                return _obstacle(err.errno or 0, reached, name, descriptor)
            os.close(descriptor)
            descriptor = following
            reached = str(PurePosixPath(reached, name))
            if cluster is None and _is_cluster(descriptor):
                cluster = reached
        return _facts(descriptor, cluster)
    finally:
        os.close(descriptor)


def _is_cluster(folder: int) -> bool:
    try:
        os.stat(CLUSTER_MARK, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _obstacle(number: int, reached: str, name: str, folder: int) -> Obstacle:
    """Return the component at fault: the folder that may not be entered, or the obstacle."""
    if number == errno.EACCES:  # `folder` may not be entered; O_PATH needs no permission on `name` itself
        found = os.fstat(folder)
        return Obstacle(number, reached, found.st_mode, found.st_uid, found.st_gid)
    component = str(PurePosixPath(reached, name))
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return Obstacle(number, component)
    return Obstacle(number, component, found.st_mode, found.st_uid, found.st_gid)


def _facts(folder: int, cluster: str | None) -> FolderFacts:
    found = os.fstat(folder)
    volume = os.fstatvfs(folder)
    return FolderFacts(
        identity=identity_of(folder),
        mode=found.st_mode,
        uid=found.st_uid,
        gid=found.st_gid,
        writable=os.access(".", os.W_OK | os.X_OK, dir_fd=folder),
        read_only=bool(volume.f_flag & os.ST_RDONLY),
        free_bytes=volume.f_bavail * volume.f_frsize,
        total_bytes=volume.f_blocks * volume.f_frsize,
        free_inodes=volume.f_favail if volume.f_files else None,
        cluster=cluster,
    )
