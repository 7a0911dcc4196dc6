"""Find the runs named on a command line, and finish abandoned ones before they are read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from app import COMMAND
from app.domain.errors import UsageError
from app.domain.text import tr
from app.execution.recovery import sweep_abandoned
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent
from app.library.entries import default_library, find_run, run_paths
from app.terminal.plain_text import plain


def library_of(arguments: argparse.Namespace) -> Path:
    """Return the library that the command line names, or the user's."""
    chosen: Path | None = arguments.library
    return chosen if chosen is not None else default_library()


def print_left_over(events: Sequence[SweepEvent]) -> None:
    """Print on standard error the remains of dead campaigns that could not be cleaned up."""
    for event in events:
        if event.action in {CleanupAction.KEPT, CleanupAction.UNREADABLE}:
            sys.stderr.write(f"{COMMAND}: {plain(event.text)}\n")


def runs_named(name: str, library: Path) -> list[Path]:
    """Return the run files that a name denotes: those of a folder, or one."""
    folder = Path(name)
    if folder.is_dir():
        found = sorted(run_paths(folder))
        if not found:
            raise UsageError(tr("There is no run in the folder {folder}.").format(folder=folder))
        return found
    return [find_run(name, library)]


def named_paths(arguments: argparse.Namespace) -> list[Path]:
    """Return the run files that the command line names, each once.

    Raises:
        UsageError: there is no such run.
    """
    print_left_over(sweep_abandoned())
    library = library_of(arguments)
    return list(dict.fromkeys(path for name in arguments.runs for path in runs_named(name, library)))
