"""The I/O baseline: what a storage does by itself, asked before the first run on it. Pure.

fio asks for the kinds of I/O that PostgreSQL does, pg_test_fsync how often a write becomes durable. The
jobs are declared here; `app.execution.baseline` runs them, `app.io_baseline` reads what their programs print,
and a run file keeps the result (`app.runfile.metadata.run_metadata`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB


class JobId(StrEnum):
    """What fio is asked to do; stored in run files."""

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
        id: which one.
        label: what people read.
        pattern: fio's ``rw``.
        block_bytes: of one request.
        depth: requests in flight.
        seconds: how long it runs.
        syncs: each write is made durable before the next (fdatasync), through the page cache and at the end
            of a file that grows, as PostgreSQL writes new WAL; else direct I/O, within a file that is there.
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


FIO_JOBS: Final = (
    # The first one writes the file that the others but the last read and write.
    FioJob(JobId.SEQUENTIAL_WRITE, tr("sequential writes of 1 MiB"), "write", MIB, 8, 3),
    FioJob(JobId.SEQUENTIAL_READ, tr("sequential reads of 1 MiB"), "read", MIB, 8, 2),
    FioJob(JobId.RANDOM_READ, tr("random reads of 8 KiB, 1 in flight"), "randread", 8 * KIB, 1, 2),
    FioJob(JobId.RANDOM_READ_DEEP, tr("random reads of 8 KiB, 32 in flight"), "randread", 8 * KIB, 32, 2),
    FioJob(JobId.RANDOM_WRITE, tr("random writes of 8 KiB, 32 in flight"), "randwrite", 8 * KIB, 32, 3),
    FioJob(JobId.SYNC_APPEND, tr("appends of 8 KiB, each made durable"), "write", 8 * KIB, 1, 2, syncs=True),
)
"""In the order in which they run. 8 KiB is PostgreSQL's page as it is built nearly everywhere."""

FSYNC_SECONDS: Final = 1
"""Of each method of pg_test_fsync, which knows whole seconds."""

FSYNC_METHODS: Final = ("open_datasync", "fdatasync", "fsync", "open_sync")
"""Values of wal_sync_method on Linux."""

DEFAULT_METHOD: Final = "fdatasync"
"""Of wal_sync_method on Linux (PostgreSQL manual, "Write Ahead Log")."""

MOST_FILE_BYTES: Final = 4 * GIB
LEAST_FILE_BYTES: Final = 32 * MIB
SHARE_OF_FREE: Final = 4
"""The file has at most this part of what is free: the storage shall not be filled by asking."""
CACHED_WRITE_SECONDS: Final = 20
"""How long the file may grow towards twice the memory where the filesystem has no direct I/O."""

_STARTS_S: Final = 6
PLANNED_SECONDS: Final = _STARTS_S + len(FSYNC_METHODS) * FSYNC_SECONDS + sum(job.seconds for job in FIO_JOBS)
"""Of one storage: jobs, methods, and what seven programs need to start, to write back and to end."""

FROM_CACHE: Final = 0.5
"""A job of reads was answered by a cache where the disks were asked for less than this share of its bytes."""

ROTATING_MOST_PER_S: Final = 300.0
"""A disk of 15,000 revolutions a minute turns 250 times a second; each flush of a writer waits for a turn."""

