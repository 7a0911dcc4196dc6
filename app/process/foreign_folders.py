"""Folders of another account that root is pointed to by the environment: they are forgotten.

``sudo -E`` and env_keep leave root the user's HOME and XDG_* variables. Programs and links that lie there are
the user's, and root would start and follow them. packaging/common.sh does the same before there is a Python.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

_FOLDERS: Final = (
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    *("XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "PGFOOTING_TEMP"),
)
"""Not XDG_RUNTIME_DIR: the display is reached there, and whoever uses more of it looks at its owner."""
_OF_OTHERS: Final = 0o022


def is_roots(path: str, *, ends_sticky: bool = False) -> bool:
    """Return whether only root can put something in the way of a path, by its name and where links lead.

    Args:
        path: may be missing.
        ends_sticky: whether the path itself may be one where all write and none takes away what is another's;
            such a folder on the way counts where the next part of the path is there.
    """
    if not path.startswith("/"):
        return False
    return all(_is_way_of_roots(Path(way), is_there=ends_sticky) for way in (path, os.path.realpath(path)))


def _is_way_of_roots(way: Path, *, is_there: bool) -> bool:
    for each in (way, *way.parents):
        try:
            found = each.lstat()
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return False
        if found.st_uid != 0:
            return False
        is_open = stat.S_ISDIR(found.st_mode) and bool(found.st_mode & _OF_OTHERS)
        if is_open and not (is_there and found.st_mode & stat.S_ISVTX):
            return False
        is_there = True
    return True


def forget_foreign_folders(environment: MutableMapping[str, str]) -> tuple[str, ...]:
    """Make root's environment name none; return the names of the variables that were changed."""
    if os.geteuid() != 0:
        return ()
    foreign = [
        name
        for name in (*_FOLDERS, "TMPDIR", "HOME")
        if environment.get(name)
        and not all(is_roots(each, ends_sticky=name == "TMPDIR") for each in environment[name].split(":"))
    ]
    for name in foreign:
        del environment[name]
    if "HOME" in foreign:
        environment["HOME"] = pwd.getpwuid(0).pw_dir
    return tuple(foreign)
