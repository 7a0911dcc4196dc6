"""Other programs that are asked for facts: read-only questions, as this user, with a time limit."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.process.account import SEARCH_PATH
from app.process.starter import CommandOutcome, current_account, run_command

Ask = Callable[[Sequence[str]], str]
"""Asks a program and returns what it prints; raises ProgramError."""

TIMEOUT_S: Final = 2.0


def ask_program(argv: Sequence[str], timeout_s: float = TIMEOUT_S) -> str:
    """Return what a program prints on its standard output.

    Only the system's own folders are looked through, never the user's PATH: pgFooting may run as root.
    Exit status 1 with an answer and without a complaint is an answer too: systemd-detect-virt(1) says
    "none" so.

    Raises:
        ProgramError: no such program, a failure in the program's own words, or no answer in time.
    """
    program = shutil.which(argv[0], path=SEARCH_PATH)
    if program is None:
        raise ProgramError(tr("{program} is not installed").format(program=argv[0]))
    outcome = run_command(
        (program, *argv[1:]), account=current_account(), timeout_s=timeout_s, record=_forget
    )
    answered = outcome.exit_code == 1 and outcome.stdout.strip() and not outcome.stderr.strip()
    if not outcome.succeeded and not answered:
        raise ProgramError(outcome.describe())
    return outcome.stdout


def _forget(_outcome: CommandOutcome) -> None:
    """Questions are not commands of a run: the answer is what is stored."""
