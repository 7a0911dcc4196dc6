"""A session that nobody uses ends by itself; one that is used does not, nor one that the helper works for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.text import GIB
from tests.disks.helper_owner import Owner, client, plan_of
from tests.disks.layout_proof import leftovers
from tests.fix_helper import Running, error_of, journaled, standing_in

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")


@pytest.fixture
def short_lived(installed_helper: None) -> Iterator[Running]:
    """A helper whose sessions live for two seconds."""
    running = Running(environment={"TEST_SESSION_LIFETIME": "2"})
    yield running
    running.end()
    assert journaled() == []


@pytest.fixture
def disk(make_loop: Callable[..., str]) -> str:
    return make_loop(1 * GIB, partscan=True)


def test_unused_session_warned_and_ended(short_lived: Running, disk: str) -> None:
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        (_, handle, seconds) = owner.wait_for("Expiring")
        assert (handle, seconds) == (owner.session, 0)
        _, _, code, message, _, left = owner.wait_for("Ended")
        assert (code, left) == ("expired", [])
        assert "The session was not used" in message
        assert leftovers([disk], RUN) == [str(RUN / "lock")]
        assert error_of(lambda: owner.call("Renew")) == ("Unknown", "Unknown")
        other = Owner(connection)
        other.execute(plan_of(disk))
        assert other.release()[2:] == ("", "", "", [])


def test_renewed_session_warned_again(short_lived: Running, disk: str) -> None:
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        for _ in range(3):
            assert owner.wait_for("Expiring", "Ended")[0] == "Expiring"
            owner.call("Renew")
        owner.make()
        assert owner.release()[2:] == ("", "", "", [])


def test_long_make_keeps_session(short_lived: Running, disk: str) -> None:
    program = Path(shutil.which("mkfs.ext4") or "").resolve(strict=True)
    real = Path("/run/real/mkfs.ext4")
    real.parent.mkdir(exist_ok=True)
    shutil.copy2(program, real)
    with client() as connection, standing_in("mkfs.ext4", f'sleep 5; exec {real} "$@"'):
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        assert owner.wait_for("Expiring", "Ended")[0] == "Expiring", "it aged only from then on"
        assert owner.wait_for("Ended")[2] == "expired"
    assert leftovers([disk], RUN) == [str(RUN / "lock")]
