"""Exact tests that check a verdict of Student's test without assuming a distribution; they make no verdict.

With three runs each no such test can reach 5 % (smallest two-sided p: 0.10), with four 0.029.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.statistics.verdict import Samples

Array = NDArray[np.float64]

MOST_ARRANGEMENTS: Final = 2**12
_ALIKE: Final = 1 - 1e-9
"""Tolerance: sums in another order differ in their last digit."""


@dataclass(frozen=True, slots=True)
class ExactTests:
    """Two-sided p values of the hypothesis that both configurations are equal.

    Attributes:
        permutation: over all signs of the pairs, or all assignments of the runs; None above 4096 of them.
        mann_whitney: of the ranks of independent runs, ties at their mean; None for pairs and above 4096.
    """

    permutation: float | None
    mann_whitney: float | None


def exact_tests(samples: Samples) -> ExactTests:
    """Return both p values; None if a run was 0, with fewer than two of each, or in different campaigns.

    Between campaigns the runs were not randomised: their arrangements are not equally likely.
    """
    if not samples.together:
        return ExactTests(None, None)
    a, b = np.array(samples.baseline, dtype=np.float64), np.array(samples.candidate, dtype=np.float64)
    if min(len(a), len(b)) < 2 or not (a > 0).all() or not (b > 0).all():
        return ExactTests(None, None)
    if samples.paired:
        if 2 ** len(a) > MOST_ARRANGEMENTS:
            return ExactTests(None, None)
        pairs = np.log(b) - np.log(a)
        signs = np.array(list(product((1.0, -1.0), repeat=len(pairs))))
        return ExactTests(_share(np.abs(signs @ pairs), abs(float(pairs.sum()))), None)
    if comb(len(a) + len(b), len(b)) > MOST_ARRANGEMENTS:
        return ExactTests(None, None)
    pooled = np.concatenate((np.log(a), np.log(b)))
    return ExactTests(_dealt(pooled, len(b)), _dealt(_ranks(pooled), len(b)))


def _share(extremes: Array, observed: float) -> float:
    """Return the share of arrangements at least as extreme as the observed one."""
    return float(np.mean(extremes >= observed * _ALIKE - 1e-12))


def _dealt(values: Array, count: int) -> float:
    """Return the two-sided p of the mean of the last `count` values, over all assignments."""
    centred = values - values.mean()
    sums = np.fromiter(_sums(centred, count), dtype=np.float64)
    return _share(np.abs(sums), abs(float(centred[len(values) - count :].sum())))


def _sums(values: Array, count: int) -> Iterator[float]:
    return (float(values[list(places)].sum()) for places in combinations(range(len(values)), count))


def _ranks(values: Array) -> Array:
    """Return ranks from 1 on, ties at their mean."""
    below = (values[:, None] > values[None, :]).sum(axis=1)
    alike = (values[:, None] == values[None, :]).sum(axis=1)
    ranks: Array = below + (alike + 1) / 2
    return ranks
