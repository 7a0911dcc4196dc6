"""Find a reference that ran in two campaigns: it separates a change of the machine from a difference.

Anything else that changed between two campaigns is part of every difference between them, and repeats within
either do not show how much (`app.statistics.verdict.Samples.together`). A configuration that ran unchanged in
both does: each compared one is divided by it in its own campaign. This assumes that the change affected all
configurations equally; if several ran in both, that is tested, and no verdict rests on references that
disagree. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.properties import Property
from app.comparison.differences import PropertyDifference, what_differs
from app.comparison.disturbed_runs import is_weak
from app.comparison.wording import NOT_INTERLEAVED, describe_briefly, format_difference, format_interval
from app.domain.text import tr
from app.runfile.metadata.offered_load import LoadKind
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE, RUNS_FOR_A_VERDICT
from app.statistics.verdict import (
    Comparison,
    ReferenceRuns,
    Samples,
    Verdict,
    compare_family,
    compare_reference,
)

_FIRST: Final = 0
_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class AnchoredGroup:
    """The input for one group of runs.

    Attributes:
        campaign: the same for groups with interleaved runs.
        runs: the included ones.
        tps: of each run, as compared.
    """

    campaign: str
    runs: tuple[RunFacts, ...]
    tps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    """The configuration that a comparison between campaigns rests on.

    Attributes:
        first: index of the reference in the first group's campaign; the first group itself if it ran in both.
        other: index of the reference in the other group's campaign.
        change: of the TPS of these two, from the first group's campaign to the other.
    """

    first: int
    other: int
    change: Comparison = field(repr=False, compare=False)

    @property
    def is_baseline(self) -> bool:
        """Whether the first group itself ran in the other campaign: the two then ran in one campaign."""
        return self.first == _FIRST

    def groups(self, place: int) -> tuple[int, ...]:
        """Return the indices of all groups that a comparison of group `place` rests on."""
        return (self.other, place) if self.is_baseline else (_FIRST, place, self.first, self.other)


@dataclass(frozen=True, slots=True)
class Anchors:
    """The references common to runs of several campaigns.

    Attributes:
        by_group: anchor of each group outside the first one's campaign that has one, by group index.
        references: each configuration that ran in the first one's campaign and in another, and that supports
            a comparison, or could if there were another group.
        disagreeing: pairs of references that changed by different factors: neither is used.
        near: why a name common to both campaigns is not a reference, a sentence each.
    """

    by_group: Mapping[int, Anchor] = field(default_factory=dict)
    references: tuple[Anchor, ...] = ()
    disagreeing: tuple[tuple[Anchor, Anchor], ...] = ()
    near: tuple[str, ...] = ()


def find_anchors(groups: Sequence[AnchoredGroup]) -> Anchors:
    """Return the anchor that links each group of another campaign to the first group.

    Args:
        groups: all compared groups; the first is the baseline.
    """
    by_group: dict[int, Anchor] = {}
    references: list[Anchor] = []
    disagreeing = []
    others = dict.fromkeys(group.campaign for group in groups if group.campaign != groups[_FIRST].campaign)
    for campaign in others:
        known = sorted(_references(groups, campaign), key=lambda each: _preference(groups, each))
        if not known:
            continue
        # If the first group itself ran in both, the change is not divided out.
        if not known[0].is_baseline and (other := _disagreeing(groups, known)) is not None:
            disagreeing.append((known[0], other))
            continue
        repeated = {each.other for each in known}
        used = [known[0]]
        for place, group in enumerate(groups):
            if group.campaign == campaign and place not in repeated:
                fitting = (each for each in known if _is_usable(each, place, [one.tps for one in groups]))
                if (anchor := next(fitting, None)) is not None:
                    by_group[place] = anchor
                    used.append(anchor)
        references += dict.fromkeys(used)
    near = tuple(dict.fromkeys(_why_no_reference(groups)))
    return Anchors(by_group, tuple(references), tuple(disagreeing), near)


def _preference(groups: Sequence[AnchoredGroup], anchor: Anchor) -> tuple[bool, bool, int, int, int]:
    """Return a sort key: the first group itself, then undisturbed ones, then most runs; never the TPS."""
    runs = [groups[place].runs for place in (anchor.first, anchor.other)]
    is_touched = any(map(is_weak, chain(*runs)))
    return not anchor.is_baseline, is_touched, -min(map(len, runs)), anchor.first, anchor.other


def _references(groups: Sequence[AnchoredGroup], campaign: str) -> Iterator[Anchor]:
    """Yield configurations that ran in the first group's campaign and in another, repeated in both."""
    here, there = (
        [place for place, group in enumerate(groups) if group.campaign == each and _is_repeated(group)]
        for each in (groups[_FIRST].campaign, campaign)
    )
    for one in here:
        for other in there:
            # Comparing the first runs alone rules out most pairs.
            same = (groups[one].runs[:1] + groups[other].runs[:1], groups[one].runs + groups[other].runs)
            if all(what_differs(runs).are_repeats for runs in same):
                reference = ReferenceRuns(groups[one].tps, groups[other].tps)
                yield Anchor(one, other, compare_reference(reference))


def _why_no_reference(groups: Sequence[AnchoredGroup]) -> Iterator[str]:
    """Yield why a name in the first group's campaign and in another is not a reference, as sentences."""
    here = [group for group in groups if group.campaign == groups[_FIRST].campaign and group.runs]
    there = [group for group in groups if group.campaign != groups[_FIRST].campaign and group.runs]
    for one in here:
        for other in there:
            if one.runs[0].configuration == other.runs[0].configuration and (why := _why_none(one, other)):
                sentence = tr("“{name}” is in both campaigns, but no reference: {why}.")
                yield sentence.format(name=one.runs[0].configuration, why=why)


