"""pgFooting's own folders: the default for benchmarks, and the records of resources in use.

For an ordinary user below the user's cache and state folders (XDG Base Directory specification 0.8); for root
below /var/lib/pgfooting, where the server's account reaches the former and only root the latter.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.errors import InstallationError, RefusedError
from app.domain.text import tr
from app.hosts.folders.descriptors import READ, opened, strictly
from app.probes.base.backing_devices import parse_mountinfo
from app.process.starter import Account, Recorder, current_account, named_account, run_command

# Choose the account of server and pgbench: this user, or for root a system user.
#
# PostgreSQL refuses to run as root.


POSTGRES_USER: Final = "postgres"
OWN_USER: Final = "pgfooting"
ROOT_FOLDER: Final = "/var/lib/pgfooting"
"""Parent of everything that pgFooting keeps when it runs as root."""

_TIMEOUT_S: Final = 30.0


def server_account(record: Recorder) -> Account:
    """Return the account for server and pgbench.

    For an ordinary user it is the current one. Root gets ``postgres``, which PostgreSQL's packages create;
    without it, the system user ``pgfooting``, which is created.

    Args:
        record: called with the command that created the user.

    Raises:
        InstallationError: no such user, and it could not be created.
        ProgramError: useradd could not be started.
    """
    if os.geteuid() != 0:
        return current_account()
    for name in (POSTGRES_USER, OWN_USER):
        found = _system_user(name)
        if found is not None:
            return found
    return _create(record)


def account_reason(account: Account) -> str:
    """Return the sentence with the reason for `account`."""
    if account.is_current:
        return tr("Server and pgbench run as {name}, who started pgFooting.").format(name=account.name)
    return tr(
        "Started as root, but PostgreSQL refuses to run as root; server and pgbench run as {name}."
    ).format(name=account.name)


def _system_user(name: str) -> Account | None:
    """Return the user, unless there is none or it is root under another name."""
    with suppress(KeyError):
        account = named_account(name)
        # SECURITY: neither user nor group 0, or dropping privileges would have no effect.
        if account.uid != 0 and account.gid != 0 and 0 not in account.groups:
            return account
    return None


def _create(record: Recorder) -> Account:
    outcome = run_command(
        (
            "useradd",
            "--system",
            "--user-group",
            "--no-create-home",
            f"--home-dir={ROOT_FOLDER}",
            "--shell=/usr/sbin/nologin",
            "--comment=pgFooting benchmarks",  # the user database accepts no colon and little but ASCII
            OWN_USER,
        ),
        account=current_account(),
        timeout_s=_TIMEOUT_S,
        record=record,
    )
    account = _system_user(OWN_USER)  # another runner may also have created it
    if account is None:
        raise InstallationError(
            tr(
                "PostgreSQL refuses to run as root, and the user {name} could not be created. {outcome}"
            ).format(name=OWN_USER, outcome=outcome.describe()),
            hint=tr("Create the system user {name}, or start pgFooting as an ordinary user.").format(
                name=POSTGRES_USER
            ),
        )
    return account


def lies_in_memory(device: int) -> bool:
    """Return whether the filesystem with this st_dev vanishes when the machine restarts."""
    number = f"{os.major(device)}:{os.minor(device)}"
    table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return any(mount.in_memory for mount in parse_mountinfo(table) if mount.device == number)


BENCH: Final = "bench"
TEMPLATES: Final = "templates"
TEMPLATES_VARIABLE: Final = "PGFOOTING_TEMPLATES"
"""Variable with a folder for template data sets, on a disk that is not under test."""
STATE: Final = "state"


def of_an_account(hint: str, *, root: str) -> str:
    """Return a hint that names an XDG variable; `root` for root, whose own folders use none of them."""
    return root if os.geteuid() == 0 else hint


def default_folder(account: Account) -> str:
    """Return the default folder for data directories."""
    if os.geteuid() == 0:
        return str(Path(ROOT_FOLDER, BENCH))
    return str(_base("XDG_CACHE_HOME", account, ".cache") / "pgfooting" / BENCH)


def create_default_folder(account: Account) -> str:
    """Create a missing `default_folder`, reachable for `account`, and return its path.

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
    """Return the folder for template data sets; absolute, for users with links resolved.

    Root follows no link in it, for `create_templates_folder` refuses them.
    """
    chosen = os.environ.get(TEMPLATES_VARIABLE, "")
    if chosen.startswith("/"):
        return os.path.normpath(chosen) if os.geteuid() == 0 else os.path.realpath(chosen)
    if os.geteuid() == 0:
        return str(Path(ROOT_FOLDER, TEMPLATES))
    return os.path.realpath(_base("XDG_CACHE_HOME", account, ".cache") / "pgfooting" / TEMPLATES)


