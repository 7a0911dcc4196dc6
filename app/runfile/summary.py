"""Compute the figures of a run from its run file, equally for a finished, stopped or abandoned run.

All figures are over the phase `measure` alone, after a cut over the rest of it: all of them are of the same
seconds. Costs per transaction are the mean rate of a series divided by the mean TPS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import CorruptRunFileError
from app.domain.metrics import METRICS
from app.domain.run import Phase
from app.domain.text import tr
from app.postgres.pgbench.histogram import Histogram
from app.runfile.figures import FIGURES
from app.runfile.histogram_decoding import merge_encoded
from app.runfile.metadata.offered_load import offered_load
from app.runfile.metadata.run_metadata import IMPORTED, RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import PhaseTimes, RunFile
from app.statistics.series import (
    SteadyState,
    checkpoint_effect,
    drift,
    jitter,
    quantile,
    steady_state,
    within_run_error,
)

# The checkpoints of a run's measured phase, from the server's log.


STARTED = "checkpoint-start"
COMPLETE = "checkpoint-complete"

Span = tuple[float, float]


def checkpoint_spans(run: RunFile, measured: PhaseTimes, duration_s: float) -> tuple[Span, ...] | None:
    """Return (start_s, end_s) of the checkpoints that started in the measured phase, relative to its start.

    One without an end lasts to the end of the phase.

    Args:
        run: the file.
        measured: the phase.
        duration_s: its length.

    Returns:
        None if the run has no checkpoint at all, not even the one before the measurement: then they were not
            recorded.
    """
    found: list[Span] = []
    started: float | None = None
    is_reported = False
    for t_ms, is_start in run.event_times(STARTED, COMPLETE):
        t_s = (t_ms - measured.started_ms) / 1000
        if is_start:
            started, is_reported = t_s, True
        elif started is not None:
            found.append((started, min(t_s, duration_s)))
            started = None
    if started is not None:
        found.append((started, duration_s))
    return tuple(span for span in found if 0 <= span[0] < duration_s) if is_reported else None


EDGE_S: Final = 0.5
"""A second counts after a cut if more than half of it is kept."""

DEFINITIONS: Final = 2
"""Version of the definitions of the `_REDEFINED` figures, stored with them; earlier files have none.

