"""Check whether a disk answers at all, by a separate program, which may hang in our place.

A process that waits for an unresponsive disk cannot be ended, not even killed, and one such thread keeps the
whole process alive. So a child process is the first to read a disk.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import Final

from app.domain.messages.message import say
from app.storage.system.programs import TIMED_OUT, HangingProgramError, run_program

ANSWER_S: Final = 20.0
"""Longer than a rotating disk takes to start."""
_KILLED_S: Final = 1.0

_waiting: dict[str, HangingProgramError] = {}
_guard = threading.Lock()


class NoAnswerError(OSError):
    """A disk does not answer.

    Attributes:
        reason: for the user.
    """

    def __init__(self, node: str) -> None:
        self.reason = say("disk-no-answer", node=node, seconds=ANSWER_S)
        super().__init__(errno.ETIMEDOUT, self.reason, node)


def find_unanswered(node: str) -> NoAnswerError | None:
    """Return an error if a child still waits for a disk; None if none does."""
    with _guard:
        before = _waiting.get(node)
        if before is not None and not before.is_gone:
            return NoAnswerError(node)
        _waiting.pop(node, None)
    return None


def check_answers(node: str) -> None:
    """Make sure that a disk answers to a read of its first block; an error is an answer as well.

    Starts no further child while an earlier one still waits for the disk. Skips disks that this user may not
    read.

    Raises:
        NoAnswerError: it does not answer in time.
    """
    if not os.access(node, os.R_OK):
        return
    if (earlier := find_unanswered(node)) is not None:
        raise earlier
    read = ("dd", f"if={node}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct,nonblock", "status=none")
    try:
        ended = run_program(read, timeout_s=ANSWER_S, kill_after_s=_KILLED_S)
    except HangingProgramError as err:
        with _guard:
            _waiting[node] = err
        raise NoAnswerError(node) from err
    if ended.exit_code == TIMED_OUT:
        raise NoAnswerError(node)
