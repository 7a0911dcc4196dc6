"""Compare two levels of a factor over the cells of a matrix, with everything else equal.

A cell is a combination of everything else that was measured at both levels. If every cell was measured
several times, the runs in the cells give the error (a randomised block design with the cells as fixed blocks:
Box, Hunter and Hunter, Statistics for Experimenters, 2nd edition, chapters 3 and 4; each cell has its own
spread, degrees of freedom are Satterthwaite's): the interval is for the mean over these cells. If two cells
differ significantly, and by more than the effect of interest, the factor depends on the cell: then the mean
is meaningless, and there is no verdict over the cells.

If each cell was measured once, its ratio is one value and the cells are the replicates: differences between
cells become spread, and the interval is for the mean over cells like these. If the two runs of a cell are of
different campaigns, any change between those is part of its ratio, and the same part of every cell measured
in them: such cells are not independent. Cells that share a campaign in this way count as one set, by the mean
of their logarithms, and the sets are the replicates.

Simulated: resources/manual/method.md, "What simulations found".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from app.statistics.sample_size import DEFAULT_ALPHA, DEFAULT_EFFECT
from app.statistics.verdict import Comparison, Estimate, Samples, Verdict, compare, holm_levels


@dataclass(frozen=True, slots=True)
class CellPair:
    """One cell, measured at both levels.

    Attributes:
        baseline: mean at the first level, above 0.
        candidate: at the second.
        campaigns: of its two levels if they differ; empty if both are of one campaign.
        differences: of the logarithms, second minus first, for each two neighbouring runs.
    """

    baseline: float
    candidate: float
    campaigns: frozenset[Hashable] = frozenset()
    differences: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """Second divided by first."""
        return self.candidate / self.baseline


@dataclass(frozen=True, slots=True)
class CellComparison:
    """Two levels of a factor over their cells.

    Attributes:
        comparison: the verdict, over the sets if there are any; its `runs` are the averaged values, and it is
            INDICATIVE with fewer than three of them.
        cells: number of cells.
        sets: number of averaged sets; None if every cell is of one campaign and counts separately.
        least: smallest ratio of a cell; None without cells.
        most: largest.
        depends: whether the difference varies between cells: then there is no verdict over them.
    """

    comparison: Comparison
    cells: int
    sets: int | None
    least: float | None
    most: float | None
    depends: bool = False


def compare_over_cells(
    pairs: Sequence[CellPair],
    *,
    effect: float = DEFAULT_EFFECT,
    alpha: float = DEFAULT_ALPHA,
    alpha_of_cells: float = DEFAULT_ALPHA,
) -> CellComparison:
    """Compare two levels of a factor.

    Args:
        pairs: the cells.
        effect: smallest difference of interest, as a share.
        alpha: error allowed.
        alpha_of_cells: error allowed for the statement that it depends on the cell.

    Raises:
        ValueError: a mean is not above 0.
    """
    if any(not (0 < value < math.inf) for pair in pairs for value in (pair.baseline, pair.candidate)):
        raise ValueError(pairs)
    logs = [math.log(pair.ratio) for pair in pairs]
    sets = independent_sets([pair.campaigns for pair in pairs])
    means = [math.fsum(logs[place] for place in places) / len(places) for places in sets]
    linked = any(pair.campaigns for pair in pairs)
    least, most = (math.exp(min(logs)), math.exp(max(logs))) if logs else (None, None)
    blocked = None if linked else _blocked(pairs)
    depends = blocked is not None and _depends(pairs, effect, alpha_of_cells)
    found = _compare(means, effect, alpha, blocked)
    if depends:
        found = Comparison(Verdict.INDICATIVE, found.ratio, found.runs, found.paired, effect)
    return CellComparison(
        comparison=found,
        cells=len(pairs),
        sets=len(sets) if linked else None,
        least=least,
        most=most,
        depends=depends,
    )


def _compare(logs: Sequence[float], effect: float, alpha: float, estimate: Estimate | None) -> Comparison:
    samples = Samples((1.0,) * len(logs), tuple(map(math.exp, logs)), paired=True, estimate=estimate)
    return compare(samples, effect=effect, alpha=alpha)


def _mean_and_error(pair: CellPair) -> tuple[float, float, int]:
    """Return the mean difference of a cell, the square of its standard error, and degrees of freedom."""
    count = len(pair.differences)
    mean = math.fsum(pair.differences) / count
    squares = math.fsum((each - mean) ** 2 for each in pair.differences)
    return mean, squares / (count - 1) / count, count - 1


def _sum_of(parts: Sequence[tuple[float, float, int]]) -> tuple[float, float]:
    """Return the standard error of a sum of means, and its degrees of freedom (Satterthwaite 1946)."""
    square = math.fsum(error for _, error, _ in parts)
    below = math.fsum(error**2 / df for _, error, df in parts)
    return math.sqrt(square), square**2 / below if below else float(sum(df for _, _, df in parts))


def _blocked(pairs: Sequence[CellPair]) -> Estimate | None:
    """Return the mean over cells with the error from their runs; None if a cell has fewer than two."""
    if len(pairs) < 2 or any(len(pair.differences) < 2 for pair in pairs):
        return None
    parts = list(map(_mean_and_error, pairs))
    error, df = _sum_of(parts)
    mean = math.fsum(each for each, _, _ in parts) / len(parts)
    return Estimate(mean, error / len(parts), df, error / math.sqrt(len(parts)))


def _depends(pairs: Sequence[CellPair], effect: float, alpha: float) -> bool:
    """Return whether two of the cells differ significantly and by more than the effect.

    The error is shared by all pairs of cells (Bonferroni).
    """
    found = list(itertools.combinations(map(_mean_and_error, pairs), 2))
    for one, other in found:
        error, df = _sum_of((one, other))
        apart = Estimate(other[0] - one[0], error, df, error)
        if abs(other[0] - one[0]) > math.log1p(effect) and apart.p_value() < alpha / len(found):
            return True
    return False


def independent_sets(campaigns: Sequence[Iterable[Hashable]]) -> tuple[tuple[int, ...], ...]:
    """Return the indexes of cells by set: those that share a campaign, directly or through others.

    Args:
        campaigns: of each cell; a cell without any is a set of its own.
    """
    parent: dict[Hashable, Hashable] = {}

    def root(campaign: Hashable) -> Hashable:
        while parent.setdefault(campaign, campaign) != campaign:
            campaign = parent[campaign]
        return campaign

    remaining = [tuple(each) for each in campaigns]
    for each in remaining:
        for campaign in each:
            parent[root(campaign)] = root(each[0])
    found: dict[Hashable, list[int]] = {}
    for place, each in enumerate(remaining):
        found.setdefault(("set", root(each[0])) if each else ("cell", place), []).append(place)
    return tuple(map(tuple, found.values()))


def compare_levels(
    levels: Sequence[Sequence[CellPair]], *, effect: float = DEFAULT_EFFECT, alpha: float = DEFAULT_ALPHA
) -> tuple[CellComparison, ...]:
    """Compare every level with the first; the total error is at most `alpha` (Holm).

    Args:
        levels: cells of each level but the first.
        effect: smallest difference of interest, as a share.
        alpha: error allowed.

    Raises:
        ValueError: a mean is not above 0.
    """
    of_cells = DEFAULT_ALPHA / max(1, len(levels))
    found = [
        compare_over_cells(pairs, effect=effect, alpha=alpha, alpha_of_cells=of_cells) for pairs in levels
    ]
    p_values = {
        place: each.comparison.p_value
        for place, each in enumerate(found)
        if each.comparison.p_value is not None
    }
    for place, level in zip(p_values, holm_levels(list(p_values.values()), alpha), strict=True):
        found[place] = compare_over_cells(levels[place], effect=effect, alpha=level, alpha_of_cells=of_cells)
    return tuple(found)
