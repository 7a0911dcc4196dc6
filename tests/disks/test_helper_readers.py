"""Somebody reads our partition while it is to be given back: named, and given back when it is closed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.text import GIB, MIB
from app.helper.storage.journal import Journal
from app.helper.storage.leftovers import Leftovers
from app.storage.execution import Hooks
from app.storage.layout.conditions import SessionPartition
from app.storage.system import state
from app.storage.system.device import exclusive
from app.storage.system.programs import TimeBudget
from app.storage.wiping.wipe import InUseError, Wiper
from tests.disks.helper_owner import SPARE, Owner, client, plan_of
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


def test_partition_reader_named_until_closed(helper: Running, disk: str) -> None:
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


def test_reader_keeps_no_start_for_long(
    installed_helper: None, disk: str, capsys: pytest.CaptureFixture[str]
) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        running.kill()
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
    assert journaled(), "it was found unmounted: a person is asked"
    left, identity = Leftovers(Journal(), SPARE), SPARE.identify(disk)
    seen = left.offered(identity)
    assert seen is not None
    assert (seen.is_ours, seen.is_as_left) == (True, True)
    left.release({identity: seen.digest})
    assert journaled() == []
    assert not Path(f"{disk}p1").exists()
    assert leftovers([disk], RUN) == NOTHING_LEFT
    with capsys.disabled():
        described = ", ".join(f"{each:.1f} s" for each in seconds)
        print(f"\n  started with a reader, with a reader, without: {described}")  # noqa: T201


def test_reader_during_wipe_named(system_daemons: None, disk: str) -> None:
    script = f"label: gpt\nstart=1MiB, size=64MiB, type={PARTITION_TYPE}\n"
    subprocess.run(["sfdisk", "--quiet", disk], input=script, text=True, check=True)
    subprocess.run(["partx", "--update", disk], check=True)
    node = f"{disk}p1"
    ours = SessionPartition(disk, node, "", "", PARTITION_TYPE, MIB, 64 * MIB)
    patience = TimeBudget(0.0)
    hooks = Hooks(SPARE.identify, SPARE.refusals, users=SPARE.users, patience=patience)
    wiper = Wiper({disk: SPARE.identify(disk)}, hooks, {}, _not_asked, _not_asked, _not_asked, _not_asked)
    with Path(node).open("rb") as file:
        reader = subprocess.Popen(["sleep", "1000"], stdin=file)
    try:
        with exclusive(disk, state.device_number(disk), patience.pause) as device:
            assert any(each.is_claim for each in SPARE.users(disk, SPARE.identify(disk)))
            with pytest.raises(InUseError) as kept:
                wiper._forget_partition(ours, device)
            # Before the disk is closed: udevd then has the kernel read a table that not every kernel knows.
            assert Path(node).exists()
    finally:
        reader.kill()
        reader.wait()
    assert f"{reader.pid}" in kept.value.message
    assert "xclusive" not in kept.value.message, "that is our own hold"


def _not_asked(*_: object) -> NoReturn:
    raise AssertionError("nothing of this is needed")
