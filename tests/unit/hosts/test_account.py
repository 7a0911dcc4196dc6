"""Whom server and pgbench run as."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from app.domain.errors import InstallationError
from app.hosts.folders import own_folders as accounts
from app.hosts.folders.own_folders import account_reason, server_account
from app.process.starter import Account, CommandOutcome, Recorder, current_account
from tests.unit.hosts.mounts import in_own_mounts, needs_mounts

OUTCOME = CommandOutcome(("useradd",), "root", 0.0, 0.1, 1, "", "useradd: cannot lock /etc/passwd")


def ignore(_outcome: CommandOutcome) -> None:
    """Record nothing."""


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def users(monkeypatch: pytest.MonkeyPatch, **known: tuple[int, int]) -> None:
    """Let the user database hold exactly these (name: uid, gid)."""

    def named_account(name: str) -> Account:
        uid, gid = known[name]
        return Account(name, uid, gid, (gid,), "/nonexistent")

    monkeypatch.setattr(accounts, "named_account", named_account)


def test_an_ordinary_user_runs_the_server_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    account = server_account(ignore)
    assert account.uid == 4711
    assert "who started pgFooting" in account_reason(current_account())


@pytest.mark.usefixtures("as_root")
def test_root_prefers_the_account_of_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch, postgres=(101, 104), pgfooting=(102, 105))
    account = server_account(ignore)
    assert account.name == "postgres"
    assert "PostgreSQL refuses to run as root" in account_reason(account)
    assert "run as postgres" in account_reason(account)


@pytest.mark.usefixtures("as_root")
def test_root_uses_system_user_without_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch, pgfooting=(102, 105))
    assert server_account(ignore).name == "pgfooting"


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize("identity", [(0, 104), (101, 0)])
def test_postgres_with_uid_zero_is_not_used(
    monkeypatch: pytest.MonkeyPatch, identity: tuple[int, int]
) -> None:
    users(monkeypatch, postgres=identity, pgfooting=(102, 105))
    assert server_account(ignore).name == "pgfooting"


@pytest.mark.usefixtures("as_root")
def test_missing_system_user_created_without_login(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch)
    asked: list[tuple[str, ...]] = []

    def run_command(argv: tuple[str, ...], *, record: Recorder, **_options: object) -> CommandOutcome:
        asked.append(argv)
        users(monkeypatch, pgfooting=(102, 105))
        record(OUTCOME)
        return OUTCOME

    recorded: list[CommandOutcome] = []
    monkeypatch.setattr(accounts, "run_command", run_command)
    assert server_account(recorded.append).name == "pgfooting"
    assert recorded == [OUTCOME]
    assert asked[0][:2] == ("useradd", "--system")
    assert "--shell=/usr/sbin/nologin" in asked[0]
    assert asked[0][-1] == "pgfooting"


@pytest.mark.usefixtures("as_root")
def test_failed_creation_of_system_user(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch)
    monkeypatch.setattr(accounts, "run_command", lambda *_, **__: OUTCOME)
    with pytest.raises(InstallationError, match="cannot lock /etc/passwd") as caught:
        server_account(ignore)
    assert "ordinary user" in caught.value.hint


FRESH = """
import shutil, subprocess, sys
from pathlib import Path
from app.hosts.folders.own_folders import server_account
from app.process.starter import run_command
copy = sys.argv[1]
shutil.copytree("/etc", copy, symlinks=True)
for line in (["mount", "--bind", copy, "/etc"], ["mount", "-t", "tmpfs", "none", "/var/log"]):
    subprocess.run(line, check=True)
passwd = Path("/etc/passwd")
ours = ("postgres:", "pgfooting:")
users = [line for line in passwd.read_text().splitlines() if not line.startswith(ours)]
passwd.write_text("\\n".join(users) + "\\n")
recorded = []
account = server_account(recorded.append)
again = server_account(recorded.append)
who = run_command(("id", "-un"), account=account, timeout_s=60, record=recorded.append)
print(account == again, account.uid > 0, account.gid > 0, who.stdout.strip())
print(*[outcome.argv[0] for outcome in recorded])
"""


@needs_mounts
@pytest.mark.skipif(shutil.which("useradd") is None, reason="needs useradd (Debian: passwd)")
def test_programs_run_as_created_system_user(tmp_path: Path) -> None:
    """With a copy of /etc mounted over it: the machine's own users are not touched."""
    account, commands = in_own_mounts(FRESH, str(tmp_path / "etc")).splitlines()
    assert account == "True True True pgfooting"
    assert commands == "useradd id"
