"""The programs that a runner has started: ending them, their bounds, and the record of one that has ended.

pgbench is bounded where a server of others answers it, which is looked at about once a second.
libpq keeps the rows of an answer, and where its memory ends it throws the further ones away without an end
(fe-protocol3.c, pqParseInput3: "we've already choked for some reason"): so an answer that does not end is
known by the most that pgbench ever had. What libpq throws away from its first byte on, by its time alone.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from app.domain.errors import ServerError
from app.domain.text import tr
from app.domain.units import GIB, format_duration, format_size
from app.execution.failures import KEPT
from app.hosts.server_under_test import PgbenchPlace
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


# --- Bounds of pgbench


MOST_WORDS_BYTES: Final = GIB
"""Of standard error: a script that raises a notice in each transaction writes less in an hour."""
LOADED_AT_LEAST: Final = 256 * 1024
"""Bytes a second: a server that takes data more slowly is not waited for (13 GB in 14 hours)."""
_ANSWER_SHARE: Final = 3 / 8
"""Of the memory that pgbench may have. Its list of rows is doubled: what is refused may be half of all."""
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
"""The most that a process had in memory, see proc_pid_status(5)."""


_NO_MEMORY: Final = re.compile("out of memory for query result|cannot allocate memory for input buffer")
"""What libpq of 13 to 18, and no server, says where an answer takes more than its process may have."""


@dataclass(frozen=True, slots=True)
class PgbenchBounds:
    """Of one pgbench.

    Attributes:
        place: says how much it may take; without a limit of its memory nothing is bounded.
        words: file of its standard error.
        due_s: when it should have ended, of `time.monotonic`; None where that is not known.
    """

    place: PgbenchPlace
    words: Path
    due_s: float | None = None

    def check(self, pid: int) -> None:
        """Do nothing where it keeps within.

        Raises:
            ServerError: it does not.
        """
        if self.place.memory_bytes is None:
            return
        most = int(self.place.memory_bytes * _ANSWER_SHARE)
        if _peak_bytes(pid) > most:
            message = tr("The server sends answers without an end: pgbench took {size} of memory for them.")
            raise ServerError(message.format(size=format_size(most)), hint=KEPT)
        self._check_words()
        late_s = self.place.late_s
        if late_s is not None and self.due_s is not None and time.monotonic() > self.due_s + late_s:
            message = tr(
                "pgbench should have ended {time} ago: the server does not come to the end of what it was "
                "asked last."
            )
            raise ServerError(message.format(time=format_duration(late_s)), hint=KEPT)

    def check_failed(self, stderr: str) -> None:
        """Do nothing where a pgbench that failed by itself kept within; it may have been first by a moment.

        Args:
            stderr: what it printed.

        Raises:
            ServerError: it did not.
        """
        if self.place.memory_bytes is None:
            return
        if _NO_MEMORY.search(stderr):
            message = tr("The server sends answers without an end: pgbench took {size} of memory for them.")
            raise ServerError(message.format(size=format_size(self.place.memory_bytes)), hint=KEPT)
        self._check_words()

    def _check_words(self) -> None:
        if _size(self.words) > MOST_WORDS_BYTES:
            message = tr("The server sends messages without an end: pgbench wrote {size} of them.")
            raise ServerError(message.format(size=format_size(MOST_WORDS_BYTES)), hint=KEPT)


def _peak_bytes(pid: int) -> int:
    """Return the most that a process ever had in memory; 0 where it has ended."""
    with suppress(OSError):
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
        if found is not None:
            return int(found[1]) * 1024
    return 0


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
