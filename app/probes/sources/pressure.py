"""Pressure stall information: the share of time in which tasks waited for CPU, I/O or memory.

Kernel documentation: Documentation/accounting/psi.rst. The `total` counters are microseconds.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import Clock, Counters, FileProbe, ProbeContext, ProbeUnavailable, RawFile

RESOURCES: Final = ("cpu", "io", "memory")
WANTED: Final = {
    "cpu": ("some",),  # "full" is undefined for the CPU of the whole machine and always zero
    "io": ("some", "full"),
    "memory": ("some", "full"),
}


def parse_pressure(text: bytes) -> dict[str, int]:
    """Return the `total` counters in microseconds by "some" and "full"."""
    totals: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[-1].startswith(b"total="):
            totals[words[0].decode()] = int(words[-1][6:])
    return totals


def pressure_samples(
    resource: str, totals: Mapping[str, int], counters: Counters, time_s: float | None = None
) -> list[Sample]:
    """Return shares of the time since the last call, from the totals of `parse_pressure`."""
    kinds = [kind for kind in WANTED[resource] if kind in totals]
    difference = counters.step([totals[kind] for kind in kinds], time_s)
    if difference is None:
        return []
    return [
        Sample(f"pressure.{resource}_{kind}", _per_cent(gain, difference.interval_s))
        for kind, gain in zip(kinds, difference.deltas, strict=True)
    ]


class PressureProbe(FileProbe):
    """Shares of time with stalled tasks, in per cent."""

    id = "pressure"
    label = tr("Pressure")

    def __init__(self, folder: str = "/proc/pressure", clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._folder = Path(folder)
        self._clock = clock
        self._sources: list[tuple[str, RawFile, Counters]] = []

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._sources = []
        try:
            for resource in RESOURCES:
                file = self._keep_open(self._folder / resource)
                self._sources.append((resource, file, Counters(self._clock)))
                file.read()
        except OSError as err:
            self.close()
            if err.errno in {errno.ENOENT, errno.ENOTDIR}:
                raise ProbeUnavailable(
                    tr("this kernel is built without pressure stall information (CONFIG_PSI)")
                ) from err
            if err.errno == errno.EOPNOTSUPP:
                raise ProbeUnavailable(
                    tr("pressure stall information is off; the kernel parameter psi=1 turns it on")
                ) from err
            raise

    @override
    def read(self) -> list[Sample]:
        samples: list[Sample] = []
        for resource, file, counters in self._sources:
            samples += pressure_samples(resource, parse_pressure(file.read()), counters)
        return samples


def _per_cent(gain_us: float, interval_s: float) -> float:
    """Return the share of the interval, at most 100: the kernel adds time after the fact."""
    return min(100, round(gain_us / interval_s / 10_000, 2))
