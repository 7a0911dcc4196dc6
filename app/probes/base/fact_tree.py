"""Facts about the machine as a tree that can be stored: every item is a value, or the reason why not.

A fact that could not be read is ``{"unreadable": reason}`` under the key it would have had, so that
"not there" and "not looked for" cannot be confused, and two runs can be compared key by key.

Other programs that are asked for facts: read-only questions, as this user, with a time limit.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.probes.base.probe import ProbeUnavailable
from app.process.account import SEARCH_PATH
from app.process.starter import CommandOutcome, current_account, run_command

Fact = str | int | float | bool | None | Sequence["Fact"] | Mapping[str, "Fact"]
Facts = dict[str, Fact]

MEMORY_LIMIT: Final = "memory-limit"
"""Code of the preflight's finding, kept among the facts, that a control group has less memory than the
machine."""

LONGEST_TEXT: Final = 8192


def unreadable(reason: str) -> Facts:
    """Return what stands for a fact that is not known."""
    return {"unreadable": reason}


def attempt(read: Callable[[], Fact]) -> Fact:
    """Return what `read` returns, or the reason why it could not."""
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
    """Return the text of a small file without the blanks around it.

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(LONGEST_TEXT).decode(errors="replace").strip()


def parse_value(text: str) -> Fact:
    """Return a whole number as number, anything else as text."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else text


def file_fact(path: Path | str) -> Fact:
    """Return the value in a file, or the reason why not."""
    return attempt(lambda: parse_value(read_text(path)))


def folder_facts(folder: Path, names: Iterable[str]) -> Facts:
    """Return the values of several files of a folder, by name."""
    return {name: file_fact(folder / name) for name in names}


def selected(text: str) -> str:
    """Return the choice in brackets of texts like ``none [mq-deadline] kyber``; else the whole text."""
    begun, ended = text.find("["), text.find("]")
    return text[begun + 1 : ended] if 0 <= begun < ended else text


def selected_fact(path: Path | str) -> Fact:
    """Return the choice in brackets of a file, or the reason why not."""
    return attempt(lambda: selected(read_text(path)))


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
