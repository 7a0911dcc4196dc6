"""Runs that ship with pgFooting, recorded by itself: what “Look at an example” opens."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from app import TOP
from app.domain.errors import UsageError
from app.domain.text import tr
from app.library.entries import run_paths

EXAMPLES: Final = TOP / "resources" / "examples"


def find_examples(folder: Path = EXAMPLES) -> tuple[Path, ...]:
    """Return the run files of the examples, by path.

    Raises:
        UsageError: none came with this copy of the program.
    """
    found = tuple(run_paths(folder))
    if not found:
        message = tr("This copy of pgFooting came without examples ({folder}).")
        raise UsageError(message.format(folder=folder))
    return found
