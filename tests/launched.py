"""Waiting for a runner that this process started (the window polls instead); a process of chosen user ids."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path

from app.execution.launch import LaunchedCampaign, LaunchError

_POLL_S = 0.05


def wait_for_folder(launched: LaunchedCampaign, timeout_s: float) -> Path:
    """Return the campaign's folder when its first run has begun.

    Raises:
        LaunchError: the runner ended before its first run, and why.
        TimeoutError: neither happened in time; the runner goes on.
    """
    left_s = timeout_s
    while (folder := launched.poll()) is None:
        if left_s <= 0:
            raise TimeoutError(f"{launched.launch_folder}: no run has begun")
        _wait(launched.pid, _POLL_S)
        left_s -= _POLL_S
    return folder


def wait_for_end(launched: LaunchedCampaign, timeout_s: float) -> int:
    """Return the exit status when the runner has ended.

    Raises:
        TimeoutError: it still runs; it goes on.
    """
    _wait(launched.pid, timeout_s)
    with suppress(LaunchError):
        launched.poll()
    if launched.exit_status is None:
        raise TimeoutError(f"{launched.launch_folder}: the runner still runs")
    return launched.exit_status


def _wait(pid: int, timeout_s: float) -> None:
    with suppress(ProcessLookupError):  # it was waited for already
        descriptor = os.pidfd_open(pid)
        try:
            select.select([descriptor], [], [], timeout_s)
        finally:
            os.close(descriptor)


IDS = """
import ctypes, os, sys
real, effective, saved, of_files = map(int, sys.argv[1:])
libc = ctypes.CDLL(None)
PR_SET_NO_NEW_PRIVS, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP = 38, 28, 4
assert libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == 0  # setfsuid needs a capability yet
os.setresuid(real, effective, saved)
libc.setfsuid(of_files)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
print("ready", flush=True)
sys.stdin.read()
"""
"""Takes four user ids, in the order of proc(5), and no new privileges."""
