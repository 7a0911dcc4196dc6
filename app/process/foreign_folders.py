"""Folders of another account that root is pointed to by the environment: they are forgotten.

``sudo -E`` and env_keep leave root the user's HOME and XDG_* variables. Programs and links that lie there are
the user's, and root would start and follow them. packaging/common.sh does the same before there is a Python.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

_FOLDERS: Final = (
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    *("XDG_CONFIG_DIRS", "XDG_DATA_DIRS"),
)
"""Not XDG_RUNTIME_DIR: the display is reached there, and whoever uses more of it looks at its owner."""


def is_roots(path: str) -> bool:
    """Return whether root owns what there is of a path, by its name and where links lead."""
    if not path.startswith("/"):
        return False
    return all(_is_way_of_roots(Path(way)) for way in (path, os.path.realpath(path)))


def _is_way_of_roots(way: Path) -> bool:
    for each in (way, *way.parents):
        try:
            found = each.lstat()
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return False
        if found.st_uid != 0:
            return False
    return True


def forget_foreign_folders(environment: MutableMapping[str, str]) -> tuple[str, ...]:
    """Make root's environment name none; return the names of the variables that were changed."""
    if os.geteuid() != 0:
        return ()
    foreign = [
        name
        for name in (*_FOLDERS, "TMPDIR", "HOME")
        if environment.get(name)
        and not all(is_roots(f"{each}/pgfooting") for each in environment[name].split(":"))
    ]
    for name in foreign:
        del environment[name]
    if "HOME" in foreign:
        environment["HOME"] = pwd.getpwuid(0).pw_dir
    return tuple(foreign)
