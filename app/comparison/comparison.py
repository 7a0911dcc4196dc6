"""Compare several runs: configurations with their runs, a common cut, verdicts and reservations. Pure.

The unit is the run (`app.statistics.verdict`). Runs of one configuration in one campaign are its repeats; the
same configuration in another campaign is another group, because any change of the machine between the two is
part of their difference. Each condition (`app.comparison.overall.conditions`) is compared separately, with
its own baseline, family of tests and cut.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.analysis.facts import RunFacts, shown_settings
from app.analysis.labels import of_part, one_line, state_words
from app.analysis.properties import LABELS, POSTGRESQL, SETTING, SETTINGS, TARGET, Property
from app.analysis.stability import RunStability
from app.comparison.anchor import Anchors, describe_apart, find_anchors
from app.comparison.groups import (
    ComparedGroup,
    ComparedRun,
    WeakRuns,
    is_disturbed,
    is_weak,
    measured_again,
    runs_to_exclude,
    what_others_took,
)
from app.comparison.label_shortening import telling_names, unique_names
from app.comparison.overall.conditions import (
    Condition,
    PropertyRole,
    asked_by,
    chosen_settings,
    condition_of,
    footing_of,
    name_conditions,
)
from app.comparison.overall.sequential import how_it_competed
from app.comparison.overall.single_runs import (
    ChanceOfFewRuns,
    chance_of_few,
    find_stalls,
    find_unlike_lengths,
    is_of_few,
    known_spread,
    spreads_among,
)
from app.comparison.table import ComparisonRow, build_rows
from app.comparison.verdict import PairVerdict, Reservation, ReservationCode, why_aside
from app.domain.errors import RunFileError
from app.domain.run import RunState
from app.domain.text import tr
from app.library.spreads import KnownSpread
from app.statistics.sample_size import DEFAULT_EFFECT
from app.statistics.verdict import Comparison, Verdict

_DISTINGUISHING: Final = frozenset(
    {(TARGET, tr("filesystem")), (TARGET, "RAID"), (POSTGRESQL, LABELS["version"])}
)
"""Besides settings, these properties distinguish configurations: not paths, devices and kernels, which may
change between repeats of one configuration.
"""


def by_configuration(
    runs: Sequence[RunFacts], conditions: Sequence[Condition], *, as_given: bool
) -> dict[tuple[str, str, Condition], list[int]]:
    """Return the indices of the repeats of each configuration of each campaign, each condition separately.

    Runs that differ in a chosen property are different configurations even under the same name; the name then
    includes the difference.

    Args:
        runs: in any order.
        conditions: of each run.
        as_given: order configurations by their first runs; else order campaigns by theirs, and the
            configurations of each by its file if that order is known: which run of a campaign comes first is
            chance, and the first configuration is the baseline.
    """
    found: dict[tuple[str, str, Condition], list[int]] = {}
    for place, (name, condition) in enumerate(
        zip(_distinguishing_names(runs, conditions), conditions, strict=True)
    ):
        found.setdefault((runs[place].campaign_key, name, condition), []).append(place)
    if as_given:
        return found
    campaigns = list(dict.fromkeys(campaign for campaign, _, _ in found))

    def in_file(key: tuple[str, str, Condition]) -> tuple[int, int]:
        return campaigns.index(key[0]), runs[found[key][0]].place

    return {key: found[key] for key in sorted(found, key=in_file)}


def _distinguishing_names(runs: Sequence[RunFacts], conditions: Sequence[Condition]) -> list[str]:
    """Return the name of each run's configuration, with the differing choices if one name has several."""
    names = [run.configuration or run.name for run in runs]
    none = tr("none")
    alike: dict[tuple[str, str, Condition], list[int]] = {}
    for place, run in enumerate(runs):
        alike.setdefault((run.campaign_key, names[place], conditions[place]), []).append(place)
    for places in (each for each in alike.values() if len(each) > 1):
        settings = shown_settings(runs[place] for place in places)
        chosen = {place: _chosen(runs[place], settings) for place in places}
        shown = {item.key for table in chosen.values() for item in table.values() if item.is_shown}
        for key in sorted(shown - {_ALL_SETTINGS}):
            found = {place: _value(table, key) for place, table in chosen.items()}
            known = [value for value in found.values() if value is not None]
            if len(set(known)) > 1:
                for place, value in found.items():
                    words = known[0] if value is None else value
                    names[place] = f"{names[place]}, {key[1]} {words or none}"
    return names


