"""The private folder of a run: output of pgbench and the server, and the user's scripts."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import IO

from app.domain.errors import TargetLostError
from app.domain.text import tr
from app.hosts.folders.descriptors import FileIdentity, identity_of, strictly, write_file
from app.process.starter import Account, Recorder, as_account


@dataclass(frozen=True, slots=True)
class PrivateFolder:
    """Server log, pgbench's logs, the user's scripts; in memory if there is a tmpfs.

    Attributes:
        path: absolute.
        identity: of the folder.
        account: its owner, which also runs pgbench.
    """

    path: str
    identity: FileIdentity
    account: Account


def open_private(folder: PrivateFolder, name: str) -> IO[bytes]:
    """Open a file of the folder for reading; safe as root: a link cannot redirect it.

    Raises:
        FileNotFoundError: there is no such file (yet).
        TargetLostError: the folder is another one now, or the file is not a regular file.
    """
    if not name or "/" in name:
        raise ValueError(name)
    with strictly(folder.path) as opened:
        if not identity_of(opened).is_same(folder.identity, same_boot=True):
            raise replaced(folder.path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=opened)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise replaced(f"{folder.path}/{name}")
    return os.fdopen(descriptor, "rb", buffering=0)


def write_private(folder: PrivateFolder, name: str, text: str, record: Recorder) -> str:
    """Write a new file, such as a user's script, into the folder as its owner; return its path.

    Raises:
        TargetLostError: the folder is gone, full, or already has such a file.
    """
    if not name or "/" in name or name.startswith("."):
        raise ValueError(name)
    path = f"{folder.path}/{name}"
    content = text.encode("utf-8", errors="surrogateescape")
    try:
        as_account(write_file, folder.account, record)(folder.path, folder.identity, name, content)
    except OSError as err:
        raise TargetLostError(
            tr("{path} cannot be written: {reason}.").format(path=path, reason=err.strerror)
        ) from err
    return path


def replaced(path: str) -> TargetLostError:
    """Return the error for a folder or file that was replaced."""
    return TargetLostError(
        tr("{path} was replaced while the run used it.").format(path=path),
        hint=tr("The new content was not touched."),
    )
