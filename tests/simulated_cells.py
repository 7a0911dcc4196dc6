"""Matrices of single runs and campaigns of several configurations with known truth, simulated. Seeded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from app.statistics.cells import CellPair
from app.statistics.selection import possibly_best
from app.statistics.verdict import Samples, compare_family


def matrices(
    count: int,
    cells: int,
    seed: int,
    *,
    ratio: float = 1.0,
    run: float = 0.01,
    interaction: float = 0.0,
    campaign: float = 0.0,
    sets: int = 0,
) -> Iterator[tuple[CellPair, ...]]:
    """Yield matrices of one run each at two levels of a factor.

    Args:
        count: how many.
        cells: of each.
        seed: of the random numbers.
        ratio: true mean ratio over all cells there could be.
        run: spread of runs (standard deviation of logarithms).
        interaction: spread of the true ratios of cells.
        campaign: spread of what a campaign does to all its runs.
        sets: pairs of campaigns that the cells are spread over; 0: both runs of a cell are of one campaign.
    """
    random = np.random.default_rng(seed)
    for _ in range(count):
        truth = math.log(ratio) + interaction * random.standard_normal(cells)
        runs = run * random.standard_normal((2, cells))
        shared = campaign * random.standard_normal((2, max(1, sets)))
        found = []
        for cell in range(cells):
            of = cell % sets if sets else 0
            levels = (shared[0, of], shared[1, of]) if sets else (shared[0, 0], shared[0, 0])
            baseline = 1000 * math.exp(runs[0, cell] + levels[0])
            candidate = 1000 * math.exp(truth[cell] + runs[1, cell] + levels[1])
            campaigns = frozenset({("a", of), ("b", of)}) if sets else frozenset()
            found.append(CellPair(baseline, candidate, campaigns))
        yield tuple(found)


def best_sets(
    ratios: Sequence[float],
    spreads: Sequence[float],
    repeats: int,
    count: int,
    seed: int,
    *,
    paired: bool = True,
    drift: float = 0.0,
) -> Iterator[tuple[int, ...]]:
    """Yield which configurations are possibly the best of simulated campaigns.

    Args:
        ratios: true speed of each.
        spreads: of the runs of each.
        repeats: of each.
        count: campaigns.
        seed: of the random numbers.
        paired: whether runs of a repeat are compared as pairs.
        drift: spread of what the runs of a repeat have in common.
    """
    random = np.random.default_rng(seed)
    places = range(len(ratios))
    scale = np.array(spreads)[:, None]
    centre = np.log(np.array(ratios))[:, None]
    for _ in range(count):
        common = drift * random.standard_normal(repeats)
        runs = 1000 * np.exp(centre + scale * random.standard_normal((len(ratios), repeats)) + common)
        values = [tuple(map(float, runs[place])) for place in places]

        def samples(one: int, other: int, values: Sequence[tuple[float, ...]] = values) -> Samples:
            return Samples(values[one], values[other], paired=paired)

        with_first = compare_family([samples(0, place) for place in places[1:]])
        yield possibly_best(with_first, samples)
