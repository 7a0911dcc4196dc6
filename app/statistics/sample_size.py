"""Compute how many runs detect a difference, what some can detect, and Student's t for both."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

# Student's t distribution: tail probability and quantile, for which scipy would cost 0.6 s and 97 MB.
#
# The incomplete beta function is a continued fraction evaluated by Lentz's method (Numerical Recipes, 3rd
# edition, 6.4; DLMF 8.17.22). Tested against scipy to 1e-8.


_TINY: Final = 1e-300
_STEPS: Final = 10_000
_EXACT: Final = 1e-14
"""Relative step at which a quantile is found."""
_NORMAL_FROM: Final = 1e7
"""From this many degrees of freedom on t and normal quantiles agree to 1e-6 even at p = 1e-9."""


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), _TINY)
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or _TINY)
            c = (1 + term / c) or _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    Args:
        a: first parameter, above 0.
        b: second parameter, above 0.
        x: upper limit, 0 to 1.
        rest: 1 - x, passed separately to avoid cancellation.
    """
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    front = math.exp(logarithm)
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a
    return 1 - front * _continued_fraction(b, a, rest) / b


def student_t_tail(t: float, df: float) -> float:
    """Return the probability of a value above `t`.

    Args:
        t: any number.
        df: degrees of freedom, above 0; need not be whole.

    Raises:
        ValueError: `df` is not above 0, or one of them is NaN.
    """
    if not df > 0 or math.isnan(t):
        raise ValueError((t, df))
    if t < 0:
        return 1 - student_t_tail(-t, df)
    if df >= _NORMAL_FROM:
        return NormalDist().cdf(-t)
    square = t * t
    x = df / (df + square)
    return 0.5 * _incomplete_beta(df / 2, 0.5, x, square / (df + square) if math.isfinite(square) else 1.0)


@lru_cache(maxsize=4096)
def student_t_quantile(p: float, df: float) -> float:
    """Return the value below which a share `p` of the distribution is.

    Args:
        p: above 0 and below 1.
        df: degrees of freedom, above 0; need not be whole.

    Raises:
        ValueError: out of range.
    """
    if not 0 < p < 1 or not df > 0:
        raise ValueError((p, df))
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -_upper_quantile(p, df)
    return _upper_quantile(1 - p, df)


def _upper_quantile(tail: float, df: float) -> float:
    """Return the positive value above which a share `tail` (below one half) is, by Newton in a bracket."""
    normal = -NormalDist().inv_cdf(tail)
    if df >= _NORMAL_FROM:
        return normal
    low, high = 0.0, math.inf
    found = normal + (normal**3 + normal) / (4 * df)
    for _ in range(_STEPS):
        error = student_t_tail(found, df) - tail
        low, high = (found, high) if error > 0 else (low, found)
        nearer = found + error / _density(found, df)
        if not low < nearer < high:
            nearer = (low + high) / 2 if high < math.inf else 2 * low
        if abs(nearer - found) <= _EXACT * nearer:
            return nearer
        found = nearer
    return found


def _density(t: float, df: float) -> float:
    logarithm = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - (df + 1) / 2 * math.log1p(t * t / df)
    return max(_TINY, math.exp(logarithm) / math.sqrt(df * math.pi))


RUNS_FOR_A_VERDICT: Final = 3
"""Fewer runs are "indicative only": their interval would be too wide to be useful."""

RUNS_FOR_A_REFERENCE: Final = 3
"""Runs of the reference configuration in each of two campaigns, to measure the change between them.

With two, 95 % intervals contain the truth in 90 to 97 % of simulated campaigns, with three in 93 to 97 %
(`resources/manual/method.md`).
"""

DEFAULT_ALPHA: Final = 0.05
DEFAULT_EFFECT: Final = 0.02
"""Smallest difference of interest: 2 %."""

POWER: Final = 0.8
_MOST_RUNS_ADVISED: Final = 10_000


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_REACH: Final = 10.0
"""Range of integration in standard deviations of an estimated spread: beyond it is less than 1e-16."""


