"""What pgbench may take of this machine while a server of others answers it; looked at about once a second.

libpq keeps the rows of an answer, and where its memory ends it throws the further ones away without an end
(fe-protocol3.c, pqParseInput3: "we've already choked for some reason"): so an answer that does not end is
known by the most that pgbench ever had. What libpq throws away from its first byte on, by its time alone.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import ServerError
from app.domain.text import tr
from app.domain.units import GIB, format_duration, format_size
from app.execution.failures import KEPT
from app.hosts.server_under_test import PgbenchPlace

MOST_WORDS_BYTES: Final = GIB
"""Of standard error: a script that raises a notice in each transaction writes less in an hour."""
LOADED_AT_LEAST: Final = 256 * 1024
"""Bytes a second: a server that takes data more slowly is not waited for (13 GB in 14 hours)."""
_ANSWER_SHARE: Final = 3 / 8
"""Of the memory that pgbench may have. Its list of rows is doubled: what is refused may be half of all."""
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
"""The most that a process had in memory, see proc_pid_status(5)."""


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
        if _size(self.words) > MOST_WORDS_BYTES:
            message = tr("The server sends messages without an end: pgbench wrote {size} of them.")
            raise ServerError(message.format(size=format_size(MOST_WORDS_BYTES)), hint=KEPT)
        late_s = self.place.late_s
        if late_s is not None and self.due_s is not None and time.monotonic() > self.due_s + late_s:
            message = tr(
                "pgbench should have ended {time} ago: the server does not come to the end of what it was "
                "asked last."
            )
            raise ServerError(message.format(time=format_duration(late_s)), hint=KEPT)


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
