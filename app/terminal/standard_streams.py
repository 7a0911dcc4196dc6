"""Standard input, output and error of the command, in whatever state the caller left them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def open_standard_streams() -> None:
    """Make descriptors 0 to 2 usable, and all text printable.

    A closed one (``>&-``) is replaced by /dev/null: otherwise the next opened file - a run file - would get
    its number, and a program that we start would write into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A locale's encoding may lack a character, and a file's name may not be text at all.
            stream.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Discard the rest of standard output: nothing can receive it."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
