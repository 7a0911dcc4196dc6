"""Who looks at a disk for a moment is waited for, who works with it is not; nothing is asked of no disk."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pytest

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import RefusedError
from app.storage.checks import disk_checks
from app.storage.checks.disk_checks import LOOKING_S, check_identity, check_spare, lasting_refusals
from app.storage.execution import Hooks
from app.storage.system import state
from tests.hand_clock import Clock
from tests.unit.storage.plans import disk

NODE = "/dev/no-such-disk"
CHOSEN = {NODE: disk(1)}
OPENED = DiskRefusal("D13", "It is open.", "8:16: udev-worker")
EXCLUSIVE = DiskRefusal("D14", "The kernel refuses exclusive access to it.", "busy")
MOUNTED = DiskRefusal("D05", "It is mounted.", "8:16: /srv")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(disk_checks, "time", clock)
    return clock


def hooks(*answers: Sequence[DiskRefusal]) -> Hooks:
    """Answer these refusals one after the other, the last for ever."""
    replies = itertools.chain(answers, itertools.repeat(answers[-1]))

    def refusals(chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        assert chosen == CHOSEN
        now = next(replies)
        return {NODE: now} if now else {}

    return Hooks(identify=lambda _node: disk(1), refusals=refusals)


def test_brief_opener_is_waited_for(clock: Clock) -> None:
    assert lasting_refusals(CHOSEN, hooks((OPENED,), (EXCLUSIVE,), (OPENED, EXCLUSIVE), ())) == {}
    assert clock.waits == 3


def test_a_spare_disk_is_not_waited_for(clock: Clock) -> None:
    assert lasting_refusals(CHOSEN, hooks((), (OPENED,))) == {}
    assert clock.waits == 0


@pytest.mark.parametrize("refusals", [(MOUNTED,), (OPENED, MOUNTED)])
def test_no_wait_where_something_else_refuses(clock: Clock, refusals: tuple[DiskRefusal]) -> None:
    assert lasting_refusals(CHOSEN, hooks(refusals, ())) == {NODE: refusals}
    assert clock.waits == 0


def test_long_opener_is_named(clock: Clock) -> None:
    assert lasting_refusals(CHOSEN, hooks((OPENED,))) == {NODE: (OPENED,)}
    assert clock.now_s - 1000.0 == pytest.approx(LOOKING_S, abs=0.2)


def test_a_step_without_disks_asks_for_none() -> None:
    def never(*_: object) -> Mapping[str, Sequence[DiskRefusal]]:
        raise AssertionError("reading the whole machine takes long")

    check_spare((), CHOSEN, Hooks(identify=lambda _node: disk(1), refusals=never))


def test_each_reason_refuses_before_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = False
    monkeypatch.setattr(state, "is_claimed", lambda _node: claimed)
    check_spare((NODE,), CHOSEN, hooks(()))
    with pytest.raises(RefusedError, match="is not spare \\(D05\\): It is mounted. 8:16: /srv"):
        check_spare((NODE,), CHOSEN, hooks((MOUNTED,)))
    claimed = True
    with pytest.raises(RefusedError, match="refuses exclusive access"):
        check_spare((NODE,), CHOSEN, hooks(()))
    with pytest.raises(RefusedError, match="is not the disk that was selected"):
        check_spare((NODE,), {NODE: disk(2)}, hooks(()))


def test_vanished_disk_is_refused() -> None:
    def gone(_node: str) -> DiskIdentity:
        raise OSError(5, "Input/output error")

    with pytest.raises(RefusedError, match="no longer be identified: Input/output error"):
        check_identity(NODE, disk(1), Hooks(identify=gone, refusals=lambda _: {}))
