"""Exclude disturbed runs if enough others are left; else give no verdict.

A run counts as disturbed if it is not known whether other processes disturbed it.

Disturbance is judged by the activity of other processes (`app.runfile.disturbance`), never by TPS: the choice
then favours neither fast nor slow runs, and the error rates of a verdict on the others remain valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.analysis import stability
from app.analysis.facts import RunFacts
from app.domain.disturbances import DisturbanceKind
from app.runfile.disturbance import DISTURBED
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Interval, Verdict

_ALL_CPUS: Final = 0.99


def is_disturbed(run: RunFacts) -> bool:
    """Whether other processes disturbed a run, according to its file."""
    return any(kind == DISTURBED for kind, _ in run.marks)


def is_weak(run: RunFacts) -> bool:
    """Whether a run was or may have been disturbed, or most of its seconds are unknown."""
    return stability.is_weak(run.marks, run.disturbances, run.shape)


def runs_to_exclude(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str]
) -> frozenset[int]:
    """Return the indices of the disturbed runs to exclude: of configurations with enough others.

    Unknown counts as disturbed.

    Args:
        runs: the compared ones.
        groups: indices of the runs of each configuration.
        left_out: why each run is excluded anyway; empty if it is not.
    """
    found: set[int] = set()
    for members in groups:
        complete = [place for place in members if not left_out[place]]
        disturbed = [place for place in complete if is_weak(runs[place])]
        if len(complete) - len(disturbed) >= RUNS_FOR_A_VERDICT:
            found.update(disturbed)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class WeakRuns:
    """Runs that other processes disturbed, or may have, among some runs.

    Attributes:
        weak: these runs.
        runs: number of all, including these.
    """

    weak: tuple[RunFacts, ...]
    runs: int


@dataclass(frozen=True, slots=True)
class OthersCpu:
    """CPU use by others that could explain a verdict.

    Attributes:
        percents: mean during each group, in percent, in the order of `could_be_others`.
        limit: of the ratio of speeds that it could have crossed.
    """

    percents: tuple[float, ...]
    limit: float


def without_verdict(comparison: Comparison) -> Comparison:
    """Return a comparison of disturbed runs: only indicative, regardless of its interval."""
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


def what_others_took(groups: Sequence[Sequence[RunFacts]], found: Comparison) -> OthersCpu | None:
    """Return CPU use by others that could explain a verdict; None if it could not.

    Args:
        groups: as in `could_be_others`.
        found: the verdict: a difference, or no relevant difference.
    """
    intervals = [(found.interval, 1.0)] if found.verdict in {Verdict.LOWER, Verdict.HIGHER} else []
    if found.equivalent:
        intervals += [(found.narrow, 1 + found.effect), (found.narrow, 1 / (1 + found.effect))]
    reservations = (could_be_others(groups, each, limit) for each, limit in intervals if each is not None)
    return next(filter(None, reservations), None)


def could_be_others(
    groups: Sequence[Sequence[RunFacts]], interval: Interval, limit: float = 1.0
) -> OthersCpu | None:
    """Return the CPU use by others if only that may keep a ratio from a limit; else None.

    Below the threshold of a disturbance others may still use more CPU during one configuration than during
    the other. A server that needs all CPUs loses at most the share of its speed that others take.

    Args:
        groups: included runs of the first configuration and of the second; between campaigns also of the
            reference in the first one's campaign and in the second's.
        interval: of the ratio of their speeds, second to first; on one side of the limit.
        limit: of that ratio.
    """
    means = []
    for runs in groups:
        shares = [run.disturbances.amount(DisturbanceKind.OTHERS_CPU) for run in runs]
        known = [share / 100 for share in shares if share is not None]
        if not known or len(known) < len(shares):
            return None
        means.append(min(sum(known) / len(known), _ALL_CPUS))
    left = [1 - mean for mean in means]
    taken = left[1] / left[0]  # the ratio that this alone would cause
    if len(left) > 2:
        taken *= left[2] / left[3]
    without = interval.low / taken, interval.high / taken
    if not (interval.high < limit <= without[1] or without[0] <= limit < interval.low):
        return None
    return OthersCpu(tuple(100 * mean for mean in means), limit)


def measured_again(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str]
) -> Mapping[int, int]:
    """Return the indices of excluded attempts, each with the index of the included attempt.

    The first attempt at a repeat that is known to be undisturbed counts; if none is, the first attempt.

    Args:
        runs: the compared ones.
        groups: indices of the runs of each configuration.
        left_out: why each run is excluded anyway; empty if it is not.
    """
    found: dict[int, int] = {}
    for members in groups:
        attempts: dict[int, list[int]] = {}
        for place in members:
            if not left_out[place]:
                attempts.setdefault(runs[place].repeat, []).append(place)
        for places in attempts.values():
            if all(runs[place].attempt <= 1 for place in places):  # other sources may number differently
                continue
            ordered = sorted(places, key=lambda place: runs[place].attempt)
            quiet = [place for place in ordered if not is_weak(runs[place])]
            counts = quiet[0] if quiet else ordered[0]
            found.update({place: counts for place in ordered if place != counts})
    return found
