"""Handing a fresh filesystem to a user, and ending what of that user still works in it.

SECURITY: root changes the owner of the mount's own folder, once, by descriptor, before the user can have put
anything there. It never opens, reads or deletes a path below it. Who works there:
`app.helper.storage.holders`.
"""

from __future__ import annotations

import os
import pwd
import select
import signal
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.messages.message import joined, say
from app.helper.storage.holders import WatchedFilesystems, may_hide, processes

PATIENCE_S: Final = 3.0
_LOOK_S: Final = 0.05
_STARTED: Final = 19
"""Place of the start time among the fields after the program's name: field 22 of proc(5), stat."""
_PROC: Final = Path("/proc")
_BUSY: Final = "busy"
"""What umount(8) says of a filesystem that somebody has something on."""


def hand_over(folder: str, uid: int, gid: int) -> None:
    """Give the root folder of a filesystem that was just mounted to a user, mode 0700.

    Raises:
        OSError: it is not a mount point of root's.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found, above = os.fstat(descriptor), os.stat("..", dir_fd=descriptor)
        if found.st_uid != 0 or found.st_dev == above.st_dev:
            raise PermissionError(1, "not a filesystem that was just made", folder)
        os.fchown(descriptor, uid, gid)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Process:
    """One process, and none that gets its number later.

    Attributes:
        pid: its number.
        started: when, as proc(5) writes it in ``stat``.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """Return the process that has a number now; None where none has."""
        with suppress(OSError):
            stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
            return cls(pid, stat.rpartition(")")[2].split()[_STARTED])
        return None


def end_users(folders: Iterable[str], uid: int, spared: Process | None = None) -> list[int]:
    """End the processes of a user that work in filesystems; return those of anyone that are still there.

    First SIGQUIT, PostgreSQL's immediate shutdown (postgres(1)), then SIGKILL.

    Args:
        folders: mount points.
        uid: only this user's processes are signalled, whatever else works there.
        spared: who asked for it; is not signalled, and has a moment to let go.
    """
    watched = WatchedFilesystems.over(folders)
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if not _signal_all(watched, uid, number, spared):
            break
    deadline_s = time.monotonic() + PATIENCE_S
    while spared and watched.is_used_by(spared.pid) and time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)
    return [pid for pid in processes() if watched.is_used_by(pid)]


def who_holds(folders: Iterable[str], uid: int, said: str) -> str:
    """Return who has something on filesystems that could not be unmounted, as sentences; empty for nobody.

    Args:
        folders: mount points.
        uid: of the session's user.
        said: by what could not unmount them: where that tells that one is busy, and nobody is seen on any,
            somebody has it who cannot be seen.
    """
    watched = WatchedFilesystems.over(folders)
    numbers = processes()
    if users := [pid for pid in numbers if watched.is_used_by(pid)]:
        return say("processes-work", who=_names(users))
    if not watched.devices or _BUSY not in said:
        return ""
    told = say("user-unseen", user=_user_name(uid))
    return joined(" ", (told, say("processes-hide", who=hiding))) if (hiding := who_hides()) else told


def who_hides() -> str:
    """Return the processes that hold descriptors of which nothing tells what they are; empty for nobody."""
    return _names(pid for pid in processes() if may_hide(pid))


def _names(pids: Iterable[int]) -> str:
    return ", ".join(f"{pid} ({_name_of(pid)})" for pid in pids)


def _name_of(pid: int) -> str:
    with suppress(OSError):
        name = (_PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace")
        return "".join(filter(str.isprintable, name))
    return "?"


def _user_name(uid: int) -> str:
    with suppress(KeyError, OSError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _signal_all(
    watched: WatchedFilesystems, uid: int, number: signal.Signals, spared: Process | None
) -> bool:
    """Signal, wait until all are gone or the patience is at its end; return whether there was anyone."""
    with ExitStack() as held:
        poller, waiting = select.poll(), 0
        for pid in processes():
            with suppress(OSError):
                # SECURITY: the descriptor holds the process before it is looked at, so that its number cannot
                # become another process's between look and signal.
                descriptor = os.pidfd_open(pid)
                held.callback(os.close, descriptor)
                if spared and spared == Process.of(pid):
                    continue
                if os.stat(f"/proc/{pid}").st_uid == uid and watched.is_used_by(pid):  # noqa: PTH116
                    signal.pidfd_send_signal(descriptor, number)
                    poller.register(descriptor, select.POLLIN)
                    waiting += 1
        some, deadline_s = waiting > 0, time.monotonic() + PATIENCE_S
        while waiting and (left_s := deadline_s - time.monotonic()) > 0:
            for descriptor, _ in poller.poll(left_s * 1000):
                poller.unregister(descriptor)
                waiting -= 1
    return some
