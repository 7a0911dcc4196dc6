"""Facts about the machine as a tree that can be stored: each item is a value, or the reason for its absence.

A fact that could not be read is ``{"unreadable": reason}`` under its usual key: this distinguishes "not
there" from "not looked for", and runs can be compared key by key. Other programs are only asked read-only
questions, as this user, with a time limit.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from app.domain.errors import ProgramError
from app.domain.json_value import Json
from app.domain.text import tr
from app.probes.base.probe import ProbeUnavailable
from app.process.account import SEARCH_PATH
from app.process.starter import CommandOutcome, current_account, run_command

Facts = dict[str, Json]

MEMORY_LIMIT: Final = "memory-limit"
"""Code of the preflight finding, stored among the facts, that a control group has less memory than the
machine.
"""

LONGEST_TEXT: Final = 8192


def unreadable(reason: str) -> Facts:
    """Return the placeholder for an unknown fact."""
    return {"unreadable": reason}


def attempt(read: Callable[[], Json]) -> Json:
    """Return the result of `read`, or the reason why it failed."""
    try:
        return read()
    except ProbeUnavailable as err:
        return unreadable(err.reason)
    except ProgramError as err:
        return unreadable(err.message)
    except OSError as err:
        return unreadable(_words(err))
    except (ValueError, LookupError, UnicodeError) as err:
        return unreadable(tr("not understood: {error!r}").format(error=err))


def _words(err: OSError) -> str:
    if err.errno in {errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOTDIR}:
        return tr("does not exist on this machine")
    if err.errno in {errno.EACCES, errno.EPERM}:
        return tr("may not be read without root") if os.geteuid() else tr("may not be read here")
    return err.strerror or str(err)


def read_text(path: Path | str) -> str:
    """Return the stripped text of a small file.

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(LONGEST_TEXT).decode(errors="replace").strip()


def parse_value(text: str) -> Json:
    """Return a whole number as int, anything else as text."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else text


def file_fact(path: Path | str) -> Json:
    """Return the value in a file, or the reason why it is unreadable."""
    return attempt(lambda: parse_value(read_text(path)))


def folder_facts(folder: Path, names: Iterable[str]) -> Facts:
    """Return the values of several files of a folder, by name."""
    return {name: file_fact(folder / name) for name in names}


def selected(text: str) -> str:
    """Return the choice in brackets of texts like ``none [mq-deadline] kyber``; else the whole text."""
    begun, ended = text.find("["), text.find("]")
    return text[begun + 1 : ended] if 0 <= begun < ended else text


def selected_fact(path: Path | str) -> Json:
    """Return the choice in brackets of a file, or the reason why it is unreadable."""
    return attempt(lambda: selected(read_text(path)))


Ask = Callable[[Sequence[str]], str]
"""Runs a program and returns its standard output; raises ProgramError."""

TIMEOUT_S: Final = 2.0


def ask_program(argv: Sequence[str], timeout_s: float = TIMEOUT_S) -> str:
    """Return the standard output of a program.

    Only the system's own folders are searched, never the user's PATH: pgFooting may run as root. Exit status
    1 with output and without errors also counts as an answer: systemd-detect-virt(1) prints "none" that way.

    Raises:
        ProgramError: no such program, a failure with the program's message, or a timeout.
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
    """Do not record: questions are no commands of a run."""
