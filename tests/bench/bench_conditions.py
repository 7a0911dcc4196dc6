"""Campaigns of several conditions, simulated: how often something is named that is not, or is as planned.

``python -m tests.bench.bench_conditions [CAMPAIGNS]``; each line is a setting. A false verdict counts once in
a condition, whose family it is; of factors once in a campaign of one condition.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.comparison.comparison import compare_runs
from app.draft.planning import Plan
from app.statistics.cells import CellPair, compare_levels
from app.statistics.verdict import Verdict
from tests.made_matrix import made_run

Array = NDArray[np.float64]
NAMED: Final = {Verdict.HIGHER, Verdict.LOWER}
SPREAD: Final = 0.01


def even(random: np.random.Generator, rounds: int, places: int) -> Array:
    """Return independent runs of one spread."""
    return SPREAD * random.standard_normal((rounds, places))


def drifting(random: np.random.Generator, rounds: int, places: int) -> Array:
    """Return runs of a machine that changes slowly, in random order within a round."""
    steps = np.cumsum(SPREAD * random.standard_normal(rounds * places) / 2)
    order = np.argsort(random.random((rounds, places)), axis=1)
    return np.take_along_axis(steps.reshape(rounds, places), order, axis=1) + even(random, rounds, places)


def uneven(random: np.random.Generator, rounds: int, places: int) -> Array:
    """Return runs of which every second configuration spreads four times as much."""
    return even(random, rounds, places) * np.where(np.arange(places) % 2, 4, 1)


def with_outliers(random: np.random.Generator, rounds: int, places: int) -> Array:
    """Return runs of which one in twenty is 40 % slower."""
    return even(random, rounds, places) + np.where(random.random((rounds, places)) < 0.05, math.log(0.6), 0)


Kind = Callable[[np.random.Generator, int, int], Array]
KINDS: Final[tuple[Kind, ...]] = (even, drifting, uneven, with_outliers)


def named(kind: Kind, conditions: int, footings: int, repeats: int, effect: float, campaigns: int) -> float:
    """Return the share of conditions in which the last footing, or without an effect any, is named."""
    random = np.random.default_rng(29)
    hits = total = 0
    for _ in range(campaigns):
        noise = kind(random, repeats, conditions * footings).reshape(repeats, conditions, footings)
        noise[:, :, -1] += math.log1p(effect)
        runs = [
            made_run(
                {"filesystem": f"fs{footing}", "scale": str(condition + 1)},
                1000 * (condition + 1) * math.exp(noise[repeat, condition, footing]),
                repeat=repeat,
            )
            for repeat, condition, footing in product(range(repeats), range(conditions), range(footings))
        ]
        for part in compare_runs(runs, cut_s=0).parts:
            found = [row.comparison is not None and row.comparison.verdict in NAMED for row in part.rows]
            hits += found[-1] if effect else any(found)
            total += 1
    return hits / total


def of_factor(kind: Kind, cells: int, levels: int, repeats: int, campaigns: int) -> tuple[float, float]:
    """Return how often a level without an effect is named over cells, and how often one depends on them."""
    random = np.random.default_rng(31)
    wrong = depends = 0
    for _ in range(campaigns):
        logs = kind(random, repeats, cells * levels).reshape(repeats, cells, levels)
        pairs = [
            [
                CellPair(
                    math.exp(logs[:, cell, 0].mean()),
                    math.exp(logs[:, cell, level].mean()),
                    differences=tuple(logs[:, cell, level] - logs[:, cell, 0]),
                )
                for cell in range(cells)
            ]
            for level in range(1, levels)
        ]
        found = compare_levels(pairs)
        wrong += any(each.comparison.verdict in NAMED for each in found)
        depends += any(each.depends for each in found)
    return wrong / campaigns, depends / campaigns


def main() -> None:
    """Print every setting with what was found."""
    campaigns = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print("power: conditions, footings, repeats, difference, named (planned 0.80)")
    for conditions, footings, repeats in product((1, 4), (2, 4), (3, 5)):
        effect = Plan(footings - 1, SPREAD).detectable(repeats) or 0.0
        share = named(even, conditions, footings, repeats, effect, campaigns)
        print(f"  {conditions} {footings} {repeats} {effect:.4f}: {share:.3f}", flush=True)
    print("factors without an effect: kind, cells, levels, repeats, named, said to depend on the cell")
    for kind, cells, levels, repeats in product(KINDS, (2, 6), (2, 4), (2, 3, 5)):
        wrong, depends = of_factor(kind, cells, levels, repeats, 5 * campaigns)
        print(f"  {kind.__name__} {cells} {levels} {repeats}: {wrong:.3f}, {depends:.3f}", flush=True)
    print("identical configurations: kind, conditions, footings, repeats, named, bound")
    for kind, conditions, footings, repeats in product(KINDS, (2, 4), (2, 4), (3, 5)):
        share = named(kind, conditions, footings, repeats, 0.0, campaigns)
        bound = 0.05 + 2 * math.sqrt(0.05 * 0.95 / (campaigns * conditions))
        print(f"  {kind.__name__} {conditions} {footings} {repeats}: {share:.3f}, {bound:.3f}", flush=True)


if __name__ == "__main__":
    main()
