"""The programs started by a runner: ending them, their bounds, and the record of one that has ended.

pgbench is bounded if the server is not our own; the bounds are checked about once a second. libpq keeps the
rows of an answer, and silently discards further ones when its memory ends (fe-protocol3.c, pqParseInput3:
"we've already choked for some reason"). An endless answer is therefore detected by pgbench's peak memory, and
one that libpq discards from its first byte on only by its time.
"""

from __future__ import annotations

import logging
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

from app.domain.errors import FootingError, InternalError, PgbenchError, ServerError, TargetLostError
from app.domain.text import GIB, format_duration, format_size, tr
from app.hosts.server_under_test import PgbenchPlace
from app.process.starter import Account, CommandOutcome

# Errors for users when a run fails.


KEPT: Final = tr("Data measured so far is kept.")

_RIGHTS: Final = re.compile(
    r"permission denied|must be (?:a )?superuser|must be owner|Only roles with", re.IGNORECASE
)
"""The server's messages for a statement that the role has no rights to (13 to 18)."""

_FULL: Final = re.compile(
    r"\b(?:ERROR|FATAL|PANIC):\s+(?P<text>.*(?:No space left on device|wrote only \d+ of \d+ bytes).*)"
)
"""ENOSPC, and a block that fits only in part, as the server reports it to clients (md.c, fd.c, xlog.c of 13
to 18).

Our own servers speak English; for an existing one, which may not, see `ServerUnderTest.no_room`.
"""

_log = logging.getLogger(__name__)


def footing_error(error: Exception) -> FootingError:
    """Return an error that can be shown to users."""
    if isinstance(error, FootingError):
        return error
    _log.debug("run failed", exc_info=error)
    return InternalError.of(error)


def failure_of_pgbench(code: int, reason: str, *, was_killed: bool) -> PgbenchError:
    """Return the error for a pgbench that failed.

    Args:
        code: its exit status, negative for a signal.
        reason: its message, empty if none.
        was_killed: the signal was not sent by pgFooting.
    """
    if code < 0 and was_killed:
        message = tr("pgbench was killed by signal {number}, not by pgFooting.")
        return PgbenchError(message.format(number=-code), hint=KEPT)
    if not reason:
        reason = tr("it ended with status {code}").format(code=code)
    return PgbenchError(
        tr("{label} failed: {reason}").format(label="pgbench", reason=reason), hint=_hint(reason)
    )


def full_disk(stderr: str, output: str = "") -> TargetLostError | None:
    """Return the error for a server without room, if it reported that to pgbench; else None.

    Args:
        stderr: pgbench's output. During a load the reason precedes its last line, which has none.
        output: the server's own answer why it accepts no more; empty if it was not asked, or accepts more.
    """
    found = _FULL.search(stderr)
    reason = found["text"].strip() if found is not None else output
    if not reason:
        return None
    message = tr("The server's disk is full: {reason}.")
    hint = tr("Free some space there, or choose less data or a shorter run.")
    return TargetLostError(message.format(reason=reason), hint=f"{hint} {KEPT}")


def _hint(reason: str) -> str:
    if _RIGHTS.search(reason) is None:
        return KEPT
    sentence = tr(
        "pgbench's role is not a superuser and owns only its own objects. A script gets a superuser only "
        "if it declares the need and you agree. {kept}"
    )
    return sentence.format(kept=KEPT)


def crash_of_server(crash: str) -> ServerError:
    """Return the error for a server with a crashed process; `crash` is the server's own line about it."""
    return ServerError(tr("A server process crashed: {crash}.").format(crash=crash), hint=KEPT)


STOP_PGBENCH_S: Final = 3.0
"""SIGINT ends pgbench at once; after this it is killed, and then left to the kernel."""


def end_child(child: subprocess.Popen[bytes]) -> None:
    """End pgbench gently, then hard; no effect if it has ended by itself."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if child.poll() is not None:
            return
        child.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(STOP_PGBENCH_S)


def kill_children() -> None:
    """Kill the children started by the background thread; each leads its own process group."""
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
"""Limit of standard error: a script that raises a notice in each transaction writes less in an hour."""
LOADED_AT_LEAST: Final = 256 * 1024
"""Bytes a second: pgFooting does not wait for a server that loads data more slowly (13 GB in 14 hours)."""
_ANSWER_SHARE: Final = 3 / 8
"""Share of pgbench's memory. Its list of rows is doubled: the request that fails may be half of all."""
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
"""A process's peak memory, see proc_pid_status(5)."""


_NO_MEMORY: Final = re.compile("out of memory for query result|cannot allocate memory for input buffer")
"""Messages of libpq of 13 to 18, and of no server, when an answer needs more memory than allowed."""


@dataclass(frozen=True, slots=True)
class PgbenchBounds:
    """Bounds of one pgbench.

    Attributes:
        place: its limits; without a memory limit nothing is bounded.
        words: file of its standard error.
        due_s: when it should have ended, by `time.monotonic`; None if unknown.
    """

    place: PgbenchPlace
    words: Path
    due_s: float | None = None

    def check(self, pid: int) -> None:
        """Check a running pgbench against its bounds.

        Raises:
            ServerError: it exceeds one.
        """
        if self.place.memory_bytes is None:
            return
        most = int(self.place.memory_bytes * _ANSWER_SHARE)
        if _peak_bytes(pid) > most:
            message = tr("The server sent too much data: pgbench needed over {size} of memory for it.")
            raise ServerError(message.format(size=format_size(most)), hint=KEPT)
        self._check_words()
        late_s = self.place.late_s
        if late_s is not None and self.due_s is not None and time.monotonic() > self.due_s + late_s:
            message = tr(
                "pgbench should have finished {time} ago; the server has not completed its last query."
            )
            raise ServerError(message.format(time=format_duration(late_s)), hint=KEPT)

    def check_failed(self, stderr: str) -> None:
        """Check a pgbench that failed by itself; it may have failed just before `check` noticed.

        Args:
            stderr: its output.

        Raises:
            ServerError: it exceeded a bound.
        """
        if self.place.memory_bytes is None:
            return
        if _NO_MEMORY.search(stderr):
            message = tr("The server sent too much data: pgbench needed over {size} of memory for it.")
            raise ServerError(message.format(size=format_size(self.place.memory_bytes)), hint=KEPT)
        self._check_words()

    def _check_words(self) -> None:
        if _size(self.words) > MOST_WORDS_BYTES:
            message = tr("The server sent too many messages: pgbench wrote over {size} of them.")
            raise ServerError(message.format(size=format_size(MOST_WORDS_BYTES)), hint=KEPT)


def _peak_bytes(pid: int) -> int:
    """Return a process's peak memory; 0 if it has ended."""
    with suppress(OSError):
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
        if found is not None:
            return int(found[1]) * 1024
    return 0


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
