"""The border of every command: errors become sentences on stderr and exit statuses, never a traceback."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from app import COMMAND
from app.domain.errors import CancelledError, ExitStatus, FootingError, InternalError
from app.domain.text import titled, tr

# Standard input, output and error of the command, in whatever state the caller left them.


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


_MOST_LINES: Final = 100
_LONGEST_LINE: Final = 4000
"""Limits of an error message, which may contain untrusted text."""


def _print_error(error: FootingError) -> None:
    from app.terminal.plain_text import plain_lines  # noqa: PLC0415 - only where something went wrong

    lines = [
        line[:_LONGEST_LINE]
        for text in (f"{COMMAND}: {error.message}", error.hint)
        for line in plain_lines(text).splitlines()[:_MOST_LINES]
    ]
    lines[1:] = [f"  {line}" for line in lines[1:]]
    with suppress(OSError):  # stderr is closed; the exit status remains
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()


def _flush_output() -> int | None:
    """Flush standard output; return the exit status if that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        _print_error(
            FootingError(tr("The output cannot be written: {reason}.").format(reason=error.strerror))
        )
        return int(ExitStatus.FAILED)
    return None


def run_guarded(command: Callable[[], int]) -> int:
    """Run a command and return its exit status; never raises."""
    open_standard_streams()
    try:
        try:
            status = command()
        except SystemExit as end:  # --help and --version
            status = end.code if isinstance(end.code, int) else 0
        failure = _flush_output()
    except FootingError as error:
        _print_error(error)
        return int(error.exit_status)
    except KeyboardInterrupt:
        _print_error(CancelledError(titled(tr("stopped")) + "."))
        return int(ExitStatus.CANCELLED)
    except BrokenPipeError:
        # The reader of our output (head, less) is gone: end as a program in C would.
        drop_output()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
        return int(ExitStatus.FAILED)
    except Exception as error:
        logging.getLogger(__name__).debug("command failed", exc_info=error)
        internal = InternalError.of(error)
        _print_error(internal)
        return int(internal.exit_status)
    else:
        return status if failure is None else failure
