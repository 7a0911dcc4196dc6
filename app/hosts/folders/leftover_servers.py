"""End the processes of a server without its runner.

Standard library only, see `app.hosts.folders.descriptors`: runs as the server's account, which needs no
privilege to inspect its own processes and can signal no others.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from app.hosts.folders.descriptors import FileIdentity

_PROGRAM: Final = "postgres"
_DELETED: Final = " (deleted)"
"""Suffix of the target of a link in /proc to a deleted file (proc(5))."""


def end_servers(
    data_directory: str, identity: FileIdentity, *, patience_s: float = 15.0
) -> tuple[list[int], list[int]]:
    """End every process of a server that works in a recorded data directory.

    First SIGQUIT, the immediate shutdown of PostgreSQL (postgres(1)), then SIGKILL.

    Args:
        data_directory: path as recorded.
        identity: of the folder.
        patience_s: how long to wait after each of the two signals.

    Returns:
        Ids of ended processes, and of those that are still there.
    """
    ended: set[int] = set()
    for number in (signal.SIGQUIT, signal.SIGKILL):
        found = _signal_all(data_directory, identity, number, patience_s)
        ended |= found
        if not found:
            break
    left = [pid for pid in _processes() if _works_in(pid, data_directory, identity)]
    return sorted(ended - set(left)), sorted(left)


def _signal_all(
    data_directory: str, identity: FileIdentity, number: signal.Signals, patience_s: float
) -> set[int]:
    """Signal the server's processes, wait until all are gone or the time is up, and return them."""
    found: set[int] = set()
    with ExitStack() as held:
        poller = select.poll()
        waiting = 0
        for pid in _processes():
            with suppress(OSError):
                # SECURITY: the descriptor holds the process before it is checked, so that the number cannot
                # become another process's between check and signal.
                descriptor = os.pidfd_open(pid)
                held.callback(os.close, descriptor)
                if _works_in(pid, data_directory, identity):
                    signal.pidfd_send_signal(descriptor, number)
                    found.add(pid)
                    poller.register(descriptor, select.POLLIN)
                    waiting += 1
        deadline_s = time.monotonic() + patience_s
        while waiting:
            left_s = deadline_s - time.monotonic()
            gone = poller.poll(left_s * 1000) if left_s > 0 else []
            if not gone:
                break
            for descriptor, _ in gone:
                poller.unregister(descriptor)
                waiting -= 1
    return found


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _works_in(pid: int, data_directory: str, identity: FileIdentity) -> bool:
    """Return whether a process is PostgreSQL's and its working folder the recorded one, by path and inode.

    The inode alone would not do: when the recorded folder is gone its number may serve another cluster. The
    path alone would not do: another folder may have been put there.
    """
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(_DELETED)
        working = Path(f"/proc/{pid}/cwd")
        folder = str(working.readlink()).removesuffix(_DELETED)
        found = working.stat()
    except OSError:  # gone in between, or not ours
        return False
    return (
        Path(program).name == _PROGRAM
        and folder == data_directory
        and (found.st_dev, found.st_ino) == (identity.device, identity.inode)
    )
