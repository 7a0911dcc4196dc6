"""One campaign at a time: two of them on one machine would bend each other's numbers.

Two locks, both flock, so that they vanish with their holder: one in this user's state folder, which names the
campaign that holds it; and one for all users in /run/lock, which says nothing but that somebody measures. The
second is best effort: where /run/lock is missing or the file there cannot be opened, only this user's
campaigns exclude each other, and `MachineLock.scope_note` says so. Another user could hold it for ever; then
nothing is measured until that is settled, and nothing else is harmed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from app.domain.errors import BusyError, FootingError
from app.domain.text import tr
from app.hosts.folders.own_folders import check_private, create_state_folder

SHARED_LOCK: Final = Path("/run/lock/pgfooting.lock")
_FACTS_BYTES: Final = 65536


class MachineLock:
    """Both locks; held until `close` or the end of the process.

    Attributes:
        scope_note: empty, or why campaigns of other users are not excluded.
    """

    def __init__(self, descriptors: list[int], scope_note: str) -> None:
        self._descriptors = descriptors
        self.scope_note = scope_note

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def name_holder(self, campaign_folder: str, campaign_name: str) -> None:
        """Say which campaign holds it, to whoever comes second."""
        _write_facts(self._descriptors[0], campaign_folder, campaign_name)

    def close(self) -> None:
        """Let the next campaign begin."""
        while self._descriptors:
            os.close(self._descriptors.pop())


def acquire_machine_lock(
    campaign_folder: str,
    campaign_name: str,
    *,
    state_folder: Path | None = None,
    shared: Path = SHARED_LOCK,
) -> MachineLock:
    """Take the right to measure on this machine.

    Args:
        campaign_folder: told to whoever comes second.
        campaign_name: likewise.
        state_folder: for tests; None for the user's own.
        shared: for tests; the lock of all users.

    Raises:
        BusyError: another campaign is running; names its folder where it is this user's.
        FootingError: the state folder cannot be used.
    """
    own = _lock_own(campaign_folder, campaign_name, state_folder)
    try:
        others, note = _lock_shared(shared)
    except BaseException:
        os.close(own)
        raise
    return MachineLock([own] if others is None else [own, others], note)


def _lock_own(campaign_folder: str, campaign_name: str, state_folder: Path | None) -> int:
    try:
        folder = state_folder or create_state_folder()
        check_private(folder)
        path = folder / "machine.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as err:
        raise FootingError(
            tr(
                "The lock that keeps campaigns apart cannot be taken ({path}: {reason}); nothing was begun."
            ).format(path=err.filename, reason=err.strerror),
            hint=tr("Set XDG_STATE_HOME to a folder that you may write."),
        ) from err
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as err:
        facts = os.pread(descriptor, _FACTS_BYTES, 0)
        os.close(descriptor)
        raise _busy(facts) from err
    _write_facts(descriptor, campaign_folder, campaign_name)
    return descriptor


def _write_facts(descriptor: int, campaign_folder: str, campaign_name: str) -> None:
    facts = json.dumps({"folder": campaign_folder, "name": campaign_name}).encode()
    with suppress(OSError):  # a full disk: the lock holds, only the name of its holder is unknown
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, facts, 0)


def _busy(facts: bytes) -> BusyError:
    hint = tr("Two at once would bend each other's numbers: wait for its end, or stop it.")
    try:
        values = json.loads(facts)
        folder, name = str(values["folder"]), str(values["name"])
    except (ValueError, KeyError, TypeError):  # its holder is just writing them
        return BusyError(tr("Another campaign of yours is running on this machine."), hint=hint)
    sentence = tr("The campaign “{name}” in {folder} is running on this machine.")
    return BusyError(sentence.format(name=name, folder=folder), hint=hint)


def _lock_shared(path: Path) -> tuple[int | None, str]:
    """Take the lock of all users; return its descriptor, or None and why not."""
    try:
        descriptor = _open_shared(path)
    except OSError as err:
        note = tr("Campaigns of other users are not excluded ({path}: {reason}).")
        return None, note.format(path=path, reason=err.strerror)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as err:
        os.close(descriptor)
        raise BusyError(
            tr("Another user's campaign is running on this machine."),
            hint=tr(
                "Two at once would bend each other's numbers. It holds {path}; root sees who: fuser -v {path}"
            ).format(path=path),
        ) from err
    return descriptor, ""


def _open_shared(path: Path) -> int:
    """Open the lock file for reading, which is all that flock needs, and create it where it is missing.

    SECURITY: the folder is writable for all: no link is followed, nothing is written to the file, and what is
    no regular file is not used.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        with suppress(FileExistsError):
            created = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            os.fchmod(created, 0o444)  # whatever the umask is: other users only read it
            return created
        descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file", str(path))
    return descriptor
