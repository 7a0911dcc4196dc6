"""Every available chart, one frozen object each, and the runs that charts show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from app.analysis.labels import one_line, with_warning
from app.comparison.label_shortening import identity_of, name_runs
from app.domain.text import titled, tr
from app.runfile.reader import RunEvent
from app.runfile.series import PhaseRegion, RunData
from ui.charts.data.scale import XQuantity
from ui.theme import STYLES

# Define the input of charts: a run with its colour and name.


Array = NDArray[np.float64]

STORAGE: Final = "storage."
"""Metrics with this prefix are sums over the chosen disks."""

MOST_DEVICES: Final = 3
"""Most different sets of devices listed in the heading of a chart."""


class PlotDataset(Protocol):
    """Data of a run, or of anything drawn like one; see `app.runfile.series`."""

    @property
    def begin_s(self) -> float:
        """Start of its axis, at most 0."""

    @property
    def end_s(self) -> float:
        """End of its axis."""

    @property
    def planned_s(self) -> float | None:
        """Planned end of its axis."""

    def series_keys(self) -> tuple[tuple[str, str], ...]:
        """Return (metric, instance) of every series."""

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:
        """Return (positions, values), ascending."""

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (positions, latency in ms)."""

    def stalls(self) -> list[tuple[float, float]]:
        """Return (start, end) of shaded intervals."""

    def checkpoints(self) -> list[tuple[float, float, RunEvent]]:
        """Return (start, end, event) of marked events."""


@runtime_checkable
class WithBand(Protocol):
    """Data with an interval around its values."""

    def band(self, metric: str) -> tuple[Array, Array]:
        """Return lower and upper limits of the values of `series`."""


def phases_of(data: PlotDataset) -> tuple[PhaseRegion, ...]:
    """Return the phases of a workload with several, in order; empty if there is only one."""
    return data.regions if isinstance(data, RunData) else ()


def notes_of(data: PlotDataset) -> tuple[tuple[float, str], ...]:
    """Return (position, words) of the user's notes about moments of a run."""
    found = data.notes if isinstance(data, RunData) else ()
    return tuple((t_s, one_line(words)) for t_s, words in found)


def devices_words(runs: Iterable[PlotDataset]) -> str:
    """Return the devices of the sums of these runs, for the heading of a chart; empty for no run."""
    with_sums = (run for run in runs if any(name.startswith(STORAGE) for name, _ in run.series_keys()))
    known = [run.devices for run in with_sums if isinstance(run, RunData)]
    sentences = list(dict.fromkeys(each or tr("devices not known") for each in known))
    if len(sentences) > MOST_DEVICES:
        return tr("the devices of each run")
    return "; ".join(sentences)


def load_words(runs: Iterable[PlotDataset]) -> str:
    """Return what the latencies of these runs omit, for the heading of a chart; empty for nothing."""
    if any(isinstance(run, RunData) and run.is_closed_loop for run in runs):
        return tr("closed loop: queueing time not counted")
    return ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A saved run on a chart.

    Attributes:
        run_id: identity, for signals and focus.
        data: its series.
        colour_index: number of its configuration; determines colour and mark, the same everywhere.
        label: its name in lists and boxes.
        visible: whether it is drawn.
        pale: whether it is in the background, as the earlier runs of a campaign.
        group: the same for repeats of one configuration; empty for a run without one.
        group_label: name of the configuration.
        warning: part of its name that is never shortened, such as UNSAFE.
    """

    run_id: str
    data: PlotDataset = field(repr=False, compare=False)
    colour_index: int
    label: str
    visible: bool = True
    pale: bool = False
    group: str = ""
    group_label: str = ""
    warning: str = ""


def named_traces(runs: Sequence[tuple[str, RunData, int]]) -> tuple[RunTrace, ...]:
    """Return runs as traces, each with the shortest unique name.

    Args:
        runs: (identity, series, number of its configuration).
    """
    identities = [identity_of(data) for _, data, _ in runs]
    names = name_runs(identities)
    return tuple(
        RunTrace(
            run_id,
            data,
            number,
            with_warning(name.run, name.warning),
            group="\n".join(identity.group),
            group_label=with_warning(name.configuration, name.warning),
            warning=name.warning,
        )
        for (run_id, data, number), identity, name in zip(runs, identities, names, strict=True)
    )


PERCENTILE: Final = "latency.p"
"""Prefix of a curve's metric for percentiles of the histograms: latency.p99 ..."""


