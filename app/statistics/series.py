"""Statistics inside one run: its per-second TPS as a series.

A missed second is NaN and never counts or is filled in. An empty series and one of only zeros have documented
results: None for a missing figure, never NaN, never an exception. Comparing configurations is the task of
`app.statistics.verdict`.

Stalls: transactions in a second against the level of the seconds near it. The median of a run does not work:
with more than half of the seconds dead it is one of them.

Steady state: whether rounds differ, or have a trend, by more than the run's own variation explains. The
limits are those of SNIA's Solid State Storage Performance Test Specification: five rounds within 20 % of
their mean, their trend within 10 %. Seconds of a run are autocorrelated: means of short rounds of a
stationary run differ by chance, often by more than that. Only significant differences are reported.

Checkpoint effect: TPS just after the start of a checkpoint against just before the next one. With
checkpoint_completion_target 0.9 a checkpoint is being written most of the time, so comparing inside with
outside says little. Pages are written whole to the WAL at their first change after the start of a checkpoint:
that cost is largest at the start of a cycle and gone at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from app.statistics.sample_size import student_t_quantile

NEAR_SECONDS: Final = 300
"""On each side of a second."""
NEAR_SHARE: Final = 0.1
RUN_SHARE: Final = 0.01

_REACHED: Final = 0.95
_FEWEST_NEAR: Final = 30
"""With fewer seconds on one side its level is unknown."""
_ROWS: Final = 4096


def stalled_seconds(tps: Sequence[float] | Array) -> NDArray[np.bool_]:
    """Return which seconds stalled.

    A second is stalled without any transaction, below 1 % of the run's own 95th percentile, or below 10 % of
    the level near it: the lower of the 95th percentiles of the five minutes before and of the five minutes
    after. A run that falls and stays low has drifted: after the fall, that is its level. The first and the
    last second are no stall by themselves: pgbench is still connecting, or has ended.

    Args:
        tps: transactions of each second from 0 on, NaN for missed ones, which are no stall.
    """
    series = np.asarray(tps, dtype=np.float64)
    present = series[~np.isnan(series)]
    most = float(present.max()) if len(present) else 0.0
    if not len(present) or (most > 0 and len(series) > 2 and not (series[1:-1] < NEAR_SHARE * most).any()):
        return np.zeros(len(series), dtype=bool)
    top = quantile(present, _REACHED)
    stalled: NDArray[np.bool_] = (series == 0) | (series < RUN_SHARE * top)  # comparing NaN is false
    suspects = np.flatnonzero(~stalled & (series < NEAR_SHARE * most))
    near_seconds = sliding_window_view(np.pad(series, NEAR_SECONDS, constant_values=np.nan), NEAR_SECONDS)
    for first in range(0, len(suspects), _ROWS):
        some = suspects[first : first + _ROWS]
        near = np.full(len(some), np.inf)
        for offset in (0, NEAR_SECONDS + 1):  # most seconds need no look at those after
            near = np.minimum(near, _reached(near_seconds[some + offset]))
            is_low = series[some] < NEAR_SHARE * near
            some, near = some[is_low], near[is_low]
        stalled[some] = np.isfinite(near) | (series[some] < NEAR_SHARE * top)
    for edge, beside in ((0, 1), (-1, -2)):
        if len(series) > 1 and not stalled[beside]:
            stalled[edge] = False
    return stalled


def _reached(rows: Array) -> Array:
    """Sort each row; return the 95th percentile of its known seconds, infinite if they are too few."""
    counts = (~np.isnan(rows)).sum(axis=1)
    rows.sort(axis=1)  # NaN last
    place = np.maximum(counts - 1, 0) * _REACHED
    lower = place.astype(int)
    upper = np.minimum(lower + 1, np.maximum(counts - 1, 0))
    low, high = (rows[np.arange(len(rows)), column] for column in (lower, upper))
    found: Array = np.where(counts < _FEWEST_NEAR, np.inf, low + (place - lower) * (high - low))
    return found


BATCH_SECONDS: Final = 5

_FEWEST_SECONDS: Final = 10
_NOTHING: Final = 1e-9
_MOST_TPS: Final = 1e12

Array = NDArray[np.float64]


def _series(values: ArrayLike) -> Array:
    """Return the values as an array; values below a transaction in thirty years become 0.

    Raises:
        ValueError: a value is negative, infinite, or impossibly large.
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
    """Variation of a run, second by second.

    Attributes:
        cv: standard deviation by mean; None below two seconds or if all are 0.
        stall_seconds: number of `stalled_seconds`.
        longest_stall_s: most of them in a row; a missed second ends a row.
        seconds: number of seconds without missed ones.
        missed_seconds: without their own line of pgbench, which was blocked itself.
    """

    cv: float | None
    stall_seconds: int
    longest_stall_s: int
    seconds: int
    missed_seconds: int


