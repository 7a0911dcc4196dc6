"""Samples from the kernel counters of a remote Linux: the same arithmetic and metrics as on this machine.

Intervals are measured by the remote clock since boot (/proc/uptime, in steps of 10 ms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.metrics import Sample
from app.probes.base.probe import Counters
from app.probes.sources.block_devices import (
    Activity,
    activity,
    device_samples,
    parse_device_stat,
    storage_samples,
)
from app.probes.sources.cpu import IOWAIT, cpu_counters, cpu_samples, parse_cpu_line
from app.probes.sources.memory import memory_samples
from app.probes.sources.pressure import RESOURCES, pressure_samples

USUAL_TICKS_PER_S: Final = 100
USUAL_PAGE_BYTES: Final = 4096
_KIB: Final = 1024
_MOST_DEVICES: Final = 64


@dataclass(frozen=True, slots=True)
class LinuxUnits:
    """Units of a machine's counters.

    Attributes:
        ticks_per_s: of CPU times.
        page_bytes: of swapped pages.
    """

    ticks_per_s: int = USUAL_TICKS_PER_S
    page_bytes: int = USUAL_PAGE_BYTES


class LinuxSamples:
    """Makes samples from the lines of one connection."""

    def __init__(self, units: LinuxUnits) -> None:
        self._units = units
        self._counters: dict[str, Counters] = {}
        self._highest_iowait = 0

    def take(self, fields: tuple[str, ...]) -> list[Sample]:
        """Return the samples since the previous line; skip unreadable values.

        Args:
            fields: ``name=value`` each, of a `LineKind.SAMPLE` without its number.
        """
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        time_s = _float(values.get("uptime", ""))
        if time_s is None:
            return []
        return [
            *self._cpu(values.get("cpu", ""), time_s),
            *_memory(values.get("memory", "")),
            *self._swap_in(values.get("swap_in", ""), time_s),
            *self._pressure(values, time_s),
            *self._devices(values, time_s),
        ]

    def _of(self, name: str) -> Counters:
        return self._counters.setdefault(name, Counters())

    def _cpu(self, text: str, time_s: float) -> list[Sample]:
        try:
            times = parse_cpu_line(b"cpu " + text.encode())
        except ValueError:
            return []
        self._highest_iowait = max(self._highest_iowait, times[IOWAIT])
        difference = self._of("cpu").step(cpu_counters(times, self._highest_iowait), time_s)
        return [] if difference is None else cpu_samples(difference, self._units.ticks_per_s)

    def _swap_in(self, text: str, time_s: float) -> list[Sample]:
        if not _is_count(text):
            return []
        difference = self._of("swap_in").step((int(text),), time_s)
        if difference is None:
            return []
        value = round(difference.deltas[0] * self._units.page_bytes / difference.interval_s)
        return [Sample("memory.swap_in", value)]

    def _pressure(self, values: Mapping[str, str], time_s: float) -> list[Sample]:
        samples: list[Sample] = []
        for resource in RESOURCES:
            words = values.get(f"pressure.{resource}", "").split()
            pairs = zip(words[::2], words[1::2], strict=False)
            totals = {
                kind: int(total.removeprefix("total="))
                for kind, total in pairs
                if _is_count(total.removeprefix("total="))
            }
            if totals:
                samples += pressure_samples(resource, totals, self._of(f"pressure.{resource}"), time_s)
        return samples

    def _devices(self, values: Mapping[str, str], time_s: float) -> list[Sample]:
        """Return samples of each disk, and their sum if all disks are readable."""
        samples: list[Sample] = []
        counted: list[Activity] = []
        names = [name for name in values if name.startswith("device.")][:_MOST_DEVICES]
        for name in names:
            try:
                difference = self._of(name).step(parse_device_stat(values[name].encode()), time_s)
            except ValueError:
                continue
            if difference is not None:
                gained = activity(difference, counts_flushes=True)
                samples += device_samples(name.removeprefix("device."), gained)
                counted.append(gained)
        if counted and len(counted) == len(names):
            samples += storage_samples(counted)
        return samples


def _memory(text: str) -> list[Sample]:
    """Return memory from ``Name: KiB`` pairs in one line."""
    words = text.split()
    fields = {
        name.removesuffix(":"): int(value) * _KIB
        for name, value in zip(words[::2], words[1::2], strict=False)
        if _is_count(value)
    }
    return memory_samples(fields)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None
