"""One campaign at a time: two of them on one machine would distort each other's numbers.

Two locks, both flock, so that they vanish with their holder: one in this user's state folder, which names the
campaign that holds it; and one for all users in /run/lock, which says only that a measurement is running. The
second is best effort: if /run/lock is missing or the file there cannot be opened, only this user's campaigns
exclude each other, and `MachineLock.scope_note` says so. Every user can lock the file there, so a holder that
is not a campaign stops no campaign, and root is never stopped: `MachineLock.held_by` names the holder, for
the runs that are measured at the same time.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pwd
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from app.domain.errors import BusyError, FootingError
from app.domain.text import tr
from app.hosts.folders.own_folders import check_private, create_state_folder, of_an_account

SHARED_LOCK: Final = Path("/run/lock/pgfooting.lock")
_FACTS_BYTES: Final = 65536
_NAME: Final = "pgfooting-run"
"""Name of a process that measures, for other users (proc(5), comm: 15 bytes at most)."""

Wait = Callable[[str], None]


class MachineLock:
    """Both locks; held until `close` or the end of the process.

    Attributes:
        scope_note: empty, or why campaigns of other users are not excluded.
        held_by: empty, or the current holder of the lock of all users, a sentence.
    """

    def __init__(self, descriptors: list[int], scope_note: str = "", held_by: str = "") -> None:
        """Hold descriptors; renames the process, so that other users can see that it measures."""
        self._descriptors = descriptors
        self.scope_note = scope_note
        self.held_by = held_by
        self._name = _read_name("self")
        _write_name(_NAME)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def name_holder(self, campaign_folder: str, campaign_name: str) -> None:
        """Record the holding campaign for other campaigns."""
        _write_facts(self._descriptors[0], campaign_folder, campaign_name)

    def close(self) -> None:
        """Allow the next campaign to begin."""
        if self._descriptors:
            _write_name(self._name)
        while self._descriptors:
            os.close(self._descriptors.pop())


def acquire_machine_lock(
    campaign_folder: str,
    campaign_name: str,
    *,
    wait: Wait | None = None,
    state_folder: Path | None = None,
    shared: Path = SHARED_LOCK,
) -> MachineLock:
    """Take the right to measure on this machine.

    Args:
        campaign_folder: shown to other campaigns.
        campaign_name: shown to other campaigns.
        wait: called with the reason, each time before the locks are tried again; waits a while for another
            campaign, and may raise to end that. None to be refused at once.
        state_folder: for tests; None for the user's own.
        shared: for tests; the lock of all users.

    Raises:
        BusyError: another campaign is running; names its folder if it is this user's.
        FootingError: the state folder cannot be used.
    """
    while True:
        try:
            return _acquire(campaign_folder, campaign_name, state_folder, shared, waits=wait is not None)
        except BusyError as err:
            if wait is None:
                raise
            wait(err.message)


def _acquire(
    campaign_folder: str, campaign_name: str, state_folder: Path | None, shared: Path, *, waits: bool
) -> MachineLock:
    own = _lock_own(campaign_folder, campaign_name, state_folder)
    try:
        others, note, held_by = _lock_shared(shared, waits=waits)
    except BaseException:
        os.close(own)
        raise
    return MachineLock([own] if others is None else [own, others], note, held_by)


def _lock_own(campaign_folder: str, campaign_name: str, state_folder: Path | None) -> int:
    try:
        folder = state_folder or create_state_folder()
        check_private(folder)
        path = folder / "machine.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as err:
        raise FootingError(
            tr(
                "pgFooting cannot lock out simultaneous campaigns ({path}: {reason}). Nothing was started."
            ).format(path=err.filename, reason=err.strerror),
            hint=of_an_account(
                tr("Set {variable} to another folder.").format(variable="XDG_STATE_HOME"), root=""
            ),
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
    with suppress(OSError):  # a full disk: the lock holds, only its holder's name is unknown
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, facts, 0)


def _busy(facts: bytes) -> BusyError:
    hint = tr("Two campaigns at once would distort each other's results. Wait for the other one or stop it.")
    try:
        values = json.loads(facts)
        folder, name = str(values["folder"]), str(values["name"])
    except (ValueError, KeyError, TypeError):  # its holder is just writing them
        return BusyError(tr("Another campaign of yours is running on this machine."), hint=hint)
    sentence = tr("The campaign “{name}” in {folder} is running on this machine.")
    return BusyError(sentence.format(name=name, folder=folder), hint=hint)


def _lock_shared(path: Path, *, waits: bool) -> tuple[int | None, str, str]:
    """Take the lock of all users; return its descriptor, or None, why not, and its other holder.

    Raises:
        BusyError: a campaign of another user holds it.
    """
    try:
        descriptor = _open_shared(path)
    except OSError as err:
        note = tr(
            "pgFooting cannot keep campaigns of other users from running at the same time ({path}: {reason})."
        )
        return None, note.format(path=path, reason=err.strerror), ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as err:
        holder = _holder_of(os.fstat(descriptor))
        os.close(descriptor)
        # SECURITY: every user may hold it, for ever, under any name.
        if holder.name != _NAME or (may_measure_beside() and not waits):
            return None, "", holder.sentence(path)
        raise BusyError(
            holder.campaign,
            hint=tr(
                "Two campaigns at once would distort each other's results. `pgfooting run --wait` waits "
                "for the other one."
            ),
        ) from err
    return descriptor, "", ""


def find_other_campaign(shared: Path = SHARED_LOCK) -> str:
    """Return the campaign of another user that is measuring on this machine, a sentence; empty for none."""
    try:
        holder = _holder_of(shared.stat())
    except OSError:
        return ""
    if holder.name != _NAME or holder.user == _user_name(os.geteuid()):
        return ""
    return holder.campaign


@dataclass(frozen=True, slots=True)
class _Holder:
    """Holder of the lock of all users.

    Attributes:
        pid: of the process; 0 if the kernel shows none, such as one of a container.
        name: of the process; empty if unknown.
        user: name or uid of its user.
    """

    pid: int = 0
    name: str = ""
    user: str = ""

    @property
    def campaign(self) -> str:
        """Return a sentence about a campaign and its user."""
        sentence = tr("A campaign of user {user} is running on this machine (process {pid}).")
        return sentence.format(user=self.user, pid=self.pid)

    def sentence(self, path: Path) -> str:
        """Return a sentence about the holder and the consequence."""
        if not self.pid:
            return tr("An unknown process has locked {path}; runs may be disturbed.").format(path=path)
        if self.name == _NAME:
            sentence = tr(
                "A campaign of user {user} is running on this machine (process {pid}); runs may be disturbed."
            )
        else:
            sentence = tr("Process {pid} ({name}) of user {user} has locked {path}; runs may be disturbed.")
        return sentence.format(path=path, pid=self.pid, name=self.name, user=self.user)


def may_measure_beside() -> bool:
    """Return whether campaigns of other users do not stop this one: root is never stopped."""
    return os.geteuid() == 0


def _holder_of(found: os.stat_result) -> _Holder:
    """Return the holder of a file's lock, from /proc/locks (proc(5)), which all users can read."""
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    with suppress(OSError, ValueError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[5] == place:
                return _holder(int(words[4]))
    return _Holder()


def _holder(pid: int) -> _Holder:
    user = ""
    with suppress(OSError):
        user = _user_name(os.stat(f"/proc/{pid}").st_uid)  # noqa: PTH116 - procfs
    return _Holder(max(pid, 0), _read_name(str(pid)), user)


def _user_name(uid: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _read_name(process: str) -> str:
    with suppress(OSError):
        name = Path("/proc", process, "comm").read_bytes().rstrip(b"\n").decode(errors="replace")
        return "".join(letter if letter.isprintable() else "?" for letter in name)
    return ""


def _write_name(name: str) -> None:
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name, encoding="utf-8")


def _open_shared(path: Path) -> int:
    """Open the lock file for reading, which is enough for flock, and create a missing one.

    SECURITY: the folder is writable for all: no link is followed, nothing is written to the file, and
    anything but a regular file is not used.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        with suppress(FileExistsError):
            created = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            os.fchmod(created, 0o444)  # regardless of the umask: other users only read it
            return created
        descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file", str(path))
    return descriptor
