"""Choose the account of server and pgbench: this user, or for root a system user.

PostgreSQL refuses to run as root.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from app.domain.errors import InstallationError
from app.domain.text import tr
from app.process.starter import Account, Recorder, current_account, named_account, run_command

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
        return tr("Server and pgbench run as {name}, who started this.").format(name=account.name)
    return tr(
        "Started as root; PostgreSQL refuses to run as root, so server and pgbench run as {name}."
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