def _why_none(one: AnchoredGroup, other: AnchoredGroup) -> str:
    """Return why two groups are not a reference, a clause; empty if they are."""
    found = what_differs((*one.runs, *other.runs))
    if found.differences:
        return tr("it differs in {names}").format(names=_names(found.differences))
    if found.not_known:
        return tr("nobody knows whether it stayed as it was in {names}").format(names=_names(found.not_known))
    if not (_is_repeated(one) and _is_repeated(other)):
        return tr("in one of them it has fewer than {runs} runs").format(runs=RUNS_FOR_A_REFERENCE)
    return ""


def _names(items: Sequence[PropertyDifference | Property]) -> str:
    """Return the names of the first few properties."""
    told = [f"{each.topic}: {each.name}" for each in items[:_MOST_NAMED]]
    names = ", ".join(told)
    if len(items) > _MOST_NAMED:
        return tr("{names} and {count} more").format(names=names, count=len(items) - _MOST_NAMED)
    return names


def _is_repeated(group: AnchoredGroup) -> bool:
    """Whether the TPS of a group show its capacity, with enough repeats."""
    is_at_a_rate = any(run.load.kind is LoadKind.RATE for run in group.runs)
    return len(group.runs) >= RUNS_FOR_A_REFERENCE and all(group.tps) and not is_at_a_rate


def _disagreeing(groups: Sequence[AnchoredGroup], known: Sequence[Anchor]) -> Anchor | None:
    """Return a reference that changed differently from the first one, by more than would matter."""
    preferred, *others = known
    first, other = groups[preferred.first].tps, groups[preferred.other].tps
    samples = [
        Samples(
            first,
            other,
            paired=False,
            together=False,
            reference=ReferenceRuns(groups[each.first].tps, groups[each.other].tps),
        )
        for each in others
    ]
    return next(
        (
            each
            for each, found in zip(others, compare_family(samples), strict=True)
            if found.verdict in {Verdict.HIGHER, Verdict.LOWER} and not found.equivalent
        ),
        None,
    )


def usable_anchors(anchors: Mapping[int, Anchor], values: Sequence[Collection[float]]) -> dict[int, Anchor]:
    """Return the anchors that allow a verdict on a figure.

    Args:
        anchors: of groups, by their indices.
        values: of the figure, for each group's runs.
    """
    return {place: anchor for place, anchor in anchors.items() if _is_usable(anchor, place, values)}


def _is_usable(anchor: Anchor, place: int, values: Sequence[Collection[float]]) -> bool:
    fewest = (RUNS_FOR_A_VERDICT, RUNS_FOR_A_VERDICT, RUNS_FOR_A_REFERENCE, RUNS_FOR_A_REFERENCE)
    found = [values[each] for each in anchor.groups(place)]
    return all(len(each) >= few and min(each) > 0 for each, few in zip(found, fewest, strict=False))


def reference_names(anchor: Anchor, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the references of a verdict, for a table."""
    places = (anchor.other,) if anchor.is_baseline else (anchor.first, anchor.other)
    return tuple(names[place] for place in places)


def describe_apart(anchor: Anchor | None, names: Sequence[str], place: int) -> str:
    """Return the qualification of a comparison between campaigns, shown after the number of runs, a clause.

    Args:
        anchor: its reference; None if there is none.
        names: of all groups.
        place: index of the group compared with the first one.
    """
    if anchor is None:
        return NOT_INTERLEAVED
    named = {"first": names[anchor.first], "other": names[anchor.other], "candidate": names[place]}
    if anchor.is_baseline:
        return tr("against {other}, which is {first} in the campaign of {candidate}").format(**named)
    sentence = tr("each against the same reference in its own campaign: {first} and {other}")
    return sentence.format(**named)


def describe_anchors(anchors: Anchors, names: Sequence[str]) -> Iterator[str]:
    """Yield what references show of the change between campaigns, and whether they are used.

    Args:
        anchors: of a comparison.
        names: of all groups.
    """
    for each in anchors.references:
        yield " ".join((_describe_change(each, names), _describe_use(each, names)))
    for one, other in anchors.disagreeing:
        sentence = tr(
            "{told} {more} What changed between the campaigns did not meet all configurations alike, so that "
            "no difference can be told by either."
        )
        yield sentence.format(told=_describe_change(one, names), more=_describe_change(other, names))


def _describe_change(anchor: Anchor, names: Sequence[str]) -> str:
    change = anchor.change
    named = {"first": names[anchor.first], "other": names[anchor.other]}
    if change.verdict in {Verdict.HIGHER, Verdict.LOWER}:
        sentence = tr("The machine changed between campaigns: {other} is {first}, unchanged, and {change}.")
        return sentence.format(change=describe_briefly(change), **named)
    sentence = tr(
        "{other} is {first}, unchanged: that the machine changed between their campaigns is not to be seen"
        " ({difference}, 95 % interval {interval})."
    )
    return sentence.format(difference=format_difference(change), interval=format_interval(change), **named)


def _describe_use(anchor: Anchor, names: Sequence[str]) -> str:
    if anchor.is_baseline:
        return tr("What ran beside {other} is compared with that.").format(other=names[anchor.other])
    return tr("What changed is taken out of differences between them, as if it had met all alike.")