_Key = tuple[str, str]
_ALL_SETTINGS: Final = (SETTING, SETTINGS)


def _chosen(run: RunFacts, settings: Collection[str]) -> dict[_Key, Property]:
    """Return the properties that distinguish configurations."""
    items = run.every_property(settings)
    return {item.key: item for item in items if item.topic == SETTING or item.key in _DISTINGUISHING}


def _value(table: Mapping[_Key, Property], key: _Key) -> str | None:
    """Return a value, empty for a setting that was not chosen; None if it is not known."""
    item = table.get(key)
    if item is not None:
        return item.value if item.is_known else None
    return "" if key[0] == SETTING and _ALL_SETTINGS not in table else None


def why_left_out(runs: Sequence[RunFacts]) -> list[str]:
    """Return why each run is excluded, a clause; empty if it is complete, has TPS, and is not a copy."""
    seen: dict[str, str] = {}
    reasons = []
    for run in runs:
        tps = run.summary.get("tps")
        if run.id and run.id in seen:
            reason = tr("it is the same run as {name}").format(name=seen[run.id])
        elif run.state != RunState.DONE:
            reason = tr("it is {state}").format(state=state_words(run.state))
        elif tps is None or not math.isfinite(tps) or tps < 0:
            reason = tr("it has no TPS")
        else:
            reason = ""
        if run.id:
            seen.setdefault(run.id, one_line(run.name))
        reasons.append(reason)
    return reasons


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The results of comparing several runs.

    For a baseline, a best configuration, a difference or a verdict, use each of `parts`.

    Attributes:
        runs: all runs, in the order given, including those of other conditions.
        groups: configurations, see `compare_runs`; of each part the first is the baseline. Configurations
            that are not durable follow all others, and are a baseline only if none is durable.
        rows: of the table, one per group; empty without runs.
        cut_s: excluded from the start of every run.
        effect: smallest difference of interest, as a share.
        anchors: of a part: references that link other campaigns to that of the first group.
        condition: of a part: the name that distinguishes it; empty if there is only one condition.
        asked: the condition with compared levels; None if configurations are compared.
    """

    runs: tuple[ComparedRun, ...]
    groups: tuple[ComparedGroup, ...]
    rows: tuple[ComparisonRow, ...]
    cut_s: float
    effect: float
    anchors: Anchors = field(default_factory=Anchors)
    condition: str = ""
    asked: PropertyRole | None = None
    _parts: tuple[RunComparison, ...] = field(default=(), repr=False)

    @property
    def parts(self) -> tuple[RunComparison, ...]:
        """The comparison of each condition: the same runs, with its own groups in their order."""
        return self._parts or (self,)

    def measured(self, what: str) -> str:
        """Return the name of a figure with the part of the runs that it covers."""
        return of_part(what, self.cut_s)

    @property
    def own_runs(self) -> tuple[ComparedRun, ...]:
        """The runs of its groups, in the order of all runs."""
        found = [run for group in self.groups for run in group.runs]
        return tuple(sorted(found, key=lambda run: run.index))

    def rests_on(self, group: ComparedGroup) -> tuple[ComparedGroup, ...]:
        """Return the groups that a difference from the first one rests on: these two, and any reference."""
        anchor = self.anchors.by_group.get(group.name)
        pair = (self.groups[0], group) if anchor is None else anchor.groups(group)
        own = {each.name: each for each in self.groups}  # with the runs of this comparison
        return tuple(own[name] for name in dict.fromkeys(each.name for each in pair))

    def why_indicative(self, group: ComparedGroup) -> Reservation | None:
        """Return why a group has no verdict against the first one; None if it may have one."""
        groups = self.rests_on(group)
        if weak := self.weak_runs(group):
            runs = sum(len(each.included_runs) for each in groups)
            return Reservation(ReservationCode.DISTURBED, (WeakRuns(tuple(weak), runs),))
        lengths = find_unlike_lengths(shapes_of(groups))
        return None if lengths is None else Reservation(ReservationCode.LENGTHS, (lengths,))

    def weak_runs(self, group: ComparedGroup) -> list[RunFacts]:
        """Return the runs of a group and of the first one that other processes disturbed, or may have."""
        return [run for each in self.rests_on(group) for run in each.disturbed]

    @property
    def ranked(self) -> tuple[ComparisonRow, ...]:
        """The rows of groups that may be called the fastest."""
        return tuple(row for row in self.rows if row.is_ranked)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts as sentences, each with a full stop."""
        return tuple(row.judged.sentence for row in self.rows if row.verdict)


