"""Describe one run second by second: its own seconds, read once, with all figures derived from them.

All figures are facts of that run; only `app.comparison.comparison` compares configurations. For charts, a run
can also be folded over the time since its last checkpoint started: its cycles laid over each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.analysis.labels import format_tps
from app.domain.disturbances import Disturbances
from app.domain.errors import CorruptRunFileError
from app.domain.run import Phase
from app.domain.text import format_duration, titled, tr, trn
from app.runfile.disturbance import DISTURBED
from app.runfile.histogram_decoding import merge_encoded
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.runfile.reader import PhaseTimes, RunFile
from app.runfile.series import RunData, SeriesKey, SeriesSource
from app.runfile.summary import EDGE_S, Span, checkpoint_spans, report_interval_s, seconds_of, steady_reports
from app.statistics.sample_size import student_t_quantile
from app.statistics.series import (
    FEWEST_PIECES,
    SLOPE_LIMIT,
    SPREAD_LIMIT,
    CheckpointEffect,
    Drift,
    Jitter,
    SteadyState,
    Truncation,
    WithinRun,
    checkpoint_effect,
    drift,
    jitter,
    mser5,
    quantile,
    stalled_seconds,
    within_run_error,
)

Array = NDArray[np.float64]

FEWEST_FOR_A_CUT_S: Final = 120
"""MSER-5 cuts a quarter or more off one in four steady runs of 60 s (simulated, lag-1 correlation 0.6)."""

_MOST_TPS: Final = 1e12


@dataclass(frozen=True, slots=True)
class OwnInterval:
    """Interval of a run's mean from its own seconds; it ignores the variation between runs.

    Attributes:
        low: TPS.
        high: TPS.
        confidence: above 0 and below 1.
    """

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class RunStability:
    """The measured phase of one run.

    Attributes:
        ends_s: end of each interval that pgbench reported, from the start of the phase; ascending.
        tps: mean TPS of each.
        duration_s: length of the phase.
        checkpoints: (start_s, end_s) of those that started in the phase; one without an end lasts to its end.
        knows_checkpoints: whether starts of checkpoints were recorded: then none means that none started.
        interval_s: usual length of a report in seconds; above 1 only in an imported run.
    """

    ends_s: Array = field(repr=False, compare=False)
    tps: Array = field(repr=False, compare=False)
    duration_s: float
    checkpoints: tuple[Span, ...]
    knows_checkpoints: bool = True
    interval_s: int = 1

    @cached_property
    def seconds(self) -> Array:
        """TPS by the second, NaN if missed; the mean of its report if that is longer."""
        return seconds_of(1000 * self.ends_s, self.tps, 0.0, self.interval_s)

    @cached_property
    def _stalled(self) -> NDArray[np.bool_]:
        return stalled_seconds(self.seconds)

    @cached_property
    def jitter(self) -> Jitter:
        """Its variation; without that of single seconds if reports are longer."""
        found = jitter(self.seconds, self._stalled)
        return found if self.interval_s == 1 else replace(found, cv=None)

    @cached_property
    def drift(self) -> Drift:
        """Its last tenth compared with its first."""
        return drift(self.seconds)

    @cached_property
    def warm_up(self) -> Truncation:
        """End of its warm-up; undecided below `FEWEST_FOR_A_CUT_S`.

        MSER-5 cuts at an outlier as at the end of a warm-up: stalled seconds after the run was under way are
        excluded from it, and reported as stalls.
        """
        seconds = self.seconds
        if len(seconds) < FEWEST_FOR_A_CUT_S:
            return Truncation(0, None)
        if self._stalled.any():
            under_way = np.maximum.accumulate(np.nan_to_num(seconds) >= quantile(seconds, 0.5))
            seconds = np.where(under_way & self._stalled, np.nan, seconds)
        return mser5(seconds)

    @cached_property
    def steady(self) -> SteadyState:
        """Whether it was in steady state."""
        return steady_reports(self.seconds, [start_s for start_s, _ in self.checkpoints], self.interval_s)

    @cached_property
    def within(self) -> WithinRun:
        """Its mean with the standard error of its own seconds."""
        return within_run_error(self.seconds)

    def after(self, cut_s: float) -> RunStability | None:
        """Return the same run without its first `cut_s` seconds; None if nothing is left.

        Args:
            cut_s: a report with more than half a second before it is excluded.
        """
        if not cut_s:
            return self
        lengths = np.diff(self.ends_s, prepend=0.0)
        kept = self.ends_s - lengths >= cut_s - EDGE_S
        if not kept.any():
            return None
        begin_s = float(self.ends_s[kept][0] - lengths[kept][0])
        checkpoints = tuple((s - begin_s, e - begin_s) for s, e in self.checkpoints if s >= begin_s - EDGE_S)
        return replace(
            self,
            ends_s=self.ends_s[kept] - begin_s,
            tps=self.tps[kept],
            duration_s=max(0.0, self.duration_s - begin_s),
            checkpoints=checkpoints,
        )

    def own_interval(self, confidence: float = 0.95) -> OwnInterval | None:
        """Return Student's interval with one degree of freedom less than there are independent seconds.

        None for fewer than ten seconds, or fewer than three independent ones.

        Args:
            confidence: above 0 and below 1.
        """
        within = self.within
        if within.mean is None or within.standard_error is None or within.effective_seconds < 3:
            return None
        half = student_t_quantile((1 + confidence) / 2, within.effective_seconds - 1) * within.standard_error
        return OwnInterval(max(0.0, within.mean - half), within.mean + half, confidence)

    @cached_property
    def is_mostly_unseen(self) -> bool:
        """Whether pgbench itself was blocked for more than half of its seconds."""
        return 2 * int(np.isnan(self.seconds).sum()) > len(self.seconds)

    @property
    def mean(self) -> float | None:
        """Mean TPS, each report weighted by its length; None without reports."""
        lengths = np.diff(self.ends_s, prepend=0.0)
        seconds = float(lengths.sum())
        return float(np.sum(self.tps * lengths)) / seconds if seconds > 0 else None

    @cached_property
    def checkpoint_effect(self) -> CheckpointEffect | None:
        """Cost of its checkpoints; None below three cycles."""
        return checkpoint_effect(self.seconds, [start_s for start_s, _ in self.checkpoints])


def is_weak(marks: Iterable[tuple[str, str]], judged: Disturbances, shape: RunStability | None) -> bool:
    """Return whether a run was, or may have been, disturbed, or most of its seconds are unknown.

    Args:
        marks: (kind, reason) labels of the run.
        judged: its disturbances.
        shape: of the run; None if unknown.
    """
    return bool(judged.not_known or (shape and shape.is_mostly_unseen)) or DISTURBED in dict(marks)


def read_shape(run: RunFile) -> RunStability | None:
    """Return the stability of a run; None if the measured phase or its TPS were never reached.

    Raises:
        RunFileError: the file cannot be read, or contains invalid TPS.
    """
    measured = run.phase(Phase.MEASURE)
    if measured is None:
        return None
    t_ms, tps = run.samples("pgbench.tps")
    end_ms = measured.ended_ms if measured.ended_ms is not None else math.inf
    kept = (t_ms > measured.started_ms) & (t_ms <= end_ms + 500)
    t_ms, tps = t_ms[kept], tps[kept]
    if not len(tps):
        return None
    # NaN compares false: it is refused too.
    if not ((tps >= 0) & (tps <= _MOST_TPS)).all() or not np.isfinite(t_ms).all():
        raise CorruptRunFileError(tr("The run file is damaged: it contains impossible TPS."))
    last_ms = float(t_ms[-1]) if measured.ended_ms is None else float(measured.ended_ms)
    duration_s = (last_ms - measured.started_ms) / 1000
    checkpoints = checkpoint_spans(run, measured, duration_s)
    ends_s = (t_ms - measured.started_ms) / 1000
    return RunStability(
        ends_s,
        tps,
        duration_s,
        checkpoints or (),
        knows_checkpoints=checkpoints is not None,
        interval_s=report_interval_s(run.metadata, np.diff(ends_s, prepend=0.0)),
    )


_NOTHING: Final = (np.empty(0), np.empty(0))


@dataclass(slots=True)
class FoldedSource:
    """Samples by the time since the last checkpoint; a second of several cycles is their mean.

    A percentile is that of the transactions of all cycles together, from their merged histograms.

    Attributes:
        whole: the run's samples over its own time.
        data: the run.
        starts_s: starts of its checkpoints in the measured phase, ascending, at least one.
    """

    whole: SeriesSource
    data: RunData
    starts_s: tuple[float, ...]
    _known: dict[SeriesKey, tuple[Array, Array]] = field(default_factory=dict)
    _merged: dict[float, tuple[Array, Array]] = field(default_factory=dict)

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (ms since the checkpoint, mean of the cycles)."""
        if key not in self._known:
            self._known[key] = self._fold(*self.data.series(*key))
        return self._known[key]

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series of the run."""
        return self.whole.keys()

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (ms since the checkpoint, latency in ms)."""
        if percent not in self._merged:
            self._merged[percent] = self._fold_latencies(percent)
        return self._merged[percent]

    def partial_ends_ms(self) -> Array:
        """Return nothing: a folded second is complete or excluded."""
        return np.empty(0)

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Read and fold the series needed by charts."""
        for key in keys:
            self.samples(key)
        for percent in percents:
            self.percentile(percent)

    def _places(self, t_s: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return whole seconds since the checkpoint before each end of a second, and which have one."""
        starts = np.array(self.starts_s)
        cycle = np.searchsorted(starts, t_s - 1e-9, side="left") - 1
        inside = (cycle >= 0) & (t_s > 0)
        return np.rint(t_s - starts[np.maximum(cycle, 0)]), inside

    def _fold(self, t_s: Array, values: Array) -> tuple[Array, Array]:
        if not len(t_s):
            return _NOTHING
        places, inside = self._places(t_s)
        seconds, of = np.unique(places[inside], return_inverse=True)
        if not len(seconds):
            return _NOTHING
        sums = np.bincount(of, weights=values[inside])
        return 1000 * np.maximum(seconds, 0.0), sums / np.bincount(of)

    def _fold_latencies(self, percent: float) -> tuple[Array, Array]:
        with RunFile(self.data.path) as run:
            found = [second for second in run.latency_seconds() if second.transactions]
        ends_s = np.array([second.t_ms + 1000 - self.data.origin_ms for second in found]) / 1000
        if not len(ends_s):
            return _NOTHING
        places, inside = self._places(ends_s)
        inside &= ends_s <= self.data.duration_s + 0.5
        cells: dict[float, list[bytes]] = {}
        for second, place, kept in zip(found, places.tolist(), inside.tolist(), strict=True):
            if kept:
                cells.setdefault(max(0.0, place), []).append(second.buckets)
        times = sorted(cells)
        latencies = [merge_encoded(cells[time]).percentile(percent) / 1000 for time in times]
        return 1000 * np.array(times), np.array(latencies)


