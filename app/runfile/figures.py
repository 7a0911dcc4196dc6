"""The figures of a run: names, units, directions and headings. `app.runfile.summary` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.metrics import Direction
from app.domain.text import tr


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the summary.

    Attributes:
        name: key in table `summary`.
        label: for users.
        unit: of the value.
        better: direction.
        heading: of its column, with the unit if cells have none; empty without a column.
    """

    name: str
    label: str
    unit: str
    better: Direction = Direction.LOWER
    heading: str = ""


FIGURES: Final = (
    Figure("tps", tr("transactions per second"), "1/s", Direction.HIGHER, heading=tr("TPS")),
    Figure("tps_error", tr("standard error of the TPS within this run"), "1/s"),
    Figure("duration_s", tr("measured time"), "s", Direction.NEITHER),
    Figure("transactions", tr("transactions"), "", Direction.HIGHER),
    Figure("failed", tr("failed transactions"), ""),
    Figure("skipped", tr("transactions skipped by the latency limit"), "", heading=tr("skipped")),
    Figure("late", tr("transactions above the latency limit"), "", heading=tr("late")),
    Figure("latency_limit_ms", tr("latency limit"), "ms", Direction.NEITHER),
    Figure("latency_mean_ms", tr("mean latency"), "ms", heading=tr("mean ms")),
    Figure("latency_p50_ms", tr("latency, 50th percentile"), "ms", heading=tr("p50 ms")),
    Figure("latency_p95_ms", tr("latency, 95th percentile"), "ms", heading=tr("p95 ms")),
    Figure("latency_p99_ms", tr("latency, 99th percentile"), "ms", heading=tr("p99 ms")),
    Figure("latency_p999_ms", tr("latency, 99.9th percentile"), "ms", heading=tr("p99.9 ms")),
    Figure("latency_max_ms", tr("longest logged latency"), "ms", heading=tr("longest ms")),
    Figure("lag_mean_ms", tr("mean schedule lag"), "ms"),
    Figure(
        "jitter_cv",
        tr("jitter: standard deviation over mean of the TPS per second"),
        "",
        heading=tr("jitter"),
    ),
    Figure(
        "stall_s",
        tr("stalls: seconds below 10 % of what was reached near them"),
        "s",
        heading=tr("stalled s"),
    ),
    Figure("longest_stall_s", tr("longest stall"), "s", heading=tr("longest stall s")),
    Figure(
        "drift",
        tr("drift: last tenth over first tenth, minus one"),
        "",
        Direction.NEITHER,
        heading=tr("drift"),
    ),
    Figure("steady", tr("steady over five rounds (1 yes, 0 no)"), "", Direction.HIGHER),
    Figure("checkpoint_cycles", tr("checkpoint cycles inside"), "", Direction.NEITHER),
    Figure(
        "checkpoint_share",
        tr("TPS after a checkpoint began by those before the next one"),
        "",
        Direction.NEITHER,
        heading=tr("after a checkpoint"),
    ),
    Figure("device_read_bytes", tr("device bytes read per transaction"), "B", heading=tr("read / tx")),
    Figure("device_write_bytes", tr("device bytes written per transaction"), "B", heading=tr("written / tx")),
    Figure("device_reads", tr("device reads per transaction"), ""),
    Figure("device_writes", tr("device writes per transaction"), "", heading=tr("writes / tx")),
    Figure("device_flushes", tr("device flushes per transaction"), "", heading=tr("flushes / tx")),
    Figure("wal_bytes", tr("WAL bytes per transaction"), "B", heading=tr("WAL / tx")),
    Figure("write_amplification", tr("bytes written to the devices per byte that PostgreSQL wrote"), ""),
    Figure("server_cpu_us", tr("CPU of PostgreSQL per transaction"), "µs", heading=tr("server CPU / tx")),
    Figure("pgbench_cpu_us", tr("CPU of pgbench per transaction"), "µs"),
    Figure("kernel_cpu_us", tr("CPU of kernel threads per transaction"), "µs", heading=tr("kernel CPU / tx")),
    Figure("pgbench_share", tr("pgbench: share of its threads' CPU"), "%"),
    Figure("table_extents", tr("extents of the tables"), "", Direction.NEITHER),
    Figure("load_rows_s", tr("loading the rows"), "s", heading=tr("rows s")),
    Figure("load_index_s", tr("building the primary keys"), "s", heading=tr("keys s")),
    Figure("load_vacuum_s", tr("vacuuming after loading"), "s", heading=tr("vacuum s")),
    Figure(
        "rows_ratio",
        tr("how far the loaded tables can be compressed (zstd -3 over 128 KiB)"),
        ":1",
        Direction.NEITHER,
        heading=tr("compressible"),
    ),
    Figure(
        "tables_compressed",
        tr("tables in compressed extents after loading"),
        "%",
        Direction.NEITHER,
        heading=tr("in compressed extents"),
    ),
    Figure(
        "tables_on_disk",
        tr("tables on the disk after loading, of their size"),
        "%",
        Direction.NEITHER,
        heading=tr("on the disk"),
    ),
    Figure("data_cached", tr("data still cached when measuring began"), "%", Direction.NEITHER),
    Figure("missed_ticks", tr("seconds without samples"), "s"),
    Figure("partial_seconds", tr("seconds whose percentiles are incomplete"), "s"),
)