1: "steady" allows for the autocorrelation of seconds, stalls are relative to the throughput near them, and
costs of checkpoints to their cycles. 2: reports longer than a second give no figures of anything shorter.
"""

_OF_OWN_RUNS: Final = 1
"""The newest version that changed anything for a run measured here."""

_REDEFINED: Final = (
    *("stall_s", "longest_stall_s", "steady", "checkpoint_share"),
    *("jitter_cv", "drift", "tps_error"),
)

_NO_CHECKPOINTS: Final = frozenset({"select-only"})
"""Read-only workloads: a checkpoint has nothing to write."""

_LONGEST_RUN_S: Final = 100 * 86400


_PER_TRANSACTION: Final = (
    ("device_read_bytes", "storage.read_bytes", 1.0),
    ("device_write_bytes", "storage.write_bytes", 1.0),
    ("device_reads", "storage.reads", 1.0),
    ("device_writes", "storage.writes", 1.0),
    ("device_flushes", "storage.flushes", 1.0),
    ("wal_bytes", "wal.bytes", 1.0),
)
"""(figure, metric, factor): rates of the machine or server as a whole."""


@np.errstate(over="ignore", invalid="ignore")  # infinite sums of a foreign file are not figures
def summarise(run: RunFile, cut_s: float = 0.0, part: int = 0) -> dict[str, float | None]:
    """Return all known figures; empty if the phase was not reached.

    Args:
        run: its file.
        cut_s: seconds excluded at the start of the phase. pgbench's summary covers all of it: after a cut,
            TPS, latency and counts come from its reports.
        part: number of the phase of a workload with several; 0 for the phase `measure`.
    """
    measured = run.phase(Phase.PART, part) if part else run.phase(Phase.MEASURE)
    if measured is None:
        return {}
    reports, end_ms = _reports(run, measured, cut_s)
    start_ms = reports.start_ms
    figures: dict[str, float | None] = {figure.name: None for figure in FIGURES}
    metadata = run.metadata.of_phase(part)
    figures |= _after_cut(run, reports) if cut_s else _throughput(metadata, start_ms, end_ms, reports)
    starts_s = _checkpoint_starts(run, measured, start_ms, end_ms)
    figures |= _shape(metadata, reports, starts_s or ())
    if starts_s is not None and known(metadata.workload.label, "") not in _NO_CHECKPOINTS:
        figures["checkpoint_cycles"] = float(max(0, len(starts_s) - 1))
    limit_ms = figures["latency_limit_ms"] = offered_load(metadata).limit_ms
    printed = not isinstance(metadata.pgbench, NotKnown)
    figures |= _latencies(run, start_ms, end_ms, limit_ms, is_whole=not cut_s, is_printed=printed)
    figures |= _costs(run, start_ms, end_ms, figures["tps"])
    if not part:  # of the loaded data, not of a phase
        figures |= _loading(metadata)
        figures |= _stored(metadata)
        figures |= _cached(metadata)
    ticks = run.ticks()
    during = (ticks[:, 1] > start_ms) & (ticks[:, 1] <= end_ms)
    figures["missed_ticks"] = float(ticks[during, 3].sum())
    return {name: _plain(value) for name, value in figures.items()}


@dataclass(frozen=True, slots=True)
class _Reports:
    """pgbench's reports of the seconds that count.

    Attributes:
        start_ms: start of the first.
        t_ms: end of each report.
        tps: of each.
        lengths_s: of each.
    """

    start_ms: float
    t_ms: NDArray[np.float64]
    tps: NDArray[np.float64]
    lengths_s: NDArray[np.float64]


def _loading(metadata: RunMetadata) -> dict[str, float | None]:
    """Return the times of loading, and the number of the tables' extents; empty for earlier files."""
    data_set = or_none(metadata.data_set)
    if data_set is None:
        return {}
    return {
        "table_extents": None if data_set.extents is None else float(data_set.extents),
        "load_rows_s": data_set.rows_s,
        "load_index_s": data_set.index_s,
        "load_vacuum_s": data_set.vacuum_s,
    }


def _stored(metadata: RunMetadata) -> dict[str, float | None]:
    """Return the tables' compressibility, and the result of a compressing filesystem, in percent."""
    stored, sampled = or_none(metadata.stored), or_none(metadata.sampled)
    figures = {"rows_ratio": None if sampled is None else sampled.ratio}
    if stored is None or stored.logical_bytes <= 0:
        return figures
    if stored.encoded_bytes is not None:  # stat(2) reports uncompressed sizes there
        return figures | {"tables_compressed": 100 * stored.encoded_bytes / stored.logical_bytes}
    return figures | {"tables_on_disk": 100 * stored.disk_bytes / stored.logical_bytes}


def _cached(metadata: RunMetadata) -> dict[str, float | None]:
    """Return the data still cached after the caches were emptied, in percent."""
    cached = or_none(metadata.cached)
    if cached is None or cached.data_bytes <= 0:
        return {}
    return {"data_cached": 100 * cached.cached_bytes / cached.data_bytes}


def _reports(run: RunFile, measured: PhaseTimes, cut_s: float) -> tuple[_Reports, float]:
    """Return the reports of the measured phase, without those before a cut, and its end."""
    t_ms, tps = run.samples("pgbench.tps")
    started_ms = float(measured.started_ms)
    last_ms = t_ms[-1] if len(t_ms) else measured.started_ms
    end_ms = float(measured.ended_ms if measured.ended_ms is not None else last_ms)
    inside = (t_ms > started_ms) & (t_ms <= end_ms)
    t_ms, tps = t_ms[inside], tps[inside]
    lengths_s = np.diff(t_ms, prepend=started_ms) / 1000
    if not cut_s:
        return _Reports(started_ms, t_ms, tps, lengths_s), end_ms
    kept = t_ms / 1000 - lengths_s >= started_ms / 1000 + cut_s - EDGE_S
    first_ms = float(t_ms[kept][0] - 1000 * lengths_s[kept][0]) if kept.any() else started_ms + 1000 * cut_s
    return _Reports(first_ms, t_ms[kept], tps[kept], lengths_s[kept]), end_ms


