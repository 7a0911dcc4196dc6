"""Comparisons of several configurations with the first, simulated: how often one is named. Seeded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.statistics.sample_size import student_t_quantile

Array = NDArray[np.float64]


def pair_statistics(configurations: int, repeats: int, campaigns: int, seed: int) -> tuple[Array, Array]:
    """Return mean and standard error of the paired differences of identical configurations, spread 1.

    Returns:
        Two arrays of shape (campaigns, configurations - 1), in standard deviations of one run.
    """
    random = np.random.default_rng(seed)
    logs = random.standard_normal((campaigns, configurations, repeats))
    pairs = logs[:, 1:] - logs[:, :1]
    return pairs.mean(axis=2), pairs.std(axis=2, ddof=1) / np.sqrt(repeats)


def named_share(means: Array, errors: Array, repeats: int, difference: float) -> float:
    """Return how often Holm's procedure names a difference of the second configuration, the right way round.

    Args:
        means: of `pair_statistics`.
        errors: likewise.
        repeats: of each configuration.
        difference: true one of the second configuration, in standard deviations of one run.
    """
    shifted = means.copy()
    shifted[:, 0] += difference
    sizes = np.abs(shifted) / errors
    comparisons = sizes.shape[1]
    order = np.argsort(-sizes, axis=1)
    levels = [
        student_t_quantile(1 - 0.05 / (comparisons - rank) / 2, repeats - 1) for rank in range(comparisons)
    ]
    passed = np.take_along_axis(sizes, order, axis=1) > np.array(levels)
    rejected = np.logical_and.accumulate(passed, axis=1)
    rank = np.argmin(order, axis=1)  # place of comparison 0
    named = rejected[np.arange(len(rank)), rank] & (shifted[:, 0] > 0)
    return float(named.mean())


def simulated_difference(configurations: int, repeats: int, campaigns: int, seed: int) -> float:
    """Return the difference that is named in 80 % of campaigns, in standard deviations of one run."""
    means, errors = pair_statistics(configurations, repeats, campaigns, seed)
    low, high = 0.0, 64.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        if named_share(means, errors, repeats, middle) >= 0.8:
            high = middle
        else:
            low = middle
    return high
