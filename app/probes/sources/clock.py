"""Detect suspends and clock changes, and convert between wall clock and monotonic time.

CLOCK_MONOTONIC stops while the machine is suspended, CLOCK_BOOTTIME does not (clock_gettime(2)): their
distance grows by the length of each suspend. pgbench and the server write wall clock times, so steps of the
wall clock are reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SHORTEST_SUSPEND_S: Final = 0.1
SHORTEST_STEP_S: Final = 0.05
"""NTP slews by at most 0.5 ms a second (adjtimex(2)); faster changes are steps."""

ReadClock = Callable[[int], float]


class ClockEventKind(StrEnum):
    """Kinds of clock events."""

    SUSPEND = "suspend"
    STEP = "clock-step"


@dataclass(frozen=True, slots=True)
class ClockEvent:
    """An event since the last check.

    Attributes:
        kind: of event.
        monotonic_s: when it was noticed.
        seconds: length of the suspend, or how far the wall clock was set (negative: back).
    """

    kind: ClockEventKind
    monotonic_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Reading:
    monotonic_s: float
    boot_s: float
    epoch_s: float


class ClockWatch:
    """Notices suspends and steps of the wall clock, and converts wall clock to monotonic time.

    The conversion follows steps: it uses the clocks' difference at the last `check`.
    """

    def __init__(self, read: ReadClock = time.clock_gettime) -> None:
        self._read_clock = read
        self._last = self._read()

    def _read(self) -> _Reading:
        """Read the three clocks close together."""
        before = self._read_clock(time.CLOCK_MONOTONIC)
        boot = self._read_clock(time.CLOCK_BOOTTIME)
        epoch = self._read_clock(time.CLOCK_REALTIME)
        after = self._read_clock(time.CLOCK_MONOTONIC)
        return _Reading((before + after) / 2, boot, epoch)

    def check(self) -> tuple[ClockEvent, ...]:
        """Return the events since the last call; call it about once a second."""
        last, now = self._last, self._read()
        self._last = now
        events: list[ClockEvent] = []
        slept_s = (now.boot_s - last.boot_s) - (now.monotonic_s - last.monotonic_s)
        if slept_s >= SHORTEST_SUSPEND_S:
            events.append(ClockEvent(ClockEventKind.SUSPEND, now.monotonic_s, slept_s))
        step_s = (now.epoch_s - last.epoch_s) - (now.boot_s - last.boot_s)
        if abs(step_s) >= SHORTEST_STEP_S:
            events.append(ClockEvent(ClockEventKind.STEP, now.monotonic_s, step_s))
        return tuple(events)

    def monotonic_of(self, epoch_s: float) -> float:
        """Return the monotonic time of a wall clock time near the last check."""
        return epoch_s - self._last.epoch_s + self._last.monotonic_s

    def epoch_of(self, monotonic_s: float) -> float:
        """Return the wall clock time of a monotonic time near the last check."""
        return monotonic_s - self._last.monotonic_s + self._last.epoch_s
