"""Find a reference that ran in two campaigns: it separates a change of the machine from a difference.

Anything else that changed between two campaigns is part of every difference between them, and repeats within
either do not show how much (`app.statistics.verdict.Samples.together`). A configuration that ran unchanged in
both does: each compared one is divided by it in its own campaign. This assumes that the change affected all
configurations equally; if several ran in both, that is tested, and no verdict rests on references that
disagree. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.comparison.differences import what_differs
from app.comparison.groups import ComparedGroup
from app.comparison.wording import (
    NOT_INTERLEAVED,
    ORDER_NOT_KNOWN,
    describe_change,
    format_difference,
    format_interval,
)
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


@dataclass(frozen=True, slots=True)
class Anchor:
    """The configuration that a comparison between campaigns rests on.

    Attributes:
        baseline: the first group of the comparison.
        first: the reference in its campaign; itself if it ran in both.
        other: the reference in the other group's campaign.
        change: of the TPS of these two, from the first group's campaign to the other.
    """

    baseline: ComparedGroup
    first: ComparedGroup
    other: ComparedGroup
    change: Comparison = field(repr=False, compare=False)

    @property
    def is_baseline(self) -> bool:
        """Whether the first group itself ran in the other campaign: the two then ran in one campaign."""
        return self.first is self.baseline

    def groups(self, group: ComparedGroup) -> tuple[ComparedGroup, ...]:
        """Return all groups that a comparison of a group rests on."""
        return (self.other, group) if self.is_baseline else (self.baseline, group, self.first, self.other)


@dataclass(frozen=True, slots=True)
class Anchors:
    """The references common to runs of several campaigns.

    Attributes:
        by_group: anchor of each group outside the first one's campaign that has one, by group name.
        references: each configuration that ran in the first one's campaign and in another, and that supports
            a comparison, or could if there were another group.
        disagreeing: pairs of references that changed by different factors: neither is used.
    """

    by_group: Mapping[str, Anchor] = field(default_factory=dict)
    references: tuple[Anchor, ...] = ()
    disagreeing: tuple[tuple[Anchor, Anchor], ...] = ()


def find_anchors(groups: Sequence[ComparedGroup]) -> Anchors:
    """Return the anchor that links each group of another campaign to the first group.

    Args:
        groups: all compared groups; the first is the baseline.
    """
    by_group: dict[str, Anchor] = {}
    references: list[Anchor] = []
    disagreeing = []
    values = {group.name: group.values("tps") for group in groups}
    others = dict.fromkeys(group.campaign for group in groups if group.campaign != groups[0].campaign)
    for campaign in others:
        known = sorted(_references(groups, campaign), key=_preference)
        if not known:
            continue
        # If the first group itself ran in both, the change is not divided out.
        if not known[0].is_baseline and (other := _disagreeing(known)) is not None:
            disagreeing.append((known[0], other))
            continue
        repeated = {each.other.name for each in known}
        used = [known[0]]
        for group in groups:
            if group.campaign == campaign and group.name not in repeated:
                fitting = (each for each in known if _is_usable(each, group, values))
                if (anchor := next(fitting, None)) is not None:
                    by_group[group.name] = anchor
                    used.append(anchor)
        references += [each for number, each in enumerate(used) if each not in used[:number]]
    return Anchors(by_group, tuple(references), tuple(disagreeing))


def _preference(anchor: Anchor) -> tuple[bool, bool, int]:
    """Return a sort key: the first group itself, then undisturbed ones, then most runs; never the TPS."""
    pair = (anchor.first, anchor.other)
    fewest = min(len(each.included_runs) for each in pair)
    return not anchor.is_baseline, any(each.disturbed for each in pair), -fewest


def _references(groups: Sequence[ComparedGroup], campaign: str) -> Iterator[Anchor]:
    """Yield configurations that ran in the first group's campaign and in another, repeated in both."""
    here, there = (
        [group for group in groups if group.campaign == each and _is_repeated(group)]
        for each in (groups[0].campaign, campaign)
    )
    for one in here:
        for other in there:
            # Comparing the first runs alone rules out most pairs.
            facts = [[run.facts for run in group.included_runs] for group in (one, other)]
            same = (facts[0][:1] + facts[1][:1], facts[0] + facts[1])
            if all(what_differs(runs).are_repeats for runs in same):
                yield Anchor(groups[0], one, other, compare_reference(_runs_of(one, other)))


