"""Facts about the machine as a tree that can be stored: every item is a value, or the reason why not.

A fact that could not be read is ``{"unreadable": reason}`` under the key it would have had, so that
"not there" and "not looked for" cannot be confused, and two runs can be compared key by key.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.probes.base.probe import ProbeUnavailable

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
