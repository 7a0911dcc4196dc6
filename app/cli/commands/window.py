"""`pgfooting`, `open` and `replay`: replace this process by the window, a separate program.

None of it is imported here: everything but the window works without Qt.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from app import TOP
from app.domain.errors import UsageError
from app.domain.text import tr
from app.process.qt_libraries import check_window_packages, window_hint


def window_argv(arguments: Sequence[str]) -> list[str]:
    """Return the argument list of the window."""
    return [sys.executable, "-P", "-m", "ui", *arguments]


def window_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the window's environment: ours, plus the program's folder, which -P hides."""
    top = str(TOP)
    others = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part and part != top]
    return {**environment, "PYTHONPATH": os.pathsep.join([top, *others])}


def window_command(arguments: argparse.Namespace) -> NoReturn:
    """Open the window, with runs or with a replay."""
    options = ["--library", str(arguments.library)] if arguments.library is not None else []
    if arguments.replay is not None:
        options += ["--replay", *arguments.replay]
        options += ["--speed", str(arguments.speed)] if arguments.speed is not None else []
        options += ["--talk"] if arguments.talk else []
    become_window([*options, "--", *map(str, arguments.runs)])


def become_window(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the window.

    Raises:
        UsageError: its libraries are not installed, or Python cannot be started.
    """
    check_window_packages()
    sys.stdout.flush()
    try:
        # The interpreter of this process, and arguments that argparse has read.
        os.execve(sys.executable, window_argv(arguments), window_environment(os.environ))  # noqa: S606
    except OSError as error:
        message = tr("{program} could not be started: {reason}.")
        message = message.format(program=sys.executable, reason=error.strerror)
        raise UsageError(message, hint=window_hint()) from error
