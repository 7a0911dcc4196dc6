"""Intervals for a value that was chosen because it was the largest, and is therefore overestimated.

Conditional on being chosen, a value has its distribution truncated at the least value that would have been
chosen (its bound). Inverting the truncated distribution gives intervals with the right coverage, but of any
width if the choice was close; so the truth is first confined to a wider interval that is valid for every
choice (Bonferroni over all), at a tenth of the error. This is the hybrid of Andrews, Kitagawa and McCloskey
(Inference on Winners, Quarterly Journal of Economics 139, 2024), with Student's t. Their coverage after a
sequential choice: resources/manual/method.md, "What simulations found".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from app.statistics.student_t import student_t_quantile, student_t_tail

_CONFINING: Final = 0.1
"""Share of the error for the wider interval."""
_STEPS: Final = 32
_GRID: Final = 1.05
_STEPS_OF_GRID: Final = 566
"""1.05 to the power of minus that is 1e-12."""


@dataclass(frozen=True, slots=True)
class ChoiceAmong:
    """How the first of two was chosen among several.

    Attributes:
        bound: the least difference of the two with which it would still have been chosen.
        others: number of its competitors.
    """

    bound: float
    others: int

    def interval(self, seen: float, error: float, df: float, alpha: float) -> tuple[float, float]:
        """Return the ends of the interval of a difference in favour of the chosen one.

        It never says that the leading one is slower: being chosen is no evidence against it.

        Args:
            seen: difference; raised to the bound if it is below.
            error: standard error.
            df: degrees of freedom of that.
            alpha: error allowed, two-sided.
        """
        if error == 0:
            return seen, seen
        bound = (min(self.bound, seen) - seen) / error
        low, high = _standard(bound, df, self.others, alpha)
        return seen + low * error, max(seen + high * error, min(seen, 0.0))

    def p_value(self, seen: float, error: float, df: float) -> float:
        """Return the least error at which the interval excludes no difference, with 5 % relative precision.

        1 if the chosen one is not ahead at all.
        """
        if seen <= 0 or error == 0:
            return 1.0 if seen <= 0 else 0.0
        bound, truth = (min(self.bound, seen) - seen) / error, -seen / error
        low, high = 0, _STEPS_OF_GRID
        while low < high:  # the interval grows as the error that is allowed shrinks
            middle = (low + high + 1) // 2
            reach, inside = _confined(df, self.others, _GRID**-middle)
            share = _share_above(truth, bound, df, reach) if truth > -reach else 0.0
            low, high = (middle, high) if share < inside / 2 else (low, middle - 1)
        return _GRID**-low


def _confined(df: float, others: int, alpha: float) -> tuple[float, float]:
    """Return the half width of the wider interval, and the remaining error within it."""
    confining = _CONFINING * alpha
    reach = student_t_quantile(1 - confining / (2 * max(1, others)), df)
    return reach, (alpha - confining) / (1 - confining)


def _share_above(truth: float, bound: float, df: float, reach: float) -> float:
    """Return the share of the truncated distribution above 0, for a true value `truth`; errors are 1."""
    top = student_t_tail(reach, df)
    possible = student_t_tail(max(bound - truth, -reach), df) - top
    return (student_t_tail(-truth, df) - top) / possible if possible > 0 else 0.0


@lru_cache(maxsize=4096)
def _standard(bound: float, df: float, others: int, alpha: float) -> tuple[float, float]:
    """Return the ends for a difference of 0 with an error of 1; `bound` is at most 0."""
    reach, inside = _confined(df, others, alpha)

    def solve(share: float) -> float:
        low, high = -reach, reach
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if _share_above(middle, bound, df, reach) < share else (low, middle)
        return (low + high) / 2

    return solve(inside / 2), solve(1 - inside / 2)