def _plain(value: float | None) -> float | None:
    """Return a figure, or None if it is not finite."""
    return None if value is None or not np.isfinite(value) else float(value)


def _throughput(
    metadata: RunMetadata, start_ms: float, end_ms: float, reports: _Reports
) -> dict[str, float | None]:
    """Return TPS from pgbench's own summary; without one, from its reports weighted by their length."""
    if metadata.printed("tps") is not None:
        return {
            "tps": metadata.printed("tps"),
            "transactions": metadata.printed("transactions"),
            "failed": metadata.printed("failed"),
            "skipped": metadata.printed("skipped"),
            "late": metadata.printed("above_latency_limit"),
            "latency_mean_ms": metadata.printed("latency_ms"),
            "lag_mean_ms": metadata.printed("lag_ms"),
            "duration_s": (end_ms - start_ms) / 1000,
        }
    return _reported(reports)


def _reported(reports: _Reports) -> dict[str, float | None]:
    if not len(reports.tps):
        return {}
    transactions = float(np.sum(reports.tps * reports.lengths_s))
    duration_s = float(reports.t_ms[-1] - reports.start_ms) / 1000
    return {"tps": transactions / duration_s, "transactions": transactions, "duration_s": duration_s}


def _after_cut(run: RunFile, reports: _Reports) -> dict[str, float | None]:
    """Return TPS, latency and counts from pgbench's reports after the cut."""
    figures = _reported(reports)
    if not figures:
        return {}
    for name, metric in (("failed", "pgbench.failed"), ("skipped", "pgbench.skipped")):
        t_ms, counts = run.samples(metric)
        kept = (t_ms > reports.start_ms) & (t_ms <= reports.t_ms[-1])
        figures[name] = float(counts[kept].sum()) if len(t_ms) else None
    weights = reports.tps * reports.lengths_s
    for name, metric in (("latency_mean_ms", "pgbench.latency_mean"), ("lag_mean_ms", "pgbench.lag")):
        t_ms, means = run.samples(metric)
        both, mine, theirs = np.intersect1d(reports.t_ms, t_ms, assume_unique=False, return_indices=True)
        known = np.isfinite(means[theirs])
        done = float(weights[mine][known].sum())
        if len(both) and done > 0:
            figures[name] = float((weights[mine] * means[theirs])[known].sum()) / done
    return figures


def without_sampling_noise(cv: float | None, mean_tps: float, one_in: float, seconds: int) -> float | None:
    """Return the jitter of a run with TPS by the second from a sampled log; None below its noise.

    Of N transactions a second, each logged with the probability 1/n, n times the lines have the variance of N
    plus (n - 1) times its mean: the variance of a thinned count. The second part is the noise of the sample.

    Args:
        cv: standard deviation over mean of the scaled seconds.
        mean_tps: their mean.
        one_in: n; 1 if every transaction is known.
        seconds: their number; the relative error of their variance is sqrt(2 / seconds).
    """
    if cv is None or one_in <= 1 or mean_tps <= 0:
        return cv
    noise = (one_in - 1) / mean_tps
    left = cv**2 - noise
    return math.sqrt(left) if left > 2 * noise * math.sqrt(2 / seconds) else None


def _checkpoint_starts(
    run: RunFile, measured: PhaseTimes, start_ms: float, end_ms: float
) -> tuple[float, ...] | None:
    """Return the starts of checkpoints, relative to the first counted second; None if not recorded."""
    spans = checkpoint_spans(run, measured, (end_ms - measured.started_ms) / 1000)
    if spans is None:
        return None
    cut_s = (start_ms - measured.started_ms) / 1000
    return tuple(started - cut_s for started, _ in spans if started >= cut_s - EDGE_S)


