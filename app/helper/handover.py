"""Handing a fresh filesystem to a user, and ending what of that user still works in it.

SECURITY: root changes the owner of the mount's own folder, once, by descriptor, before the user can have put
anything there. It never opens, reads or deletes a path below it.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 3.0


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


def end_users(folders: Iterable[str], uid: int) -> list[int]:
    """End the processes of a user that work in filesystems; return those of anyone that are still there.

    First SIGQUIT, PostgreSQL's immediate shutdown (postgres(1)), then SIGKILL.

    Args:
        folders: mount points.
        uid: only this user's processes are signalled, whatever else works there.
    """
    devices = _devices(folders)
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if not _signal_all(devices, uid, number):
            break
    return [pid for pid in _processes() if _works_on(pid, devices)]


def _devices(folders: Iterable[str]) -> frozenset[int]:
    found = set()
    for folder in folders:
        with suppress(OSError):
            device = os.stat(folder, follow_symlinks=False).st_dev  # noqa: PTH116 - one call, no link followed
            if device != os.stat(f"{folder}/..").st_dev:  # noqa: PTH116
                found.add(device)
    return frozenset(found)


def _signal_all(devices: frozenset[int], uid: int, number: signal.Signals) -> bool:
    """Signal, wait until all are gone or the patience is at its end; return whether there was anyone."""
    with ExitStack() as held:
        poller, waiting = select.poll(), 0
        for pid in _processes():
            with suppress(OSError):
                # SECURITY: the descriptor holds the process before it is looked at, so that its number cannot
                # become another process's between look and signal.
                descriptor = os.pidfd_open(pid)
                held.callback(os.close, descriptor)
                if os.stat(f"/proc/{pid}").st_uid == uid and _works_on(pid, devices):  # noqa: PTH116
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
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _works_on(pid: int, devices: frozenset[int]) -> bool:
    """Whether a process has its working folder, root, program or an open file on one of the filesystems."""
    folder = Path(f"/proc/{pid}")
    places = [folder / "cwd", folder / "root", folder / "exe"]
    with suppress(OSError):
        places += (folder / "fd").iterdir()
    for place in places:
        with suppress(OSError):
            if place.stat().st_dev in devices:
                return True
    return False
