"""Statistics inside one run: its per-second TPS as a series.

A second that was missed is NaN and counts nowhere; it is never filled in. An empty series and one of nothing
but zeros have documented results: None where a figure does not exist, never NaN, never an exception. None of
this says whether two configurations differ: that is `app.statistics.verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.statistics.stalls import stalled_seconds

BATCH_SECONDS: Final = 5

_FEWEST_SECONDS: Final = 10
_NOTHING: Final = 1e-9
_MOST_TPS: Final = 1e12

Array = NDArray[np.float64]


def _series(values: ArrayLike) -> Array:
    """Return the values as an array; what is below a transaction in thirty years is 0.

    Raises:
        ValueError: a value is negative, infinite, or more than any machine does.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or (array > _MOST_TPS).any() or (array < 0).any():
        raise ValueError(values)
    return np.where(array < _NOTHING, 0.0, array)


def _present(values: ArrayLike) -> Array:
    array = _series(values)
    return array[~np.isnan(array)]


@dataclass(frozen=True, slots=True)
class Jitter:
    """How evenly a run went, second by second.

    Attributes:
        cv: standard deviation by mean; None below two seconds or where all are 0.
        p1: first percentile, TPS; None without seconds.
        minimum: TPS; None without seconds.
        median: TPS; None without seconds.
        stall_seconds: as `app.statistics.stalls.stalled_seconds` has them.
        longest_stall_s: most of them in a row; a missed second ends a row.
        lag1: correlation of each second with the next; None below three seconds or where all are alike.
        seconds: how many there are, without missed ones.
        missed_seconds: for which pgbench printed no line of their own: it was blocked itself.
    """

    cv: float | None
    p1: float | None
    minimum: float | None
    median: float | None
    stall_seconds: int
    longest_stall_s: int
    lag1: float | None
    seconds: int
    missed_seconds: int


def jitter(tps: Sequence[float] | Array) -> Jitter:
    """Return how evenly a run went.

    Args:
        tps: transactions of each second of the measured phase, NaN where missed.

    Raises:
        ValueError: a value is negative or infinite.
    """
    series = _series(tps)
    present = _present(series)
    if len(present) == 0:
        return Jitter(None, None, None, None, 0, 0, None, 0, len(series))
    mean, median = float(present.mean()), float(np.median(present))
    stalled = stalled_seconds(series)
    return Jitter(
        cv=float(present.std(ddof=1)) / mean if mean > 0 and len(present) > 1 else None,
        p1=float(np.percentile(present, 1)),
        minimum=float(present.min()),
        median=median,
        stall_seconds=int(stalled.sum()),
        longest_stall_s=_longest_row(stalled),
        lag1=_lag1(series),
        seconds=len(present),
        missed_seconds=len(series) - len(present),
    )


def _longest_row(marks: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max()) if len(edges) else 0


def _is_flat(values: Array) -> bool:
    """Return whether all values are alike but for rounding."""
    return len(values) == 0 or float(np.ptp(values)) <= 1e-12 * float(np.abs(values).max())


def _lag1(series: Array) -> float | None:
    both = ~np.isnan(series[:-1]) & ~np.isnan(series[1:])
    first, second = series[:-1][both], series[1:][both]
    if len(first) < 2 or _is_flat(first) or _is_flat(second):
        return None
    return float(np.clip(np.corrcoef(first, second)[0, 1], -1, 1))


@dataclass(frozen=True, slots=True)
class Drift:
    """The end of a run against its beginning.

    Attributes:
        first: mean TPS of the first tenth; None below ten seconds.
        last: mean TPS of the last tenth, likewise.
        change: last by first minus one; None where either is missing or the first is 0.
    """

    first: float | None
    last: float | None
    change: float | None


def drift(tps: Sequence[float] | Array) -> Drift:
    """Return how the last tenth of a run compares with the first; a hint to run longer.

    Raises:
        ValueError: a value is negative or infinite.
    """
    series = _series(tps)
    tenth = len(series) // 10
    first, last = _present(series[:tenth]), _present(series[len(series) - tenth :])
    if len(first) == 0 or len(last) == 0:
        return Drift(None, None, None)
    begin, end = float(first.mean()), float(last.mean())
    return Drift(begin, end, end / begin - 1 if begin > 0 else None)


