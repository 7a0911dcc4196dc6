"""Storage below the data directory: block devices from /sys/block/DEVICE/stat, md arrays, btrfs, ZFS.

Fields as in Documentation/block/stat.rst: discards since Linux 4.18, flushes since 5.5; a sector is always
512 bytes. Series ``device.*`` are per device, ``storage.*`` are the sum over the counted disks, which makes a
folder on one disk comparable with one on six. Counted are whole disks, because the kernel counts flushes only
for those (block/blk-flush.c); the members of arrays, pools and volumes instead of the devices above them; and
loop devices instead of the disk below their files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, BackingDevice, Mount, merged, mount_of, resolve_backing
from app.probes.base.probe import (
    FROM_LINUX,
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
            reason = FROM_LINUX.format(version="5.5")
            reasons.append(MissingMetric("device.flushes", reason, self.name))
        if self._fields < _WITH_DISCARDS:
            reason = FROM_LINUX.format(version="4.18")
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


# State and synchronisation of the md arrays below the data directory, from /sys/block/mdX/md.
#
# A synchronisation takes bandwidth, and a missing member changes the measured storage: the run must record
# both. Source: Documentation/admin-guide/md.rst; `sync_completed` counts sectors of 512 bytes, `sync_speed`
# KiB per second.


_SECTOR_BYTES: Final = 512
_KIB: Final = 1024
_FILES: Final = ("degraded", "sync_action", "sync_completed", "sync_speed")


def parse_sync_remaining(text: str) -> int:
    """Return the remaining bytes of a synchronisation; 0 for ``none`` and ``delayed``."""
    done, separator, total = text.partition(" / ")
    if not separator:
        return 0
    return max(0, int(total) - int(done)) * _SECTOR_BYTES


class ArraysProbe(FileProbe):
    """Missing members of md arrays, and remaining bytes and speed of a synchronisation."""

    id = "arrays"
    label = tr("Arrays")

    def __init__(self, resolve: Callable[[str], Backing] = resolve_backing, sys: str = "/sys") -> None:
        super().__init__()
        self._resolve = resolve
        self._sys = sys
        self._arrays: dict[str, dict[str, RawFile]] = {}

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._arrays = {}
        backing = self._resolve(context.server.data_folder)
        names = [device.name for device in backing.devices if device.kind == "md"]
        for name in names:
            folder = Path(self._sys, "block", name, "md")
            # Arrays without redundancy have none of these files: nothing can be missing or out of step.
            present = [file for file in _FILES if (folder / file).exists()]
            if present:
                self._arrays[name] = {file: self._keep_open(folder / file) for file in present}
        if not self._arrays:
            raise ProbeUnavailable(tr("no redundant md array is below the data directory"))

    @override
    def read(self) -> list[Sample]:
        samples: list[Sample] = []
        for name, files in self._arrays.items():
            texts = {file: opened.read().decode("ascii").strip() for file, opened in files.items()}
            if missing := int(texts.get("degraded", "0")):
                samples.append(Sample("array.missing_members", missing, name))
            if texts.get("sync_action", "idle") not in {"idle", "frozen"}:
                remaining = parse_sync_remaining(texts.get("sync_completed", "none"))
                speed = texts.get("sync_speed", "none")
                samples.append(Sample("array.sync_remaining", remaining, name))
                samples.append(Sample("array.sync_speed", int(speed) * _KIB if speed.isdigit() else 0, name))
        return samples


# Commits and device errors of the btrfs below the data directory.
#
# From /sys/fs/btrfs/UUID, without root: `commit_stats` (Linux 6.0), `devinfo/ID/error_stats` (Linux 5.14),
# the same counters as ``btrfs device stats``. `block_devices` counts the devices themselves. Source:
# fs/btrfs/sysfs.c; btrfs-device(8).


def parse_numbers(text: bytes) -> Mapping[str, int]:
    """Return the counters of a file of lines with a name and a number."""
    found = {}
    for line in text.decode("ascii").splitlines():
        name, _, number = line.partition(" ")
        if number.strip().isdigit():
            found[name] = int(number)
    return found


class BtrfsProbe(FileProbe):
    """Commits, their mean time, and errors of each device since the start of the run."""

    id = "btrfs"
    label = "btrfs"

    def __init__(
        self,
        resolve: Callable[[str], Backing] = resolve_backing,
        sys: str = "/sys",
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__()
        self._resolve = resolve
        self._root = Path(sys, "fs/btrfs")
        self._clock = clock
        self._commits: RawFile | None = None
        self._errors: dict[str, tuple[RawFile, int]] = {}
        self._counters = Counters(clock)

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._commits, self._errors = None, {}
        backing = self._resolve(context.server.data_folder)
        if backing.mount.filesystem != "btrfs":
            raise ProbeUnavailable(tr("the data directory is not on {filesystem}").format(filesystem="btrfs"))
        folder = self._filesystem(backing)
        omissions: list[MissingMetric] = []
        try:
            self._commits = self._keep_open(folder / "commit_stats")
        except FileNotFoundError:
            reason = FROM_LINUX.format(version="6.0")
            omissions += [MissingMetric(metric, reason) for metric in ("btrfs.commits", "btrfs.commit_time")]
        for path in sorted(folder.glob("devinfo/*/error_stats")):
            file = self._keep_open(path)
            self._errors[path.parent.name] = (file, sum(parse_numbers(file.read()).values()))
        if not self._errors:
            reason = FROM_LINUX.format(version="5.14")
            omissions.append(MissingMetric("btrfs.device_errors", reason))
        self.omissions = tuple(omissions)
        self._counters = Counters(self._clock)

    def _filesystem(self, backing: Backing) -> Path:
        """Return the sysfs folder of the filesystem, found by one of its devices."""
        names = {device.name for device in backing.devices}
        for folder in sorted(self._root.glob("*-*/devices")):
            for link in folder.iterdir():
                if link.name in names or link.resolve().parent.name in names:  # a partition: its disk
                    return folder.parent
        raise ProbeUnavailable(tr("{path} does not exist here").format(path=self._root))

    @override
    def read(self) -> list[Sample]:
        samples: list[Sample] = []
        if self._commits is not None:
            stats = parse_numbers(self._commits.read())
            difference = self._counters.step((stats["commits"], stats["total_commit_ms"]))
            if difference is not None:
                commits, spent_ms = difference.deltas
                samples.append(Sample("btrfs.commits", difference.rate(0)))
                if commits:  # the mean time of no commit is unknown, not zero
                    samples.append(Sample("btrfs.commit_time", round(spent_ms / commits, 3)))
        for device, (file, before) in self._errors.items():
            if gained := sum(parse_numbers(file.read()).values()) - before:
                samples.append(Sample("btrfs.device_errors", gained, device))
        return samples


# ZFS below the data directory: the ARC, the dataset's own reads and writes, and the intent log.
#
# From the kstats of OpenZFS in /proc/spl/kstat/zfs, which need no root: `arcstats`, `POOL/objset-0x*` of the
# dataset and, for the intent log, the dataset's `zil_*` (OpenZFS 2.2 and newer) or `zil` of the whole module
# (before). `block_devices` counts the disks of the pool. Source: OpenZFS, module/zfs/arc.c, dataset_kstats.c,
# zil.c; zfs(4).


_RATES: Final = {
    "arcstats": (
        ("zfs.arc_hits", ("hits",)),
        ("zfs.arc_misses", ("misses",)),
        ("zfs.arc_demand_data_misses", ("demand_data_misses",)),
    ),
    "dataset": (
        ("zfs.reads", ("reads",)),
        ("zfs.writes", ("writes",)),
        ("zfs.read_bytes", ("nread",)),
        ("zfs.write_bytes", ("nwritten",)),
    ),
    "zil": (
        ("zfs.log_commits", ("zil_commit_count",)),
        ("zfs.log_bytes", ("zil_itx_metaslab_normal_bytes", "zil_itx_metaslab_slog_bytes")),
        ("zfs.log_device_bytes", ("zil_itx_metaslab_slog_bytes",)),
    ),
}
_GAUGES: Final = (("zfs.arc_size", "size"), ("zfs.arc_target", "c"))
_HEADER_LINES: Final = 2


def parse_kstat(text: bytes) -> Mapping[str, str]:
    """Return names and values of a named kstat (spl-kstat.c): two lines of header, then name, type, data."""
    found: dict[str, str] = {}
    for line in text.decode("utf-8", errors="replace").splitlines()[_HEADER_LINES:]:
        words = line.split(None, 2)
        if len(words) == 3:
            found[words[0]] = words[2]
    return found


class ZfsProbe(FileProbe):
    """Size and hits of the ARC, I/O of the dataset, commits and bytes of the intent log."""

    id = "zfs"
    label = "ZFS"

    def __init__(
        self,
        find_mount: Callable[[str], Mount] = mount_of,
        folder: str = "/proc/spl/kstat/zfs",
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__()
        self._find_mount = find_mount
        self._folder = Path(folder)
        self._clock = clock
        self._files: dict[str, RawFile] = {}
        self._counters: dict[str, Counters] = {}

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._files = {}
        try:
            mount = self._find_mount(context.server.data_folder)
        except LookupError as err:
            raise ProbeUnavailable(tr("the mount of {path} cannot be found").format(path=err)) from err
        if mount.filesystem != "zfs":
            raise ProbeUnavailable(tr("the data directory is not on {filesystem}").format(filesystem="ZFS"))
        self._files["arcstats"] = self._keep_open(self._folder / "arcstats")
        omissions: list[MissingMetric] = []
        dataset = self._dataset_file(mount.source)
        if dataset is None:
            reason = tr("ZFS reports no statistics for dataset {name}").format(name=mount.source)
            omissions += [MissingMetric(metric, reason) for metric, _ in _RATES["dataset"]]
        else:
            self._files["dataset"] = dataset
        if dataset is None or "zil_commit_count" not in parse_kstat(dataset.read()):
            try:
                self._files["zil"] = self._keep_open(self._folder / "zil")
            except FileNotFoundError:
                reason = tr("{path} does not exist here").format(path=self._folder / "zil")
                omissions += [MissingMetric(metric, reason) for metric, _ in _RATES["zil"]]
        self.omissions = tuple(omissions)
        self._counters = {part: Counters(self._clock) for part in _RATES}

    def _dataset_file(self, dataset: str) -> RawFile | None:
        """Return the opened statistics of a dataset, found by its name inside the files."""
        for path in sorted((self._folder / dataset.partition("/")[0]).glob("objset-*")):
            file = self._keep_open(path)
            if parse_kstat(file.read()).get("dataset_name") == dataset:
                return file
            file.close()
        return None

    @override
    def read(self) -> list[Sample]:
        values = {part: parse_kstat(file.read()) for part, file in self._files.items()}
        values.setdefault("zil", values.get("dataset", {}))
        samples: list[Sample] = []
        for part, wanted in _RATES.items():
            known = values.get(part, {})
            if not all(name in known for _, names in wanted for name in names):
                continue
            totals = [sum(int(known[name]) for name in names) for _, names in wanted]
            difference = self._counters[part].step(totals)
            if difference is not None:
                samples += [
                    Sample(metric, difference.rate(place)) for place, (metric, _) in enumerate(wanted)
                ]
        arc = values.get("arcstats", {})
        samples += [Sample(metric, int(arc[name])) for metric, name in _GAUGES if name in arc]
        return samples