def jitter(tps: Sequence[float] | Array, stalled: NDArray[np.bool_] | None = None) -> Jitter:
    """Return the variation of a run.

    Args:
        tps: transactions of each second of the measured phase, NaN for missed ones.
        stalled: its `stalled_seconds`, if already known.

    Raises:
        ValueError: a value is negative or infinite.
    """
    series = _series(tps)
    present = _present(series)
    if len(present) == 0:
        return Jitter(None, 0, 0, 0, len(series))
    mean = float(present.mean())
    stalled = stalled_seconds(series) if stalled is None else stalled
    return Jitter(
        cv=float(present.std(ddof=1)) / mean if mean > 0 and len(present) > 1 else None,
        stall_seconds=int(stalled.sum()),
        longest_stall_s=_longest_row(stalled),
        seconds=len(present),
        missed_seconds=len(series) - len(present),
    )


def _longest_row(marks: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max()) if len(edges) else 0


def quantile(values: Array, share: float) -> float:
    """Return a quantile of the known ones of at least one number; numpy's own import numpy.ma (30 ms)."""
    ordered = np.sort(values[~np.isnan(values)])
    return float(np.interp(share * (len(ordered) - 1), np.arange(len(ordered)), ordered))


def _is_flat(values: Array) -> bool:
    """Return whether all values are equal except for rounding."""
    return len(values) == 0 or float(np.ptp(values)) <= 1e-12 * float(np.abs(values).max())


@dataclass(frozen=True, slots=True)
class Drift:
    """The end of a run against its beginning.

    Attributes:
        first: mean TPS of the first tenth; None below ten seconds.
        last: mean TPS of the last tenth; None below ten seconds.
        change: last by first minus one; None if either is missing or the first is 0.
    """

    first: float | None
    last: float | None
    change: float | None


def drift(tps: Sequence[float] | Array) -> Drift:
    """Compare the last tenth of a run with the first; a hint to run longer.

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
        settled: False if the best cut is half of the run ("never steady"); None below 20 s.
    """

    cut_s: int
    settled: bool | None


def mser5(tps: Sequence[float] | Array) -> Truncation:
    """Return the warm-up by MSER-5 (White 1997): the cut with the least standard error of the rest.

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
    """Return the mean of each row without its missed seconds; NaN if the whole row was missed."""
    counts = (~np.isnan(rows)).sum(axis=1)
    nothing = np.full(len(rows), np.nan)
    means: Array = np.divide(np.nansum(rows, axis=1), counts, out=nothing, where=counts > 0)
    return means


def _mser_scores(batches: Array) -> Array:
    """Return variance by count of the rest after each cut, from sums of all tails; infinite for none."""
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

    1 + 2 sum of autocorrelations, cut by Geyer's initial monotone sequence (Geyer 1992, section 3.3). Missed
    seconds are in no product. Below four seconds and for a flat series it is 1.

    Raises:
        ValueError: a value is negative or infinite.
    """
    series = _series(tps)
    present = _present(series)
    if len(present) < 4 or _is_flat(present):
        return 1.0
    covariance = _autocovariance(np.where(np.isnan(series), 0.0, series - present.mean()))
    return min(_monotone(covariance / covariance[0]), float(len(present)))


