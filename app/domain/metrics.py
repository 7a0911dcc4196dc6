"""Every sampled quantity: one frozen object each, in one registry.

A series of a run file is a metric and an instance (a device, a family of kernel threads; empty for the
machine or the server as a whole). A probe may only yield metrics listed here.

Units: CPU time is in cores: 1.0 is one CPU busy all the time, on any machine, so that the machine,
PostgreSQL, pgbench and kernel threads share one axis and cost per transaction is ``cores / tps``. Shares
(pressure, utilisation) are in per cent. Rates are per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.text import titled, tr

SESSION_GROUPS: Final = (
    *("running", "for_client", "for_wal", "for_data", "for_locks", "for_internals", "for_others"),
)
"""What sessions wait for: the metrics ``sessions.*``."""
LOCKS: Final = tr("row and table locks")
INTERNALS: Final = tr("locks inside the server")
DATA_FILES: Final = tr("data files")
WAITED_FOR: Final = {
    "for_client": tr("pgbench, or a CPU to read its message"),
    "for_wal": "WAL",
    "for_data": DATA_FILES,
    "for_locks": LOCKS,
    "for_internals": INTERNALS,
    "for_others": tr("something else"),
}
"""Words for the groups that wait."""


class Direction(StrEnum):
    """Which direction is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """A sampled quantity.

    Attributes:
        id: stable name, stored in run files.
        label: name for users.
        unit: SI or plain unit of the stored value; rates are per second.
        source: origin of the number, for the facts panel and the documentation.
        better: direction.
        absent_is_zero: a second without a value means zero, not "unknown": such rare series are only stored
            when something happened, which keeps run files small.
    """

    id: str
    label: str
    unit: str
    source: str
    better: Direction = Direction.NEITHER
    absent_is_zero: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series.

    Attributes:
        metric: `Metric.id`.
        value: in the metric's unit.
        instance: device, thread name ...; empty for the whole.
    """

    metric: str
    value: float
    instance: str = ""


_PROGRESS: Final = "pgbench --progress=1"
_LOG: Final = "pgbench --log"
_STAT: Final = "/proc/stat"
_CPUFREQ: Final = "/sys/devices/system/cpu/cpuN/cpufreq"
_PID: Final = "/proc/PID/stat"
_BLOCK: Final = "/sys/block/DEVICE/stat"
_CHOSEN: Final = tr("sum of /sys/block/DEVICE/stat over the selected disks or those under the folder")
_MEMINFO: Final = "/proc/meminfo"
_IO_VIEW: Final = "pg_stat_io (16+), object <> 'wal'"

_MEAN_TIME: Final = tr("{what}, mean time")
_WRITTEN_BY: Final = tr("Buffers written by {process}")
_BY_OTHERS: Final = tr("{what} by other processes on these disks (lower bound)")


def _in_data_files(what: str) -> str:
    return f"{what} ({DATA_FILES})"


_PGBENCH: Final = (
    Metric("pgbench.tps", titled(tr("transactions")), "1/s", _PROGRESS, Direction.HIGHER),
    Metric("pgbench.latency_mean", titled(tr("mean latency")), "ms", _PROGRESS, Direction.LOWER),
    Metric(
        "pgbench.latency_stddev",
        tr("Standard deviation of latency"),
        "ms",
        _PROGRESS,
        Direction.LOWER,
    ),
    Metric(
        "pgbench.failed",
        titled(tr("failed transactions")),
        "transactions",
        _PROGRESS,
        Direction.LOWER,
    ),
    Metric("pgbench.lag", tr("Schedule lag"), "ms", _PROGRESS, Direction.LOWER),
    Metric(
        "pgbench.skipped",
        tr("Skipped transactions"),
        "transactions",
        _PROGRESS,
        Direction.LOWER,
    ),
    Metric(
        "pgbench.retried",
        tr("Retried transactions"),
        "transactions",
        _PROGRESS,
        Direction.LOWER,
    ),
    *(
        Metric(
            f"latency.p{percent}",
            titled(tr("latency, {percent}th percentile").format(percent=percent)),
            "ms",
            _LOG,
            Direction.LOWER,
        )
        for percent in (50, 95, 99)
    ),
)

_CPU: Final = (
    Metric("cpu.user", tr("User CPU"), "cores", _STAT),
    Metric("cpu.system", tr("System CPU"), "cores", _STAT),
    Metric("cpu.interrupt", tr("Interrupt CPU"), "cores", _STAT),
    Metric(
        "cpu.iowait",
        tr("Idle with I/O outstanding (iowait)"),
        "cores",
        tr("/proc/stat; idle time that the kernel itself calls unreliable; see pressure"),
    ),
    Metric("cpu.steal", tr("CPU taken by the hypervisor (steal)"), "cores", _STAT, Direction.LOWER),
    Metric(
        "cpu.throttled",
        tr("CPU thermal throttling time"),
        "%",
        "/sys/devices/system/cpu/cpuN/thermal_throttle",
        Direction.LOWER,
    ),
    Metric("cpu.frequency", tr("Mean CPU frequency"), "MHz", _CPUFREQ, Direction.HIGHER),
    Metric("cpu.frequency_limit", tr("Mean CPU frequency limit"), "MHz", _CPUFREQ, Direction.HIGHER),
    Metric("process.cpu_user", tr("User CPU by program"), "cores", _PID),
    Metric("process.cpu_system", tr("System CPU by program"), "cores", _PID),
    Metric(
        "process.pgbench_share",
        tr("pgbench: CPU utilisation of its threads"),
        "%",
        tr("/proc/PID/stat; at 90 % pgbench itself is the bottleneck"),
        Direction.LOWER,
    ),
    Metric(
        "process.queueing",
        tr("Processes waiting for a CPU"),
        "processes",
        "/proc/PID/schedstat",
        Direction.LOWER,
    ),
    Metric("process.server_processes", tr("Server processes"), "processes", "/proc/PID"),
    Metric(
        "kernel.cpu",
        tr("kernel CPU"),
        "cores",
        "/proc/PID/schedstat",
        Direction.LOWER,
        absent_is_zero=True,
    ),
)


def _of_requests(whose: str, source: str) -> tuple[Metric, ...]:
    """Return the metrics of block devices: of the chosen ones together (``storage``) and of each."""
    return (
        Metric(f"{whose}.reads", titled(tr("reads")), "1/s", source),
        Metric(f"{whose}.writes", titled(tr("writes")), "1/s", source),
        Metric(f"{whose}.flushes", titled(tr("flushes")), "1/s", source),
        Metric(f"{whose}.read_bytes", titled(tr("read")), "B/s", source),
        Metric(f"{whose}.write_bytes", titled(tr("written")), "B/s", source),
        Metric(
            f"{whose}.read_await", _MEAN_TIME.format(what=titled(tr("reads"))), "ms", source, Direction.LOWER
        ),
        Metric(
            f"{whose}.write_await",
            _MEAN_TIME.format(what=titled(tr("writes"))),
            "ms",
            source,
            Direction.LOWER,
        ),
        Metric(
            f"{whose}.flush_await",
            _MEAN_TIME.format(what=titled(tr("flushes"))),
            "ms",
            source,
            Direction.LOWER,
        ),
        Metric(f"{whose}.queue", tr("Requests in flight"), "requests", source),
    )


_STORAGE: Final = (
    *_of_requests("storage", _CHOSEN),
    *_of_requests("device", _BLOCK),
    Metric("device.discards", tr("Discards"), "1/s", _BLOCK, absent_is_zero=True),
    Metric(
        "device.utilisation",
        tr("Time with requests in flight"),
        "%",
        tr("/sys/block/DEVICE/stat; says little about saturation of devices that work in parallel"),
    ),
)

_MD: Final = "/sys/block/mdX/md"
_ARC: Final = "/proc/spl/kstat/zfs/arcstats"
_DATASET: Final = "/proc/spl/kstat/zfs/POOL/objset-*"
_ZIL: Final = tr("/proc/spl/kstat/zfs; of the dataset from OpenZFS 2.2 on, of all pools before")
_BTRFS: Final = "/sys/fs/btrfs/UUID/commit_stats"

_FILESYSTEMS: Final = (
    Metric(
        "array.missing_members",
        tr("Missing array members"),
        "disks",
        _MD,
        Direction.LOWER,
        absent_is_zero=True,
    ),
    Metric(
        "array.sync_remaining",
        tr("Left to synchronise"),
        "B",
        _MD,
        Direction.LOWER,
        absent_is_zero=True,
    ),
    Metric(
        "array.sync_speed",
        tr("Synchronisation speed"),
        "B/s",
        _MD,
        absent_is_zero=True,
    ),
    Metric("zfs.arc_size", tr("ARC size"), "B", _ARC),
    Metric("zfs.arc_target", tr("ARC target size"), "B", _ARC),
    Metric("zfs.arc_hits", tr("ARC hits"), "1/s", _ARC),
    Metric("zfs.arc_misses", tr("ARC misses"), "1/s", _ARC, Direction.LOWER),
    Metric(
        "zfs.arc_demand_data_misses",
        tr("ARC misses") + " (demand data)",
        "1/s",
        _ARC,
        Direction.LOWER,
    ),
    Metric("zfs.reads", titled(tr("reads")) + " (ZFS)", "1/s", _DATASET),
    Metric("zfs.writes", titled(tr("writes")) + " (ZFS)", "1/s", _DATASET),
    Metric("zfs.read_bytes", titled(tr("read")) + " (ZFS)", "B/s", _DATASET),
    Metric("zfs.write_bytes", titled(tr("written")) + " (ZFS)", "B/s", _DATASET),
    Metric("zfs.log_commits", tr("Intent log commits"), "1/s", _ZIL),
    Metric("zfs.log_bytes", tr("Written to the intent log"), "B/s", _ZIL),
    Metric("zfs.log_device_bytes", tr("Written to log devices"), "B/s", _ZIL),
    Metric("btrfs.commits", tr("Commits") + " (btrfs)", "1/s", _BTRFS),
    Metric(
        "btrfs.commit_time",
        _MEAN_TIME.format(what=tr("Commits") + " (btrfs)"),
        "ms",
        _BTRFS,
        Direction.LOWER,
    ),
    Metric(
        "btrfs.device_errors",
        tr("btrfs device errors"),
        "errors",
        "/sys/fs/btrfs/UUID/devinfo/ID/error_stats",
        Direction.LOWER,
        absent_is_zero=True,
    ),
)

_FOREIGN_IO: Final = tr("other partitions of the disks in /sys/block, or other control groups in io.stat")

_OTHERS: Final = (
    Metric(
        "others.read_bytes",
        _BY_OTHERS.format(what=titled(tr("read"))),
        "B/s",
        _FOREIGN_IO,
        Direction.LOWER,
    ),
    Metric(
        "others.write_bytes",
        _BY_OTHERS.format(what=titled(tr("written"))),
        "B/s",
        _FOREIGN_IO,
        Direction.LOWER,
    ),
    Metric(
        "others.maintenance",
        tr("Programs that trim, check or move filesystems"),
        "processes",
        "/proc/PID/comm",
        Direction.LOWER,
    ),
    Metric(
        "others.maintaining",
        tr("Programs that trim, check or move filesystems"),
        "processes",
        "/proc/PID/cmdline",
        Direction.LOWER,
        absent_is_zero=True,
    ),
)

_MEMORY: Final = (
    Metric("memory.available", tr("Available memory"), "B", _MEMINFO),
    Metric("memory.cached", titled(tr("page cache")), "B", _MEMINFO),
    Metric("memory.shared", tr("Shared memory and tmpfs"), "B", _MEMINFO),
    Metric("memory.dirty", tr("Dirty pages"), "B", _MEMINFO),
    Metric("memory.writeback", tr("Pages being written"), "B", _MEMINFO),
    Metric("memory.swap_used", tr("Swap in use"), "B", _MEMINFO, Direction.LOWER),
    Metric("memory.swap_in", tr("Swapped in"), "B/s", "/proc/vmstat", Direction.LOWER),
)

_SOME: Final = tr("Some tasks waited for {resource}")
_ALL: Final = tr("All tasks waited for {resource}")

_PRESSURE: Final = tuple(
    Metric(
        f"pressure.{name}", label.format(resource=resource), "%", f"/proc/pressure/{file}", Direction.LOWER
    )
    for name, label, resource, file in (
        ("cpu_some", _SOME, "CPU", "cpu"),
        ("io_some", _SOME, "I/O", "io"),
        ("io_full", _ALL, "I/O", "io"),
        ("memory_some", _SOME, tr("memory"), "memory"),
        ("memory_full", _ALL, tr("memory"), "memory"),
    )
)

_WAL: Final = (
    Metric("wal.bytes", "WAL", "B/s", "pg_current_wal_insert_lsn()"),
    Metric("wal.records", tr("WAL records"), "1/s", "pg_stat_wal"),
    Metric("wal.full_page_images", tr("Full-page images"), "1/s", "pg_stat_wal"),
    Metric("wal.buffers_full", tr("WAL buffers full"), "1/s", "pg_stat_wal", Direction.LOWER),
    Metric("wal.writes", titled(tr("writes")) + " (WAL)", "1/s", "pg_stat_wal (18+: pg_stat_io)"),
    Metric("wal.syncs", tr("Syncs") + " (WAL)", "1/s", "pg_stat_wal (18+: pg_stat_io)"),
)

_CHECKPOINTER: Final = "pg_stat_bgwriter (17+: pg_stat_checkpointer)"
_BACKENDS: Final = "pg_stat_bgwriter (17+: pg_stat_io, client backend)"

_SERVER: Final = (
    Metric(
        "server.blocks_hit",
        tr("Shared buffer hits"),
        "1/s",
        "pg_stat_database",
    ),
    Metric("server.blocks_read", tr("Blocks read"), "1/s", "pg_stat_database"),
    Metric(
        "server.commits",
        tr("Commits"),
        "1/s",
        tr("pg_stat_database, in imported runs only: backends report at most once a second"),
        Direction.HIGHER,
    ),
    Metric(
        "server.temp_bytes",
        tr("Temporary files"),
        "B/s",
        "pg_stat_database",
        Direction.LOWER,
        absent_is_zero=True,
    ),
    Metric(
        "server.checkpoints_timed",
        tr("Timed checkpoints"),
        "checkpoints",
        _CHECKPOINTER,
        absent_is_zero=True,
    ),
    Metric(
        "server.checkpoints_requested",
        tr("Requested checkpoints"),
        "checkpoints",
        _CHECKPOINTER,
        absent_is_zero=True,
    ),
    Metric(
        "server.buffers_checkpoint",
        _WRITTEN_BY.format(process="checkpointer"),
        "1/s",
        _CHECKPOINTER,
    ),
    Metric(
        "server.buffers_clean",
        _WRITTEN_BY.format(process="background writer"),
        "1/s",
        "pg_stat_bgwriter",
    ),
    Metric(
        "server.buffers_backend",
        _WRITTEN_BY.format(process="backends"),
        "1/s",
        _BACKENDS,
        Direction.LOWER,
    ),
    Metric(
        "server.backend_syncs",
        tr("Syncs by backends"),
        "1/s",
        _BACKENDS,
        Direction.LOWER,
        absent_is_zero=True,
    ),
    Metric("server.io_reads", _in_data_files(titled(tr("reads"))), "1/s", _IO_VIEW),
    Metric("server.io_writes", _in_data_files(titled(tr("writes"))), "1/s", _IO_VIEW),
    Metric("server.io_extends", _in_data_files(tr("Extensions")), "1/s", _IO_VIEW),
    Metric("server.io_syncs", _in_data_files(tr("Syncs")), "1/s", _IO_VIEW),
    Metric("server.io_read_bytes", _in_data_files(titled(tr("read"))), "B/s", _IO_VIEW),
    Metric("server.io_write_bytes", _in_data_files(titled(tr("written"))), "B/s", _IO_VIEW),
)

_ACTIVITY: Final = "pg_stat_activity, 1/s"

_SESSIONS_WAIT: Final = tr("Sessions waiting for {what}")

_SESSIONS: Final = (
    Metric("sessions.clients", tr("pgbench sessions"), "sessions", _ACTIVITY),
    Metric("sessions.running", tr("Sessions on a CPU"), "sessions", _ACTIVITY),
    *(
        Metric(f"sessions.{group}", _SESSIONS_WAIT.format(what=what), "sessions", _ACTIVITY)
        for group, what in WAITED_FOR.items()
    ),
    Metric("sessions.at_event", tr("Sessions at a wait event"), "sessions", _ACTIVITY, absent_is_zero=True),
)

METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        metric.id: metric
        for group in (
            _PGBENCH,
            _CPU,
            _STORAGE,
            _FILESYSTEMS,
            _OTHERS,
            _MEMORY,
            _PRESSURE,
            _WAL,
            _SERVER,
            _SESSIONS,
        )
        for metric in group
    }
)
"""All metrics by id, in display order."""
