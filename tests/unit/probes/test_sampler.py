from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from typing_extensions import override

from app.domain.metrics import Sample
from app.probes.base.probe import MissingMetric, Probe, ProbeContext, ProbeUnavailable, ReadMissed
from app.probes.sampling.sampler import (
    LONGEST_PAUSE,
    MissedReading,
    ProbeSlot,
    Sampler,
    SourceChange,
    SourceState,
    Tick,
)
from tests.unit.probes.fakes import CONTEXT, HandClock

LONG_S = 30.0
"""Waits end long before; only a defect waits so long."""


class Scripted(Probe):
    """Does at each read what it was told: an exception to raise, or something to call."""

    id = "scripted"
    label = ""

    def __init__(self, *steps: Exception | Callable[[], object] | None) -> None:
        self.steps: list[Exception | Callable[[], object] | None] = list(steps)
        self.opened = self.closed = self.reads = 0

    @override
    def open(self, context: ProbeContext) -> None:
        self.opened += 1

    @override
    def read(self) -> list[Sample]:
        self.reads += 1
        step = self.steps.pop(0) if self.steps else None
        if isinstance(step, Exception):
            raise step
        if step is not None:
            step()
        return [Sample("cpu.user", self.reads)]

    @override
    def close(self) -> None:
        self.closed += 1


class Steady(Scripted):
    id = "steady"


class Missing(Scripted):
    id = "missing"

    @override
    def open(self, context: ProbeContext) -> None:
        super().open(context)
        raise ProbeUnavailable("not here")


class Drive:
    """Runs a sampler's loop in the test's own thread on a clock that is moved by hand."""

    def __init__(self, *probes: Probe, ticks: int, interval_s: float = 1.0, first: int = 0) -> None:
        self.clock = HandClock()
        self.ticks: list[Tick] = []
        self.deliver: Callable[[Tick], None] = self.ticks.append
        self.started_s = self.clock()
        self._left = ticks
        self._first = first
        self.sampler = Sampler(probes, CONTEXT, self._deliver, interval_s, clock=self.clock, wait=self._wait)

    def _deliver(self, tick: Tick) -> None:
        self.deliver(tick)

    def _wait(self, seconds: float) -> bool:
        self.clock.advance(seconds)
        self._left -= 1
        return self._left < 0

    def run(self) -> list[Tick]:
        self.sampler.start(self._first)
        self.sampler._thread.join(LONG_S)
        self.sampler.stop()
        return self.ticks


def test_ticks_without_drift() -> None:
    probe = Steady()
    drive = Drive(probe, ticks=500)
    probe.steps = [lambda: drive.clock.advance(0.3)] * 500
    ticks = drive.run()
    assert [tick.number for tick in ticks] == list(range(500))
    assert max(abs(tick.monotonic_s - (drive.started_s + tick.number)) for tick in ticks) < 1e-6
    assert all(tick.missed == () for tick in ticks)


def test_second_sampler_continues_ticks() -> None:
    before = Drive(Steady(), ticks=3)
    assert before.sampler.next_number == 0
    before.run()
    probe = Steady()
    after = Drive(probe, ticks=4, first=before.sampler.next_number)
    probe.steps = [None, lambda: after.clock.advance(2.5)]
    ticks = after.run()
    assert [tick.number for tick in ticks] == [3, 4, 6, 7]
    assert [tick.missed for tick in ticks] == [(), (), (5,), ()]
    assert ticks[0].monotonic_s == after.started_s, "the first tick is made at once"
    assert ticks[3].lateness_s == pytest.approx(0)
    assert after.sampler.next_number == 8


def test_late_tick_has_true_interval() -> None:
    probe = Steady()
    drive = Drive(probe, ticks=4)
    probe.steps = [None, lambda: drive.clock.advance(1.25)]
    _, _, late, after = drive.run()
    assert (late.number, after.number) == (2, 3)
    assert [late.lateness_s, late.interval_s] == pytest.approx([0.25, 1.25])
    assert [after.lateness_s, after.interval_s] == pytest.approx([0, 0.75])


def test_slept_through_deadlines_are_missed() -> None:
    probe = Steady()
    drive = Drive(probe, ticks=4)
    probe.steps = [None, lambda: drive.clock.advance(4.5)]
    ticks = drive.run()
    assert [tick.number for tick in ticks] == [0, 1, 5, 6]
    assert [tick.missed for tick in ticks] == [(), (), (2, 3, 4), ()]
    assert ticks[2].interval_s == pytest.approx(4.5)


def test_failing_probe_spares_others() -> None:
    broken = Scripted(*[OSError(19, "No such device")] * 3)
    ticks = Drive(broken, Steady(), ticks=3).run()
    assert [sample.value for tick in ticks for sample in tick.samples] == [1, 2, 3]


def test_failure_and_recovery_reported_once() -> None:
    broken = Scripted(None, OSError(19, "No such device"), OSError(19, "No such device"))
    ticks = Drive(broken, ticks=10).run()
    changes = [(tick.number, change.state) for tick in ticks for change in tick.changes]
    assert changes == [(1, SourceState.UNAVAILABLE), (6, SourceState.AVAILABLE)]
    assert "No such device" in ticks[1].changes[0].reason


def test_missing_source_has_reason() -> None:
    ticks = Drive(Missing(), Steady(), ticks=3).run()
    changes = [change for tick in ticks for change in tick.changes]
    assert changes == [SourceChange("missing", SourceState.UNAVAILABLE, "not here")]


@pytest.mark.expects_log
def test_probe_defect_logged_with_reason(caplog: pytest.LogCaptureFixture) -> None:
    source = ProbeSlot(Scripted(ZeroDivisionError("division by zero")), CONTEXT)
    source.open()
    assert source.read() == []
    assert "cannot parse" in source.reason
    assert "scripted" in caplog.text