@dataclass(frozen=True, slots=True)
class WithinRun:
    """A run's mean with the uncertainty from its own seconds.

    It does not include the variation between runs, which is two to three times as large (measured): label it
    "within this run" and never use it for a verdict.

    Attributes:
        mean: TPS; None without seconds.
        standard_error: TPS; None below ten seconds.
        effective_seconds: independent seconds, by `autocorrelation_time`.
    """

    mean: float | None
    standard_error: float | None
    effective_seconds: float


def within_run_error(tps: Sequence[float] | Array) -> WithinRun:
    """Return a run's mean and its standard error, corrected for autocorrelation.

    Raises:
        ValueError: a value is negative or infinite.
    """
    present = _present(tps)
    effective = len(present) / autocorrelation_time(tps)
    if len(present) < _FEWEST_SECONDS:
        return WithinRun(float(present.mean()) if len(present) else None, None, effective)
    error = float(present.std(ddof=1)) / math.sqrt(effective)
    return WithinRun(float(present.mean()), error, effective)


ROUNDS: Final = 5
SPREAD_LIMIT: Final = 0.2
SLOPE_LIMIT: Final = 0.1
FEWEST_PIECES: Final = 5
"""Independent parts of a run below which it cannot be judged."""

_ERROR: Final = 0.05
"""Share of stationary runs that may be called not steady: half by their trend, half by their rounds."""

