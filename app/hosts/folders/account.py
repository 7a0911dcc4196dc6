"""Whom server and pgbench run as: this user, or as root a system user, because PostgreSQL refuses root."""

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
"""Everything that pgFooting keeps when it runs as root lies below this folder."""

_TIMEOUT_S: Final = 30.0


def server_account(record: Recorder) -> Account:
    """Return the account for server and pgbench.

    An ordinary user is it himself. Root gets ``postgres``, which PostgreSQL's packages create; where there is
    none, the system user ``pgfooting``, which is created.

    Args:
        record: told of the command that created the user.

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
    """Return the sentence why server and pgbench run as `account`."""
    if account.is_current:
        return tr("Server and pgbench run as {name}, who started this.").format(name=account.name)
    return tr(
        "Started as root; PostgreSQL refuses to run as root, so server and pgbench run as {name}."
    ).format(name=account.name)


def _system_user(name: str) -> Account | None:
    """Return the user, unless there is none or it is root under another name."""
    with suppress(KeyError):
        account = named_account(name)
        # SECURITY: neither user nor group 0, or the drop would be none.
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
            "--comment=pgFooting benchmarks",  # the user database takes no colon and little but ASCII
            OWN_USER,
        ),
        account=current_account(),
        timeout_s=_TIMEOUT_S,
        record=record,
    )
    account = _system_user(OWN_USER)  # also where another runner was faster
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