def _runs_of(one: ComparedGroup, other: ComparedGroup) -> ReferenceRuns:
    return ReferenceRuns(tuple(one.values("tps")), tuple(other.values("tps")))


def _is_repeated(group: ComparedGroup) -> bool:
    """Whether the TPS of a group show its capacity, with enough repeats."""
    runs = group.included_runs
    is_at_a_rate = any(run.facts.load.kind is LoadKind.RATE for run in runs)
    return len(runs) >= RUNS_FOR_A_REFERENCE and all(run.tps for run in runs) and not is_at_a_rate


def _disagreeing(known: Sequence[Anchor]) -> Anchor | None:
    """Return a reference that changed differently from the first one, by more than would matter."""
    preferred, *others = known
    first, other = (tuple(each.values("tps")) for each in (preferred.first, preferred.other))
    samples = [
        Samples(first, other, paired=False, together=False, reference=_runs_of(each.first, each.other))
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


def usable_anchors(
    anchors: Mapping[str, Anchor],
    groups: Iterable[ComparedGroup],
    values: Mapping[str, Collection[float]],
) -> dict[str, Anchor]:
    """Return the anchors that allow a verdict on a figure.

    Args:
        anchors: of groups, by their names.
        groups: the compared groups.
        values: of the figure for the runs of each group, by its name.
    """
    return {
        group.name: anchor
        for group in groups
        if (anchor := anchors.get(group.name)) is not None and _is_usable(anchor, group, values)
    }


def _is_usable(anchor: Anchor, group: ComparedGroup, values: Mapping[str, Collection[float]]) -> bool:
    fewest = (RUNS_FOR_A_VERDICT, RUNS_FOR_A_VERDICT, RUNS_FOR_A_REFERENCE, RUNS_FOR_A_REFERENCE)
    found = [values[each.name] for each in anchor.groups(group)]
    return all(len(each) >= few and min(each) > 0 for each, few in zip(found, fewest, strict=False))


def reference_names(anchor: Anchor) -> tuple[str, ...]:
    """Return the names of the references of a verdict, for a table."""
    references = (anchor.other,) if anchor.is_baseline else (anchor.first, anchor.other)
    return tuple(each.name_in_sentences for each in references)


def describe_apart(first: ComparedGroup, group: ComparedGroup, anchor: Anchor | None) -> str:
    """Return the qualification of a comparison between campaigns, shown after the number of runs, a clause.

    Empty within one campaign.

    Args:
        first: the first group.
        group: the group compared with it.
        anchor: their reference; None if there is none.
    """
    if group.campaign == first.campaign:
        return ""
    if group.origin == first.origin:
        return ORDER_NOT_KNOWN  # imported
    if anchor is None:
        return NOT_INTERLEAVED
    named = {
        "first": anchor.first.name_in_sentences,
        "other": anchor.other.name_in_sentences,
        "candidate": group.name_in_sentences,
    }
    if anchor.is_baseline:
        return tr("against {other}, which is {first} in the campaign of {candidate}").format(**named)
    sentence = tr("each against the same reference in its own campaign: {first} and {other}")
    return sentence.format(**named)


def describe_anchors(anchors: Anchors) -> Iterator[str]:
    """Yield what references show of the change between campaigns, and whether they are used."""
    for each in anchors.references:
        yield " ".join((_describe_change(each), _describe_use(each)))
    for one, other in anchors.disagreeing:
        sentence = tr(
            "{change} {more} The change between the campaigns did not affect all configurations alike, so"
            " neither is used as a reference."
        )
        yield sentence.format(change=_describe_change(one), more=_describe_change(other))


def _describe_change(anchor: Anchor) -> str:
    change = anchor.change
    named = {"first": anchor.first.name, "other": anchor.other.name}
    if change.verdict in {Verdict.HIGHER, Verdict.LOWER}:
        sentence = tr("The machine changed between campaigns: {other}, the same configuration, is {change}.")
        return sentence.format(change=describe_change(change, anchor.first.name), **named)
    sentence = tr(
        "No change of the machine was found between the campaigns: {other}, the same configuration as "
        "{first}, differs by {difference} (95 % CI {interval})."
    )
    return sentence.format(difference=format_difference(change), interval=format_interval(change), **named)


def _describe_use(anchor: Anchor) -> str:
    if anchor.is_baseline:
        return tr("Configurations of its campaign are compared with {other}.").format(other=anchor.other.name)
    return tr("Differences between campaigns are corrected for this change, as if it affected all alike.")