def compare_runs(  # noqa: PLR0913 - what a person may choose, each by its name
    runs: Sequence[RunFacts],
    *,
    effect: float = DEFAULT_EFFECT,
    cut_s: float = 0.0,
    baseline: str = "",
    shorten: bool = False,
    spreads: Mapping[str, KnownSpread] | None = None,
    as_given: bool = False,
    across: PropertyRole | None = None,
) -> RunComparison:
    """Compare runs, each configuration with the first of its condition.

    Args:
        runs: in any order, of any campaigns; the same run twice counts once.
        effect: smallest difference of interest, a share.
        cut_s: seconds excluded from the start of every run.
        baseline: name of the group to compare with; other conditions use the group with the same factors. The
            first group if it is empty, unknown, or not durable while others are.
        shorten: omit words common to all groups from their names.
        spreads: of the library's repeats, by kind of target.
        as_given: order groups by their first runs; else those of a campaign by its file.
        across: a condition to compare the levels of, separately for each set of factors; None to use
            `asked_by`.
    """
    asked = asked_by(runs) if across is None else across
    chosen = chosen_settings(runs)
    conditions = [condition_of(run, asked, chosen) for run in runs]
    members = by_configuration(runs, conditions, as_given=as_given)
    compared = _select(runs, tuple(members.values()), cut_s)
    groups = _groups(members, compared, shorten=shorten)
    alike: dict[Condition, list[ComparedGroup]] = {}
    for group in groups:
        alike.setdefault(conditions[group.runs[0].index], []).append(group)
    wanted = [group for group in groups if group.name == baseline] or groups
    footings = {group.name: footing_of(group.facts, chosen) for group in groups}
    footing = footings[wanted[0].name] if wanted else frozenset()
    condition_names = name_conditions([each[0].facts for each in alike.values()], asked)
    whole = RunComparison(compared, (), (), cut_s, effect, asked=asked)
    parts = []
    for name, each in zip(condition_names, alike.values(), strict=True):
        ordered = _in_order(each, baseline, [footings[at.name] == footing for at in each])
        if shorten and len(alike) > 1:
            short = telling_names([group.name for group in ordered])
            ordered = tuple(replace(group, short=name) for group, name in zip(ordered, short, strict=True))
        part = _with_rows(replace(whole, groups=ordered, condition=name))
        parts.append(_judged(part, spreads or {}))
    if len(parts) < 2:
        return parts[0] if parts else whole
    return replace(
        whole,
        groups=tuple(group for part in parts for group in part.groups),
        rows=tuple(row for part in parts for row in part.rows),
        _parts=tuple(parts),
    )


def _select(
    runs: Sequence[RunFacts], members: Sequence[Sequence[int]], cut_s: float
) -> tuple[ComparedRun, ...]:
    """Return which runs are included, with their compared seconds."""
    left_out = why_left_out(runs)
    repeated = measured_again(runs, members, left_out)
    for place, counts in repeated.items():
        left_out[place] = _instead(runs[place], runs[counts])
    aside = runs_to_exclude(runs, members, left_out)
    for place in aside:
        left_out[place] = why_aside(runs[place])
    aside |= {place for place in repeated if is_weak(runs[place])}
    names = unique_names([one_line(run.name) for run in runs], [one_line(run.campaign) for run in runs])
    return tuple(
        replace(_compared(run, name, place, why, cut_s), is_excluded=place in aside)
        for place, (run, name, why) in enumerate(zip(runs, names, left_out, strict=True))
    )


def with_runs(part: RunComparison, runs: Sequence[ComparedRun]) -> RunComparison:
    """Return the comparison of one condition with another selection of all runs, before its rows are made."""
    groups = tuple(group.with_runs(runs) for group in part.groups)
    return replace(part, runs=tuple(runs), groups=groups, rows=())


def shapes_of(groups: Iterable[ComparedGroup]) -> list[RunStability]:
    """Return the stability of the included runs of some groups, as far as known."""
    return [run.shape for group in groups for run in group.included_runs if run.shape is not None]


def _with_rows(part: RunComparison) -> RunComparison:
    """Return the comparison of one condition with its rows, before reservations."""
    anchors = find_anchors(part.groups)
    rows = build_rows(part.groups, effect=part.effect, anchors=anchors.by_group)
    return replace(part, rows=rows, anchors=anchors)


