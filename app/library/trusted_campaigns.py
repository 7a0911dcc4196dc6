"""Campaigns that the user approved in the wizard, stored by digest in the user's own data folder.

Each is an empty file named after the digest, in a folder of mode 0700: there is no content to parse, and a
file is created in one step. Files that other users could have created are ignored.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.domain.errors import UsageError
from app.domain.text import tr
from app.hosts.folders.descriptors import READ, opened
from app.library.entries import standard_library

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = "trusted"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_OTHERS: Final = 0o077


def trusted_folder() -> Path:
    """Return the folder of the digests: $XDG_DATA_HOME/pgfooting/trusted.

    Raises:
        UsageError: this user has no home.
    """
    return standard_library().parent / FOLDER


def is_trusted(digest: str) -> bool:
    """Return whether this user approved the campaign with this digest; False if that is unknown."""
    if _DIGEST.fullmatch(digest) is None:
        return False
    with suppress(OSError, UsageError), _own_folder(trusted_folder()) as folder:
        found = os.stat(digest, dir_fd=folder, follow_symlinks=False)
        # SECURITY: a name that another user could have made, or linked here, is no consent.
        return stat.S_ISREG(found.st_mode) and _is_own(found) and found.st_nlink == 1
    return False


def trust(digest: str) -> None:
    """Store that this user approved the campaign with this digest.

    Raises:
        UsageError: it cannot be stored, or others could write there.
    """
    path = trusted_folder()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        with _own_folder(path) as folder:
            _make(digest, folder)
    except OSError as error:
        message = tr("Your consent to this campaign cannot be stored in {path}: {reason}.")
        hint = tr("Restrict it to your user: chown, chmod 0700.")
        raise UsageError(message.format(path=path, reason=error.strerror), hint=hint) from error


def _make(digest: str, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(digest, flags, 0o600, dir_fd=folder)
    except FileExistsError:
        if is_trusted(digest):
            return
        os.unlink(digest, dir_fd=folder)  # whatever it is, it is in a folder that is ours alone
        descriptor = os.open(digest, flags, 0o600, dir_fd=folder)
    os.close(descriptor)


@contextmanager
def _own_folder(path: Path) -> Iterator[int]:
    """Open a folder that only this user can change.

    Raises:
        OSError: it is a symbolic link, missing, or others can write to it.
    """
    with opened(str(path), READ) as folder:
        if not _is_own(os.fstat(folder)):
            raise PermissionError(1, tr("other users could change it"), str(path))
        yield folder


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & _OTHERS
