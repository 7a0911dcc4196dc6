"""Hand a fresh filesystem to a user, and end the user's processes that still work in it.

SECURITY: root changes the owner of the mount's own folder, once, by descriptor, before the user can have put
anything there. It never opens, reads or deletes a path below it.

`WatchedFilesystems` finds the processes that use filesystems of ours: by an open file, a folder, a mapped or
running program.

SECURITY: read from procfs alone, as text (device numbers, mount ids, links): a file of another process may be
on a filesystem that never answers. Every thread is checked: it may have its own working folder, root and
descriptors (clone(2), CLONE_FS and CLONE_FILES). Invisible are a descriptor on its way through a socket, and
the files of an io_uring; `may_hide` finds the processes that hold such. Source: proc(5).
"""

from __future__ import annotations

import os
import pwd
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.messages.message import joined, say
from app.storage.system.state import share_files

_MOUNT_ID: Final = re.compile(rb"^mnt_id:\s*([0-9]+)$", re.MULTILINE)
_HIDDEN: Final = re.compile(rb"^(?:scm_fds|UserFiles):\s*[1-9]", re.MULTILINE)
"""Counts of descriptors on their way (Linux net/unix/af_unix.c) and registered with a ring
(io_uring/fdinfo.c).
"""
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


def processes() -> list[int]:
    """Return the number of every visible process."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def may_hide(pid: int) -> bool:
    """Return whether a process holds descriptors that cannot be identified."""
    return any(_HIDDEN.search(_read(entry)) for thread in _threads(pid) for entry in _descriptors(thread))


@dataclass(frozen=True, slots=True)
class _View:
    """Our filesystems in a thread's mount namespace.

    Attributes:
        ids: of their mounts.
        folders: their mount points.
    """

    ids: frozenset[int]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WatchedFilesystems:
    """Filesystems of ours, and their mounts in each mount namespace.

    Attributes:
        devices: their device numbers, as in mountinfo.
        view: in our own namespace.
    """

    devices: frozenset[str]
    view: _View
    _seen: dict[tuple[str, str], _View] = field(default_factory=dict)

    @classmethod
    def over(cls, folders: Iterable[str]) -> WatchedFilesystems:
        """Return the filesystems mounted on folders; skips folders without a mount."""
        wanted = set(folders)
        found = [each for each in _mounts(_PROC / "self") if each[2] in wanted]
        view = _View(frozenset(number for number, _, _ in found), tuple(folder for _, _, folder in found))
        return cls(frozenset(device for _, device, _ in found), view)

    def is_used_by(self, pid: int) -> bool:
        """Return whether any thread of a process has a folder, root, program, mapped or open file on one."""
        if not self.devices:
            return False
        is_mapped, last_read = False, 0
        for thread in _threads(pid):
            with suppress(OSError):  # it ended
                if self._works_in(thread):
                    return True
            if not is_mapped:  # all threads share the memory of the process; one that has ended has none
                areas = _read(thread / "maps")
                if self._mapped().search(areas):
                    return True
                is_mapped = bool(areas)
            if last_read and share_files(last_read, int(thread.name)):
                continue
            last_read = int(thread.name)
            with suppress(OSError):
                ids = self._view_of(thread).ids
                if any(number in ids for entry in _descriptors(thread) for number in _mount_of(entry)):
                    return True
        return False

    def _works_in(self, thread: Path) -> bool:
        folders = self._view_of(thread).folders
        links = [str((thread / name).readlink()) for name in ("cwd", "root")]
        with suppress(OSError):  # a kernel thread has no program
            links.append(str((thread / "exe").readlink()))
        return any(link == folder or link.startswith(f"{folder}/") for link in links for folder in folders)

    def _mapped(self) -> re.Pattern[bytes]:
        numbers = [[int(word) for word in device.split(":")] for device in sorted(self.devices)]
        devices = "|".join(f"{major:02x}:{minor:02x}" for major, minor in numbers)
        return re.compile(rf"^\S+ \S+ [0-9a-f]+ (?:{devices}) ".encode(), re.MULTILINE)

    def _view_of(self, thread: Path) -> _View:
        """Return our filesystems in a thread's mount namespace.

        Raises:
            OSError: it has ended.
        """
        key = str((thread / "ns/mnt").readlink()), str((thread / "root").readlink())
        if key not in self._seen:
            mounts = list(_mounts(thread))
            ours = [each for each in mounts if each[1] in self.devices]
            # A descriptor sent from another namespace has its mount from there.
            ids = {number for number, _, _ in ours} | self.view.ids - {number for number, _, _ in mounts}
            folders = {*self.view.folders, *(folder for _, _, folder in ours)} - {"/"}
            self._seen[key] = _View(frozenset(ids), tuple(folders))
        return self._seen[key]


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return sorted((_PROC / str(pid) / "task").iterdir(), key=lambda thread: int(thread.name))
    return []


def _descriptors(thread: Path) -> list[Path]:
    with suppress(OSError):
        return list((thread / "fdinfo").iterdir())
    return []


def _read(path: Path) -> bytes:
    """Return the content of a procfs file; empty if it is gone."""
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _mount_of(entry: Path) -> Iterator[int]:
    """Yield the mount id of an open file; nothing for one that was closed in between."""
    if found := _MOUNT_ID.search(_read(entry)):
        yield int(found[1])


def _mounts(process: Path) -> Iterator[tuple[int, str, str]]:
    """Yield mount id, device number and folder of the mounts that a process sees (proc(5), mountinfo)."""
    text = (process / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in text.splitlines():
        words = line.split(" ", 5)
        yield int(words[0]), words[2], _ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[4])


PATIENCE_S: Final = 3.0
_LOOK_S: Final = 0.05
_STARTED: Final = 19
"""Index of the start time among the fields after the program's name: field 22 of proc(5), stat."""
_PROC: Final = Path("/proc")
_BUSY: Final = "busy"
"""In umount(8)'s message about a filesystem in use."""