def test_attempts_to_open_again_become_rare() -> None:
    probe = Missing()
    source = ProbeSlot(probe, CONTEXT)
    source.open()
    attempts = []
    for read in range(200):
        before = probe.opened
        source.read()
        attempts += [read] * (probe.opened - before)
    gaps = [later - earlier for earlier, later in pairwise(attempts)]
    assert gaps == sorted(gaps)
    assert max(gaps) == LONGEST_PAUSE + 1


def test_partly_available_source() -> None:
    probe = Steady()
    probe.omissions = (MissingMetric("cpu.steal", "no hypervisor"),)
    first, second = Drive(probe, ticks=2).run()
    assert [change.omissions for change in first.changes] == [probe.omissions]
    assert second.changes == ()


def test_delivery_error_raised_by_stop() -> None:
    drive = Drive(Steady(), ticks=5)

    def refuse(_tick: Tick) -> None:
        raise OSError(28, "No space left on device")

    drive.deliver = refuse
    with pytest.raises(OSError, match="No space left"):
        drive.run()


def test_all_probes_are_closed_in_the_end() -> None:
    steady, missing = Steady(), Missing()
    Drive(steady, missing, ticks=1).run()
    assert steady.closed >= 1
    assert missing.closed >= 1


def test_stop_without_start() -> None:
    Sampler([Steady()], CONTEXT, lambda _tick: None).stop()


class Blocking(Scripted):
    """Waits at each read until it is let go, or interrupted."""

    id = "blocking"
    blocking = True

    def __init__(self, *steps: Exception | None) -> None:
        super().__init__(*steps)
        self.asked = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    @override
    def read(self) -> list[Sample]:
        self.asked.release()
        assert self.go.acquire(timeout=LONG_S)
        return super().read()

    @override
    def interrupt(self) -> None:
        self.go.release()


class Hanging(Blocking):
    """Cannot be interrupted."""

    @override
    def interrupt(self) -> None:
        """Nothing helps."""


@pytest.fixture
def blocking() -> Iterator[tuple[Blocking, Sampler]]:
    probe = Blocking()
    sampler = Sampler([probe, Steady()], CONTEXT, lambda _tick: None)
    sampler._workers[0].start()
    yield probe, sampler
    sampler.stop()


def wait_until_stored(sampler: Sampler) -> None:
    worker = sampler._workers[0]
    with worker._condition:
        assert worker._condition.wait_for(lambda: worker._asked is None, LONG_S)


def test_blocking_reading_keeps_its_time(blocking: tuple[Blocking, Sampler]) -> None:
    probe, sampler = blocking
    first = sampler._tick(0)
    probe.go.release()
    wait_until_stored(sampler)
    second = sampler._tick(1)
    assert first.delayed == ()
    assert [(each.probe, each.number, each.samples) for each in second.delayed] == [
        ("blocking", 0, (Sample("cpu.user", 1),))
    ]
    assert first.monotonic_s <= second.delayed[0].monotonic_s <= second.monotonic_s


def test_blocking_probe_delays_no_others(blocking: tuple[Blocking, Sampler]) -> None:
    probe, sampler = blocking
    ticks = [sampler._tick(number) for number in range(3)]
    assert probe.asked.acquire(timeout=LONG_S)
    assert [len(tick.samples) for tick in ticks] == [1, 1, 1]
    missed = [tick.missed_readings for tick in ticks]
    assert missed == [
        (),
        (MissedReading("blocking", 0), MissedReading("blocking", 1)),
        (MissedReading("blocking", 2),),
    ]


def test_stale_reading_not_delivered(blocking: tuple[Blocking, Sampler]) -> None:
    probe, sampler = blocking
    sampler._tick(0)
    sampler._tick(1)
    probe.go.release()
    wait_until_stored(sampler)
    assert sampler._tick(2).delayed == ()
    probe.go.release()
    wait_until_stored(sampler)
    assert [reading.number for reading in sampler._tick(3).delayed] == [2]


def test_empty_read_is_missed() -> None:
    probe = Blocking(ReadMissed())
    sampler = Sampler([probe], CONTEXT, lambda _tick: None)
    sampler._workers[0].start()
    sampler._tick(0)
    probe.go.release()
    wait_until_stored(sampler)
    tick = sampler._tick(1)
    assert tick.missed_readings == (MissedReading("blocking", 0),)
    assert tick.changes == ()
    sampler.stop()


def test_stop_interrupts_a_blocking_probe() -> None:
    probe = Blocking()
    sampler = Sampler([probe], CONTEXT, lambda _tick: None)
    sampler.start()
    assert probe.asked.acquire(timeout=LONG_S)
    sampler.stop()
    assert not sampler._thread.is_alive()
    assert not sampler._workers[0]._thread.is_alive()
    assert probe.closed == 1


def test_stop_returns_although_a_probe_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.probes.sampling.sampler.STOP_TIMEOUT_S", 0.05)
    probe = Hanging()
    sampler = Sampler([probe], CONTEXT, lambda _tick: None)
    sampler.start()
    assert probe.asked.acquire(timeout=LONG_S)
    sampler.stop()
    thread = sampler._workers[0]._thread
    assert thread.is_alive()
    assert thread.daemon
    probe.go.release()
    thread.join(LONG_S)


def test_real_sampler_in_named_thread() -> None:
    names: list[str] = []
    enough = threading.Event()

    def deliver(tick: Tick) -> None:
        names.append(threading.current_thread().name)
        if tick.number >= 3:
            enough.set()

    sampler = Sampler([Steady()], CONTEXT, deliver, interval_s=0.01)
    sampler.start()
    assert enough.wait(LONG_S)
    sampler.stop()
    assert set(names) == {"sampler"}
