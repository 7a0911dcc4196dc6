"""Ask for the password in the terminal if no desktop does: run polkit's own program while needed.

Source: pkttyagent(1). ``--fallback`` does not replace an agent that answers already, ``--notify-fd`` is
closed when it is registered. It needs this terminal, and therefore stays in this process's session and group.
polkit forgets a fallback agent if the user has no session of logind (seen with 122), as in a container or
below su: there can be no other agent, and it is registered as the agent.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from app.process.account import SEARCH_PATH

PROGRAM: Final = "pkttyagent"
SESSIONS: Final = Path("/run/systemd/users")
"""Contains a file for each user with a session (sd_uid_get_state(3))."""
_READY_S: Final = 15.0
_END_S: Final = 2.0


@contextmanager
def terminal_agent() -> Iterator[None]:
    """Let polkit ask on this terminal while the block lasts; no effect without a terminal or the program.

    Root needs no password.
    """
    program = shutil.which(PROGRAM, path=SEARCH_PATH)
    if os.geteuid() == 0 or program is None or not is_terminal():
        yield
        return
    reading, write_end = os.pipe()
    argv = [program, "--process", str(os.getpid()), "--notify-fd", str(write_end)]
    argv += ["--fallback"] if (SESSIONS / str(os.getuid())).exists() else []
    try:
        agent = subprocess.Popen(argv, pass_fds=(write_end,))  # noqa: S603 - a fixed program and numbers
    finally:
        os.close(write_end)
    try:
        select.select(
            [reading], [], [], _READY_S
        )  # if it is not ready in time, polkit reports that there is no agent
        os.close(reading)
        yield
    finally:
        agent.terminate()
        with suppress(subprocess.TimeoutExpired):
            agent.wait(_END_S)
        if agent.poll() is None:
            agent.kill()
            agent.wait()


def is_terminal() -> bool:
    """Return whether the user can be asked here."""
    with suppress(OSError, ValueError, AttributeError):
        return sys.stdin.isatty() and sys.stderr.isatty()
    return False
