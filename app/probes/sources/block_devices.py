"""Activity of the block devices below the data directory, from /sys/block/DEVICE/stat.

Fields as in Documentation/block/stat.rst: discards since Linux 4.18, flushes since 5.5; a sector is always
512 bytes. Series ``device.*`` are per device, ``storage.*`` are the sum over the counted disks, which makes a
folder on one disk comparable with one on six. Counted are whole disks, because the kernel counts flushes only
for those (block/blk-flush.c); the members of arrays, pools and volumes instead of the devices above them; and
loop devices instead of the disk below their files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, BackingDevice, merged, resolve_backing
from app.probes.base.probe import (
    Clock,
    CounterDifference,
    Counters,
    FileProbe,
    MissingMetric,
    ProbeContext,
    ProbeUnavailable,
    RawFile,
    rounded,
)

SECTOR_BYTES: Final = 512
_READS, _, _READ_SECTORS, _READ_MS, _WRITES, _, _WRITE_SECTORS, _WRITE_MS = range(8)
_BUSY_MS, _QUEUE_MS, _DISCARDS, _FLUSHES, _FLUSH_MS = 9, 10, 11, 15, 16
_IN_FLIGHT: Final = 8
_WITH_DISCARDS: Final = 15
_WITH_FLUSHES: Final = 17
_PASS_FLUSHES_ON: Final = frozenset({"md", "dm", "bcache", "zram"})


@dataclass(frozen=True, slots=True)
class Activity:
    """Activity of one device in an interval.

    Attributes:
        interval_s: true interval.
        reads: requests completed.
        writes: requests completed.
        read_sectors: of 512 bytes.
        write_sectors: of 512 bytes.
        read_ms: time summed over the reads.
        write_ms: time summed over the writes.
        busy_ms: time with at least one request in flight.
        queue_ms: time summed over all requests in flight.
        discards: requests completed; None if the kernel does not count them.
        flushes: requests completed; None if kernel or device do not count them.
        flush_ms: time summed over the flushes.
    """

    interval_s: float
    reads: float
    writes: float
    read_sectors: float
    write_sectors: float
    read_ms: float
    write_ms: float
    busy_ms: float
    queue_ms: float
    discards: float | None
    flushes: float | None
    flush_ms: float


def parse_device_stat(text: bytes) -> tuple[int, ...]:
    """Return the counters of a device; the requests in flight, not a counter, are set to 0.

    Raises:
        ValueError: fewer than the eleven fields that every kernel has.
    """
    values = [int(word) for word in text.split()]
    if len(values) <= _QUEUE_MS:
        raise ValueError(text[:80])
    values[_IN_FLIGHT] = 0
    return tuple(values)


def activity(difference: CounterDifference, *, counts_flushes: bool) -> Activity:
    """Name the gains of one device's counters."""
    gains = difference.deltas
    flushes = counts_flushes and len(gains) >= _WITH_FLUSHES
    return Activity(
        interval_s=difference.interval_s,
        reads=gains[_READS],
        writes=gains[_WRITES],
        read_sectors=gains[_READ_SECTORS],
        write_sectors=gains[_WRITE_SECTORS],
        read_ms=gains[_READ_MS],
        write_ms=gains[_WRITE_MS],
        busy_ms=gains[_BUSY_MS],
        queue_ms=gains[_QUEUE_MS],
        discards=gains[_DISCARDS] if len(gains) >= _WITH_DISCARDS else None,
        flushes=gains[_FLUSHES] if flushes else None,
        flush_ms=gains[_FLUSH_MS] if flushes else 0,
    )


