"""Remove environment variables that point root to another account's folders.

``sudo -E`` and env_keep pass the user's HOME and XDG_* variables to root. Programs and links in those folders
belong to the user, and root would run and follow them. packaging/common.sh does the same before Python
starts.
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
"""Without XDG_RUNTIME_DIR: it is needed to reach the display, and every other use checks its owner."""


def is_roots(path: str) -> bool:
    """Return whether root owns all existing parts of a path, by name and after resolving links."""
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
    """Remove foreign folders from root's environment; return the names of the changed variables."""
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