def since_checkpoint(data: RunData) -> RunData | None:
    """Return a run over the time since its last checkpoint started; None without a checkpoint."""
    starts = tuple(sorted(start_s for start_s, _, _ in data.checkpoints() if start_s >= 0))
    if not starts:
        return None
    edges = [*starts, max(data.end_s, starts[-1])]
    longest_ms = round(1000 * max(np.diff(edges), default=0.0))
    return replace(
        data,
        phases=(PhaseTimes(Phase.MEASURE, 0, longest_ms),),
        measure_start_ms=0,
        duration_s=longest_ms / 1000,
        planned_s=None,
        events=(),
        last_ms=float(longest_ms),
        source=FoldedSource(data.source, data, starts),
    )


# Facts of one run as sentences: interval, stalls, drift, steadiness, checkpoints. Never a comparison.


WITHIN_RUN_NOTE: Final = tr(
    "Confidence intervals within a run use only its own seconds. They miss run-to-run variation, which is "
    "often two or three times larger."
)
"""Shown wherever such intervals are."""

CLOSED_LOOP_NOTE: Final = tr(
    "Closed loop: each client waits for a reply before it sends the next transaction. The latency does not "
    "include queueing time before sending."
)
"""Shown wherever latencies without a rate are (“coordinated omission”, G. Tene; README of wrk2)."""

