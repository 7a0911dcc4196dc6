"""Somebody reads our partition while it is to be given back: named, and given back when it is closed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.units import GIB
from tests.disks.helper_owner import Owner, client, plan_of
from tests.disks.layout_proof import leftovers
from tests.fix_helper import Running, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")
NOTHING_LEFT = [str(RUN / "lock")]


@pytest.fixture
def disk(make_loop: Callable[..., str]) -> str:
    return make_loop(1 * GIB, partscan=True)


def test_a_partition_that_somebody_reads_is_named_and_given_back_when_it_is_closed(
    helper: Running, disk: str
) -> None:
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        reader = os.open(f"{disk}p1", os.O_RDONLY)
        try:
            _, _, code, message, hint, left = owner.unmake()
        finally:
            os.close(reader)
        assert code
        assert str(os.getpid()) in f"{message} {hint} {left}"
        assert owner.unmake()[2:] == ("", "", "", [])
        assert not Path(f"{disk}p1").exists()
        assert owner.release()[2:] == ("", "", "", [])
    assert leftovers([disk], RUN) == NOTHING_LEFT


def test_a_reader_keeps_no_start_of_the_helper_for_long_and_the_next_gives_the_disk_back(
    installed_helper: None, disk: str, capsys: pytest.CaptureFixture[str]
) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        storage = owner.make()
        running.kill()
    subprocess.run(["umount", storage], check=True)
    reader, seconds = os.open(f"{disk}p1", os.O_RDONLY), []
    try:
        for _ in range(2):
            started_s = time.monotonic()
            running = Running()
            seconds.append(time.monotonic() - started_s)
            assert running.said("is not unmade")
            running.end()
            assert journaled()
    finally:
        os.close(reader)
    started_s = time.monotonic()
    Running().end()
    seconds.append(time.monotonic() - started_s)
    assert journaled() == []
    assert not Path(f"{disk}p1").exists()
    assert leftovers([disk], RUN) == NOTHING_LEFT
    with capsys.disabled():
        told = ", ".join(f"{each:.1f} s" for each in seconds)
        print(f"\n  started with a reader, with a reader, without: {told}")  # noqa: T201