FLASH_MOST_PER_S: Final = 5000.0
"""Between the fastest flash without protection and the slowest with it, as published.

Without power-loss protection 600 (Samsung 990 Pro) to 2,200 flushes a second, with it 17,000 and more:
tanelpoder.com/posts/using-pg-test-fsync-for-testing-low-latency-writes (2025) and
smalldatum.blogspot.com/2026/01/ssds-power-loss-protection-and-fsync.html.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRates:
    """What the disks below did, each per second, as the charts of a run count it; None: not counted.

    Attributes:
        reads: requests.
        writes: requests.
        flushes: requests; of the sync tests those of the fastest second.
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
    """What fio measured in one job.

    Attributes:
        job: a `JobId`; another word of a later version.
        operations_per_s: requests.
        bytes_per_s: bytes.
        latency_mean_us: of a request, with its fdatasync where there is one; microseconds.
        latency_p99_us: 99th percentile of the requests, of the fdatasyncs where there are any; microseconds.
        seconds: how long it ran.
        is_direct: past the page cache.
        device: what the disks did.
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
        """Share of the bytes read that the disks were asked for; None for writes, or where nobody counted."""
        read = self.device.read_bytes
        if read is None or self.job not in _READS or self.bytes_per_s <= 0:
            return None
        return read / self.bytes_per_s


_READS: Final = frozenset(job.id.value for job in FIO_JOBS if not job.writes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncMethod:
    """How often a second one writer of 8 kB makes a write durable by one method of wal_sync_method."""

    method: str = ""
    per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDevice:
    """A disk below.

    Attributes:
        name: of the kernel.
        kind: ``disk``, ``md``, ``dm``, ``loop`` ..., see `app.probes.base.backing_devices`.
        is_rotating: None where nobody tells.
        write_cache: ``write back`` or ``write through``, as the kernel has it; empty where nobody tells.
        played_by: who plays it, see `app.domain.virtual_disks`; empty for hardware.
    """

    name: str = ""
    kind: str = ""
    is_rotating: bool | None = None
    write_cache: str = ""
    played_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IoBaseline:
    """What a storage did by itself, before the first run on it.

    Attributes:
        measured_epoch_s: when; seconds since 1970.
        seconds: how long it took, without making and unmaking the storage.
        file_bytes: size of the file that was read and written.
        memory_bytes: of the machine, or the limit that held, whichever is less.
        jobs: what fio measured.
        sync_methods: what pg_test_fsync measured, each method once.
        sync_device: what the disks did in its fastest second.
        devices: below the file that is synced: the disks themselves.
        virtual_machine: what kind the machine is; empty on hardware.
        fio_version: as it says it; empty where it did not run.
        problems: sentences on what could not be measured, or not as it should be.
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
        """Return the result of a job; None where there is none."""
        return next((each for each in self.jobs if each.job == which.value), None)

    @property
    def limits(self) -> dict[str, float]:
        """What the disks did at most while they were asked, by metric of a run's series; never 0."""
        rates = (self.sync_device, *(each.device for each in self.jobs))
        found = {}
        for metric, name in LIMITED.items():
            known = [value for each in rates if (value := getattr(each, name)) is not None]
            if known and max(known) > 0:
                found[metric] = max(known)
        return found

    def syncs_per_s(self, method: str = DEFAULT_METHOD) -> float | None:
        """Return how often a second one writer makes a write durable; None where that was not measured."""
        return next((each.per_s for each in self.sync_methods if each.method == method), None)


LIMITED: Final = {
    "storage.reads": "reads",
    "storage.writes": "writes",
    "storage.flushes": "flushes",
    "storage.read_bytes": "read_bytes",
    "storage.write_bytes": "write_bytes",
}
"""Attribute of `DeviceRates` by the metric of a run that it is a limit of."""


class FlushVerdict(StrEnum):
    """What the rate of flushes says of the drive."""

    UNKNOWN = "unknown"
    AS_EXPECTED = "as-expected"
    PROTECTED_OR_NOT_FLUSHING = "protected-or-not-flushing"
    NO_VOLATILE_CACHE = "no-volatile-cache"
    VIRTUAL = "virtual"
    LOOP = "loop"


def flush_verdict(baseline: IoBaseline) -> FlushVerdict:
    """Judge how fast a storage makes writes durable against what drives of its kind can without protection.

    Nobody is accused: a rate says that a drive either keeps what it has acknowledged, or does not write it.
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
    """Return how many flushes a second drives of this kind can do; None where the kind is not known."""
    if any(each.is_rotating for each in devices):
        return ROTATING_MOST_PER_S
    if not devices or any(each.is_rotating is None for each in devices):
        return None
    return FLASH_MOST_PER_S


FLUSH_WORDS: Final = {
    FlushVerdict.UNKNOWN: "",
    FlushVerdict.AS_EXPECTED: "",
    FlushVerdict.PROTECTED_OR_NOT_FLUSHING: tr(
        "Drives of this kind cannot do that without power-loss protection: either protected or not flushing: "
        "find out which."
    ),
    FlushVerdict.NO_VOLATILE_CACHE: tr(
        "The drive says that it has no volatile cache, so that the kernel sends it no flushes: durable if "
        "that is true."
    ),
    FlushVerdict.VIRTUAL: tr("A virtual disk: what its host does with a flush cannot be seen from here."),
    FlushVerdict.LOOP: tr("A loop device: these are flushes of a file on another disk."),
}
"""What is said beside the rate of flushes; empty where there is nothing to say."""
