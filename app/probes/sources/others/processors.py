"""Frequency of the CPUs, its limit, and thermal throttling.

Frequency: means over the CPUs from cpufreq (Documentation/admin-guide/pm/cpufreq.rst), every few seconds
because reading may wake a sleeping CPU.

Throttling: /sys/devices/system/cpu/cpuN/thermal_throttle (Documentation/ABI/testing/sysfs-devices-system-cpu)
counts events of each core and package, and since Linux 5.8 also milliseconds. Only Intel's processors have
these files, virtual machines do not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import Clock, Counters, FileProbe, ProbeContext, ProbeUnavailable, RawFile

EVERY_S: Final = 5.0
_KHZ_A_MHZ: Final = 1000
_FILES: Final = (("cpu.frequency", "scaling_cur_freq"), ("cpu.frequency_limit", "scaling_max_freq"))


class FrequencyProbe(FileProbe):
    """Mean frequency of the CPUs and mean limit, in MHz, at the start and then every five seconds."""

    id = "frequency"
    label = tr("CPU frequency")

    def __init__(self, sys: str = "/sys", clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._folder = Path(sys, "devices/system/cpu")
        self._clock = clock
        self._files: list[tuple[str, list[RawFile]]] = []
        self._next_s = 0.0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._files = []
        for metric, name in _FILES:
            paths = sorted(self._folder.glob(f"cpu[0-9]*/cpufreq/{name}"))
            if paths:
                self._files.append((metric, [self._keep_open(path) for path in paths]))
        if not self._files:
            raise ProbeUnavailable(
                tr("the kernel does not report CPU frequencies: no cpufreq, as in most virtual machines")
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


def _khz(file: RawFile) -> int | None:
    """Return a frequency; None if the CPU is offline, or its driver reports ``<unknown>``."""
    try:
        value = int(file.read())
    except (OSError, ValueError):
        return None
    return value if value > 0 else None


MOST_FILES: Final = 64
"""Machines with more cores are watched by package and by the first cores."""


@dataclass(slots=True)
class _Throttle:
    """Throttling of one core or package: count, total time (None if the kernel has none), differences."""

    count: RawFile
    total_ms: RawFile | None
    counters: Counters

    def share(self) -> float | None:
        """Return the share of throttled time since the last read, in per cent; None at first.

        The kernel adds the time when the processor is cool again: a count that grew without any time means
        that throttling continues.
        """
        values = [int(self.count.read())]
        if self.total_ms is not None:
            values.append(int(self.total_ms.read()))
        gained = self.counters.step(values)
        if gained is None:
            return None
        times, *spent_ms = gained.deltas
        if spent_ms and spent_ms[0] > 0:
            return min(100.0, spent_ms[0] / gained.interval_s / 10)
        return 100.0 if times > 0 else 0.0


class ThrottlingProbe(FileProbe):
    """Share of time in which the hottest core or package was throttled."""

    id = "throttling"
    label = tr("Throttling")

    def __init__(self, sys: str = "/sys", clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._cpus = Path(sys, "devices/system/cpu")
        self._clock = clock
        self._watched: list[_Throttle] = []

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._watched = []
        seen: set[str] = set()
        for folder in sorted(self._cpus.glob("cpu[0-9]*/thermal_throttle"), key=_number):
            topology = folder.parent / "topology"
            package = _text(topology / "physical_package_id", "0")
            core = f"{package} {_text(topology / 'core_id', folder.parent.name)}"
            for kind, key in (("package", f"package {package}"), ("core", f"core {core}")):
                if key not in seen and len(seen) < MOST_FILES and self._watch(folder, kind):
                    seen.add(key)
        if not self._watched:
            raise ProbeUnavailable(
                tr("the kernel does not count thermal throttling on this processor (Intel only)")
            )

    def _watch(self, folder: Path, kind: str) -> bool:
        try:
            count = self._keep_open(folder / f"{kind}_throttle_count")
        except FileNotFoundError:
            return False
        try:
            total = self._keep_open(folder / f"{kind}_throttle_total_time_ms")
        except FileNotFoundError:  # Linux before 5.8
            total = None
        self._watched.append(_Throttle(count, total, Counters(self._clock)))
        return True

    @override
    def read(self) -> list[Sample]:
        try:
            shares = [share for each in self._watched if (share := each.share()) is not None]
        except ValueError as err:
            raise ProbeUnavailable(tr("the kernel's throttling counters are not numbers here")) from err
        return [Sample("cpu.throttled", round(max(shares), 1))] if shares else []


def _number(folder: Path) -> int:
    digits = folder.parent.name.removeprefix("cpu")
    return int(digits) if digits.isdigit() else 0


def _text(path: Path, otherwise: str) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return otherwise