class BlockDevicesProbe(FileProbe):
    """I/Os, bytes, mean times, queue, flushes and utilisation of the devices below data and WAL."""

    id = "block-devices"
    label = tr("Block devices")

    def __init__(
        self,
        resolve: Callable[[str], Backing] = resolve_backing,
        sys: str = "/sys",
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__()
        self._resolve = resolve
        self._sys = sys
        self._clock = clock
        self._devices: list[_Device] = []

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._devices = []
        folders = context.server.folders
        omissions: list[MissingMetric] = []
        for device in merged(self._resolve(folder) for folder in folders):
            if self._counts(device.name):
                file = self._keep_open(Path(self._sys, "block", device.name, "stat"))
                self._devices.append(_Device(device, file, self._clock))
            else:
                reason = tr("the counters of {device} are turned off (queue/iostats is 0)").format(
                    device=device.name
                )
                omissions.append(MissingMetric("device.*", reason, device.name))
        self.omissions = tuple(omissions)
        if not self._devices:
            raise ProbeUnavailable(" ".join(omission.reason for omission in omissions))
        for opened in self._devices:
            self.omissions += opened.omissions()

    def _counts(self, name: str) -> bool:
        try:
            return Path(self._sys, "block", name, "queue", "iostats").read_text("ascii").strip() != "0"
        except OSError:  # kernels and devices without that file count always
            return True

    @override
    def read(self) -> list[Sample]:
        samples: list[Sample] = []
        counted: list[Activity] = []
        for device in self._devices:
            gained = device.read()
            if gained is None:
                continue
            samples += device_samples(device.name, gained)
            if device.is_counted:
                counted.append(gained)
        if counted and len(counted) == sum(device.is_counted for device in self._devices):
            samples += storage_samples(counted)
        return samples


class _Device:
    """One device with its file and counters."""

    def __init__(self, device: BackingDevice, file: RawFile, clock: Clock) -> None:
        self.name = device.name
        self.is_counted = device.is_counted
        self._kind = device.kind
        self._file = file
        self._counters = Counters(clock)
        self._fields = len(parse_device_stat(self._file.read()))

    def read(self) -> Activity | None:
        """Return the activity since the last read."""
        difference = self._counters.step(parse_device_stat(self._file.read()))
        if difference is None:
            return None
        return activity(difference, counts_flushes=self._kind not in _PASS_FLUSHES_ON)

    def omissions(self) -> tuple[MissingMetric, ...]:
        """Return the metrics that this kernel or kind of device does not count."""
        reasons: list[MissingMetric] = []
        if self._kind in _PASS_FLUSHES_ON:
            reason = tr("{device} passes flushes on to its members and does not count them")
            reasons.append(MissingMetric("device.flushes", reason.format(device=self.name), self.name))
        elif self._fields < _WITH_FLUSHES:
            reason = tr("this kernel does not count flushes; Linux 5.5 or newer does")
            reasons.append(MissingMetric("device.flushes", reason, self.name))
        if self._fields < _WITH_DISCARDS:
            reason = tr("this kernel does not count discards; Linux 4.18 or newer does")
            reasons.append(MissingMetric("device.discards", reason, self.name))
        return tuple(reasons)


def device_samples(name: str, gained: Activity) -> list[Sample]:
    """Return the samples of one device."""
    samples = _samples("device", [gained], name)
    busy = min(100, round(gained.busy_ms / gained.interval_s / 10, 1))
    samples.append(Sample("device.utilisation", busy, name))
    if gained.discards:
        samples.append(Sample("device.discards", rounded(gained.discards / gained.interval_s), name))
    return samples


def storage_samples(activities: Sequence[Activity]) -> list[Sample]:
    """Return the samples of all counted devices together."""
    return _samples("storage", activities, "")


def _samples(prefix: str, activities: Sequence[Activity], instance: str) -> list[Sample]:
    """Return rates summed over the devices, and times as the mean over all their requests."""

    def rate(name: str, scale: float = 1) -> float:
        return rounded(sum(getattr(each, name) * scale / each.interval_s for each in activities))

    samples = [
        Sample(f"{prefix}.reads", rate("reads"), instance),
        Sample(f"{prefix}.writes", rate("writes"), instance),
        Sample(f"{prefix}.read_bytes", round(rate("read_sectors", SECTOR_BYTES)), instance),
        Sample(f"{prefix}.write_bytes", round(rate("write_sectors", SECTOR_BYTES)), instance),
        Sample(f"{prefix}.queue", rate("queue_ms", 0.001), instance),
    ]
    kinds = ["read", "write"]
    if all(each.flushes is not None for each in activities):
        samples.append(Sample(f"{prefix}.flushes", rate("flushes"), instance))
        kinds.append("flush")
    plurals = {"read": "reads", "write": "writes", "flush": "flushes"}
    for kind in kinds:
        requests = sum(getattr(each, plurals[kind]) for each in activities)
        if requests:  # the mean time of no request is unknown, not zero
            spent_ms = sum(getattr(each, f"{kind}_ms") for each in activities)
            samples.append(Sample(f"{prefix}.{kind}_await", round(spent_ms / requests, 3), instance))
    return samples
