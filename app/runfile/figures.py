"""The figures of a run: names, units, directions and headings. `app.runfile.summary` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.metrics import Direction
from app.domain.text import titled, tr


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


def _with_column(name: str, label: str, unit: str = "", better: Direction = Direction.LOWER) -> Figure:
    """Return a figure whose column is named like it."""
    heading = label if unit in {"", "B", "%", ":1", "µs"} else f"{label} {unit}"
    return Figure(name, label, unit, better, titled(heading))


def _percentile(name: str, percent: str) -> Figure:
    label = tr("latency, {percent}th percentile").format(percent=percent)
    return Figure(name, label, "ms", heading=f"p{percent} ms")


def _cost(name: str, what: str, unit: str = "") -> Figure:
    return _with_column(name, f"{what} / tx", unit)


FIGURES: Final = (
    Figure("tps", tr("transactions per second"), "1/s", Direction.HIGHER, heading="TPS"),
    Figure("tps_error", tr("standard error of the TPS within this run"), "1/s"),
    Figure("duration_s", tr("measured time"), "s", Direction.NEITHER),
    Figure("transactions", tr("transactions"), "", Direction.HIGHER),
    Figure("failed", tr("failed transactions"), ""),
    _with_column("skipped", tr("skipped")),
    _with_column("late", tr("late")),
    Figure("latency_limit_ms", tr("latency limit"), "ms", Direction.NEITHER),
    _with_column("latency_mean_ms", tr("mean latency"), "ms"),
    _percentile("latency_p50_ms", "50"),
    _percentile("latency_p95_ms", "95"),
    _percentile("latency_p99_ms", "99"),
    _percentile("latency_p999_ms", "99.9"),
    _with_column("latency_max_ms", tr("longest logged latency"), "ms"),
    Figure("lag_mean_ms", tr("mean schedule lag"), "ms"),
    _with_column("jitter_cv", tr("jitter")),
    _with_column("stall_s", tr("stalled"), "s"),
    _with_column("longest_stall_s", tr("longest stall"), "s"),
    _with_column("drift", tr("drift"), "", Direction.NEITHER),
    Figure("steady", tr("steady state (1 yes, 0 no)"), "", Direction.HIGHER),
    Figure("checkpoint_cycles", tr("complete checkpoint cycles"), "", Direction.NEITHER),
    _with_column("checkpoint_share", tr("TPS after a checkpoint / before the next"), "", Direction.NEITHER),
    _cost("device_read_bytes", tr("read"), "B"),
    _cost("device_write_bytes", tr("written"), "B"),
    _cost("device_reads", tr("reads")),
    _cost("device_writes", tr("writes")),
    _cost("device_flushes", tr("flushes")),
    _cost("wal_bytes", "WAL", "B"),
    Figure("write_amplification", tr("bytes written to the devices per byte that PostgreSQL wrote"), ""),
    _cost("server_cpu_us", tr("PostgreSQL CPU"), "µs"),
    _cost("pgbench_cpu_us", tr("pgbench CPU"), "µs"),
    _cost("kernel_cpu_us", tr("kernel CPU"), "µs"),
    Figure("pgbench_share", tr("pgbench: CPU utilisation of its threads"), "%"),
    Figure("table_extents", tr("table extents"), "", Direction.NEITHER),
    _with_column("load_rows_s", tr("loading rows"), "s"),
    _with_column("load_index_s", tr("building keys"), "s"),
    _with_column("load_vacuum_s", tr("vacuum"), "s"),
    _with_column("rows_ratio", tr("compressibility"), ":1", Direction.NEITHER),
    _with_column("tables_compressed", tr("in compressed extents"), "%", Direction.NEITHER),
    _with_column("tables_on_disk", tr("table size on disk"), "%", Direction.NEITHER),
    Figure("data_cached", tr("data still cached when measuring began"), "%", Direction.NEITHER),
    Figure("missed_ticks", tr("seconds without samples"), "s"),
    Figure("partial_seconds", tr("seconds with incomplete percentiles"), "s"),
)
