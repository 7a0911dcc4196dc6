"""Accounts, folders that they reach, and records for the tests of the hosts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.hosts.recovery.resource_journal import ResourceJournal
from app.process.starter import Account, CommandOutcome, current_account, named_account

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


class Records(list[CommandOutcome]):
    """A recorder that keeps everything."""

    def __call__(self, outcome: CommandOutcome) -> None:
        self.append(outcome)


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture(params=["self", pytest.param("nobody", marks=needs_root)])
def account(request: pytest.FixtureRequest) -> Account:
    """Whom the server would run as: this account, and as root also another one."""
    return current_account() if request.param == "self" else named_account(request.param)


@pytest.fixture
def bench(account: Account) -> Iterator[Path]:
    """A folder of the account's that it reaches, unlike those of pytest; its path holds a space."""
    with tempfile.TemporaryDirectory(prefix="footing test ") as name:
        path = Path(os.path.realpath(name))
        path.chmod(0o755)
        own = path / "bench"
        own.mkdir(mode=0o700)
        if not account.is_current:
            os.chown(own, account.uid, account.gid)
        yield own


@pytest.fixture
def state_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def resources(account: Account, state_folder: Path, tmp_path: Path) -> Iterator[ResourceJournal]:
    with ResourceJournal.create(
        str(tmp_path / "runs"), "a campaign", account, state_folder=state_folder
    ) as created:
        yield created
