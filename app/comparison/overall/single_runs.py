"""Judge means with care: chance behind a difference of too few runs, and what a mean hides. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.stability import RunStability
from app.comparison.groups import ComparedGroup, is_disturbed, kind_of
from app.library.spreads import KnownSpread, pooled_spread
from app.runfile.metadata.offered_load import LoadKind
from app.runfile.metadata.run_metadata import IMPORTED
from app.statistics.sample_size import DEFAULT_ALPHA, RUNS_FOR_A_VERDICT, chance_of, holm_alpha, needed_spread
from app.statistics.verdict import Comparison, Verdict


@dataclass(frozen=True, slots=True)
class ChanceOfFewRuns:
    """The variation between runs at which chance explains a difference.

    Attributes:
        needed: that variation, the standard deviation of logarithms of run means; for single runs of several
            campaigns it includes the variation between campaigns.
        comparisons: number of such differences; `needed` is adjusted for them.
        between_campaigns: whether the two are of different campaigns.
        known: variation of similar runs; None if unknown or not applicable.
        of_these: whether `known` comes from repeats in this comparison, not from the library.
        chance: probability of a difference as large or larger with that variation; None if it is unknown.
    """

    needed: float
    comparisons: int
    between_campaigns: bool = False
    known: KnownSpread | None = None
    of_these: bool = False
    chance: float | None = None

    @property
    def is_explained(self) -> bool | None:
        """Whether chance explains the difference, adjusted for all comparisons; None if unknown."""
        return None if self.chance is None else self.chance >= holm_alpha(self.comparisons)


def is_of_few(comparison: Comparison | None) -> bool:
    """Return whether a comparison has a ratio and too few runs for a verdict."""
    return (
        comparison is not None
        and comparison.verdict is Verdict.INDICATIVE
        and bool(comparison.ratio)
        and min(comparison.runs) < RUNS_FOR_A_VERDICT
    )


def chance_of_few(
    comparison: Comparison,
    comparisons: int,
    known: KnownSpread | None,
    *,
    of_these: bool,
    between_campaigns: bool,
) -> ChanceOfFewRuns:
    """Return how far chance may explain a difference of few runs.

    Args:
        comparison: satisfies `is_of_few`.
        comparisons: number of such comparisons.
        known: variation of similar runs; None if unknown.
        of_these: whether `known` comes from repeats in the comparison.
        between_campaigns: whether the two are of different campaigns, and repeats do not show the variation
            between them.
    """
    ratio, runs = comparison.ratio or 1.0, (1, 1) if between_campaigns else comparison.runs
    needed = needed_spread(ratio, runs, holm_alpha(comparisons, DEFAULT_ALPHA))
    if known is None or between_campaigns:
        return ChanceOfFewRuns(needed, comparisons, between_campaigns)
    chance = chance_of(ratio, runs, known.spread, known.df)
    return ChanceOfFewRuns(needed, comparisons, between_campaigns, known, of_these, chance)


def spreads_among(groups: Iterable[ComparedGroup]) -> dict[str, KnownSpread]:
    """Return the variation of repeats among compared runs by kind of target, if there are enough."""
    found: dict[str, list[list[float]]] = {}
    for group in groups:
        used = [
            (run.facts, run.tps)
            for run in group.runs
            if run.tps and not is_disturbed(run.facts) and run.facts.load.kind is not LoadKind.RATE
        ]
        if len(used) > 1:
            found.setdefault(kind_of(used[0][0]), []).append([math.log(tps) for _, tps in used])
    return {kind: spread for kind, logs in found.items() if (spread := pooled_spread(logs)) is not None}


def known_spread(
    runs: Sequence[RunFacts], among: Mapping[str, KnownSpread], library: Mapping[str, KnownSpread]
) -> tuple[KnownSpread | None, bool]:
    """Return the known variation of runs like these, and whether it comes from the compared runs themselves.

    For several kinds of target the largest counts; if one is unknown, the result is. The library says nothing
    about imported runs: they may come from any machine.
    """
    kinds = {kind_of(run) for run in runs}
    for spreads, is_among in ((among, True), (library, False)):
        if all(kind in spreads for kind in kinds) and (is_among or not kinds & {IMPORTED, ""}):
            return max((spreads[kind] for kind in kinds), key=lambda each: each.spread), is_among
    return None, False


# Find what means hide and verdicts must consider: stalls, lengths, unknown seconds.
#
# Two runs with one mean are not equivalent if one of them stalled for a third of its time. Pure.


MATTERS: Final = 0.01
"""Share of the seconds: one stalled second in a hundred changes the longest latencies, as for disturbances.
"""

LONGER_BY: Final = 10.0
"""Factor: a run this much shorter than another has not seen the same events."""


def _stalls(shapes: Iterable[RunStability]) -> tuple[int, int]:
    """Return how many seconds stalled, and out of how many."""
    found = [shape.jitter for shape in shapes]
    return sum(each.stall_seconds for each in found), sum(each.seconds for each in found)


@dataclass(frozen=True, slots=True)
class Stalls:
    """Stalled seconds of two configurations.

    Attributes:
        first: name of the first one.
        first_s: how many seconds of its runs stalled, and out of how many.
        second: name of the second.
        second_s: the same of its runs.
    """

    first: str
    first_s: tuple[int, int]
    second: str
    second_s: tuple[int, int]

    @property
    def are_alike(self) -> bool:
        """Whether both stalled for a similar share of their time."""
        (stalled, seconds), (more, of) = self.first_s, self.second_s
        return abs(stalled / seconds - more / of) < MATTERS


@dataclass(frozen=True, slots=True)
class RunLengths:
    """Lengths of runs that differ too much for a verdict, in seconds."""

    shortest_s: float
    longest_s: float


def find_stalls(
    first: str, one: Sequence[RunStability], second: str, other: Sequence[RunStability]
) -> Stalls | None:
    """Return how long the runs of two configurations stalled; None if neither did, or if unknown."""
    found = Stalls(first, _stalls(one), second, _stalls(other))
    (stalled, seconds), (more, of) = found.first_s, found.second_s
    return found if seconds and of and (stalled or more) else None


def find_unlike_lengths(shapes: Iterable[RunStability]) -> RunLengths | None:
    """Return run lengths that differ too much for a verdict; None if they do not."""
    lengths = [shape.duration_s for shape in shapes if shape.duration_s > 0]
    if not lengths or max(lengths) < LONGER_BY * min(lengths):
        return None
    return RunLengths(min(lengths), max(lengths))