EVERY: Final = "*"
"""Instance of a part: the sum of all instances."""

EACH: Final = "each"
"""Instance of a part: a separate curve for each instance (`expanded`)."""


@dataclass(frozen=True, slots=True)
class CurveSpec:
    """A line of a chart.

    Attributes:
        id: unique in the chart.
        label: as shown.
        parts: (metric, instance) pairs that are added up; the instance may be `EVERY` or `EACH`.
        style: number of the line style, 0 solid; only distinguishes curves of one run.
        shade: number of the shade of the run's colour, 0 unchanged; for curves of the same style.
        main: whether it is shown when many runs overlap.
        smooth: whether a running mean is drawn over the seconds.
    """

    id: str
    label: str
    parts: tuple[tuple[str, str], ...]
    style: int = 0
    main: bool = True
    smooth: bool = True
    shade: int = 0


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """A chart.

    Attributes:
        id: stable name, kept in settings.
        title: as shown.
        unit: of the axis, after `factor`.
        curves: its lines.
        log_y: whether the value axis is logarithmic.
        zero_based: whether the axis starts at zero.
        factor: from the metric's unit to the axis's.
        checkpoints: whether this chart shows the labels of checkpoints.
        along: quantity of the horizontal axis; a stack shows charts of one only.
        highest: upper limit of the axis; None for no limit.
    """

    id: str
    title: str
    unit: str
    curves: tuple[CurveSpec, ...]
    log_y: bool = False
    zero_based: bool = True
    factor: float = 1.0
    checkpoints: bool = False
    along: XQuantity = XQuantity.TIME
    highest: float | None = None

    @property
    def is_of_latencies(self) -> bool:
        """Whether it shows latencies: its heading then says what a closed loop omits from them."""
        return any(metric.startswith("latency.") for curve in self.curves for metric, _ in curve.parts)

    @property
    def is_of_devices(self) -> bool:
        """Whether it shows sums over the chosen disks: its heading then lists them."""
        return any(metric.startswith(STORAGE) for curve in self.curves for metric, _ in curve.parts)


def _one(metric: str) -> tuple[tuple[str, str], ...]:
    return ((metric, ""),)


def _program(name: str) -> tuple[tuple[str, str], ...]:
    return (("process.cpu_user", name), ("process.cpu_system", name))


def _each(curve_id: str, *metrics: str) -> CurveSpec:
    return CurveSpec(curve_id, "", tuple((metric, EACH) for metric in metrics), main=False)