_LEAST_DRIFT: Final = 0.05
_LEAST_EFFECT: Final = 0.02


def describe_shape(
    shape: RunStability | None, tps: float | None = None, cut_s: float = 0.0
) -> tuple[str, ...]:
    """Return sentences about one run's own seconds; empty if there are none.

    Args:
        shape: of the run, without the excluded seconds.
        tps: its mean as counted by pgbench; None: the mean of the seconds.
        cut_s: seconds excluded at its start.
    """
    if shape is None:
        return ()
    return (*_interval(shape, tps, cut_s), *_stalls(shape), *_change(shape), *_checkpoints(shape))


def is_closed_loop(load: OfferedLoad, figures: Mapping[str, float | None]) -> bool:
    """Return whether a run's latencies ignore the waiting of delayed transactions."""
    return load.kind is LoadKind.CLOSED and figures.get("latency_p99_ms") is not None


def describe_disturbances(judged: Disturbances) -> str:
    """Return how other processes disturbed a run, or why that is unknown; empty if undisturbed."""
    if judged.found:
        return tr("Disturbed: {reason}.").format(reason=judged.reason)
    if not judged.not_known:
        return ""
    return titled(tr("whether the run was disturbed is not known ({why})").format(why=judged.not_known)) + "."


def own_interval_words(interval: OwnInterval) -> str:
    """Return an interval within a run, labelled as such."""
    return tr("within this run {low} to {high}").format(
        low=format_tps(interval.low), high=format_tps(interval.high)
    )


