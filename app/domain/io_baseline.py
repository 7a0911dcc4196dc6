"""The I/O baseline: a benchmark of a storage itself, before the first run on it. Pure.

fio measures PostgreSQL's kinds of I/O, pg_test_fsync the rate of durable writes. The jobs are declared here;
`app.execution.baseline` runs them, `app.io_baseline` parses their output, and a run file stores the result
(`app.runfile.metadata.run_metadata`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import GIB, KIB, MIB, tr


class JobId(StrEnum):
    """Jobs of fio; stored in run files."""

    SEQUENTIAL_WRITE = "sequential-write"
    SEQUENTIAL_READ = "sequential-read"
    RANDOM_READ = "random-read"
    RANDOM_READ_DEEP = "random-read-deep"
    RANDOM_WRITE = "random-write"
    SYNC_APPEND = "sync-append"


@dataclass(frozen=True, slots=True)
class FioJob:
    """One job.

    Attributes:
        id: of the job.
        label: for users.
        pattern: fio's ``rw``.
        block_bytes: of one request.
        depth: requests in flight.
        seconds: duration.
        syncs: each write is made durable before the next (fdatasync), through the page cache and at the end
            of a growing file, as PostgreSQL writes new WAL; else direct I/O, within an existing file.
    """

    id: JobId
    label: str
    pattern: str
    block_bytes: int
    depth: int
    seconds: int
    syncs: bool = False

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.pattern in {"write", "randwrite"}


_SEQUENTIAL: Final = tr("sequential {what} of 1 MiB")
_RANDOM: Final = tr("random {what} of 8 KiB, {depth} in flight")
FIO_JOBS: Final = (
    # The first one writes the file for all others but the last.
    FioJob(JobId.SEQUENTIAL_WRITE, _SEQUENTIAL.format(what=tr("writes")), "write", MIB, 8, 3),
    FioJob(JobId.SEQUENTIAL_READ, _SEQUENTIAL.format(what=tr("reads")), "read", MIB, 8, 2),
    FioJob(JobId.RANDOM_READ, _RANDOM.format(what=tr("reads"), depth=1), "randread", 8 * KIB, 1, 2),
    FioJob(JobId.RANDOM_READ_DEEP, _RANDOM.format(what=tr("reads"), depth=32), "randread", 8 * KIB, 32, 2),
    FioJob(JobId.RANDOM_WRITE, _RANDOM.format(what=tr("writes"), depth=32), "randwrite", 8 * KIB, 32, 3),
    FioJob(JobId.SYNC_APPEND, tr("appends of 8 KiB, each made durable"), "write", 8 * KIB, 1, 2, syncs=True),
)
"""In the order of execution. 8 KiB is PostgreSQL's page size in nearly every build."""

FSYNC_SECONDS: Final = 1
"""Duration of each method of pg_test_fsync, which only takes whole seconds."""

FSYNC_METHODS: Final = ("open_datasync", "fdatasync", "fsync", "open_sync")
"""Values of wal_sync_method on Linux."""

DEFAULT_METHOD: Final = "fdatasync"
"""Default of wal_sync_method on Linux (PostgreSQL manual, "Write Ahead Log")."""

MOST_FILE_BYTES: Final = 4 * GIB
LEAST_FILE_BYTES: Final = 32 * MIB
SHARE_OF_FREE: Final = 4
"""The file takes at most this part of the free space, so that the benchmark does not fill the storage."""
CACHED_WRITE_SECONDS: Final = 20
"""Time limit for growing the file to twice the memory if the filesystem has no direct I/O."""

_STARTS_S: Final = 6
PLANNED_SECONDS: Final = _STARTS_S + len(FSYNC_METHODS) * FSYNC_SECONDS + sum(job.seconds for job in FIO_JOBS)
"""For one storage: jobs, methods, and the start, write-back and end of seven programs."""

FROM_CACHE: Final = 0.5
"""Reads came from a cache if the disks delivered less than this share of the bytes."""

ROTATING_MOST_PER_S: Final = 300.0
"""A disk with 15,000 revolutions per minute turns 250 times a second; each flush of a writer waits for a
turn.
"""

