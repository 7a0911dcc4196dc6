"""The programs that a runner has started: ending them, and the record of one that has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Final

import psutil

from app.process.starter import Account, CommandOutcome

STOP_PGBENCH_S: Final = 3.0
"""SIGINT ends pgbench at once; what still runs after this is killed, and then left to the kernel."""


def end_child(child: subprocess.Popen[bytes]) -> None:
    """End pgbench gently, then hard; without effect where it ended by itself."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if child.poll() is not None:
            return
        child.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(STOP_PGBENCH_S)


def kill_children() -> None:
    """Kill what the thread in the background has started; each program leads a process group of its own."""
    for child in psutil.Process().children():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def outcome_of(
    account: Account,
    argv: tuple[str, ...],
    child: subprocess.Popen[bytes],
    started_s: float,
    stderr: str = "",
) -> CommandOutcome:
    """Return the record of a pgbench that has ended, or that the kernel does not let end."""
    code = child.returncode if child.returncode is not None else -signal.SIGKILL
    duration_s = time.monotonic() - started_s
    return CommandOutcome(argv, account.name, started_s, duration_s, code, "", stderr)
