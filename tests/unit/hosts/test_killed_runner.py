"""A runner that is killed with -9 at any moment leaves nothing once anything has swept."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.hosts.recovery.cleanup import CleanupAction, sweep
from app.process.starter import Account
from tests.fix_forked import Forked
from tests.unit.hosts.conftest import Records

TREE = Path(__file__).resolve().parents[3]
NEVER = 10_000
LAST_MOMENT = 13
"""Steps: a header and its folder's fsync, then announcement, folder and identity of each of four folders."""


VICTIM = "tests.unit.hosts.victim"


def victim_arguments(state_folder: Path, bench: Path, account: Account, moment: int) -> tuple[str, ...]:
    return str(state_folder), str(bench), "self" if account.is_current else account.name, str(moment)


def victim(state_folder: Path, bench: Path, account: Account, moment: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, "-m", VICTIM, *victim_arguments(state_folder, bench, account, moment)),
        cwd=TREE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def await_end(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(60_000))


def decoys(bench: Path) -> list[str]:
    """Put things beside what will be made that a careless sweep would take with it."""
    (bench / "pgfooting-ffffffffffffffff").mkdir()
    (bench / "pgfooting-ffffffffffffffff" / "PG_VERSION").write_bytes(b"15\n")
    (bench / "data").mkdir()
    (bench / "link").symlink_to(bench / "data")
    return sorted(path.name for path in bench.iterdir())


@pytest.mark.long
def test_sweep_after_killed_runner(state_folder: Path, bench: Path, account: Account) -> None:
    expected = decoys(bench)
    runner = victim(state_folder, bench, account, NEVER)
    assert runner.stdin is not None
    assert runner.stdout is not None
    with runner.stdin, runner.stdout:
        data, *pids = runner.stdout.readline().rstrip("\n").split("\t")
        tied, server, bystander = (os.pidfd_open(int(pid)) for pid in pids)
        (Path(data) / "link").symlink_to(bench / "data")
        runner.kill()
        runner.wait()
    try:
        assert await_end(tied)  # by the kernel, before anything of ours has run again
        events = sweep(state_folder=state_folder, record=Records())
        assert await_end(server)
        assert [event.action for event in events] == [CleanupAction.ENDED, *[CleanupAction.REMOVED] * 4]
        assert sorted(path.name for path in bench.iterdir()) == expected
        assert (bench / "pgfooting-ffffffffffffffff" / "PG_VERSION").exists()
        assert list(state_folder.iterdir()) == []
        signal.pidfd_send_signal(bystander, 0)  # still there: no server, so not for the sweep to end
    finally:
        signal.pidfd_send_signal(bystander, signal.SIGKILL)
        for descriptor in (tied, server, bystander):
            os.close(descriptor)


@pytest.mark.long
@pytest.mark.parametrize("moment", range(LAST_MOMENT + 1))
def test_runner_killed_while_preparing(
    state_folder: Path, bench: Path, account: Account, moment: int, forked: Forked
) -> None:
    expected = decoys(bench)
    runner = forked(VICTIM, *victim_arguments(state_folder, bench, account, moment))
    assert runner.returncode == -signal.SIGKILL, runner.stderr
    events = sweep(state_folder=state_folder, record=Records())
    assert {event.action for event in events} <= {CleanupAction.REMOVED}
    assert sorted(path.name for path in bench.iterdir()) == expected
    assert list(state_folder.iterdir()) == []