def power_of_t_test(shift: float, df: float, alpha: float) -> float:
    """Return the probability that a two-sided t test detects a difference in the right direction.

    The upper tail of the noncentral t distribution, as the normal tail integrated over the estimated spread.

    Args:
        shift: the true difference divided by its true standard error (the noncentrality).
        df: degrees of freedom, from 1.
        alpha: error allowed.
    """
    if math.isinf(df):
        return NormalDist().cdf(shift - NormalDist().inv_cdf(1 - alpha / 2))
    critical = student_t_quantile(1 - alpha / 2, df)
    width = _REACH / math.sqrt(2 * df)
    low, high = max(0.0, 1 - width), 1 + width
    scales = low + (high - low) * (_NODES + 1) / 2  # of the estimated by the true spread
    density = (df - 1) * np.log(scales) - df * scales**2 / 2
    density += math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    tails = 0.5 * np.array([*map(math.erfc, ((critical * scales - shift) / math.sqrt(2)).tolist())])
    return float((_WEIGHTS * np.exp(density) * tails).sum() * (high - low) / 2)


@lru_cache(maxsize=4096)
def _shift_needed(df: float, alpha: float) -> float:
    """Return the true difference, in standard errors, that is detected with a probability of `POWER`."""
    low, high = 0.0, 4.0
    below, above = -POWER, power_of_t_test(high, df, alpha) - POWER
    while above < 0:
        low, below, high = high, above, 2 * high
        above = power_of_t_test(high, df, alpha) - POWER
    # The Illinois method: an end of the bracket that stays twice counts half, so that both come nearer.
    stayed = 0
    while high - low > 1e-9 * high:
        between = high - above * (high - low) / (above - below)
        step = 4e-10 * high  # an end that is met exactly would leave the other where it is
        between = min(max(between, low + step), high - step)
        found = power_of_t_test(between, df, alpha) - POWER
        if found >= 0:
            high, above, below = between, found, below / 2 if stayed < 0 else below
            stayed = -1
        else:
            low, below, above = between, found, above / 2 if stayed > 0 else above
            stayed = 1
    return high


def holm_alpha(comparisons: int, alpha: float = DEFAULT_ALPHA) -> float:
    """Return the error allowed for the first rejection among several comparisons (Holm's first step)."""
    return alpha / max(1, comparisons)


def runs_needed(
    spread: float, *, effect: float = DEFAULT_EFFECT, paired: bool, alpha: float = DEFAULT_ALPHA
) -> int | None:
    """Return how many runs of each configuration detect a difference of `effect` with a probability of 80 %.

    Args:
        spread: standard deviation of the logarithms of runs, or of the pairs' differences.
        effect: the difference, as a share above 0.
        paired: whether runs are compared in pairs.
        alpha: error allowed.

    Returns:
        At least 3; None if it is more than 10 000.
    """
    scale = (spread * (1 if paired else math.sqrt(2)) / math.log1p(effect)) ** 2
    # Start from the number for a known spread, a lower bound.
    runs = max(RUNS_FOR_A_VERDICT, math.ceil(_shift_needed(math.inf, alpha) ** 2 * scale))
    while runs <= _MOST_RUNS_ADVISED:
        if runs >= _shift_needed(runs - 1 if paired else 2 * runs - 2, alpha) ** 2 * scale:
            return runs
        runs += 1
    return None


def minimum_detectable_effect(
    spread: float, runs: int, *, paired: bool = False, alpha: float = DEFAULT_ALPHA
) -> float | None:
    """Return the difference that this number of runs detects with a probability of 80 %, as a share.

    Relative to the lower one: 1.0 is twice as much.

    Args:
        spread: standard deviation of the logarithms of run means, or of the pairs' differences.
        runs: of each configuration.
        paired: whether runs are compared in pairs.
        alpha: error allowed.

    Returns:
        None below two runs.
    """
    if runs < 2:
        return None
    df = runs - 1 if paired else 2 * runs - 2
    return math.expm1(_shift_needed(df, alpha) * spread * math.sqrt((1 if paired else 2) / runs))


# How much runs would have to vary to explain a difference of single runs by chance.
#
# One run each has no variation of its own, so there is no verdict. But a difference d of the logarithms of
# means of n and m runs has the standard deviation spread * sqrt(1/n + 1/m) if nothing differs, and is then
# beyond z * spread * sqrt(1/n + 1/m) only in a share alpha of cases: the spread at which d is exactly there
# is the least that makes chance an explanation. With a known spread of similar runs with some degrees of
# freedom, d / (spread * sqrt(1/n + 1/m)) follows Student's t, as in the analysis of variance.


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