def _judged(part: RunComparison, spreads: Mapping[str, KnownSpread]) -> RunComparison:
    """Return the comparison of one condition, which has rows, with the reservations of each verdict."""
    few = [
        row.group.name
        for row in part.rows
        if is_of_few(row.comparison) and not any(map(is_disturbed, part.weak_runs(row.group)))
    ]
    rows = []
    for row in part.rows:
        verdict = _weakened(part, row)
        if row.group.name in few and row.comparison is not None:
            chance = _chance(part, row.group, row.comparison, len(few), spreads)
            verdict = verdict.with_reservation(Reservation(ReservationCode.CHANCE, (chance,)))
        verdict = with_safety(part, row, verdict)
        rows.append(replace(row, judged=verdict, condition=part.condition, cut_s=part.cut_s))
    return replace(part, rows=tuple(rows))


def _instead(run: RunFacts, counts: RunFacts) -> str:
    """Return why one of several attempts is excluded."""
    name = one_line(counts.name)
    if counts.attempt > run.attempt:
        return tr("it was disturbed, and {name} counts instead").format(name=name)
    return tr("{name} counts instead").format(name=name)


def _weakened(part: RunComparison, row: ComparisonRow) -> PairVerdict:
    """Return a verdict weakened by disturbed runs, stalls and differing lengths."""
    first, group = part.groups[0], row.group
    found, weak, because = row.comparison, part.weak_runs(group), part.why_indicative(group)
    if found is None:
        return with_disturbed_rate(row)
    if weak and because is not None:
        if is_of_few(found) and not any(map(is_disturbed, weak)):
            return row.judged  # with so few runs there is no verdict anyway
        return row.judged.with_reservation(because)
    verdict = without_what_others_took(part, row)
    if because is not None and not is_of_few(found):
        verdict = verdict.with_reservation(because)
    elif verdict.found is not None and (verdict.found.verdict is Verdict.EQUAL or verdict.found.equivalent):
        shapes = [shapes_of([each]) for each in (first, group)]
        stalls = find_stalls(first.name_in_sentences, shapes[0], group.name_in_sentences, shapes[1])
        if stalls is not None:
            is_withdrawn = not stalls.are_alike and verdict.found.verdict is Verdict.EQUAL
            code = ReservationCode.UNLIKE_STALLS if is_withdrawn else ReservationCode.STALLS
            verdict = verdict.with_reservation(Reservation(code, (stalls,)))
    runs = sorted((run for each in part.rests_on(group) for run in each.runs), key=lambda run: run.index)
    if aside := [run.facts for run in runs if run.is_excluded]:
        weak_ones = WeakRuns(tuple(aside), len(aside) + sum(run.tps is not None for run in runs))
        verdict = verdict.with_reservation(Reservation(ReservationCode.LEFT_OUT, (weak_ones,)))
    return verdict


def without_what_others_took(part: RunComparison, row: ComparisonRow) -> PairVerdict:
    """Withdraw a verdict that load from others may explain, although no run is marked as disturbed."""
    if row.comparison is None or part.why_indicative(row.group):
        return row.judged
    runs = [[run.facts for run in each.included_runs] for each in part.rests_on(row.group)]
    because = what_others_took(runs, row.comparison)
    if because is None:
        return row.judged
    return row.judged.with_reservation(Reservation(ReservationCode.OTHERS_CPU, (because,)))


def with_disturbed_rate(row: ComparisonRow) -> PairVerdict:
    """Add to a statement on a rate which of its runs were disturbed."""
    if not row.group.disturbed or not row.load.at_a_rate:
        return row.judged
    weak = WeakRuns(row.group.disturbed, len(row.group.included_runs))
    return row.judged.with_reservation(Reservation(ReservationCode.DISTURBED, (weak,)))


def _chance(
    part: RunComparison,
    group: ComparedGroup,
    found: Comparison,
    count: int,
    spreads: Mapping[str, KnownSpread],
) -> ChanceOfFewRuns:
    """Return the variation at which chance explains a difference of few runs, one of `count`."""
    pair = (part.groups[0], group)
    runs = [run.facts for each in pair for run in each.included_runs]
    known, of_these = known_spread(runs, spreads_among(part.groups), spreads)
    is_between = pair[0].origin != group.origin
    return chance_of_few(found, count, known, of_these=of_these, between_campaigns=is_between)