def report_interval_s(metadata: RunMetadata, lengths_s: NDArray[np.float64]) -> int:
    """Return the seconds per report: 1 in our own runs, as requested; imported runs vary."""
    if known(metadata.target.kind, "") != IMPORTED or not len(lengths_s):
        return 1
    return usual_length_s(lengths_s)


def usual_length_s(lengths_s: NDArray[np.float64]) -> int:
    """Return the usual seconds per report from the lengths of all, at least one; at least 1."""
    return max(1, round(quantile(lengths_s, 0.5)))


def _shape(
    metadata: RunMetadata, reports: _Reports, checkpoints_s: Sequence[float]
) -> dict[str, float | None]:
    interval_s = report_interval_s(metadata, reports.lengths_s)
    tps = seconds_of(reports.t_ms, reports.tps, reports.start_ms, interval_s)
    if len(tps) < 2:
        return {}
    try:
        found = _shape_of(tps, known(metadata.tps_one_in, 0) or 1.0, checkpoints_s, interval_s)
    except ValueError as error:  # negative, or impossibly large
        raise CorruptRunFileError(tr("The run file is damaged: it contains impossible TPS.")) from error
    return found if interval_s == 1 else found | unseen_between_reports(found)


def steady_reports(tps: NDArray[np.float64], checkpoints_s: Sequence[float], interval_s: int) -> SteadyState:
    """Return whether a run was steady, by its reports: their seconds are not independent values.

    Args:
        tps: by the second.
        checkpoints_s: starts of checkpoints.
        interval_s: seconds per report.
    """
    return steady_state(tps[::interval_s], [start_s / interval_s for start_s in checkpoints_s])


