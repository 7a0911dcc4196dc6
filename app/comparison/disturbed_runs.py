"""Exclude disturbed runs if enough others are left; else give no verdict.

A run counts as disturbed if it is not known whether other processes disturbed it.

Disturbance is judged by the activity of other processes (`app.runfile.disturbance`), never by TPS: the choice
then favours neither fast nor slow runs, and the error rates of a verdict on the others remain valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import Final

from app.analysis import stability
from app.analysis.facts import RunFacts
from app.comparison.overall.hidden_by_means import describe_unseen
from app.domain.disturbances import DisturbanceKind, disturbance_words, format_amounts
from app.domain.text import tr, trn
from app.runfile.disturbance import DISTURBED
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Interval, Verdict

_MOST_KINDS: Final = 2
_ALL_CPUS: Final = 0.99


class DisturbedRuns(Enum):
    """The disturbed runs that a comparison includes."""

    WHERE_NEEDED = auto()
    """Those of configurations with too few undisturbed runs for a verdict."""
    ALL = auto()
    NONE = auto()


def is_disturbed(run: RunFacts) -> bool:
    """Whether other processes disturbed a run, according to its file."""
    return any(kind == DISTURBED for kind, _ in run.marks)


def is_weak(run: RunFacts) -> bool:
    """Whether a run was or may have been disturbed, or most of its seconds are unknown."""
    return stability.is_weak(run.marks, run.disturbances, run.shape)


def set_aside(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str], use: DisturbedRuns
) -> frozenset[int]:
    """Return the indices of the disturbed runs to exclude; unknown counts as disturbed.

    Args:
        runs: the compared ones.
        groups: indices of the runs of each configuration.
        left_out: why each run is excluded anyway; empty if it is not.
        use: which disturbed runs are included.
    """
    found: set[int] = set()
    for members in groups:
        complete = [place for place in members if not left_out[place]]
        disturbed = [place for place in complete if is_weak(runs[place])]
        enough = len(complete) - len(disturbed) >= RUNS_FOR_A_VERDICT
        if use is DisturbedRuns.NONE or (use is DisturbedRuns.WHERE_NEEDED and enough):
            found.update(disturbed)
    return frozenset(found)


def how_disturbed(runs: Sequence[RunFacts]) -> str:
    """Return the disturbances of these runs, with the smallest and largest amount; the first two kinds."""
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


def describe_weak(weak: Sequence[RunFacts], runs: int) -> str:
    """Return how many runs were disturbed and how, and for how many it is unknown and why.

    Args:
        weak: the disturbed and unknown ones.
        runs: number of runs, including these.
    """
    disturbed = [run for run in weak if is_disturbed(run)]
    unknown = [run for run in weak if run.disturbances.not_known and not is_disturbed(run)]
    unseen = [told for run in weak if (told := describe_unseen(run.shape))]
    parts = []
    if disturbed:
        count, how = count_words(len(disturbed), runs), how_disturbed(disturbed)
        parts.append(tr("{count} ({how})").format(count=count, how=how))
    if unknown:
        told = tr("it is not known whether {count} of {runs} runs were disturbed ({why})")
        if len(unknown) == runs:
            told = trn(
                "it is not known whether the run was disturbed ({why})",
                "it is not known whether the {runs} runs were disturbed ({why})",
                runs,
            )
        parts.append(told.format(count=len(unknown), runs=runs, why=why_unknown(unknown)))
    if unseen:
        parts.append(tr("of {count} of {runs} runs most is unknown ({why})"))
        parts[-1] = parts[-1].format(count=len(unseen), runs=runs, why=unseen[0])
    return tr(", and ").join(parts)


def why_unknown(runs: Sequence[RunFacts]) -> str:
    """Return the first few reasons why it is unknown whether these runs were disturbed."""
    reasons = dict.fromkeys(run.disturbances.not_known for run in runs)
    return "; ".join(list(reasons)[:_MOST_KINDS])


def why_aside(run: RunFacts) -> str:
    """Return why a run is excluded, a clause."""
    if is_disturbed(run):
        return tr("others disturbed it ({how})").format(how=how_disturbed([run]))
    if unseen := describe_unseen(run.shape):
        return tr("most of it is unknown ({why})").format(why=unseen)
    return tr("it is not known whether others disturbed it ({why})").format(why=run.disturbances.not_known)


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


def what_others_took(groups: Sequence[Sequence[RunFacts]], found: Comparison) -> str:
    """Return a clause if CPU use by others could explain a verdict; else empty.

    Args:
        groups: as in `could_be_others`.
        found: the verdict: a difference, or no relevant difference.
    """
    intervals = [(found.interval, 1.0)] if found.verdict in {Verdict.LOWER, Verdict.HIGHER} else []
    if found.equivalent:
        intervals += [(found.narrow, 1 + found.effect), (found.narrow, 1 / (1 + found.effect))]
    told = (could_be_others(groups, each, limit) for each, limit in intervals if each is not None)
    return next(filter(None, told), "")


def could_be_others(groups: Sequence[Sequence[RunFacts]], interval: Interval, limit: float = 1.0) -> str:
    """Return a clause if only CPU use by others may keep a ratio from a limit; else empty.

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
            return ""
        means.append(min(sum(known) / len(known), _ALL_CPUS))
    left = [1 - mean for mean in means]
    taken = left[1] / left[0]  # the ratio that this alone would cause
    if len(left) > 2:
        taken *= left[2] / left[3]
    without = interval.low / taken, interval.high / taken
    if not (interval.high < limit <= without[1] or without[0] <= limit < interval.low):
        return ""
    words = [format_amounts(DisturbanceKind.OTHERS_CPU, (100 * mean,)) for mean in means]
    if len(words) > 2:
        sentence = tr("others used {first} and {second} of the CPUs, {beside} beside the reference")
        beside = tr("{first} and {second}").format(first=words[2], second=words[3])
        return sentence.format(first=words[0], second=words[1], beside=beside)
    if limit != 1:
        sentence = tr("others used {first} of the CPUs beside the first and {second} beside the second")
        return sentence.format(first=words[0], second=words[1])
    sentence = tr("others used {more} of the CPUs beside the slower and {less} beside the faster one")
    less, more = words if means[0] <= means[1] else words[::-1]
    return sentence.format(more=more, less=less)


def measured_again(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str], use: DisturbedRuns
) -> Mapping[int, int]:
    """Return the indices of excluded attempts, each with the index of the included attempt.

    The first attempt at a repeat that is known to be undisturbed counts; if none is, or all disturbed runs
    are included, the first attempt.

    Args:
        runs: the compared ones.
        groups: indices of the runs of each configuration.
        left_out: why each run is excluded anyway; empty if it is not.
        use: which disturbed runs are included.
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
            counts = ordered[0] if use is DisturbedRuns.ALL or not quiet else quiet[0]
            found.update({place: counts for place in ordered if place != counts})
    return found
