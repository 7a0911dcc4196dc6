"""Whether a run was steady: rounds that lie apart, or have a trend, by more than its own unevenness explains.

The limits are those of a steady state in SNIA's Solid State Storage Performance Test Specification: five
rounds within 20 % of their mean, their trend within 10 %. Seconds of a run are alike in time: means of short
rounds of a stationary run lie apart by chance, often by more than that. Only what chance does not explain is
told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.statistics.student_t import student_t_quantile

ROUNDS: Final = 5
SPREAD_LIMIT: Final = 0.2
SLOPE_LIMIT: Final = 0.1
FEWEST_PIECES: Final = 5
"""Independent pieces of a run below which nothing can be told of it."""

_ERROR: Final = 0.05
"""Of stationary runs so many may be called not steady: half by their trend, half by their rounds."""
_FEWEST_SECONDS: Final = 10
_TURNS: Final = 6
_NEXT_ERRORS: Final = 1.25
"""Standard errors by which neighbours are taken as more alike than seen: short runs look too even."""
_MOST_ALIKE: Final = 0.995
_REACH: Final = 0.7
"""Of a round: neighbours farther apart say nothing."""
_ROUNDING: Final = 1e-9

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Whether a run was steady.

    Attributes:
        steady: None where that cannot be told.
        spread: highest less lowest round mean, by their mean; None below ten seconds, where a round was
            missed altogether, or where nothing was done.
        slope: rise of the fitted line from first to last round, by their mean; None likewise.
        rounds: mean TPS of each round, empty likewise.
        pieces: how many independent ones the run consists of; 0 likewise. Below `FEWEST_PIECES` it is too
            short.
    """

    steady: bool | None
    spread: float | None
    slope: float | None
    rounds: tuple[float, ...]
    pieces: float

    @property
    def is_too_short(self) -> bool:
        """Whether there is something to judge, and too little of it."""
        return bool(self.rounds) and self.steady is None


_NOTHING: Final = SteadyState(None, None, None, (), 0.0)


def steady_state(
    tps: Sequence[float] | Array, checkpoints_s: Sequence[float] = (), rounds: int = ROUNDS
) -> SteadyState:
    """Return whether a run was steady.

    Rounds are its last checkpoint cycles where it has enough of them, else equal parts: a round that ends in
    the middle of a checkpoint would be compared with one that does not.

    Args:
        tps: transactions of each second, NaN where missed.
        checkpoints_s: begins of the checkpoints from the begin of the series, ascending.
        rounds: how many.

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
        return _NOTHING
    known = [part[~np.isnan(part)] for part in parts]
    if any(len(part) == 0 for part in known):
        return _NOTHING
    means = np.array([part.mean() for part in known])
    mean = float(means.mean())
    if mean < _ROUNDING:
        return _NOTHING
    places = np.arange(rounds) - (rounds - 1) / 2
    slope = float(places @ means / (places @ places)) * (rounds - 1) / mean
    spread = float(np.ptp(means)) / mean
    told = tuple(float(value) for value in means)
    relative = [part / mean for part in parts]
    variance, pieces = _unevenness(_without_cycle(relative) if cycles else relative)
    if pieces < FEWEST_PIECES:
        return SteadyState(None, spread, slope, told, pieces)
    error = math.sqrt(variance * rounds / sum(map(len, known)))  # of the mean of a round
    degrees = max(1.0, pieces - 2)
    trend = student_t_quantile(1 - _ERROR / 4, degrees) * error * (rounds - 1) / math.sqrt(places @ places)
    pairs = rounds * (rounds - 1)
    apart = student_t_quantile(1 - _ERROR / 2 / pairs, degrees) * error * math.sqrt(2)
    changed = abs(slope) > max(SLOPE_LIMIT, trend) or spread > max(SPREAD_LIMIT, apart)
    return SteadyState(not changed, spread, slope, told, pieces)


def _without_cycle(parts: Sequence[Array]) -> list[Array]:
    """Return cycles without what all of them have: that each begins low and ends high is no chance."""
    shortest = min(map(len, parts))
    rows = np.array([part[:shortest] for part in parts])
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    common = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(counts, 1)
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))  # a mean of few cycles takes some of each with it
    levels = [float(np.nanmean(part)) for part in parts]
    return [level + (row - common) * scale for row, level in zip(rows, levels, strict=True)]


def _unevenness(parts: Sequence[Array]) -> tuple[float, float]:
    """Return (variance of one second that neighbours know nothing of, how many such there are).

    It is taken within the rounds, each without its own mean: what differs between rounds is what is judged by
    it. A trend of the whole run is none of it either: it is taken with and without, and the smaller counts.
    Of what that takes out of the likeness of neighbours the expected part is given back.
    """
    if any(np.isnan(part).all() for part in parts):
        return math.inf, 0.0
    return min(_within(parts, residuals) for residuals in (_levels(parts), _sloping(parts)))


def _within(parts: Sequence[Array], residuals: Iterable[Array]) -> tuple[float, float]:
    """Return the same, of what is left of each round.

    Of two estimates the larger counts: that of an autoregressive series, with an allowance for few seconds,
    and Geyer's initial monotone sequence (Geyer 1992, section 3.3), which also sees slow unevenness below a
    quick one.
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
    """Yield each round without the line of the whole run and without what is left of its mean."""
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
    """Return the seconds that count as one in an autoregressive series of this likeness within rounds."""
    likeness = (lag1 * per_round + 1) / max(per_round - 1, 1.0)  # what taking out means makes of it
    likeness += _NEXT_ERRORS * math.sqrt(max(1 - likeness**2, 0.0) / count)
    likeness = min(max(likeness, 0.0), _MOST_ALIKE)
    return (1 + likeness) / (1 - likeness)


def _monotone(likeness: Array) -> float:
    pairs = likeness[: len(likeness) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return max(1.0, 2 * float(pairs.sum()) - 1)
