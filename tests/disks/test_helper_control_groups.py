"""Control groups of a session on the hierarchy of this kernel: who is adopted, and that all are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from app.dbus.service import MethodError
from app.domain.text import GIB, MIB
from app.helper.storage import control_groups
from app.helper.storage.control_groups import ControlGroup, hierarchy
from tests.disks.helper_owner import NOBODY, Owner, client, plan_of
from tests.fix_helper import Running, error_of, journaled, wait_until
from tests.launched import IDS

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

STAYS = 'trap "" TERM QUIT; read -r _; while :; do sleep 1000 & wait; done'
"""Forks when it is told to: who was there before its parent was adopted stays outside."""
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts a process of somebody which ends by force only."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        user: int = NOBODY, *, privileges: bool = False, script: str = STAYS
    ) -> subprocess.Popen[bytes]:
        options = [f"--reuid={user}", "--clear-groups", *([] if privileges else ["--no-new-privs"])]
        process = subprocess.Popen(
            ["setpriv", *options, "bash", "-c", script],
            stdin=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        wait_until(lambda: b"bash" in Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0])
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def owner(helper: Running, make_loop: Callable[..., str]) -> Iterator[Storage]:
    """Who has storage that is ready."""
    if hierarchy() is None or Path("/run/systemd/system").exists():
        pytest.skip("needs control groups of version 2 without systemd")
    with client() as connection:
        owner = Storage(connection)
        owner.execute(plan_of(make_loop(2 * GIB, partscan=True)))
        owner.folder = Path(owner.make())
        yield owner
        if not connection.connection.is_closed():
            owner.release()
    assert not owner.group().exists()


class Storage(Owner):
    """An owner whose storage is ready; the kernel shows the groups of all namespaces, so it knows its own."""

    folder = Path("/")

    def group(self) -> Path:
        root = hierarchy()
        assert root is not None
        return root / f"pgfooting-{self.folder.parent.name}"


def forked(process: subprocess.Popen[bytes]) -> int:
    """Let it fork; return its child."""
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()
    wait_until(lambda: bool(children(process)))
    return children(process)[0]


def children(process: subprocess.Popen[bytes]) -> list[int]:
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(word) for word in text.split()]


def test_processes_counted_apart_and_ended(owner: Storage, start: Start) -> None:
    server, client = start(), start()
    (folder,) = owner.call("Adopt", "su", "server", server.pid)
    (other,) = owner.call("Adopt", "su", "pgbench", client.pid)
    assert [Path(each).name for each in (folder, other)] == ["server", "pgbench"]
    assert Path(folder).parent == Path(other).parent
    assert str(server.pid) in (Path(folder) / "cgroup.procs").read_text().split()
    read = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "cat", f"{folder}/cpu.stat"]
    assert "usage_usec" in subprocess.run(read, capture_output=True, text=True, check=True).stdout
    child = forked(server)
    assert owner.unmake()[2] == ""
    assert [server.wait(10), client.wait(10)] == [-signal.SIGKILL] * 2
    wait_until(lambda: not Path(f"/proc/{child}/exe").exists())
    assert not owner.group().exists()
    owner.make()
    again = start()
    assert owner.call("Adopt", "su", "server", again.pid) == (folder,)


def test_departed_owner_takes_group_along(owner: Storage, start: Start) -> None:
    server = start()
    owner.call("Adopt", "su", "server", server.pid)
    owner.client.connection.close_sync(None)
    assert server.wait(60) == -signal.SIGKILL
    wait_until(lambda: not journaled() and not owner.group().exists())


def test_a_foreign_process_is_never_adopted(owner: Storage, start: Start, helper: Running) -> None:
    daemon, able = start(1), start(privileges=True)
    mine = subprocess.Popen(["true"])
    mine.wait()
    for pid, code in (
        (daemon.pid, "NotAuthorized"), (able.pid, "NotAuthorized"), (os.getpid(), "NotAuthorized"),
        (1, "NotAuthorized"),
        (helper.process.pid, "NotAuthorized"), (0, "NotAuthorized"), (mine.pid, "Unknown"),
        (2**31 - 1, "Unknown"), (2**32 - 1, "Unknown"),
    ):  # fmt: skip
        for part in ("server", "pgbench"):
            assert error_of(partial(owner.call, "Adopt", "su", part, pid)) == (code, "process"), pid
    assert not owner.group().exists()
    assert helper.said("refused: Adopt")


@pytest.mark.parametrize("which", range(4))
def test_mixed_uid_process_never_adopted(owner: Storage, which: int) -> None:
    ids = [NOBODY] * 4
    ids[which] = 1
    with subprocess.Popen(
        [sys.executable, "-c", IDS, *map(str, ids)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        status = Path(f"/proc/{process.pid}/status").read_text()
        line = "\t".join(["Uid:", *map(str, ids)])
        assert f"\n{line}\n" in status
        assert "\nNoNewPrivs:\t1\n" in status
        found = error_of(lambda: owner.call("Adopt", "su", "server", process.pid))
        process.kill()
    assert found == ("NotAuthorized", "process")
    assert not owner.group().exists()


def test_limit_set_or_unavailable(owner: Storage) -> None:
    root = hierarchy()
    assert root is not None
    if "memory" in (root / "cgroup.controllers").read_text().split():
        owner.call("Limit", "t", 256 * MIB)
        limit = owner.group() / "memory.max"
        assert limit.read_text() == f"{256 * MIB}\n"
        owner.call("Limit", "t", 0)
        assert limit.read_text() == "max\n"
    else:
        assert error_of(lambda: owner.call("Limit", "t", 256 * MIB)) == ("Unavailable", "no-controller")


def test_killed_helper_group_ended_by_next(owner: Storage, start: Start, helper: Running) -> None:
    server = start()
    owner.call("Adopt", "su", "server", server.pid)
    helper.kill()
    assert owner.group().exists()
    second = Running()
    assert server.wait(60) == -signal.SIGKILL
    assert (owner.group().exists(), journaled()) == (False, [])
    second.end()
    owner.client.connection.close_sync(None)


@pytest.fixture
def group(start: Start) -> Iterator[tuple[ControlGroup, subprocess.Popen[bytes]]]:
    """A group of its own with a process in it."""
    if hierarchy() is None or Path("/run/systemd/system").exists():
        pytest.skip("needs control groups of version 2 without systemd")
    made, process = ControlGroup("0123456789abcdef", NOBODY), start()
    made.adopt("server", process.pid)
    yield made, process
    assert made.end()


def test_processes_ended_singly_without_cgroup_kill(
    group: tuple[ControlGroup, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, process = group
    child = forked(process)
    monkeypatch.setattr(control_groups, "KILL", "cgroup.no-such-file")
    assert made.end()
    assert process.wait(10) == -signal.SIGKILL
    wait_until(lambda: not Path(f"/proc/{child}/exe").exists())
    assert made.end(), "may be repeated"


def test_process_dying_during_adoption(
    group: tuple[ControlGroup, subprocess.Popen[bytes]], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = group
    victim, dying = start(), start()
    answers = iter([True, False])
    monkeypatch.setattr(control_groups, "_lives", lambda _process: next(answers))
    monkeypatch.setattr(control_groups, "_check_process", lambda _pid, _user: None)
    with pytest.raises(MethodError) as refused:
        made.adopt("server", victim.pid)  # as if its number had been the dead one's
    assert refused.value.code == "Unknown"
    assert made.name not in Path(f"/proc/{victim.pid}/cgroup").read_text()
    assert made.end()
    assert victim.poll() is None
    assert dying.poll() is None
