"""Gate an upgrade: check whether any configuration of the new side is worse than the base by a limit.

Runs before and after a reboot cannot be interleaved. So campaigns are compared by their means and the
variation between campaigns (`app.statistics.gate`); no common reference is needed or used. All configurations
are one family, whatever their conditions, because the gate has one exit status; nothing is divided or
averaged across conditions. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line, some
from app.comparison.comparison import RunComparison
from app.comparison.differences import PropertyDifference, find_differences
from app.comparison.groups import ComparedRun, WeakRuns, campaign_of, could_be_others, is_weak
from app.comparison.overall.conditions import differing_conditions
from app.comparison.verdict import Reservation, ReservationCode
from app.comparison.wording import signed_changes
from app.domain.campaign.matrix import Design
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, UsageError
from app.domain.text import number_text, titled, tr
from app.statistics.gate import ALPHA, FEWEST_CAMPAIGNS, GateEstimate, GateVerdict, judge_gate
from app.statistics.verdict import Interval

_MOST_CHANGES: Final = 12
"""Changes listed in a sentence; the JSON lists all."""

GATE_STATUS: Final = {
    GateVerdict.NOT_WORSE: ExitStatus.DONE,
    GateVerdict.WORSE: ExitStatus.WORSE,
    GateVerdict.INCONCLUSIVE: ExitStatus.INCONCLUSIVE,
}

GATE_WORDS: Final = {
    GateVerdict.NOT_WORSE: tr("not worse"),
    GateVerdict.WORSE: tr("worse"),
    GateVerdict.INCONCLUSIVE: tr("inconclusive"),
}

GATE_EXPLANATION: Final = tr(
    "Each campaign counts once, by its mean. Worse: the loss exceeds the limit (95 % confidence). Not "
    "worse: it does not (95 % confidence). Anything else is inconclusive."
)


@dataclass(frozen=True, slots=True)
class GatedConfiguration:
    """A configuration that ran on both sides.

    Attributes:
        name: of the configuration, in one line.
        estimate: from its campaigns.
        runs: number of included runs, of the base and of the new side.
        weak: the disturbances, certain or possible, that prevent a verdict; None for none.
        changed: properties without a common value on both sides: the upgrade.
        varied: properties that differ within a side.
    """

    name: str
    estimate: GateEstimate
    runs: tuple[int, int]
    weak: Reservation | None
    changed: tuple[PropertyDifference, ...]
    varied: tuple[PropertyDifference, ...]


@dataclass(frozen=True, slots=True)
class UpgradeGate:
    """The result of a gate.

    Attributes:
        worse_by: the limit, a share.
        configurations: those that ran on both sides, in the order of the base.
        left_out: sentences about excluded runs and configurations.
    """

    worse_by: float
    configurations: tuple[GatedConfiguration, ...]
    left_out: tuple[str, ...]

    @property
    def verdict(self) -> GateVerdict:
        """Worse if any configuration is; not worse if none is and all have verdicts."""
        found = {each.estimate.verdict for each in self.configurations}
        if GateVerdict.WORSE in found:
            return GateVerdict.WORSE
        return GateVerdict.INCONCLUSIVE if GateVerdict.INCONCLUSIVE in found else GateVerdict.NOT_WORSE


def judge_sides(comparison: RunComparison, base: Collection[str], worse_by: float) -> UpgradeGate:
    """Judge each configuration with included runs on both sides.

    Args:
        comparison: of all runs of both sides.
        base: paths of the run files of the base.
        worse_by: the limit, a share.

    Raises:
        UsageError: a campaign is on both sides, no configuration is, or workloads differ.
    """
    used, left_out = [], []
    for run in comparison.runs:
        reason = _why_left_out(run)
        if reason:
            left_out.append(tr("{run} is excluded: {reason}.").format(run=run.name, reason=reason))
        else:
            used.append(run)
    sides = [[run for run in used if (run.facts.path in base) is wanted] for wanted in (True, False)]
    _check_campaigns(sides)
    names = [dict.fromkeys(run.facts.configuration for run in side) for side in sides]
    common = [name for name in names[0] if name in names[1]]
    for name in (*names[0], *names[1]):
        if name not in common:
            sentence = tr("{name} ran on one side only and is excluded.").format(name=one_line(name))
            left_out.append(sentence)
    if not common:
        raise UsageError(
            tr("No configuration has usable runs on both sides."),
            hint=tr("Configurations are matched by name: use the same campaign file on both sides."),
        )
    judged = []
    for name in common:
        both = [[run for run in side if run.facts.configuration == name] for side in sides]
        judged.append(_judge(name, both, worse_by, len(common)))
    return UpgradeGate(worse_by, tuple(judged), tuple(left_out))


def _why_left_out(run: ComparedRun) -> str:
    if run.left_out:
        return run.left_out
    if not run.tps:
        return tr("it has no transactions")
    if run.facts.design == Design.SEQUENTIAL:
        return tr("its campaign ended when a winner was found, so its mean is biased")
    return ""


def _check_campaigns(sides: Sequence[Sequence[ComparedRun]]) -> None:
    """Check that no campaign is on both sides: nothing changes within a campaign.

    Raises:
        UsageError: one is.
    """
    keys = [{run.facts.campaign_key for run in side} for side in sides]
    for run in sides[0]:
        if run.facts.campaign_key in keys[1]:
            message = tr("“{name}” is on both sides.").format(name=one_line(run.facts.campaign))
            raise UsageError(message, hint=tr("Each run is either before the change or after it."))


def _judge(
    name: str, sides: Sequence[Sequence[ComparedRun]], worse_by: float, among: int
) -> GatedConfiguration:
    facts = [[run.facts for run in side] for side in sides]
    changed: list[PropertyDifference] = []
    varied: list[PropertyDifference] = []
    for what, values in differing_conditions([*facts[0], *facts[1]]):
        raise UsageError(
            tr("{name}: the conditions differ in “{what}” ({values}).").format(
                name=one_line(name), what=what, values=", ".join(values)
            ),
            hint=tr("Both sides need the same load: use the same campaign file on both sides."),
        )
    for difference in find_differences([*facts[0], *facts[1]]):
        (changed if _is_between(difference, len(facts[0])) else varied).append(difference)
    means = [_by_campaign(side) for side in sides]
    estimate = judge_gate(means[0], means[1], worse_by, among)
    weak = _why_inconclusive(facts, estimate, 1 - worse_by)
    if weak is not None:
        estimate = replace(estimate, verdict=GateVerdict.INCONCLUSIVE, more=None)
    return GatedConfiguration(
        one_line(name),
        estimate,
        (len(sides[0]), len(sides[1])),
        weak,
        tuple(changed),
        tuple(varied),
    )


def _why_inconclusive(
    sides: Sequence[Sequence[RunFacts]], estimate: GateEstimate, limit: float
) -> Reservation | None:
    """Return why disturbances on one side may explain a verdict; None if they cannot.

    Args:
        sides: runs of the base and of the new side.
        estimate: with the verdict.
        limit: of the ratio, new to base: below it the new side is worse.
    """
    runs = [run for side in sides for run in side]
    if weak := [run for run in runs if is_weak(run)]:
        return Reservation(ReservationCode.DISTURBED, (WeakRuns(tuple(weak), len(runs)),))
    if estimate.verdict is GateVerdict.INCONCLUSIVE or estimate.low is None or estimate.high is None:
        return None
    found = could_be_others(sides, Interval(estimate.low, estimate.high, 1 - ALPHA), limit)
    return None if found is None else Reservation(ReservationCode.OTHERS_CPU, (found,))


def _is_between(difference: PropertyDifference, base_runs: int) -> bool:
    """Whether the two sides share no value of it; the first `base_runs` runs are the base."""
    return all(len({place < base_runs for place in each.runs}) == 1 for each in difference.variants)


def _by_campaign(runs: Sequence[ComparedRun]) -> list[list[float]]:
    found: dict[str, list[float]] = {}
    for run in runs:
        assert run.tps is not None  # noqa: S101 - those without take no part
        found.setdefault(_campaign(run.facts), []).append(run.tps)
    return list(found.values())


def _campaign(run: RunFacts) -> str:
    """Return a key for the campaign of a run; a run without a campaign has its own."""
    return campaign_of(run, run.campaign_key or run.path)


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else signed_changes(ratio)[0]


def _share(value: float | None) -> str:
    return "" if value is None else f"{number_text(value * 100, '.1f')} %"


def describe_gate(gate: UpgradeGate) -> Iterator[str]:
    """Yield the findings as sentences: on each configuration, on changes, on excluded runs."""
    for each in gate.configurations:
        yield _sentence(each, gate.worse_by)
    changed = dict.fromkeys(_change(item) for each in gate.configurations for item in each.changed)
    if changed:
        yield tr("Changed between the sides: {changes}.").format(changes=some(list(changed), _MOST_CHANGES))
    else:
        yield tr("No known difference.")
    varied = dict.fromkeys(
        f"{item.topic}: {item.name}" for each in gate.configurations for item in each.varied
    )
    if varied:
        yield tr("These differ within a side and add to the variation: {names}.").format(
            names=some(list(varied), _MOST_CHANGES)
        )
    yield from gate.left_out


def _change(difference: PropertyDifference) -> str:
    values = " → ".join(one_line(variant.value) for variant in difference.variants)
    return f"{difference.topic}: {difference.name} {values}"


def _sentence(each: GatedConfiguration, worse_by: float) -> str:
    estimate, limit = each.estimate, f"{number_text(worse_by * 100, 'g')} %"
    base, new = estimate.campaigns
    values = {
        "name": each.name,
        "limit": limit,
        "difference": _percent(estimate.ratio),
        "low": _percent(estimate.low),
        "high": _percent(estimate.high),
        "base": base,
        "new": new,
        "fewest": FEWEST_CAMPAIGNS,
    }
    if each.weak is not None:
        sentence = tr(
            "{name}: inconclusive. TPS changed by {difference} ({base} baseline and {new} new campaigns), "
            "but {weak}. Measure both sides while nothing else uses the machine."
        )
        evidence = each.weak.evidence
        weak = f"{each.weak.text} ({evidence})" if evidence else each.weak.text
        return sentence.format(weak=weak, **values)
    if estimate.low is None:
        return tr(
            "{name}: inconclusive. There are {base} baseline and {new} new campaigns, but a verdict needs "
            "{fewest} of each. TPS changed by {difference}."
        ).format(**values)
    sentence = tr(
        "{name}: {verdict}. TPS changed by {difference} ({base} baseline and {new} new campaigns). The 95 "
        "% bounds are {low} and {high}; the allowed loss is {limit}."
    ).format(verdict=GATE_WORDS[estimate.verdict], **values)
    if estimate.verdict is not GateVerdict.INCONCLUSIVE:
        return sentence
    if estimate.more is None:
        more = tr("This close to the limit, even a hundred more campaigns on each side would not settle it.")
    else:
        more = tr("About {more} more campaigns on each side would settle it.").format(more=estimate.more)
    return f"{sentence} {more}"


GATE_COLUMNS: Final = (
    Column[GatedConfiguration](
        "configuration", titled(tr("configuration")), lambda row: row.name, CellKind.WORDS
    ),
    Column[GatedConfiguration](
        "verdict", tr("Verdict"), lambda row: GATE_WORDS[row.estimate.verdict], CellKind.LABEL
    ),
    Column[GatedConfiguration]("difference", "TPS", lambda row: _percent(row.estimate.ratio)),
    Column[GatedConfiguration]("low", tr("At least"), lambda row: _percent(row.estimate.low)),
    Column[GatedConfiguration]("high", tr("At most"), lambda row: _percent(row.estimate.high)),
    Column[GatedConfiguration](
        "campaigns", tr("Campaigns"), lambda row: " / ".join(map(str, row.estimate.campaigns))
    ),
    Column[GatedConfiguration]("runs", titled(tr("runs")), lambda row: " / ".join(map(str, row.runs))),
    Column[GatedConfiguration](
        "spread", tr("Between campaigns"), lambda row: " / ".join(map(_share, row.estimate.spreads))
    ),
)
"""One row per configuration; two values in a cell are the base and the new side."""