_TURNS: Final = 6
_NEXT_ERRORS: Final = 1.25
"""Standard errors added to the correlation of neighbours: short runs look too even."""
_MOST_ALIKE: Final = 0.995
_REACH: Final = 0.7
"""Share of a round: neighbours farther apart are not used."""
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Whether a run was steady.

    Attributes:
        steady: None if that is unknown.
        spread: highest minus lowest round mean, by their mean; None below ten seconds, if a whole round was
            missed, or without transactions.
        slope: rise of the fitted line from first to last round, by their mean; None as `spread`.
        rounds: mean TPS of each round; empty if `spread` is None.
        pieces: number of independent parts of the run; 0 if `spread` is None. Below `FEWEST_PIECES` it is too
            short.
    """

    steady: bool | None
    spread: float | None
    slope: float | None
    rounds: tuple[float, ...]
    pieces: float

    @property
    def is_too_short(self) -> bool:
        """Whether there is data to judge, but too little."""
        return bool(self.rounds) and self.steady is None


_NO_STEADINESS: Final = SteadyState(None, None, None, (), 0.0)


def steady_state(
    tps: Sequence[float] | Array, checkpoints_s: Sequence[float] = (), rounds: int = ROUNDS
) -> SteadyState:
    """Return whether a run was steady.

    Rounds are its last checkpoint cycles if it has enough of them, else equal parts: a round that ends in the
    middle of a checkpoint would be compared with one that does not.

    Args:
        tps: transactions of each second, NaN for missed ones.
        checkpoints_s: starts of the checkpoints from the start of the series, ascending.
        rounds: number of rounds.

    Raises:
        ValueError: a value is negative or infinite, or fewer than two rounds.
    """
    series = np.asarray(tps, dtype=np.float64)
    if rounds < 2 or (series < 0).any() or np.isinf(series).any():
        raise ValueError(rounds if rounds < 2 else tps)
    edges = [round(start) for start in checkpoints_s][-rounds - 1 :]
    cycles = len(edges) > rounds and min(np.diff(edges)) >= 2 and edges[-1] <= len(series)
    if cycles:
        parts = [series[first:last] for first, last in pairwise(edges)]
    elif len(series) >= max(_FEWEST_SECONDS, rounds):
        parts = np.array_split(series, rounds)
    else:
        return _NO_STEADINESS
    known = [part[~np.isnan(part)] for part in parts]
    if any(len(part) == 0 for part in known):
        return _NO_STEADINESS
    means = np.array([part.mean() for part in known])
    mean = float(means.mean())
    if mean < _ROUNDING:
        return _NO_STEADINESS
    places = np.arange(rounds) - (rounds - 1) / 2
    slope = float(places @ means / (places @ places)) * (rounds - 1) / mean
    spread = float(np.ptp(means)) / mean
    means_found = tuple(float(value) for value in means)
    relative = [part / mean for part in parts]
    variance, pieces = _unevenness(_without_cycle(relative) if cycles else relative)
    if pieces < FEWEST_PIECES:
        return SteadyState(None, spread, slope, means_found, pieces)
    error = math.sqrt(variance * rounds / sum(map(len, known)))  # of the mean of a round
    degrees = max(1.0, pieces - 2)
    trend = student_t_quantile(1 - _ERROR / 4, degrees) * error * (rounds - 1) / math.sqrt(places @ places)
    apart = student_t_quantile(1 - _ERROR / 2 / (rounds * (rounds - 1)), degrees) * error * math.sqrt(2)
    changed = abs(slope) > max(SLOPE_LIMIT, trend) or spread > max(SPREAD_LIMIT, apart)
    return SteadyState(not changed, spread, slope, means_found, pieces)


def _without_cycle(parts: Sequence[Array]) -> list[Array]:
    """Return cycles without their common shape: every cycle starts low and ends high."""
    shortest = min(map(len, parts))
    rows = np.array([part[:shortest] for part in parts])
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    common = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(counts, 1)
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))  # a mean of few cycles includes a part of each
    levels = [float(np.nanmean(part)) for part in parts]
    return [level + (row - common) * scale for row, level in zip(rows, levels, strict=True)]


def _unevenness(parts: Sequence[Array]) -> tuple[float, float]:
    """Return (variance of an independent second, number of such seconds).

    It is taken within the rounds, each without its own mean: differences between rounds are what is judged by
    it. A trend of the whole run does not count either: it is computed with and without the trend, and the
    smaller counts. The correlation that these subtractions remove on average is added again.
    """
    if any(np.isnan(part).all() for part in parts):
        return math.inf, 0.0
    return min(_within(parts, residuals) for residuals in (_levels(parts), _sloping(parts)))


def _within(parts: Sequence[Array], residuals: Iterable[Array]) -> tuple[float, float]:
    """Return the same from the residuals of each round.

    The larger of two estimates: that of an autoregressive series, with an allowance for few seconds, and
    Geyer's initial monotone sequence (Geyer 1992, section 3.3), which also sees slow variation below a quick
    one.
    """
    count = sum(int((~np.isnan(part)).sum()) for part in parts)
    shortest = min(map(len, parts))
    covariance = np.zeros(shortest)
    for rest in residuals:
        covariance += _autocovariance(rest)[:shortest]
    per_round = count / len(parts)
    if covariance[0] <= count * _ROUNDING**2:
        return 0.0, float(count)
    variance, likeness = covariance[0] / count, covariance / covariance[0]
    quick = _autoregressive(float(likeness[1]), per_round, count)
    one = variance / max(1 - quick / per_round, 0.2) * quick
    lags = np.arange(shortest)
    unbiased = likeness * count / np.maximum(count - len(parts) * lags, 1)
    other, given_back = 0.0, 0.0
    for _ in range(_TURNS):
        slow = _monotone((unbiased + given_back)[: max(2, int(_REACH * shortest))] / (1 + given_back))
        other = variance * (1 + given_back) * slow
        given_back = min(slow / per_round * (1 + given_back), 2.0)
    whole = float(max(one, other))
    return whole, float(count * variance * (1 + quick / per_round) / whole)


def _levels(parts: Iterable[Array]) -> Iterator[Array]:
    """Yield each round without its mean; 0 for missed seconds."""
    for part in parts:
        yield np.where(np.isnan(part), 0.0, part - np.nanmean(part))


def _sloping(parts: Sequence[Array]) -> Iterator[Array]:
    """Yield each round without the line of the whole run and without the rest of its mean."""
    values = np.concatenate(parts)
    known = ~np.isnan(values)
    places = np.arange(len(values)) - np.flatnonzero(known).mean()
    slope = float(places[known] @ values[known]) / float(places[known] @ places[known])
    level = values - slope * places
    return _levels(np.split(level, np.cumsum([len(part) for part in parts])[:-1]))


def _autocovariance(rest: Array) -> Array:
    length = 1 << (2 * len(rest) - 1).bit_length()  # padded: no wrapping around
    spectrum = np.fft.rfft(rest, length)
    found: Array = np.fft.irfft(spectrum * np.conj(spectrum), length)[: len(rest)]
    return found


def _autoregressive(lag1: float, per_round: float, count: int) -> float:
    """Return the seconds that count as one in an autoregressive series, from the lag-1 correlation."""
    likeness = (lag1 * per_round + 1) / max(per_round - 1, 1.0)  # corrected for the subtracted means
    likeness += _NEXT_ERRORS * math.sqrt(max(1 - likeness**2, 0.0) / count)
    likeness = min(max(likeness, 0.0), _MOST_ALIKE)
    return (1 + likeness) / (1 - likeness)


def _monotone(likeness: Array) -> float:
    """Return 1 + 2 sum of autocorrelations, cut by Geyer's initial monotone sequence; at least 1."""
    pairs = likeness[: len(likeness) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return max(1.0, 2 * float(pairs.sum()) - 1)


FEWEST_CYCLES: Final = 3
SHARE: Final = 0.2
"""Share of a cycle that counts as its start, and as its end."""
_SHORTEST_S: Final = 10


@dataclass(frozen=True, slots=True)
class CheckpointEffect:
    """The first fifth of the checkpoint cycles of a run against their last fifth.

    Attributes:
        change: mean TPS of the first fifths by that of the last fifths, minus one.
        low: lower end of its 95 % interval, from the cycles as the unit.
        high: upper end.
        cycles: number of cycles, from the start of a checkpoint to that of the next.
    """

    change: float
    low: float
    high: float
    cycles: int

    @property
    def is_certain(self) -> bool:
        """Whether the difference is significant."""
        return self.low > 0 or self.high < 0


def checkpoint_effect(tps: Sequence[float] | Array, starts_s: Sequence[float]) -> CheckpointEffect | None:
    """Return the effect of checkpoints in a run, without its drift; None below three cycles of ten seconds.

    Args:
        tps: transactions of each second, NaN for missed ones.
        starts_s: starts of the checkpoints from the start of the series, ascending.
    """
    series = np.asarray(tps, dtype=np.float64)
    spans = [
        (first, last)
        for first, last in pairwise(starts_s)
        if first >= 0 and last - first >= _SHORTEST_S and last <= len(series)
    ]
    parts = [series[round(first) : round(last)] for first, last in spans]
    known = [(span, part) for span, part in zip(spans, parts, strict=True) if np.nansum(part) > 0]
    if len(known) < FEWEST_CYCLES:
        return None
    centres = np.array([(first + last) / 2 for (first, last), _ in known])
    means = np.array([float(np.nanmean(part)) for _, part in known])
    ratios = []
    for (first, _), part in known:
        level = _trend(np.arange(len(part), dtype=np.float64) + round(first) + 0.5, centres, means)
        flat = np.divide(part, level, out=np.full(len(part), np.nan), where=level > 0)
        length = max(1, round(SHARE * len(part)))
        begin, end = flat[:length], flat[-length:]
        if not (np.isnan(begin).all() or np.isnan(end).all()) and np.nanmean(begin) > 0 < np.nanmean(end):
            ratios.append(math.log(float(np.nanmean(begin)) / float(np.nanmean(end))))
    if len(ratios) < FEWEST_CYCLES:
        return None
    mean = math.fsum(ratios) / len(ratios)
    error = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios))
    half = student_t_quantile(0.975, len(ratios) - 1) * error
    return CheckpointEffect(
        math.expm1(mean), math.expm1(mean - half), math.expm1(min(mean + half, 700.0)), len(ratios)
    )


def _trend(places: Array, centres: Array, means: Array) -> Array:
    """Return the level of the run at some positions: lines between the means of its cycles, and beyond."""
    level = np.interp(places, centres, means)
    for outer, inner, beyond in ((0, 1, places < centres[0]), (-1, -2, places > centres[-1])):
        slope = (means[outer] - means[inner]) / (centres[outer] - centres[inner])
        level[beyond] = means[outer] + slope * (places[beyond] - centres[outer])
    found: Array = np.maximum(level, 0.0)
    return found
