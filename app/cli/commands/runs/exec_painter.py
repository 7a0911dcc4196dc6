"""Goes on as the program that paints reports and pictures, which needs Qt but no display.

Nothing of it is imported here: everything else works where no Qt is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from app.cli.commands.window import window_environment
from app.cli.terminal.report_wishes import wish_argv, wishes_of
from app.domain.errors import UsageError
from app.domain.text import tr
from app.hosts.preferences import preferred_paper, read_preferences

LIBRARIES: Final = ("PySide6", "pypdf")


def painter_argv(runs: Sequence[Path], arguments: argparse.Namespace) -> list[str]:
    """Return the argument list of the painter."""
    paper = getattr(arguments, "paper", None) or preferred_paper(read_preferences()[0], os.environ)
    options = ["--output", str(arguments.output), "--paper", paper]
    options += wish_argv(wishes_of(arguments)) if hasattr(arguments, "sections") else []
    options += ["--anonymous"] if arguments.anonymous else []
    options += ["--force"] if arguments.force else []
    return [sys.executable, "-P", "-m", "ui.report", *options, "--", *map(str, runs)]


def check_painter_libraries() -> None:
    """Say what reports and pictures need where that is not installed.

    Raises:
        UsageError: a package of Python is missing.
    """
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        message = tr("Reports and pictures need {names}: not installed.")
        raise UsageError(message.format(names=", ".join(missing)), hint=_hint())


def _hint() -> str:
    return tr("`packaging/run` installs what it needs; CSV and JSON need none of it.")


def become_painter(runs: Sequence[Path], arguments: argparse.Namespace) -> NoReturn:
    """Go on as the painter, in this process.

    Args:
        runs: run files.
        arguments: with output, anonymous, force and, of a report, paper and wishes.

    Raises:
        UsageError: its libraries are not installed, or Python cannot be started.
    """
    check_painter_libraries()
    sys.stdout.flush()
    environment = {**window_environment(os.environ), "QT_QPA_PLATFORM": "offscreen"}
    try:
        # The interpreter that runs this, and arguments that argparse has read.
        os.execve(sys.executable, painter_argv(runs, arguments), environment)  # noqa: S606
    except OSError as error:
        message = tr("The painter could not be started ({path}: {reason}).")
        raise UsageError(message.format(path=sys.executable, reason=error.strerror), hint=_hint()) from error
