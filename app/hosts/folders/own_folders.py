"""The folders that are pgFooting's own: where benchmarks lie by default, and where it remembers what it left.

For an ordinary user below his cache and state folders (XDG Base Directory specification 0.8); for root below
/var/lib/pgfooting, where the server's account reaches the one and nobody but root the other.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.errors import RefusedError
from app.domain.text import tr
from app.hosts.folders import account as accounts
from app.hosts.folders.descriptors import READ, opened, strictly
from app.process.starter import Account, current_account

BENCH: Final = "bench"
TEMPLATES: Final = "templates"
TEMPLATES_VARIABLE: Final = "PGFOOTING_TEMPLATES"
"""Names a folder on a disk that is not under test, for data sets that are copied."""
STATE: Final = "state"


def of_an_account(hint: str, *, root: str) -> str:
    """Return a hint that names a variable of XDG; `root` for root, whose own folders follow none of them."""
    return root if os.geteuid() == 0 else hint


def default_folder(account: Account) -> str:
    """Return the folder for data directories where the user named none."""
    if os.geteuid() == 0:
        return str(Path(accounts.ROOT_FOLDER, BENCH))
    return str(_base("XDG_CACHE_HOME", account, ".cache") / "pgfooting" / BENCH)


def create_default_folder(account: Account) -> str:
    """Create `default_folder` where it is missing, reachable for `account`, and return it.

    Raises:
        OSError: it cannot be created.
        RefusedError: as root: the folder around it could be changed by others.
    """
    path = default_folder(account)
    if os.geteuid() == 0:
        _create_below_root_folder(BENCH, account)
    else:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def templates_folder(account: Account) -> str:
    """Return the folder for data sets that are copied; absolute, for users without links where it is there.

    Root follows no link in it, for `create_templates_folder` refuses them.
    """
    chosen = os.environ.get(TEMPLATES_VARIABLE, "")
    if chosen.startswith("/"):
        return os.path.normpath(chosen) if os.geteuid() == 0 else os.path.realpath(chosen)
    if os.geteuid() == 0:
        return str(Path(accounts.ROOT_FOLDER, TEMPLATES))
    return os.path.realpath(_base("XDG_CACHE_HOME", account, ".cache") / "pgfooting" / TEMPLATES)


def create_templates_folder(account: Account) -> str:
    """Create `templates_folder` where it is missing, private to `account`, and return it.

    Raises:
        OSError: it cannot be created.
        RefusedError: it is somebody else's, or others could write there; as root also where somebody else
            could put another folder in its place.
    """
    path = templates_folder(account)
    if os.geteuid() == 0 and not os.environ.get(TEMPLATES_VARIABLE, "").startswith("/"):
        _create_below_root_folder(TEMPLATES, account)
        return path
    is_new = not os.path.lexists(path)
    if os.geteuid() == 0:
        _create_where_only_root_may(path)
    else:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    with opened(path, READ) as folder:
        if is_new and os.geteuid() == 0:
            os.fchown(folder, account.uid, account.gid)
        found = os.fstat(folder)
        if found.st_uid != account.uid or stat.S_IMODE(found.st_mode) & 0o022:
            raise RefusedError(
                tr("{path} is not the folder of {account} alone; nothing was written.").format(
                    path=path, account=account.name
                ),
                hint=tr("Name another folder in {variable}.").format(variable=TEMPLATES_VARIABLE),
            )
    return path


def _create_where_only_root_may(path: str) -> None:
    """Create a folder and those around it; no link is followed.

    Raises:
        OSError: it cannot be created, or a part of the path is a link.
        RefusedError: somebody else owns one of the folders around it, or could replace what is in it.
    """
    where = Path(path)
    for folder in reversed(where.parents):
        # SECURITY: from the root on: where nobody else could change the folders above, this is still the one.
        with strictly(str(folder)) as around:
            found = os.fstat(around)
            is_open = stat.S_IMODE(found.st_mode) & 0o022 and not found.st_mode & stat.S_ISVTX
            if found.st_uid != 0 or is_open:
                raise RefusedError(
                    tr("{path} is not root's alone; nothing was written.").format(path=folder),
                    hint=tr("Name another folder in {variable}.").format(variable=TEMPLATES_VARIABLE),
                )
            inner = where.relative_to(folder).parts[0]
            with suppress(FileExistsError):
                os.mkdir(inner, 0o700 if folder == where.parent else 0o755, dir_fd=around)


def create_state_folder() -> Path:
    """Create the folder of the records where it is missing, private to this user, and return it.

    Raises:
        OSError: it cannot be created.
        RefusedError: others could write there.
    """
    if os.geteuid() == 0:
        _create_below_root_folder(STATE, current_account())
        return Path(accounts.ROOT_FOLDER, STATE)
    path = _base("XDG_STATE_HOME", current_account(), ".local/state") / "pgfooting"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Make sure that what lies in a folder was written by this user.

    Raises:
        RefusedError: it belongs to someone else, or others may write there.
    """
    found = path.stat()
    _check_owner(path, found)


def _check_owner(path: Path, found: os.stat_result) -> None:
    # SECURITY: records say what is deleted; whoever can write them decides that.
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise RefusedError(
            tr(
                "{path} could be changed by others ({mode}, owner {uid}); nothing was read or written."
            ).format(path=path, mode=stat.filemode(found.st_mode), uid=found.st_uid),
            hint=tr("Make it yours alone: chown, chmod 0700."),
        )


def _base(variable: str, account: Account, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The specification: relative paths are invalid and ignored.
    return Path(value) if value.startswith("/") else Path(account.home, fallback)


def _create_below_root_folder(name: str, account: Account) -> None:
    around = Path(accounts.ROOT_FOLDER)
    around.mkdir(mode=0o755, parents=True, exist_ok=True)
    with opened(str(around), READ) as folder:
        _check_owner(around, os.fstat(folder))
        os.fchmod(folder, 0o755)  # whatever root's umask is: the server's account goes through it
        with suppress(FileExistsError):  # its owner is set again: the account may be another one since
            os.mkdir(name, 0o700, dir_fd=folder)
        with opened(name, READ, folder) as inner:
            os.fchown(inner, account.uid, account.gid)
            os.fchmod(inner, 0o700)
