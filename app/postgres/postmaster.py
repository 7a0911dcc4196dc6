"""What can be seen of a postmaster from outside, and how it is killed when it does not end by itself."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

POLL_S: Final = 0.02
_POSIX_SEGMENT: Final = re.compile(r"(/dev/shm/PostgreSQL\.\d+)(?: \(deleted\))?$")
_SYSV_SEGMENT: Final = re.compile(r" (\d+) +/SYSV[0-9a-f]{8} \(deleted\)$")
"""proc(5): for a System V segment the inode number in /proc/PID/maps is its id (ipc/shm.c)."""


def read_tail(path: str, start: int, limit: int) -> str:
    """Return the end of a regular file from byte `start` on, at most `limit` bytes; empty without one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        file.seek(max(start, found.st_size - limit))
        return file.read(limit).decode(errors="replace")


def size_of(path: str) -> int:
    """Return a file's size in bytes, 0 if there is none."""
    try:
        return Path(path).lstat().st_size
    except OSError:
        return 0


def says_ready(data_directory: str, pid: int) -> bool:
    """Return whether postmaster.pid is of process `pid` and says in its eighth line that it is ready.

    The line is LOCK_FILE_LINE_PM_STATUS of pidfile.h (10 and newer): ``starting``, ``ready``, ``standby``,
    ``stopping``, padded with spaces.
    """
    lines = read_tail(f"{data_directory}/postmaster.pid", 0, 4096).splitlines()
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def parse_shared_memory(maps: str) -> list[tuple[str, ...]]:
    """Return the commands that remove the shared memory in the server's /proc/PID/maps, each once.

    A postmaster removes its segments itself, unless it is killed: the small System V segment that guards the
    data directory, and the POSIX segments of dynamic shared memory.
    """
    commands: dict[tuple[str, ...], None] = {}
    for line in maps.splitlines():
        if posix := _POSIX_SEGMENT.search(line):
            commands["rm", "--force", posix[1]] = None
        elif system_v := _SYSV_SEGMENT.search(line):
            commands["ipcrm", "--shmem-id", system_v[1]] = None
    return list(commands)


def _read_maps(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def shared_memory_of(pid: int) -> list[tuple[str, ...]]:
    """Return the commands that remove what a server would leave if its postmaster were killed now.

    Segments of dynamic shared memory are mapped by those who use them: the statistics by the children only.
    """
    parent = psutil.Process(pid)
    family = [parent, *parent.children(recursive=True)]
    return parse_shared_memory("\n".join(_read_maps(member.pid) for member in family))


def _has_ended(member: psutil.Process) -> bool:
    """Return whether it is gone, or only waits for its new parent (init) to take note."""
    try:
        return bool(member.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def kill_family(process: subprocess.Popen[bytes], timeout_s: float) -> list[int]:
    """Kill a postmaster and its children; return the process ids that did not end.

    The children are in sessions of their own (postmaster.c calls setsid), so the process group is not enough.
    """
    deadline_s = time.monotonic() + timeout_s
    parent = psutil.Process(process.pid)
    parent.suspend()  # so that it starts nothing new while its children are listed
    children = parent.children(recursive=True)
    for member in (parent, *children):
        with suppress(psutil.NoSuchProcess):
            member.kill()
    while True:
        waiting = [member.pid for member in children if not _has_ended(member)]
        waiting += [process.pid] if process.poll() is None else []
        if not waiting or time.monotonic() > deadline_s:
            return waiting
        time.sleep(POLL_S)
