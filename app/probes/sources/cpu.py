"""The machine as a whole: CPU time, pressure, memory, swap, and clock rates of the CPUs."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import titled, tr
from app.probes.base.probe import (
    Clock,
    CounterDifference,
    Counters,
    FileProbe,
    ProbeContext,
    ProbeUnavailable,
    RawFile,
)
from app.process.memory import parse_meminfo

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
    label = tr("Machine CPU")

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
            raise ProbeUnavailable(tr("{path} does not exist here").format(path=self._path)) from err
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


# Pressure stall information: the share of time in which tasks waited for CPU, I/O or memory.
#
# Kernel documentation: Documentation/accounting/psi.rst. The `total` counters are microseconds.


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
                    tr("this kernel was built without {option}").format(option="CONFIG_PSI")
                ) from err
            if err.errno == errno.EOPNOTSUPP:
                raise ProbeUnavailable(tr("off; the kernel parameter psi=1 turns it on")) from err
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


# Memory of the machine from /proc/meminfo, in bytes.


_DIRECT: Final = (
    ("memory.available", "MemAvailable"),
    ("memory.shared", "Shmem"),
    ("memory.dirty", "Dirty"),
    ("memory.writeback", "Writeback"),
)


def memory_samples(fields: Mapping[str, int]) -> list[Sample]:
    """Return the samples from the fields of `parse_meminfo`."""
    samples = [Sample(metric, fields[name]) for metric, name in _DIRECT if name in fields]
    if "Cached" in fields:
        samples.append(Sample("memory.cached", fields["Cached"] + fields.get("Buffers", 0)))
    if "SwapTotal" in fields:
        samples.append(Sample("memory.swap_used", fields["SwapTotal"] - fields.get("SwapFree", 0)))
    return samples


class MemoryProbe(FileProbe):
    """Available, cached, shared, dirty and written-back memory, and swap in use."""

    id = "memory"
    label = titled(tr("memory"))

    def __init__(self, path: str = "/proc/meminfo") -> None:
        super().__init__()
        self._path = path

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            self._keep_open(self._path)
        except FileNotFoundError as err:
            raise ProbeUnavailable(tr("{path} does not exist here").format(path=self._path)) from err

    @override
    def read(self) -> list[Sample]:
        return [each for file in self._opened for each in memory_samples(parse_meminfo(file.read()))]


# Memory read back from swap, from pswpin of /proc/vmstat (pages, proc(5)).


PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_FIELD: Final = b"\npswpin "


def parse_swapped_in(text: bytes) -> int:
    """Return the pages read back from swap since boot.

    Raises:
        ValueError: the text has no such line, as with a kernel built without swap.
    """
    begin = (b"\n" + text).find(_FIELD)
    if begin < 0:
        raise ValueError(tr("not counted by this kernel"))
    return int(text[begin + len(_FIELD) - 1 :].split(b"\n", 1)[0])


class SwapInProbe(FileProbe):
    """Bytes per second read back from swap, for which processes waited."""

    id = "swap-in"
    label = titled(tr("swap"))

    def __init__(self, path: str = "/proc/vmstat", clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._path = path
        self._counters = Counters(clock)

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            parse_swapped_in(self._keep_open(self._path).read())
        except FileNotFoundError as err:
            message = tr("{path} does not exist here")
            raise ProbeUnavailable(message.format(path=self._path)) from err
        except ValueError as err:
            self.close()
            raise ProbeUnavailable(tr("not counted by this kernel")) from err
        self._counters.forget()

    @override
    def read(self) -> list[Sample]:
        if not self._opened:
            return []
        difference = self._counters.step((parse_swapped_in(self._opened[0].read()),))
        if difference is None:
            return []
        return [Sample("memory.swap_in", round(difference.deltas[0] * PAGE_BYTES / difference.interval_s))]


# Frequency of the CPUs, its limit, and thermal throttling.
#
# Frequency: means over the CPUs from cpufreq (Documentation/admin-guide/pm/cpufreq.rst), every few seconds
# because reading may wake a sleeping CPU.
#
# Throttling: /sys/devices/system/cpu/cpuN/thermal_throttle
# (Documentation/ABI/testing/sysfs-devices-system-cpu) counts events of each core and package, and since Linux
# 5.8 also milliseconds. Only Intel's processors have these files, virtual machines do not.


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
            raise ProbeUnavailable(tr("not counted by this kernel"))

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
            raise ProbeUnavailable(tr("not counted by this kernel")) from err
        return [Sample("cpu.throttled", round(max(shares), 1))] if shares else []


def _number(folder: Path) -> int:
    digits = folder.parent.name.removeprefix("cpu")
    return int(digits) if digits.isdigit() else 0


def _text(path: Path, otherwise: str) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return otherwise
