"""Which files are tried, in which order, and what is changed in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.mutations.changes import Change, changes_of, functions_that_refuse

FIRST: Final = (
    "app/helper/**/*.py", "app/storage/wiping/*.py", "app/storage/checks/disk_checks.py",
    "app/storage/checks/disk_checks.py", "app/storage/spare/rule*.py", "app/storage/spare/spare.py",
    "app/dbus/*.py", "app/storage/**/*.py",
)  # fmt: skip
"""What is tried, in this order; a file that fits twice where it fits first."""


def tried_files(root: Path) -> list[str]:
    """Return the files of a project, below its folder."""
    found = (path for pattern in FIRST for path in sorted(root.glob(pattern)))
    return list(dict.fromkeys(str(path.relative_to(root)) for path in found if path.name != "__init__.py"))


def changes_in_order(root: Path, files: Sequence[str]) -> list[Change]:
    """Return the changes of files, in their order: the same ones whichever other files are asked for."""
    sources = {file: (root / file).read_bytes() for file in {*tried_files(root), *files}}
    refusing = functions_that_refuse(sources.values())
    return [change for file in files for change in changes_of(file, sources[file], refusing)]
