"""How many runs it takes to see a difference, and which difference a number of runs can show."""

from __future__ import annotations

import math
from typing import Final

from app.statistics.student_t import student_t_quantile

RUNS_FOR_A_VERDICT: Final = 3
"""Fewer runs are "indicative only": their interval would be wider than anything of interest."""

DEFAULT_ALPHA: Final = 0.05
DEFAULT_EFFECT: Final = 0.02
"""Smallest difference of interest: 2 %."""

POWER: Final = 0.8
_MOST_RUNS_ADVISED: Final = 10_000


def _t_sum(df: float, alpha: float) -> float:
    return student_t_quantile(1 - alpha / 2, df) + student_t_quantile(POWER, df)


def runs_needed(
    spread: float, *, effect: float = DEFAULT_EFFECT, paired: bool, alpha: float = DEFAULT_ALPHA
) -> int | None:
    """Return how many runs of each configuration show a difference of `effect` with a probability of 80 %.

    Args:
        spread: standard deviation of the logarithms of runs, or of the pairs' differences.
        effect: the difference, as a share above 0.
        paired: whether runs are compared in pairs.
        alpha: error allowed.

    Returns:
        At least 3; None where it is more than 10 000.
    """
    scale = (spread * (1 if paired else math.sqrt(2)) / math.log1p(effect)) ** 2
    runs = max(RUNS_FOR_A_VERDICT, math.ceil(_t_sum(math.inf, alpha) ** 2 * scale))  # never more than needed
    while runs <= _MOST_RUNS_ADVISED:
        if runs >= _t_sum(runs - 1 if paired else 2 * runs - 2, alpha) ** 2 * scale:
            return runs
        runs += 1
    return None


def minimum_detectable_effect(
    cv: float, runs: int, *, paired: bool = False, alpha: float = DEFAULT_ALPHA
) -> float | None:
    """Return the difference that so many runs show with a probability of 80 %, as a share.

    Args:
        cv: coefficient of variation of run means, or of the pairs' differences.
        runs: of each configuration.
        paired: whether runs are compared in pairs.
        alpha: error allowed.

    Returns:
        None below two runs, from which nothing can be told.
    """
    if runs < 2:
        return None
    df = runs - 1 if paired else 2 * runs - 2
    return _t_sum(df, alpha) * cv * math.sqrt((1 if paired else 2) / runs)