def create_templates_folder(account: Account) -> str:
    """Create a missing `templates_folder`, private to `account`, and return its path.

    Raises:
        OSError: it cannot be created.
        RefusedError: it is another user's, or others could write there; as root also if another user could
            replace it.
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
                tr("{path} does not belong to {account} alone; nothing was written.").format(
                    path=path, account=account.name
                ),
                hint=tr("Set {variable} to another folder.").format(variable=TEMPLATES_VARIABLE),
            )
    return path


def _create_where_only_root_may(path: str) -> None:
    """Create a folder and its parents; no link is followed.

    Raises:
        OSError: it cannot be created, or a part of the path is a link.
        RefusedError: another user owns one of the parents, or could replace its content.
    """
    where = Path(path)
    for folder in reversed(where.parents):
        # SECURITY: from the root on: if no other user could change the folders above, this is still the one.
        with strictly(str(folder)) as around:
            found = os.fstat(around)
            is_open = stat.S_IMODE(found.st_mode) & 0o022 and not found.st_mode & stat.S_ISVTX
            if found.st_uid != 0 or is_open:
                raise RefusedError(
                    tr("{path} does not belong to {account} alone; nothing was written.").format(
                        path=folder, account="root"
                    ),
                    hint=tr("Set {variable} to another folder.").format(variable=TEMPLATES_VARIABLE),
                )
            inner = where.relative_to(folder).parts[0]
            with suppress(FileExistsError):
                os.mkdir(inner, 0o700 if folder == where.parent else 0o755, dir_fd=around)


def create_state_folder() -> Path:
    """Create the missing folder of the records, private to this user, and return it.

    Raises:
        OSError: it cannot be created.
        RefusedError: others could write there.
    """
    if os.geteuid() == 0:
        _create_below_root_folder(STATE, current_account())
        return Path(ROOT_FOLDER, STATE)
    path = _base("XDG_STATE_HOME", current_account(), ".local/state") / "pgfooting"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Make sure that only this user can write in a folder.

    Raises:
        RefusedError: it belongs to another user, or others may write there.
    """
    found = path.stat()
    _check_owner(path, found)


def _check_owner(path: Path, found: os.stat_result) -> None:
    # SECURITY: records decide what is deleted; anyone who can write them decides that.
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise RefusedError(
            tr("Other users could change {path} ({mode}, owner {uid}); nothing was read or written.").format(
                path=path, mode=stat.filemode(found.st_mode), uid=found.st_uid
            ),
            hint=tr("Restrict it to your user: chown, chmod 0700."),
        )


def _base(variable: str, account: Account, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The specification: relative paths are invalid and ignored.
    return Path(value) if value.startswith("/") else Path(account.home, fallback)


def _create_below_root_folder(name: str, account: Account) -> None:
    around = Path(ROOT_FOLDER)
    around.mkdir(mode=0o755, parents=True, exist_ok=True)
    with opened(str(around), READ) as folder:
        _check_owner(around, os.fstat(folder))
        os.fchmod(folder, 0o755)  # regardless of root's umask: the server's account passes through it
        with suppress(FileExistsError):  # its owner is set again: the account may have changed since
            os.mkdir(name, 0o700, dir_fd=folder)
        with opened(name, READ, folder) as inner:
            os.fchown(inner, account.uid, account.gid)
            os.fchmod(inner, 0o700)
