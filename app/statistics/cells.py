"""A factor over the cells of a matrix: what two of its levels differ by where all else is equal.

A cell is a combination of everything else that was measured at both levels; its ratio is one value. The cells
are the replicates: what the difference is in one cell and not in another (interaction) becomes spread like
the chance of runs, and the interval holds for the mean over cells like these, never for a single one. This is
the paired t test of a randomised block design with the cells as blocks (Box, Hunter and Hunter, Statistics
for Experimenters, 2nd edition, chapters 3 and 4); runs of different cells may differ as they like.

Where the two runs of a cell are of different campaigns, what changed between these is part of its ratio, and
the same part of every cell measured in them: such cells are no replicates of each other. Cells that share a
campaign in this way count as one set, by the mean of their logarithms, and the sets are the replicates.
Simulated: tests/bench/bench_factors.py.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from app.statistics.sample_size import DEFAULT_ALPHA, DEFAULT_EFFECT
from app.statistics.verdict import Comparison, Samples, compare, holm_levels


@dataclass(frozen=True, slots=True)
class CellPair:
    """One cell, measured at both levels.

    Attributes:
        baseline: mean at the first level, above 0.
        candidate: at the second.
        campaigns: those that the two are of where that is more than one; empty where both are of one.
    """

    baseline: float
    candidate: float
    campaigns: frozenset[Hashable] = frozenset()

    @property
    def ratio(self) -> float:
        """Second by first."""
        return self.candidate / self.baseline


@dataclass(frozen=True, slots=True)
class CellComparison:
    """Two levels of a factor over their cells.

    Attributes:
        comparison: the verdict, of the sets where there are any; its `runs` are what was averaged, and
            INDICATIVE where that is fewer than three.
        over_cells: the same with every cell a replicate of its own, whatever campaigns they share.
        cells: how many.
        sets: how many sets were averaged; None where every cell is of one campaign and counts for itself.
        least: smallest ratio of a cell; None without cells.
        most: largest.
    """

    comparison: Comparison
    over_cells: Comparison
    cells: int
    sets: int | None
    least: float | None
    most: float | None


def compare_over_cells(
    pairs: Sequence[CellPair], *, effect: float = DEFAULT_EFFECT, alpha: float = DEFAULT_ALPHA
) -> CellComparison:
    """Return what may be said about two levels of a factor.

    Raises:
        ValueError: a mean that is not above 0.
    """
    if any(not (0 < value < math.inf) for pair in pairs for value in (pair.baseline, pair.candidate)):
        raise ValueError(pairs)
    logs = [math.log(pair.ratio) for pair in pairs]
    sets = independent_sets([pair.campaigns for pair in pairs])
    means = [math.fsum(logs[place] for place in places) / len(places) for places in sets]
    linked = any(pair.campaigns for pair in pairs)
    return CellComparison(
        comparison=_compare(means, effect, alpha),
        over_cells=_compare(logs, effect, alpha),
        cells=len(pairs),
        sets=len(sets) if linked else None,
        least=math.exp(min(logs)) if logs else None,
        most=math.exp(max(logs)) if logs else None,
    )


def _compare(logs: Sequence[float], effect: float, alpha: float) -> Comparison:
    samples = Samples((1.0,) * len(logs), tuple(map(math.exp, logs)), paired=True)
    return compare(samples, effect=effect, alpha=alpha)


def independent_sets(campaigns: Sequence[Iterable[Hashable]]) -> tuple[tuple[int, ...], ...]:
    """Return the places of cells by set: those that share a campaign, directly or over others, together.

    Args:
        campaigns: of each cell; a cell without any is a set of its own.
    """
    parent: dict[Hashable, Hashable] = {}

    def root(campaign: Hashable) -> Hashable:
        while parent.setdefault(campaign, campaign) != campaign:
            campaign = parent[campaign]
        return campaign

    told = [tuple(each) for each in campaigns]
    for each in told:
        for campaign in each:
            parent[root(campaign)] = root(each[0])
    found: dict[Hashable, list[int]] = {}
    for place, each in enumerate(told):
        found.setdefault(("set", root(each[0])) if each else ("cell", place), []).append(place)
    return tuple(map(tuple, found.values()))


def compare_levels(
    levels: Sequence[Sequence[CellPair]], *, effect: float = DEFAULT_EFFECT, alpha: float = DEFAULT_ALPHA
) -> tuple[CellComparison, ...]:
    """Return every level against the first, erring in all together at most `alpha` (Holm).

    Args:
        levels: cells of each level but the first.
        effect: smallest difference of interest, as a share.
        alpha: error allowed.

    Raises:
        ValueError: a mean that is not above 0.
    """
    found = [compare_over_cells(pairs, effect=effect, alpha=alpha) for pairs in levels]
    for name in ("comparison", "over_cells"):
        told = [getattr(each, name).p_value for each in found]
        judged = [place for place, p_value in enumerate(told) if p_value is not None]
        allowed = holm_levels([told[place] for place in judged], alpha)
        for place, level in zip(judged, allowed, strict=True):
            again = compare_over_cells(levels[place], effect=effect, alpha=level)
            found[place] = replace(found[place], **{name: getattr(again, name)})
    return tuple(found)