def unseen_between_reports(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the figures that reports longer than a second do not show.

    The variation of their seconds is unknown; if no report stalled, a second still may have.
    """
    stalls = {name: found.get(name) or None for name in ("stall_s", "longest_stall_s")}
    return {"jitter_cv": None, **stalls}


def _shape_of(
    tps: NDArray[np.float64], one_in: float, checkpoints_s: Sequence[float], interval_s: int
) -> dict[str, float | None]:
    shape, steady = jitter(tps), steady_reports(tps, checkpoints_s, interval_s).steady
    effect = checkpoint_effect(tps, checkpoints_s)
    known = tps[~np.isnan(tps)]
    mean_tps = float(known.mean()) if len(known) else 0.0
    return {
        "jitter_cv": without_sampling_noise(shape.cv, mean_tps, one_in, len(known)),
        "stall_s": float(shape.stall_seconds),
        "longest_stall_s": float(shape.longest_stall_s),
        "drift": drift(tps).change,
        "tps_error": within_run_error(tps).standard_error,
        "steady": None if steady is None else float(steady),
        "checkpoint_share": None if effect is None else 1 + effect.change,
    }


def seconds_of(
    t_ms: NDArray[np.float64], tps: NDArray[np.float64], start_ms: float, interval_s: int = 1
) -> NDArray[np.float64]:
    """Return TPS by the second; NaN for seconds outside of reports of the usual length.

    A missing line means that pgbench itself was blocked: that second is unknown, not a stall of the server
    (which prints 0.0 tps).

    Args:
        t_ms: end of each report.
        tps: mean of each.
        start_ms: start of the first.
        interval_s: seconds per report; each of them gets its mean.
    """
    lengths = np.maximum(1, np.rint(np.diff(t_ms, prepend=start_ms) / 1000 / interval_s))
    if interval_s * lengths.sum() > _LONGEST_RUN_S:
        raise CorruptRunFileError(tr("The run file is damaged: its seconds span more than a hundred days."))
    lengths = lengths.astype(int)
    reports = np.full(int(lengths.sum()), np.nan)
    reports[np.cumsum(lengths) - 1] = tps
    return np.repeat(reports, interval_s)


def _latencies(
    run: RunFile, start_ms: float, end_ms: float, limit_ms: float | None, *, is_whole: bool, is_printed: bool
) -> dict[str, float | None]:
    """Return the percentiles of all offered transactions, including skipped ones.

    Those had waited for as long as the limit allows when they were skipped: if a percentile falls among them,
    the limit is its lower bound (`is_lower_bound`).
    """
    partial = transactions = latency_sum_us = skipped = 0

    def encoded() -> Iterator[bytes]:
        nonlocal partial, transactions, latency_sum_us, skipped
        for second in run.latency_seconds():  # one by one: a day has 86 400
            # Seconds of the log are aligned to the clock, not to the start of the phase or the cut.
            if start_ms - (0 if is_whole else 1000 * EDGE_S) <= second.t_ms <= end_ms:
                partial += second.partial
                transactions += second.transactions
                latency_sum_us += second.latency_sum_us
                skipped += second.skipped
                yield second.buckets

    whole = merge_encoded(encoded())
    if not transactions:
        return {"partial_seconds": float(partial)}
    figures = {
        name: _percentile_ms(whole, percent, skipped, limit_ms) for name, percent in _PERCENTILES.items()
    }
    figures["latency_max_ms"] = whole.percentile(100.0) / 1000
    figures["partial_seconds"] = float(partial)
    if is_whole and not is_printed:
        figures["latency_mean_ms"] = latency_sum_us / transactions / 1000
    return figures


_PERCENTILES: Final = {
    "latency_p50_ms": 50.0,
    "latency_p95_ms": 95.0,
    "latency_p99_ms": 99.0,
    "latency_p999_ms": 99.9,
}


def _percentile_ms(done: Histogram, percent: float, skipped: int, limit_ms: float | None) -> float | None:
    """Return a percentile of the done and the skipped transactions, in milliseconds.

    Those done after the limit and those skipped have no order: beyond the limit only the limit is known, and
    nothing if the limit is not.
    """
    if not skipped:
        return done.percentile(percent) / 1000
    among_done = percent * (done.total + skipped) / done.total
    value_ms = done.percentile(among_done) / 1000 if among_done <= 100 else math.inf
    if limit_ms is None:
        return value_ms if math.isfinite(value_ms) else None
    return min(value_ms, limit_ms)


def is_lower_bound(figures: Mapping[str, float | None], name: str) -> bool:
    """Return whether a figure is a lower bound: a percentile that falls among skipped transactions.

    Args:
        figures: of a run, from `summarise`.
        name: of the figure.
    """
    value, limit_ms = figures.get(name), figures.get("latency_limit_ms")
    if name not in _PERCENTILES or not figures.get("skipped") or value is None or limit_ms is None:
        return False
    return value >= limit_ms


def figures_of(run: RunFile) -> dict[str, float | None]:
    """Return the stored figures, with those recomputed that an earlier version defined otherwise."""
    stored = run.summary()
    if has_older_definitions(run, stored):
        stored |= _judged_again(run)
    if not stored.get("skipped") or "latency_limit_ms" in stored:
        return stored
    recomputed = summarise(run)
    return stored | {name: recomputed.get(name) for name in (*_PERCENTILES, "late", "latency_limit_ms")}


def summarise_phases(run: RunFile) -> dict[int, dict[str, float | None]]:
    """Return the figures of every phase of a workload with several, except `measure`, by number."""
    numbers = [times.number for times in run.phases() if times.phase is Phase.PART]
    return {number: figures for number in numbers if (figures := summarise(run, part=number))}


CLIENT_BOUND_SHARE: Final = 0.9
"""Share of the CPU that pgbench's threads can use from which pgbench was the bottleneck."""

NOT_STEADY: Final = "not-steady"
"""Kind of the mark for a run that was not steady."""


def steadiness_marks(figures: Mapping[str, float | None]) -> Sequence[tuple[str, str]]:
    """Return the (kind, reason) label of a run that was not steady; empty for another."""
    if figures.get("steady") != 0:
        return []
    reason = tr("five equal slices of it differ, or have a trend, by more than noise explains")
    return [(NOT_STEADY, reason)]


def marks_after(summary: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Return the labels that follow from the figures."""
    marks: list[tuple[str, str]] = []
    share = summary.get("pgbench_share")
    if share is not None and share >= 100 * CLIENT_BOUND_SHARE:
        reason = tr("pgbench used {share:.0f} % of the CPU its threads can use, so it was the bottleneck")
        marks.append(("client-bound", reason.format(share=share)))
    missed = summary.get("missed_ticks")
    if missed:
        marks.append(("missed-seconds", tr("{count:.0f} seconds have no samples").format(count=missed)))
    marks += steadiness_marks(summary)
    if summary.get("checkpoint_cycles") == 0:
        reason = tr("no complete checkpoint cycle: its figures miss the cost of checkpoints, or part of it")
        marks.append(("no-checkpoint-cycle", reason))
    return marks


def has_older_definitions(run: RunFile, stored: Mapping[str, float | None]) -> bool:
    """Whether stored figures of a run have other definitions than today's.

    Args:
        run: its file.
        stored: its figures; empty while it lasts.
    """
    metadata = run.metadata
    newest = DEFINITIONS if known(metadata.target.kind, "") == IMPORTED else _OF_OWN_RUNS
    return bool(stored) and known(metadata.figure_definitions, 0) < newest


@np.errstate(over="ignore", invalid="ignore")
def _judged_again(run: RunFile) -> dict[str, float | None]:
    """Return the `_REDEFINED` figures by today's definitions; empty if the seconds give none."""
    measured = run.phase(Phase.MEASURE)
    if measured is None:
        return {}
    try:
        reports, end_ms = _reports(run, measured, 0.0)
        starts_s = _checkpoint_starts(run, measured, reports.start_ms, end_ms)
        shape = _shape(run.metadata, reports, starts_s or ())
    except CorruptRunFileError:  # readers of the seconds get the error
        return {}
    return {name: _plain(shape[name]) for name in _REDEFINED if name in shape}


def _costs(run: RunFile, start_ms: float, end_ms: float, tps: float | None) -> dict[str, float | None]:
    if not tps:
        return {}
    totals = run.totals(int(start_ms), int(end_ms))
    ticks = max((count for _, _, count in totals.values()), default=0)

    def mean(metric: str, instance: str = "") -> float | None:
        if (metric, instance) not in totals:
            return None
        total, _, count = totals[metric, instance]
        return total / (ticks if METRICS[metric].absent_is_zero else count)

    figures: dict[str, float | None] = {}
    for name, metric, factor in _PER_TRANSACTION:
        value = mean(metric)
        figures[name] = None if value is None else value * factor / tps
    for name, instance in (("server_cpu_us", "postgres"), ("pgbench_cpu_us", "pgbench")):
        parts = [mean(metric, instance) for metric in ("process.cpu_user", "process.cpu_system")]
        found = [part for part in parts if part is not None]
        figures[name] = sum(found) * 1e6 / tps if found else None
    kernel = [mean("kernel.cpu", instance) or 0.0 for metric, instance in totals if metric == "kernel.cpu"]
    figures["kernel_cpu_us"] = sum(kernel) * 1e6 / tps if kernel else None
    figures["pgbench_share"] = mean("process.pgbench_share")
    block_bytes = or_none(run.metadata.installation.block_size)
    figures["write_amplification"] = _amplification(mean, block_bytes)
    return figures


def _amplification(mean: Callable[[str], float | None], block_bytes: float | None) -> float | None:
    """Return bytes written to the devices over bytes that PostgreSQL wrote: WAL and data files.

    Includes parity, copies, journals and copy on write, but not what happens inside a device (storage
    reference, section 5.2). Data files as counted by pg_stat_io (from 16), before as buffers written.
    """
    written, wal = mean("storage.write_bytes"), mean("wal.bytes")
    data = mean("server.io_write_bytes")
    if data is None and block_bytes is not None:
        buffers = [mean(f"server.buffers_{who}") for who in ("checkpoint", "clean", "backend")]
        known = [count for count in buffers if count is not None]
        data = block_bytes * sum(known) if known else None
    if written is None or wal is None or data is None or wal + data <= 0:
        return None
    return written / (wal + data)
