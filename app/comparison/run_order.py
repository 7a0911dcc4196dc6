"""Describe the order of compared runs of one campaign: which followed which. Pure."""

from __future__ import annotations

from collections import Counter

from app.comparison.comparison import RunComparison
from app.domain.campaign.order import RunOrder
from app.domain.text import tr


def neighbours(comparison: RunComparison) -> Counter[tuple[int, int]] | None:
    """Count how often a run of each group came right after a run of each other group, by index.

    Two runs are neighbours if their numbers are consecutive; the effect of a run that is not compared is
    unknown.

    Returns:
        None if the runs are not all of one campaign, or have no numbers.
    """
    if len({group.campaign for group in comparison.groups}) != 1:
        return None
    by_number: dict[int, int] = {}
    for place, group in enumerate(comparison.groups):
        for run in group.runs:
            if run.facts.number is None:
                return None
            by_number[run.facts.number] = place
    return Counter(
        (by_number[number - 1], group) for number, group in by_number.items() if number - 1 in by_number
    )


def describe_order(comparison: RunComparison) -> tuple[str, ...]:
    """Return how the runs were interleaved and which never were neighbours, as sentences.

    Empty for a single configuration, or runs of several campaigns.
    """
    if len(comparison.groups) < 2 or len({group.campaign for group in comparison.groups}) != 1:
        return ()
    return (_how(comparison), *_who_followed(comparison))


def _how(comparison: RunComparison) -> str:
    told = {(run.facts.order, run.facts.order_seed) for run in comparison.runs}
    order, seed = told.pop() if len(told) == 1 else ("", None)
    if order == RunOrder.RANDOM and any(group.contest for group in comparison.groups):
        sentence = tr(
            "The runs were interleaved: every round held each configuration that was still in question once, "
            "in random order (drawn with {seed}), so that neither a slow change of the machine nor what "
            "comes round regularly falls on some configurations more than on others."
        )
        return sentence.format(seed=tr("not known") if seed is None else seed)
    if order == RunOrder.RANDOM:
        sentence = tr(
            "The runs were interleaved: every round held each configuration once, in random order (drawn "
            "with {seed}), so that neither a slow change of the machine nor what comes round regularly "
            "falls on some configurations more than on others."
        )
        return sentence.format(seed=tr("not known") if seed is None else seed)
    if order == RunOrder.ALTERNATING:
        return tr(
            "The runs were interleaved, every second round in reverse order, so that a slow change of the "
            "machine falls on all configurations alike. The order is the same each time: what comes round "
            "regularly may fall on some more than on others."
        )
    return tr(
        "The runs were interleaved, round by round; how the order within a round was chosen is not known."
    )


def _who_followed(comparison: RunComparison) -> tuple[str, ...]:
    followed = neighbours(comparison)
    if followed is None:
        return ()
    count = len(comparison.groups)
    possible = count * (count - 1)
    never = possible - sum(one != other for one, other in followed)
    itself = sum(times for (one, other), times in followed.items() if one == other)
    if never:
        sentence = tr(
            "{never} of {possible} ordered pairs of configurations never ran one right after the other: "
            "what a run leaves behind, such as the garbage collection of an SSD, may fall on some more than "
            "on others."
        )
    else:
        sentence = tr("Every configuration ran right after every other one at least once.")
    told = [sentence.format(never=never, possible=possible)]
    if itself:
        sentence = tr("Runs that followed one of their own configuration: {count}.")
        told.append(sentence.format(count=itself))
    return tuple(told)
