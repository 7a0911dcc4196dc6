"""CPU time of the machine from the first line of /proc/stat, in cores."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import (
    Clock,
    CounterDifference,
    Counters,
    FileProbe,
    ProbeContext,
    ProbeUnavailable,
)

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
"""USER_HZ, the unit of every CPU time in /proc (proc(5))."""

IOWAIT: Final = 4
"""Position of iowait in the result of `parse_cpu_line`."""

_FIELDS: Final = 8
_METRICS: Final = ("cpu.user", "cpu.system", "cpu.interrupt", "cpu.iowait", "cpu.steal")


def parse_cpu_line(text: bytes) -> tuple[int, ...]:
    """Return user, nice, system, idle, iowait, irq, softirq, steal of the whole machine in USER_HZ ticks.

    Guest time is not returned: user and nice include it (proc(5)).

    Raises:
        ValueError: not the text of /proc/stat.
    """
    name, *values = text.split(b"\n", 1)[0].split()
    if name != b"cpu" or len(values) < _FIELDS:
        raise ValueError(text[:80])
    return tuple(int(value) for value in values[:_FIELDS])


class CpuProbe(FileProbe):
    """User, system, interrupt, iowait and steal time of all CPUs together.

    The kernel documents that iowait may decrease (Documentation/filesystems/proc.rst): a decrease counts as
    no gain until the counter exceeds its maximum again. Idle time, which may decrease too, is not read: it is
    the rest.
    """

    id = "cpu"
    label = tr("CPU of the machine")

    def __init__(self, path: str = "/proc/stat", clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._path = path
        self._counters = Counters(clock)
        self._highest_iowait = 0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            self._keep_open(self._path)
        except FileNotFoundError as err:
            raise ProbeUnavailable(
                tr("{path} does not exist, so CPU times are unknown").format(path=self._path)
            ) from err
        self._counters.forget()
        self._highest_iowait = 0

    @override
    def read(self) -> list[Sample]:
        if not self._opened:
            return []
        times = parse_cpu_line(self._opened[0].read())
        self._highest_iowait = max(self._highest_iowait, times[IOWAIT])
        difference = self._counters.step(cpu_counters(times, self._highest_iowait))
        return [] if difference is None else cpu_samples(difference, TICKS_PER_S)


def cpu_counters(times: Sequence[int], iowait: int) -> tuple[int, ...]:
    """Return the counters from the times of `parse_cpu_line` and the highest iowait so far."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = times
    return user + nice, system, irq + softirq, iowait, steal


def cpu_samples(difference: CounterDifference, ticks_per_s: int) -> list[Sample]:
    """Return the gains of `cpu_counters`, in cores."""
    scale = 1 / (ticks_per_s * difference.interval_s)
    return [
        Sample(metric, round(ticks * scale, 3))
        for metric, ticks in zip(_METRICS, difference.deltas, strict=True)
    ]
