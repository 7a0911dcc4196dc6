"""Each capability that the units give root's code is needed: what fails without it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.text import GIB
from tests.bus.client import RemoteError
from tests.disks.helper_owner import NOBODY, Owner, client, plan_of
from tests.fix_helper import Running, capabilities, journaled, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

OF_OTHER_MACHINES = {"CAP_MKNOD", "CAP_SYS_RAWIO", "CAP_SYSLOG"}
"""Needed for arrays of md, for an ATA disk, and where dmesg is restricted: not here."""


@pytest.fixture
def disk(installed_helper: None, make_loop: Callable[..., str]) -> Iterator[str]:
    """A disk; in the end a helper with all its rights has cleaned up."""
    yield make_loop(1 * GIB, partscan=True)
    running = Running()
    wait_until(lambda: not any("/run/pgfooting/" in line for line in mounts()))
    running.end()
    for path in journaled():
        path.unlink()


def mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def uses_and_gives_back(disk: str) -> bool:
    """Whether storage can be made, kept in a snapshot, and unmade although its user works there."""
    with client() as connection:
        owner = Owner(connection)
        try:
            owner.execute(plan_of(disk, filesystem="btrfs"))
            storage = owner.make()
        except (RemoteError, AssertionError):
            return False
        works = ["sh", "-c", 'cd "$1" && echo && exec sleep 1000', "sh", storage]
        as_user = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", *works]
        user = subprocess.Popen(as_user, stdout=subprocess.PIPE)
        try:
            assert user.stdout is not None
            assert user.stdout.readline() == b"\n"
            is_kept = owner.call("Maintain", "s", "snapshot")[0] == "done"
            return bool(owner.unmake()[2:] == ("", "", "", [])) and is_kept
        finally:
            user.kill()
            user.communicate()


def test_with_all(disk: str) -> None:
    Running()
    assert uses_and_gives_back(disk)


@pytest.mark.parametrize("less", sorted(set(capabilities()) - OF_OTHER_MACHINES))
def test_without(disk: str, less: str) -> None:
    Running(less=less)
    assert not uses_and_gives_back(disk)
