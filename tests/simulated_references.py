"""Two campaigns with a reference in both, simulated: what their machine changed by, and what is true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.statistics.verdict import ReferenceRuns, Samples, Verdict, compare

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TwoCampaigns:
    """What is true of two campaigns, one compared configuration and the reference in each.

    Attributes:
        runs: of each compared configuration.
        reference_runs: of the reference, in each campaign.
        spreads: of the logarithms of runs: the first one, the second one, the reference beside each.
        offset: what the machine of the second campaign changes all by, minus one.
        difference: of the second configuration to the first, minus one.
    """

    runs: int = 5
    reference_runs: int = 5
    spreads: tuple[float, float, float, float] = (0.025, 0.025, 0.025, 0.025)
    offset: float = 0.1
    difference: float = 0.0

    def logs(self, count: int, seed: int) -> tuple[Array, Array, Array, Array]:
        """Return logarithms of what so many pairs of campaigns would measure, one a row.

        Returns:
            Of the first, the second, the reference beside the first and beside the second.
        """
        random = np.random.default_rng(seed)
        changed, other = np.log1p(self.offset), np.log1p(self.difference)
        levels = (0.0, changed + other, 0.0, changed)
        sizes = (self.runs, self.runs, self.reference_runs, self.reference_runs)
        one, two, three, four = (
            level + spread * random.standard_normal((count, size))
            for level, spread, size in zip(levels, self.spreads, sizes, strict=True)
        )
        return one, two, three, four

    def samples(self, count: int, seed: int) -> Iterator[Samples]:
        """Yield the same as a comparison takes them."""
        for row in zip(*self.logs(count, seed), strict=True):
            a, b, c, d = (tuple(map(float, 1000 * np.exp(each))) for each in row)
            yield Samples(a, b, paired=False, together=False, reference=ReferenceRuns(c, d))


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How often, as shares.

    Attributes:
        covered: the interval held the true difference.
        higher: the second one was called faster.
        lower: it was called slower.
    """

    covered: float
    higher: float
    lower: float


def count_verdicts(truth: TwoCampaigns, count: int, seed: int) -> Verdicts:
    """Return what is told of so many pairs of campaigns."""
    covered = higher = lower = 0
    for samples in truth.samples(count, seed):
        found = compare(samples)
        if found.interval is None:
            raise AssertionError(found)
        covered += found.interval.low <= 1 + truth.difference <= found.interval.high
        higher += found.verdict is Verdict.HIGHER
        lower += found.verdict is Verdict.LOWER
    return Verdicts(covered / count, higher / count, lower / count)
