"""What disturbed runs may say: they are set aside where enough others are left, else nothing is a verdict.

Whether a run is disturbed is told from what others did (`app.runfile.disturbance`), never from its TPS: so
it is not chosen among fast and slow runs, and the errors of a verdict on the others stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import Final

from app.analysis.facts import RunFacts
from app.domain.text import tr
from app.probes.base.disturbances import DisturbanceKind
from app.runfile.disturbance import DISTURBED, disturbance_words
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Verdict

_MOST_KINDS: Final = 2


class DisturbedRuns(Enum):
    """Which disturbed runs take part in a comparison."""

    WHERE_NEEDED = auto()
    """Those of configurations that have too few others for a verdict."""
    ALL = auto()
    NONE = auto()


def is_disturbed(run: RunFacts) -> bool:
    """Whether others disturbed a run, as far as its file tells."""
    return any(kind == DISTURBED for kind, _ in run.marks)


def set_aside(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str], use: DisturbedRuns
) -> frozenset[int]:
    """Return the places of the disturbed runs that take no part.

    Args:
        runs: that are compared.
        groups: places of the runs of each configuration.
        left_out: of each run, why it takes no part anyway; empty where it does.
        use: which disturbed runs take part.
    """
    found: set[int] = set()
    for members in groups:
        complete = [place for place in members if not left_out[place]]
        disturbed = [place for place in complete if is_disturbed(runs[place])]
        enough = len(complete) - len(disturbed) >= RUNS_FOR_A_VERDICT
        if use is DisturbedRuns.NONE or (use is DisturbedRuns.WHERE_NEEDED and enough):
            found.update(disturbed)
    return frozenset(found)


def how_disturbed(runs: Sequence[RunFacts]) -> str:
    """Return what disturbed these runs, with the smallest and largest amount of each; the first two kinds."""
    amounts: dict[DisturbanceKind, list[float]] = {}
    for run in runs:
        for each in run.disturbances.found:
            amounts.setdefault(each.kind, []).append(each.amount)
    told = [disturbance_words(kind, tuple(amounts[kind])) for kind in DisturbanceKind if kind in amounts]
    return "; ".join(told[:_MOST_KINDS]) or tr("their files say so")


def count_words(disturbed: int, runs: int) -> str:
    """Return how many of some runs were disturbed."""
    if runs == 1:
        return tr("the run was disturbed")
    if disturbed == runs:
        return tr("all {count} runs were disturbed").format(count=runs)
    if disturbed == 1:
        return tr("1 of {count} runs was disturbed").format(count=runs)
    return tr("{disturbed} of {count} runs were disturbed").format(disturbed=disturbed, count=runs)


def without_verdict(comparison: Comparison) -> Comparison:
    """Return a comparison of disturbed runs: its ratio is indicative only, whatever its interval says."""
    if comparison.verdict in {Verdict.INCONCLUSIVE, Verdict.IMPOSSIBLE}:
        return comparison
    return replace(
        comparison,
        verdict=Verdict.INDICATIVE,
        interval=None,
        narrow=None,
        p_value=None,
        equivalent=False,
        more_runs=None,
    )


def measured_again(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str], use: DisturbedRuns
) -> Mapping[int, int]:
    """Return the places of attempts that take no part, each with the place of the attempt that does.

    Of several attempts at one repeat the first that nobody disturbed counts; where all were, or all disturbed
    runs take part, the first.

    Args:
        runs: that are compared.
        groups: places of the runs of each configuration.
        left_out: of each run, why it takes no part anyway; empty where it does.
        use: which disturbed runs take part.
    """
    found: dict[int, int] = {}
    for members in groups:
        attempts: dict[int, list[int]] = {}
        for place in members:
            if not left_out[place]:
                attempts.setdefault(runs[place].repeat, []).append(place)
        for places in attempts.values():
            if all(runs[place].attempt <= 1 for place in places):  # files of others number as they like
                continue
            ordered = sorted(places, key=lambda place: runs[place].attempt)
            quiet = [place for place in ordered if not is_disturbed(runs[place])]
            counts = ordered[0] if use is DisturbedRuns.ALL or not quiet else quiet[0]
            found.update({place: counts for place in ordered if place != counts})
    return found
