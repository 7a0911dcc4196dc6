from __future__ import annotations

import time

from app.recording.recorder import ClockEventKind, ClockWatch


class Clocks:
    """The three clocks, moved by hand."""

    def __init__(self) -> None:
        self.times = {time.CLOCK_MONOTONIC: 100.0, time.CLOCK_BOOTTIME: 150.0, time.CLOCK_REALTIME: 1.7e9}

    def __call__(self, clock: int) -> float:
        return self.times[clock]

    def pass_time(self, seconds: float) -> None:
        for clock in self.times:
            self.times[clock] += seconds


def test_time_that_passes_is_no_event() -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks)
    clocks.pass_time(1)
    assert watch.check() == ()


def test_suspend_noticed_once() -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks)
    clocks.pass_time(1)
    clocks.times[time.CLOCK_BOOTTIME] += 3600
    clocks.times[time.CLOCK_REALTIME] += 3600
    (event,) = watch.check()
    assert (event.kind, event.monotonic_s, event.seconds) == (ClockEventKind.SUSPEND, 101, 3600)
    assert watch.check() == ()


def test_wall_clock_step_and_direction() -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks)
    clocks.times[time.CLOCK_REALTIME] -= 7
    (event,) = watch.check()
    assert (event.kind, event.seconds) == (ClockEventKind.STEP, -7)


def test_slewing_is_no_event() -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks)
    for _ in range(100):
        clocks.pass_time(1)
        clocks.times[time.CLOCK_REALTIME] += 0.0005
        assert watch.check() == ()


def test_wall_clock_conversion_follows_step() -> None:
    clocks = Clocks()
    watch = ClockWatch(clocks)
    assert watch.monotonic_of(1.7e9 + 5) == 105
    assert watch.epoch_of(105) == 1.7e9 + 5
    clocks.times[time.CLOCK_REALTIME] += 1000
    watch.check()
    assert watch.monotonic_of(1.7e9 + 1005) == 105


def test_the_real_clocks_are_quiet() -> None:
    watch = ClockWatch()
    assert all(event.kind is ClockEventKind.STEP for event in watch.check())