def _compared(run: RunFacts, name: str, index: int, left_out: str, cut_s: float) -> ComparedRun:
    whole = ComparedRun(run, name, index, None, left_out, figures=run.summary, shape=run.shape)
    if left_out:
        return whole
    if not cut_s:
        return replace(whole, tps=run.summary["tps"])
    shape = None if run.shape is None else run.shape.after(cut_s)
    if shape is None or shape.mean is None:
        why = tr("it has no data after the first {s:.0f} s").format(s=cut_s)
        return replace(whole, left_out=why)
    try:
        figures = run.figures_after(cut_s) | {"tps": shape.mean}
    except RunFileError:
        return replace(whole, left_out=tr("its file can no longer be read"))
    return replace(whole, tps=shape.mean, cut_s=cut_s, figures=figures, shape=shape)


def _groups(
    members: Mapping[tuple[str, str, Condition], Sequence[int]],
    runs: Sequence[ComparedRun],
    *,
    shorten: bool,
) -> tuple[ComparedGroup, ...]:
    """Return the configurations, each under one condition."""
    repeats = [tuple(runs[place] for place in places) for places in members.values()]
    names: Sequence[str] = unique_names(
        [one_line(name) or tr("(no name)") for _, name, _ in members],
        [one_line(each[0].facts.campaign) for each in repeats],
    )
    if shorten:
        names = telling_names(names)
    return tuple(
        ComparedGroup(
            *(name, campaign, each, tuple(sorted({kind for run in each for kind, _ in run.facts.marks}))),
            *how_it_competed([run.facts for run in each]),
        )
        for name, (campaign, _, _), each in zip(names, members, repeats, strict=True)
    )


def _in_order(
    groups: Sequence[ComparedGroup], baseline: str, alike: Sequence[bool]
) -> tuple[ComparedGroup, ...]:
    """Return the ranked groups, the baseline or its equivalent first, and then the others.

    Args:
        groups: of one condition.
        baseline: name of the group to compare with; empty for the first.
        alike: for each group, whether it has the same factors as the baseline.
    """

    def key(pair: tuple[ComparedGroup, bool]) -> tuple[bool, bool, bool]:
        group, is_like = pair
        return group.not_durable, group.name != baseline, not is_like

    return tuple(group for group, _ in sorted(zip(groups, alike, strict=True), key=key))


def with_safety(part: RunComparison, row: ComparisonRow, verdict: PairVerdict) -> PairVerdict:
    """Add to the verdict which side trades safety for speed: the verdict may be quoted alone."""
    first, group, is_ranked = part.groups[0], row.group, row.is_ranked
    if not verdict.text:
        return verdict
    if not is_ranked and verdict.found is not None and verdict.found.ratio is not None:
        verdict = _unranked(part, group, verdict)
    elif not is_ranked:
        verdict = verdict.with_reservation(
            Reservation(ReservationCode.NOT_RANKED, (group.name_in_sentences,))
        )
    both = (first,) if group is first else (group, first)
    lost = [each.name_in_sentences for each in both if each.not_durable and is_ranked]
    unsafe = [each.name_in_sentences for each in both if each.unsafe and not each.not_durable]
    for code, names in ((ReservationCode.NOT_DURABLE, lost), (ReservationCode.UNSAFE, unsafe)):
        verdict = verdict.with_reservation(Reservation(code, tuple(names))) if names else verdict
    return verdict


def _unranked(part: RunComparison, group: ComparedGroup, verdict: PairVerdict) -> PairVerdict:
    """Return the verdict on a configuration that is not ranked, with the cost that the difference shows."""
    first = part.groups[0]
    kept = tuple(each for each in verdict.reservations if each.withdraws)
    verdict = replace(verdict, is_ranked=False, reservations=kept)
    if not kept and (because := part.why_indicative(group)):
        verdict = verdict.with_reservation(because)
    elif not kept and is_of_few(verdict.found) and group.campaign != first.campaign:
        verdict = verdict.with_reservation(
            Reservation(ReservationCode.NOT_INTERLEAVED, (describe_apart(first, group, None),))
        )
    facts = [each.facts for each in (first, group)]
    chosen = chosen_settings(facts)
    apart = {key for key, _, _ in footing_of(facts[0], chosen) ^ footing_of(facts[1], chosen)}
    is_found = verdict.found is not None and verdict.found.verdict in {Verdict.HIGHER, Verdict.LOWER}
    cost = tr("durability") if len(apart) <= 1 and is_found else ""
    if group.in_memory and not first.in_memory:
        cost = tr("the storage")
    return replace(verdict, cost=cost)