_ALL: Final = (
    ChartSpec(
        "tps",
        titled(tr("transactions")),
        tr("per second"),
        (CurveSpec("tps", "TPS", _one("pgbench.tps")),),
    ),
    ChartSpec(
        "latency",
        titled(tr("latency")),
        "ms",
        (
            CurveSpec("p50", "p50", _one("latency.p50"), style=2, main=False),
            CurveSpec("p95", "p95", _one("latency.p95"), style=1, main=False),
            CurveSpec("p99", "p99", _one("latency.p99")),
        ),
        log_y=True,
        zero_based=False,
    ),
    ChartSpec(
        "iops",
        tr("Device operations"),
        tr("per second"),
        (
            CurveSpec("writes", tr("writes"), _one("storage.writes")),
            CurveSpec("flushes", tr("flushes"), _one("storage.flushes"), style=1, main=False),
            CurveSpec("reads", tr("reads"), _one("storage.reads"), style=2, main=False),
        ),
    ),
    ChartSpec(
        "throughput",
        tr("Device throughput"),
        "MB/s",
        (
            CurveSpec("written", tr("written"), _one("storage.write_bytes")),
            CurveSpec("read", tr("read"), _one("storage.read_bytes"), style=1, main=False),
        ),
        factor=1e-6,
    ),
    ChartSpec(
        "disk-iops",
        tr("Operations by disk"),
        tr("per second"),
        (
            CurveSpec("all", tr("all disks"), (*_one("storage.reads"), *_one("storage.writes"))),
            _each("disk", "device.reads", "device.writes"),
        ),
    ),
    ChartSpec(
        "disk-throughput",
        tr("Throughput by disk"),
        "MB/s",
        (
            CurveSpec("all", tr("all disks"), (*_one("storage.read_bytes"), *_one("storage.write_bytes"))),
            _each("disk", "device.read_bytes", "device.write_bytes"),
        ),
        factor=1e-6,
    ),
    ChartSpec(
        "flush-time",
        tr("{what}, mean time").format(what=titled(tr("flushes"))),
        "ms",
        (
            CurveSpec("all", tr("all disks"), _one("storage.flush_await")),
            _each("disk", "device.flush_await"),
        ),
        log_y=True,
        zero_based=False,
    ),
    ChartSpec(
        "write-time",
        tr("{what}, mean time").format(what=titled(tr("writes"))),
        "ms",
        (
            CurveSpec("all", tr("all disks"), _one("storage.write_await")),
            _each("disk", "device.write_await"),
        ),
        log_y=True,
        zero_based=False,
    ),
    ChartSpec(
        "array-missing",
        tr("Arrays: disks missing"),
        tr("disks"),
        (CurveSpec("missing", tr("missing"), (("array.missing_members", EVERY),), smooth=False),),
    ),
    ChartSpec(
        "array-sync",
        tr("Arrays: left to synchronise"),
        "GiB",
        (CurveSpec("remaining", tr("remaining"), (("array.sync_remaining", EVERY),), smooth=False),),
        factor=1 / 1024**3,
    ),
    ChartSpec(
        "cpu",
        "CPU",
        tr("cores busy"),
        (
            CurveSpec("postgres", "PostgreSQL", _program("postgres")),
            CurveSpec("pgbench", "pgbench", _program("pgbench"), style=1, main=False),
            CurveSpec("user", tr("machine, user"), _one("cpu.user"), style=2, main=False),
            CurveSpec("system", tr("machine, system"), _one("cpu.system"), style=3, main=False),
            CurveSpec("iowait", tr("I/O wait"), _one("cpu.iowait"), style=1, main=False, shade=1),
        ),
    ),
    ChartSpec(
        "wal",
        tr("WAL and checkpoints"),
        "MB/s",
        (CurveSpec("wal", tr("WAL written"), _one("wal.bytes")),),
        factor=1e-6,
        checkpoints=True,
    ),
    ChartSpec(
        "sessions",
        tr("Sessions by wait reason"),
        tr("sessions"),
        (
            CurveSpec("wal", "WAL", _one("sessions.for_wal")),
            CurveSpec("data", tr("data files"), _one("sessions.for_data"), style=1),
            CurveSpec(
                "locks",
                tr("locks"),
                (*_one("sessions.for_locks"), *_one("sessions.for_internals")),
                style=2,
            ),
            CurveSpec(
                "cpu",
                tr("a CPU or pgbench"),
                (*_one("sessions.running"), *_one("sessions.for_client")),
                style=3,
                main=False,
            ),
        ),
    ),
    ChartSpec(
        "run-queue",
        tr("Processes waiting for a CPU"),
        tr("processes"),
        (
            CurveSpec("postgres", "PostgreSQL", (("process.queueing", "postgres"),)),
            CurveSpec("pgbench", "pgbench", (("process.queueing", "pgbench"),), style=1, main=False),
        ),
    ),
    ChartSpec(
        "memory",
        titled(tr("memory")),
        "GiB",
        (
            CurveSpec("cached", tr("page cache"), _one("memory.cached"), smooth=False),
            CurveSpec("dirty", tr("dirty"), _one("memory.dirty"), style=1, main=False, smooth=False),
            CurveSpec(
                "available", tr("available"), _one("memory.available"), style=2, main=False, smooth=False
            ),
        ),
        factor=1 / 1024**3,
    ),
    ChartSpec(
        "pressure",
        tr("Pressure: tasks waiting"),
        "%",
        (
            CurveSpec("io", tr("some for I/O"), _one("pressure.io_some")),
            CurveSpec("cpu", tr("some for CPU"), _one("pressure.cpu_some"), style=1, main=False),
            CurveSpec("io_full", tr("all for I/O"), _one("pressure.io_full"), style=2, main=False),
            CurveSpec("memory", tr("some for memory"), _one("pressure.memory_some"), style=3, main=False),
        ),
    ),
    ChartSpec(
        "nines",
        tr("Latency by percentile"),
        "ms",
        (CurveSpec("nines", tr("latency"), _one("distribution.nines"), smooth=False),),
        log_y=True,
        zero_based=False,
        along=XQuantity.NINES,
    ),
    ChartSpec(
        "shares",
        tr("Transactions by latency (cumulative)"),
        "%",
        (CurveSpec("shares", tr("share"), _one("distribution.shares"), smooth=False),),
        factor=100.0,
        highest=100.0,
        along=XQuantity.LATENCY,
    ),
    ChartSpec(
        "sweep-tps",
        titled(tr("transactions")),
        tr("per second"),
        (CurveSpec("tps", "TPS", _one("sweep.tps"), smooth=False),),
        along=XQuantity.SWEPT,
    ),
    ChartSpec(
        "sweep-p99",
        titled(tr("latency, {percent}th percentile").format(percent=99)),
        "ms",
        (CurveSpec("p99", "p99", _one("sweep.latency_p99_ms"), smooth=False),),
        along=XQuantity.SWEPT,
    ),
)

