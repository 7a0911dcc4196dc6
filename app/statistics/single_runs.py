"""How much runs would have to vary to explain a difference of single runs by chance.

One run each has no variation of its own, so there is no verdict. But a difference d of the logarithms of
means of n and m runs has the standard deviation spread * sqrt(1/n + 1/m) if nothing differs, and is then
beyond z * spread * sqrt(1/n + 1/m) only in a share alpha of cases: the spread at which d is exactly there is
the least that makes chance an explanation. With a known spread of similar runs with some degrees of freedom,
d / (spread * sqrt(1/n + 1/m)) follows Student's t, as in the analysis of variance.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from app.statistics.sample_size import DEFAULT_ALPHA
from app.statistics.student_t import student_t_tail


def needed_spread(ratio: float, runs: tuple[int, int], alpha: float = DEFAULT_ALPHA) -> float:
    """Return the spread from which chance causes such a difference in a share `alpha` of cases.

    Args:
        ratio: of two means, above 0.
        runs: behind each of them, from 1.
        alpha: above 0 and below 1.

    Returns:
        Standard deviation of the logarithms of run means, below a tenth nearly the coefficient of variation.

    Raises:
        ValueError: out of range.
    """
    if not (0 < alpha < 1):
        raise ValueError(alpha)
    return abs(_log(ratio)) / (NormalDist().inv_cdf(1 - alpha / 2) * _scale(runs))


def chance_of(ratio: float, runs: tuple[int, int], spread: float, df: float) -> float:
    """Return the probability that runs with this spread differ as much or more by chance.

    Args:
        ratio: of two means, above 0.
        runs: behind each of them, from 1.
        spread: standard deviation of the logarithms of similar runs.
        df: degrees of freedom of that spread, above 0.

    Raises:
        ValueError: out of range.
    """
    if not (spread >= 0 and math.isfinite(spread)):
        raise ValueError(spread)
    difference = abs(_log(ratio))
    if not spread:
        return 0.0 if difference else 1.0
    return min(1.0, 2 * student_t_tail(difference / (spread * _scale(runs)), df))


def _log(ratio: float) -> float:
    if not (ratio > 0 and math.isfinite(ratio)):
        raise ValueError(ratio)
    return math.log(ratio)


def _scale(runs: tuple[int, int]) -> float:
    if min(runs) < 1:
        raise ValueError(runs)
    return math.sqrt(1 / runs[0] + 1 / runs[1])
