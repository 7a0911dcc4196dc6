"""Accounts that programs run as, and their environment."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
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