CHARTS: Final[Mapping[str, ChartSpec]] = MappingProxyType(
    {chart.id: chart for chart in _ALL if chart.along is XQuantity.TIME}
)
"""All charts over time by id, in the order offered."""


def charts_along(along: XQuantity) -> Mapping[str, ChartSpec]:
    """Return the charts that a stack with this horizontal axis can show, by id."""
    return {chart.id: chart for chart in _ALL if chart.along is along}


DEFAULT_CHARTS: Final = ("tps", "iops", "cpu")


def expanded(chart: ChartSpec, keys: Iterable[tuple[str, str]]) -> ChartSpec:
    """Return a chart with each curve of `EACH` instance replaced by one curve per instance.

    Args:
        chart: of the registry.
        keys: (metric, instance) of the existing series.
    """
    if not any(instance == EACH for curve in chart.curves for _, instance in curve.parts):
        return chart
    known = tuple(keys)
    curves: list[CurveSpec] = []
    for curve in chart.curves:
        metrics = [metric for metric, instance in curve.parts if instance == EACH]
        if not metrics:
            curves.append(curve)
            continue
        # Number the instances over every metric of the kind, so that a disk has one colour in all charts.
        kind = metrics[0].partition(".")[0] + "."
        instances = sorted({instance for metric, instance in known if instance and metric.startswith(kind)})
        curves += [_of_instance(curve, each, len(curves) + number) for number, each in enumerate(instances)]
    return replace(chart, curves=tuple(curves))


def _of_instance(curve: CurveSpec, instance: str, place: int) -> CurveSpec:
    parts = tuple((metric, instance if each == EACH else each) for metric, each in curve.parts)
    label = f"{curve.label} {instance}".strip()
    shade, style = divmod(place, len(STYLES))
    return replace(curve, id=f"{curve.id}:{instance}", label=label, parts=parts, style=style, shade=shade)
