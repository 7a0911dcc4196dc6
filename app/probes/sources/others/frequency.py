"""Frequency of the CPUs and the limit set to it, from cpufreq (Documentation/admin-guide/pm/cpufreq.rst).

Means over the CPUs, every few seconds: to read a frequency may wake a CPU that sleeps.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import Clock, Probe, ProbeContext, ProbeUnavailable, RawFile

EVERY_S: Final = 5.0
_KHZ_A_MHZ: Final = 1000
_FILES: Final = (("cpu.frequency", "scaling_cur_freq"), ("cpu.frequency_limit", "scaling_max_freq"))


class FrequencyProbe(Probe):
    """Mean frequency of the CPUs and mean limit, in MHz, at the beginning and then every five seconds."""

    id = "frequency"
    label = tr("CPU frequency")

    def __init__(self, sys: str = "/sys", clock: Clock = time.monotonic) -> None:
        self._folder = Path(sys, "devices/system/cpu")
        self._clock = clock
        self._files: list[tuple[str, list[RawFile]]] = []
        self._next_s = 0.0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        for metric, name in _FILES:
            paths = sorted(self._folder.glob(f"cpu[0-9]*/cpufreq/{name}"))
            if paths:
                self._files.append((metric, [RawFile(str(path)) for path in paths]))
        if not self._files:
            raise ProbeUnavailable(
                tr("the kernel does not tell the CPUs' frequency: no cpufreq, as in most virtual machines")
            )
        self._next_s = self._clock()

    @override
    def read(self) -> list[Sample]:
        now = self._clock()
        if now < self._next_s:
            return []
        self._next_s = now + EVERY_S
        samples = []
        for metric, files in self._files:
            known = [value for file in files if (value := _khz(file)) is not None]
            if known:
                samples.append(Sample(metric, round(sum(known) / len(known) / _KHZ_A_MHZ)))
        return samples

    @override
    def close(self) -> None:
        for _, files in self._files:
            for file in files:
                file.close()
        self._files = []


def _khz(file: RawFile) -> int | None:
    """Return a frequency; None of a CPU that was taken offline, or whose driver says ``<unknown>``."""
    try:
        value = int(file.read())
    except (OSError, ValueError):
        return None
    return value if value > 0 else None