def _interval(shape: RunStability, tps: float | None, cut_s: float) -> Iterator[str]:
    interval, mean = shape.own_interval(), shape.within.mean if tps is None else tps
    if interval is None or mean is None:
        return
    sentence = tr("Mean {mean} TPS ({percent:g} % confidence interval within this run: {low} to {high}).")
    if cut_s:
        sentence = tr(
            "Mean after the first {cut}: {mean} TPS ({percent:g} % confidence interval within this run: "
            "{low} to {high})."
        )
    yield sentence.format(
        cut=format_duration(round(cut_s)),
        mean=format_tps(mean),
        low=format_tps(interval.low),
        high=format_tps(interval.high),
        percent=100 * interval.confidence,
    )


def _stalls(shape: RunStability) -> Iterator[str]:
    found, interval_s = shape.jitter, shape.interval_s
    if interval_s > 1:
        yield tr("Reported every {interval} s: shorter events do not show in these figures.").format(
            interval=interval_s
        )
    if found.missed_seconds:
        sentence = tr("pgbench itself was blocked for {missed} s; there is no data for those seconds.")
        if interval_s > 1:
            sentence = tr("There is no data for {missed} s, which no report of the usual length covers.")
        yield sentence.format(missed=found.missed_seconds)
    if not found.stall_seconds:
        yield tr("No stalled second.") if interval_s == 1 else tr("No whole reporting interval stalled.")
        return
    sentence = tr(
        "Stalled in {stalled} of {seconds} s (below 10 % of the rate nearby), at most {longest} s in a row."
    )
    yield sentence.format(stalled=found.stall_seconds, seconds=found.seconds, longest=found.longest_stall_s)


def _change(shape: RunStability) -> Iterator[str]:
    change = shape.drift.change
    if change is not None and abs(change) >= _LEAST_DRIFT:
        sentence = tr("TPS changed by {percent:+.0f} % from the first to the last tenth ({first} to {last}).")
        yield sentence.format(
            percent=100 * change, first=format_tps(shape.drift.first), last=format_tps(shape.drift.last)
        )
    steady = shape.steady
    if steady.is_too_short:
        pieces = max(1, math.floor(steady.pieces))
        sentence = trn(
            "Too short to judge steady state: its seconds are so correlated that they amount to about "
            "{pieces} independent sample ({fewest} needed).",
            "Too short to judge steady state: its seconds are so correlated that they amount to about "
            "{pieces} independent samples ({fewest} needed).",
            pieces,
        )
        yield sentence.format(pieces=pieces, fewest=FEWEST_PIECES)
    if steady.steady is False and steady.spread is not None and steady.slope is not None:
        sentence = tr(
            "No steady state: five equal slices differ by {spread:.0f} %, with a trend of {slope:+.0f} % "
            "(limits {most:.0f} and {trend:.0f} %), more than noise explains."
        )
        yield sentence.format(
            spread=100 * steady.spread,
            slope=100 * steady.slope,
            most=100 * SPREAD_LIMIT,
            trend=100 * SLOPE_LIMIT,
        )


def _checkpoints(shape: RunStability) -> Iterator[str]:
    effect = shape.checkpoint_effect
    if effect is None or not effect.is_certain or abs(effect.change) < _LEAST_EFFECT:
        return
    sentence = tr(
        "After a checkpoint begins, TPS differ by {percent:+.0f} % from those before the next one "
        "({low:+.0f} to {high:+.0f} % over {cycles} cycles)."
    )
    yield sentence.format(
        percent=100 * effect.change, low=100 * effect.low, high=100 * effect.high, cycles=effect.cycles
    )