FLASH_MOST_PER_S: Final = 5000.0
"""Between the fastest flash without protection and the slowest with it, as published.

Without power-loss protection 600 (Samsung 990 Pro) to 2,200 flushes a second, with it 17,000 and more:
tanelpoder.com/posts/using-pg-test-fsync-for-testing-low-latency-writes (2025) and
smalldatum.blogspot.com/2026/01/ssds-power-loss-protection-and-fsync.html.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRates:
    """Rates of the disks below, per second, counted as in the charts of a run; None if not counted.

    Attributes:
        reads: requests.
        writes: requests.
        flushes: requests; for the sync tests those of the fastest second.
        read_bytes: bytes.
        write_bytes: bytes.
    """

    reads: float | None = None
    writes: float | None = None
    flushes: float | None = None
    read_bytes: float | None = None
    write_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """Result of one fio job.

    Attributes:
        job: a `JobId`; another word of a later version.
        operations_per_s: requests.
        bytes_per_s: bytes.
        latency_mean_us: of a request, including its fdatasync if there is one; microseconds.
        latency_p99_us: 99th percentile of the requests, or of the fdatasyncs if there are any; microseconds.
        seconds: duration.
        is_direct: bypassed the page cache.
        device: rates of the disks.
    """

    job: str = ""
    operations_per_s: float = 0.0
    bytes_per_s: float = 0.0
    latency_mean_us: float | None = None
    latency_p99_us: float | None = None
    seconds: float = 0.0
    is_direct: bool = True
    device: DeviceRates = DeviceRates()

    @property
    def from_devices(self) -> float | None:
        """Share of the read bytes that came from the disks; None for writes, or if unknown."""
        read = self.device.read_bytes
        if read is None or self.job not in _READS or self.bytes_per_s <= 0:
            return None
        return read / self.bytes_per_s


_READS: Final = frozenset(job.id.value for job in FIO_JOBS if not job.writes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncMethod:
    """Durable writes of 8 kB per second by one writer with one method of wal_sync_method."""

    method: str = ""
    per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDevice:
    """A disk below the storage.

    Attributes:
        name: of the kernel.
        kind: ``disk``, ``md``, ``dm``, ``loop`` ..., see `app.probes.base.backing_devices`.
        is_rotating: None if unknown.
        write_cache: ``write back`` or ``write through``, as reported by the kernel; empty if unknown.
        played_by: what emulates it, see `app.domain.disk_answers`; empty for hardware.
    """

    name: str = ""
    kind: str = ""
    is_rotating: bool | None = None
    write_cache: str = ""
    played_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IoBaseline:
    """Benchmark of a storage, before the first run on it.

    Attributes:
        measured_epoch_s: when; seconds since 1970.
        seconds: duration, without creating and removing the storage.
        file_bytes: size of the test file.
        memory_bytes: of the machine, or the memory limit if lower.
        jobs: results of fio.
        sync_methods: results of pg_test_fsync, each method once.
        sync_device: rates of the disks in its fastest second.
        devices: the disks below the synced file.
        virtual_machine: kind of the machine; empty on hardware.
        fio_version: as fio reports it; empty if it did not run.
        problems: sentences about missing or doubtful results.
    """

    measured_epoch_s: float = 0.0
    seconds: float = 0.0
    file_bytes: int = 0
    memory_bytes: int = 0
    jobs: tuple[JobResult, ...] = ()
    sync_methods: tuple[SyncMethod, ...] = ()
    sync_device: DeviceRates = DeviceRates()
    devices: tuple[BaselineDevice, ...] = ()
    virtual_machine: str = ""
    fio_version: str = ""
    problems: tuple[str, ...] = ()

    def job(self, which: JobId) -> JobResult | None:
        """Return the result of a job; None if there is none."""
        return next((each for each in self.jobs if each.job == which.value), None)

    @property
    def limits(self) -> dict[str, float]:
        """Maximum rates of the disks during the benchmark, by metric of a run's series; never 0."""
        rates = (self.sync_device, *(each.device for each in self.jobs))
        found = {}
        for metric, name in LIMITED.items():
            known = [value for each in rates if (value := getattr(each, name)) is not None]
            if known and max(known) > 0:
                found[metric] = max(known)
        return found

    def syncs_per_s(self, method: str = DEFAULT_METHOD) -> float | None:
        """Return the durable writes per second of one writer; None if not measured."""
        return next((each.per_s for each in self.sync_methods if each.method == method), None)


LIMITED: Final = {
    "storage.reads": "reads",
    "storage.writes": "writes",
    "storage.flushes": "flushes",
    "storage.read_bytes": "read_bytes",
    "storage.write_bytes": "write_bytes",
}
"""Attribute of `DeviceRates` by the metric of a run that it limits."""


class FlushVerdict(StrEnum):
    """What the rate of flushes suggests about the drive."""

    UNKNOWN = "unknown"
    AS_EXPECTED = "as-expected"
    PROTECTED_OR_NOT_FLUSHING = "protected-or-not-flushing"
    NO_VOLATILE_CACHE = "no-volatile-cache"
    VIRTUAL = "virtual"
    LOOP = "loop"


def flush_verdict(baseline: IoBaseline) -> FlushVerdict:
    """Compare the rate of durable writes with the possible rate of similar drives without protection.

    A high rate means that a drive either keeps acknowledged writes, or does not write them: it does not
    decide which.
    """
    rate, devices = baseline.syncs_per_s(), baseline.devices
    if rate is None:
        return FlushVerdict.UNKNOWN
    if any(each.kind == "loop" for each in devices):
        return FlushVerdict.LOOP
    if baseline.virtual_machine or any(each.played_by for each in devices):
        return FlushVerdict.VIRTUAL
    most_per_s = _most_without_protection(devices)
    if most_per_s is None:
        return FlushVerdict.UNKNOWN
    if rate > most_per_s:
        has_none = all(each.write_cache == "write through" for each in devices)
        return FlushVerdict.NO_VOLATILE_CACHE if has_none else FlushVerdict.PROTECTED_OR_NOT_FLUSHING
    return FlushVerdict.AS_EXPECTED


def _most_without_protection(devices: tuple[BaselineDevice, ...]) -> float | None:
    """Return the possible flushes per second of this kind of drive; None if the kind is unknown."""
    if any(each.is_rotating for each in devices):
        return ROTATING_MOST_PER_S
    if not devices or any(each.is_rotating is None for each in devices):
        return None
    return FLASH_MOST_PER_S


FLUSH_WORDS: Final = {
    FlushVerdict.UNKNOWN: "",
    FlushVerdict.AS_EXPECTED: "",
    FlushVerdict.PROTECTED_OR_NOT_FLUSHING: tr(
        "Drives of this kind flush this fast only with power-loss protection, or if they ignore flushes. "
        "Find out which applies."
    ),
    FlushVerdict.NO_VOLATILE_CACHE: tr(
        "The drive reports no volatile cache, so the kernel sends it no flushes: durable if that is true."
    ),
    FlushVerdict.VIRTUAL: tr("A virtual disk: pgFooting cannot see how the host handles a flush."),
    FlushVerdict.LOOP: tr("A loop device: the flushes go to a file on another disk."),
}
"""Remark on the rate of flushes; empty for none."""
