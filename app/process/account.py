"""Accounts that programs run as, and their environment."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SEARCH_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Account:
    """An account that programs run as.

    Attributes:
        name: login name, or the number if there is none.
        uid: user id.
        gid: primary group id.
        groups: all group ids.
        home: home folder.
    """

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def is_current(self) -> bool:
        """Whether this process runs as this account already."""
        return (self.uid, self.gid) == (os.geteuid(), os.getegid())


def current_account() -> Account:
    """Return the account of this process; HOME takes precedence over the user database, as usual."""
    uid = os.geteuid()
    home = os.environ.get("HOME", "")
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:  # a container started with a bare user id
        name, fallback = str(uid), "/"
    else:
        name, fallback = entry.pw_name, entry.pw_dir
    return Account(name, uid, os.getegid(), tuple(os.getgroups()), home if home.startswith("/") else fallback)


def named_account(name: str) -> Account:
    """Return an account of the user database.

    Raises:
        KeyError: there is none of this name.
    """
    entry = pwd.getpwnam(name)
    groups = tuple(os.getgrouplist(name, entry.pw_gid))
    return Account(name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)


def child_environment(account: Account, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment of a child: nothing is inherited, so no PG* variable can redirect it."""
    return {
        "PATH": SEARCH_PATH,
        "LC_ALL": "C",
        "TZ": "UTC",
        "HOME": account.home,
        "USER": account.name,
        "LOGNAME": account.name,
        **(extra or {}),
    }


# Remove environment variables that point root to another account's folders.
#
# ``sudo -E`` and env_keep pass the user's HOME and XDG_* variables to root. Programs and links in those
# folders belong to the user, and root would run and follow them. packaging/common.sh does the same before
# Python starts.


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