@dataclass(frozen=True, slots=True)
class Truncation:
    """Where the warm-up ends.

    Attributes:
        cut_s: seconds to cut off.
        settled: False where the best cut is half of the run ("never steady"); None below 20 s.
    """

    cut_s: int
    settled: bool | None


def mser5(tps: Sequence[float] | Array) -> Truncation:
    """Return the warm-up by MSER-5 (White 1997): the cut with the least standard error of what is left.

    Over k means z of 5 s: the d up to k/2 with the least sum of (z_i - mean_d)^2 over i > d, by (k - d)^2.

    Raises:
        ValueError: a value is negative or infinite.
    """
    series = _series(tps)
    count = len(series) // BATCH_SECONDS
    if count < 4:
        return Truncation(0, None)
    batches = _means(series[: count * BATCH_SECONDS].reshape(count, BATCH_SECONDS))
    scores = _mser_scores(batches)[: count // 2 + 1]
    if not np.isfinite(scores).any():
        return Truncation(0, None)
    rounding = 1e-24 * float(np.nanmax(batches)) ** 2
    best = int(np.argmax(scores <= np.nanmin(scores) * (1 + 1e-9) + rounding))  # the first of equals
    return Truncation(best * BATCH_SECONDS, best < count // 2)


def _means(rows: Array) -> Array:
    """Return the mean of each row without its missed seconds; NaN for a row that was missed altogether."""
    counts = (~np.isnan(rows)).sum(axis=1)
    sums = np.nansum(rows, axis=1)
    means: Array = np.divide(sums, counts, out=np.full(len(rows), np.nan), where=counts > 0)
    return means


def _mser_scores(batches: Array) -> Array:
    """Return variance by count of what each cut leaves, from sums of all tails; infinite for nothing."""
    present = ~np.isnan(batches)
    if not present.any():
        return np.full(len(batches), math.inf)
    # Around the mean the squares stay small, so that their sums lose no digits that count.
    centred = np.where(present, batches - batches[present].mean(), 0.0)
    counts, sums, squares = (
        np.cumsum(each[::-1])[::-1] for each in (present.astype(np.float64), centred, centred**2)
    )
    known = np.maximum(counts, 1.0)
    variances = np.maximum(0.0, squares / known - (sums / known) ** 2)
    scores: Array = np.where(counts > 0, variances / known, math.inf)
    return scores


def autocorrelation_time(tps: Sequence[float] | Array) -> float:
    """Return the seconds of a run that count as one independent second, at least 1.

    1 + 2 sum of autocorrelations, cut by Geyer's initial monotone sequence (Geyer 1992, section 3.3). A
    missed second takes part in no product. Below four seconds and for a flat series it is 1.

    Raises:
        ValueError: a value is negative or infinite.
    """
    series = _series(tps)
    present = _present(series)
    if len(present) < 4 or _is_flat(present):
        return 1.0
    centred = np.where(np.isnan(series), 0.0, series - present.mean())
    length = 1 << (2 * len(series) - 1).bit_length()  # padded: no wrapping around
    spectrum = np.fft.rfft(centred, length)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), length)[: len(series)]
    correlation = covariance / covariance[0]
    pairs = correlation[: len(correlation) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return float(np.clip(2 * pairs.sum() - 1, 1, len(present)))


@dataclass(frozen=True, slots=True)
class WithinRun:
    """A run's mean with the uncertainty that its own seconds show.

    It knows nothing about the difference between runs, which is two to three times as large (measured): to
    be labelled "within this run" and never used for a verdict.

    Attributes:
        mean: TPS; None without seconds.
        standard_error: TPS; None below ten seconds.
        autocorrelation_time_s: seconds that count as one.
        effective_seconds: independent seconds.
    """

    mean: float | None
    standard_error: float | None
    autocorrelation_time_s: float
    effective_seconds: float


def within_run_error(tps: Sequence[float] | Array) -> WithinRun:
    """Return a run's mean and its standard error, allowing for the likeness of neighbouring seconds.

    Raises:
        ValueError: a value is negative or infinite.
    """
    present = _present(tps)
    time_s = autocorrelation_time(tps)
    effective = len(present) / time_s
    if len(present) < _FEWEST_SECONDS:
        return WithinRun(float(present.mean()) if len(present) else None, None, time_s, effective)
    error = float(present.std(ddof=1)) / math.sqrt(effective)
    return WithinRun(float(present.mean()), error, time_s, effective)
