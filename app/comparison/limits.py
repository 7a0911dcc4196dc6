"""What limited the configurations of a comparison, and what its figures cannot show. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Final

from app.analysis.bottleneck import CAUSES, UNKNOWN, Bottleneck, Cause
from app.analysis.cannot_show import describe_unshown
from app.comparison.comparison import ComparedRun, RunComparison
from app.comparison.overall.fastest import under_conditions
from app.domain.text import tr

MOST_NAMED: Final = 6
"""Configurations that are named for a cause."""


def bottlenecks(comparison: RunComparison) -> tuple[Bottleneck, ...]:
    """Return what limited most runs of each configuration, with the evidence of their middle one.

    Where as many runs say something else, it is not known.
    """
    return tuple(_of_runs([comparison.runs[place] for place in group.members]) for group in comparison.groups)


def _of_runs(runs: list[ComparedRun]) -> Bottleneck:
    taking = [run for run in runs if run.tps is not None] or runs
    counts = Counter(run.facts.bottleneck.cause for run in taking)
    most = max(counts.values(), default=0)
    causes = [cause for cause, count in counts.items() if count == most]
    if len(causes) != 1:
        return UNKNOWN
    having = [run for run in taking if run.facts.bottleneck.cause in causes]
    having.sort(key=lambda run: run.tps or 0.0)
    return having[(len(having) - 1) // 2].facts.bottleneck


def describe_bottlenecks(comparison: RunComparison) -> str:
    """Return in one sentence what limited the configurations; of a single one with its evidence."""
    found = bottlenecks(comparison)
    if not any(run.shape is not None for run in comparison.own_runs):
        return ""
    if len(found) == 1:
        return found[0].sentence
    names: dict[Cause, list[str]] = {}
    for group, bottleneck in zip(comparison.groups, found, strict=True):
        names.setdefault(bottleneck.cause, []).append(group.name)
    if len(names) == 1:
        [cause] = names
        if cause is Cause.NOT_KNOWN:
            return tr("What limited them is not known.")
        return tr("All were limited by {cause}.").format(cause=CAUSES[cause])
    parts = [f"{_list(names[cause])}: {CAUSES[cause]}" for cause in Cause if cause in names]
    return tr("What limited them: {parts}.").format(parts="; ".join(parts))


def _list(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    told = ", ".join(names[: MOST_NAMED - 1])
    return tr("{names} and {count} more").format(names=told, count=len(names) - MOST_NAMED + 1)


def describe_what_is_unshown(comparison: RunComparison) -> str:
    """Return in one sentence what the compared figures cannot show; empty where there is nothing."""
    return describe_unshown(run.facts.unshown for run in comparison.own_runs if run.shape is not None)


def describe_limits(comparison: RunComparison) -> tuple[str, ...]:
    """Return what limited the configurations of each condition, and what its figures cannot show."""
    return under_conditions(
        comparison.parts,
        lambda part: filter(None, (describe_bottlenecks(part), describe_what_is_unshown(part))),
    )
