"""Compute how many runs detect a difference, and which difference a number of runs can detect."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from app.statistics.student_t import student_t_quantile

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
    tails = np.array([0.5 * math.erfc((critical * scale - shift) / math.sqrt(2)) for scale in scales])
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
