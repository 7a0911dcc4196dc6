"""Ending a server whose runner is gone, and no other process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.hosts.folders.descriptors import FileIdentity, identity_of, opened
from app.hosts.folders.leftover_servers import end_servers
from app.process.starter import Account, as_account, current_account, named_account, spawn
from tests.unit.hosts.conftest import Records, needs_root

PATIENCE_S = 60.0
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def data(bench: Path, account: Account) -> Path:
    """A data directory of the account's."""
    folder = bench / "pgfooting-0123456789abcdef" / "data"
    folder.mkdir(parents=True)
    bench.chmod(0o711)
    folder.parent.chmod(0o711)
    os.chown(folder, account.uid, account.gid)
    return folder


@pytest.fixture
def start(bench: Path, account: Account) -> Iterator[Start]:
    """Start a program called `name` in a folder; nothing of it outlives the test."""
    started: list[subprocess.Popen[bytes]] = []
    programs = bench.parent / "programs"
    programs.mkdir(mode=0o755)
    sleep = shutil.which("sleep")
    assert sleep is not None

    def start(folder: Path, name: str = "postgres", who: Account = account) -> subprocess.Popen[bytes]:
        program = programs / name
        if not program.exists():
            shutil.copy(sleep, program)
            program.chmod(0o755)
        started.append(
            spawn((str(program), "1000"), account=who, death_signal=signal.SIGKILL, cwd=str(folder))
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def identity_at(path: Path) -> FileIdentity:
    with opened(str(path), os.O_RDONLY) as descriptor:
        return identity_of(descriptor)


def ended(data: Path, identity: FileIdentity, account: Account) -> tuple[list[int], list[int]]:
    return as_account(end_servers, account, Records())(str(data), identity, patience_s=PATIENCE_S)


def test_server_and_its_backends_are_ended(data: Path, account: Account, start: Start) -> None:
    server, backend = start(data), start(data)
    assert ended(data, identity_at(data), account) == (sorted([server.pid, backend.pid]), [])
    assert server.wait(PATIENCE_S) == backend.wait(PATIENCE_S) == -signal.SIGQUIT


def test_server_ignoring_immediate_shutdown_is_killed(data: Path, account: Account, start: Start) -> None:
    server = start(data)
    os.kill(server.pid, signal.SIGSTOP)  # a stopped process acts on nothing but SIGKILL
    found = as_account(end_servers, account, Records())(str(data), identity_at(data), patience_s=0.2)
    assert found == ([server.pid], [])
    assert server.wait(PATIENCE_S) == -signal.SIGKILL


def test_server_in_deleted_folder_is_ended(data: Path, account: Account, start: Start) -> None:
    server, identity = start(data), identity_at(data)
    data.rmdir()
    assert ended(data, identity, account) == ([server.pid], [])


def test_other_programs_and_folders_left_alone(data: Path, account: Account, start: Start) -> None:
    other = data.with_name("other")
    other.mkdir()
    os.chown(other, account.uid, account.gid)
    bystanders = [start(data, "bash"), start(other), start(Path("/"))]
    assert ended(data, identity_at(data), account) == ([], [])
    assert [process.poll() for process in bystanders] == [None, None, None]


def test_cluster_with_reused_inode_left_alone(data: Path, account: Account, start: Start) -> None:
    """The recorded folder is gone, and its inode number serves a cluster of the user's now."""
    identity = identity_at(data)
    production = data.with_name("production")
    data.rename(production)
    server = start(production)
    assert ended(data, identity, account) == ([], [])
    assert server.poll() is None


def test_cluster_in_place_of_folder_left_alone(data: Path, account: Account, start: Start) -> None:
    identity = identity_at(data)
    data.rename(data.with_name("moved"))
    data.mkdir()
    os.chown(data, account.uid, account.gid)
    server = start(data)
    assert ended(data, identity, account) == ([], [])
    assert server.poll() is None


@needs_root
def test_server_of_another_account_left_alone(data: Path, start: Start) -> None:
    nobody = named_account("nobody")
    data.chmod(0o755)
    server = start(data, who=current_account())
    assert ended(data, identity_at(data), nobody) == ([], [])
    assert server.poll() is None
