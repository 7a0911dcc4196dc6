"""Handing a fresh filesystem to a user, and ending what of that user still works in it.

SECURITY: root changes the owner of the mount's own folder, once, by descriptor, before the user can have put
anything there. It never opens, reads or deletes a path below it. Who works where is read from procfs alone
(mount ids and links as text): a file of another process may lie on a filesystem that answers nobody.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 3.0
_LOOK_S: Final = 0.05
_STARTED: Final = 19
"""Place of the start time among the fields after the program's name: field 22 of proc(5), stat."""
_PROC: Final = Path("/proc")
_MOUNT_ID: Final = re.compile(rb"^mnt_id:\s*([0-9]+)$", re.MULTILINE)
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


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
    watched = _Watched.over(folders)
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if not _signal_all(watched, uid, number, spared):
            break
    deadline_s = time.monotonic() + PATIENCE_S
    while spared and watched.is_used_by(spared.pid) and time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)
    return [pid for pid in _processes() if watched.is_used_by(pid)]


def _signal_all(watched: _Watched, uid: int, number: signal.Signals, spared: Process | None) -> bool:
    """Signal, wait until all are gone or the patience is at its end; return whether there was anyone."""
    with ExitStack() as held:
        poller, waiting = select.poll(), 0
        for pid in _processes():
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


def _processes() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def _mounts(process: Path) -> Iterator[tuple[int, str, str]]:
    """Yield mount id, device number and folder of what a process sees mounted (proc(5), mountinfo)."""
    text = (process / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in text.splitlines():
        words = line.split(" ", 5)
        yield int(words[0]), words[2], _ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[4])


@dataclass(frozen=True, slots=True)
class _Watched:
    """Filesystems of ours, and under which mount ids and folders each namespace has them.

    Attributes:
        devices: their device numbers, as mountinfo writes them.
        folders: where we have them.
    """

    devices: frozenset[str]
    folders: tuple[str, ...]
    _seen: dict[tuple[str, str], tuple[frozenset[int], tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def over(cls, folders: Iterable[str]) -> _Watched:
        """Return those that are mounted on folders; a folder with nothing mounted on it is none."""
        wanted = set(folders)
        found = [(device, folder) for _, device, folder in _mounts(_PROC / "self") if folder in wanted]
        return cls(frozenset(device for device, _ in found), tuple(folder for _, folder in found))

    def is_used_by(self, pid: int) -> bool:
        """Whether a process has its working folder, root, program or an open file on one of them."""
        process = _PROC / str(pid)
        if not self.devices:
            return False
        try:
            ids, folders = self._seen_by(process)
            links = [str((process / name).readlink()) for name in ("cwd", "root")]
            with suppress(OSError):  # a kernel's thread has no program
                links.append(str((process / "exe").readlink()))
            if any(link == folder or link.startswith(f"{folder}/") for link in links for folder in folders):
                return True
            return any(_mount_of(entry) in ids for entry in (process / "fdinfo").iterdir())
        except OSError:
            return False

    def _seen_by(self, process: Path) -> tuple[frozenset[int], tuple[str, ...]]:
        view = str((process / "ns/mnt").readlink()), str((process / "root").readlink())
        if view not in self._seen:
            found = [
                (number, folder) for number, device, folder in _mounts(process) if device in self.devices
            ]
            folders = {*self.folders, *(folder for _, folder in found)} - {"/"}
            self._seen[view] = frozenset(number for number, _ in found), tuple(folders)
        return self._seen[view]


def _mount_of(entry: Path) -> int | None:
    """Return the mount id of an open file; None for one that was closed meanwhile."""
    with suppress(OSError):
        found = _MOUNT_ID.search(entry.read_bytes())
        return int(found[1]) if found else None
    return None