def give_folder(folder: str, uid: int, gid: int) -> None:
    """Give the root folder of a freshly mounted filesystem to a user, mode 0700.

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
        started: start time, as in proc(5), ``stat``.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """Return the process that has a number now; None if none has."""
        with suppress(OSError):
            stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
            return cls(pid, stat.rpartition(")")[2].split()[_STARTED])
        return None


def end_users(folders: Iterable[str], uid: int, spared: Process | None = None) -> list[int]:
    """End a user's processes that work in filesystems; return those of any user that are still there.

    First SIGQUIT, PostgreSQL's immediate shutdown (postgres(1)), then SIGKILL.

    Args:
        folders: mount points.
        uid: only this user's processes are signalled, even if others work there.
        spared: process of the caller; is not signalled, and has a moment to let go.
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
    """Return which processes keep filesystems from being unmounted, as sentences; empty for none.

    Args:
        folders: mount points.
        uid: of the session's user.
        said: message of the failed unmount: if it says busy, and no process is found, an invisible one is
            reported.
    """
    watched = WatchedFilesystems.over(folders)
    numbers = processes()
    if users := [pid for pid in numbers if watched.is_used_by(pid)]:
        return say("processes-work", who=_names(users))
    if not watched.devices or _BUSY not in said:
        return ""
    user = say("user-unseen", user=_user_name(uid))
    return joined(" ", (user, say("processes-hide", who=hiding))) if (hiding := who_hides()) else user


def who_hides() -> str:
    """Return the processes that hold descriptors that cannot be identified; empty for none."""
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
    """Signal, wait until all are gone or the time is up; return whether there were any."""
    with ExitStack() as held:
        poller, waiting = select.poll(), 0
        for pid in processes():
            with suppress(OSError):
                # SECURITY: the descriptor holds the process before it is checked, so that its number cannot
                # become another process's between check and signal.
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
