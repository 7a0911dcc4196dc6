"""Estimate before measuring which differences a number of runs can detect, and how many are needed. Pure.

Stated and simulated detectable differences: resources/manual/method.md.

Also adds a reference on a server that already runs, which links two campaigns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.campaign.configuration import Campaign, ServerTarget
from app.domain.campaign.order import Design
from app.domain.campaign.phases import background, turns_of
from app.domain.text import number_text, tr, trn
from app.draft.fields.state import ConfigurationDraft, DraftParts, Place
from app.library.spreads import KnownSpread
from app.statistics.sample_size import (
    RUNS_FOR_A_REFERENCE,
    RUNS_FOR_A_VERDICT,
    holm_alpha,
    minimum_detectable_effect,
    runs_needed,
)

QUIET_SPREAD: Final = 0.01
"""Variation of runs of one configuration on a quiet, dedicated machine (standard deviation of logarithms)."""
NOISY_SPREAD: Final = 0.04
"""The same on a virtual machine with neighbours (measured: 2.5 to 4.3 % pinned, more when shared)."""

_DIFFERENCES: Final = (0.02, 0.05, 0.10, 0.20)
"""Differences of possible interest; repeats and time are shown for each."""
_HOURS: Final = (1, 8, 48)
"""Available times: an hour, a night, a weekend; repeats and detectable difference are shown for each."""
_MOST_REPEATS_SHOWN: Final = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of compared configurations, and the variation of their runs.

    Attributes:
        comparisons: with the first configuration, under one condition.
        spread: standard deviation of the logarithms of run means.
    """

    comparisons: int
    spread: float

    def detectable(self, repeats: int) -> float | None:
        """Return the difference that `repeats` runs detect in 4 of 5 campaigns; None below two.

        The verdict pairs the runs of a round, and the difference of two runs varies by the square root of two
        more than one run does.
        """
        alpha = holm_alpha(self.comparisons)
        return minimum_detectable_effect(self.spread * math.sqrt(2), repeats, paired=True, alpha=alpha)

    def repeats(self, difference: float) -> int | None:
        """Return the repeats that detect a difference in 4 of 5 campaigns; None above 10 000."""
        alpha = holm_alpha(self.comparisons)
        return runs_needed(self.spread * math.sqrt(2), effect=difference, paired=True, alpha=alpha)


def effect_sentences(
    campaign: Campaign, about_s: float | None = None, spreads: Mapping[str, KnownSpread] | None = None
) -> tuple[str, ...]:
    """Return the differences that the runs detect, the repeats that others need, and what time allows.

    Args:
        campaign: to be measured.
        about_s: estimated seconds for all of it; None if open.
        spreads: variation of the library's runs, by kind of target.
    """
    comparisons = _comparisons(campaign)
    if len(campaign.configurations) < 2:
        return (tr("One configuration: nothing to compare it with, only its own results."),)
    if not comparisons:
        return (tr("Each configuration has different conditions: results only, no comparison."),)
    if any(_works_beside(campaign)):
        return no_verdict_sentences(campaign)
    spread, source = _spread(campaign, spreads or {})
    plan = Plan(comparisons, spread)
    per_repeat_s = None if about_s is None else about_s / campaign.repeats
    sentences = [*no_verdict_sentences(campaign), _first(campaign, plan, source)]
    sentences.append(_for_differences(plan, per_repeat_s))
    if per_repeat_s:
        sentences.append(_for_times(plan, per_repeat_s))
    if campaign.design is Design.SEQUENTIAL:
        sentences.append(
            tr(
                "That holds for configurations that stay to the last round. About dropped ones you learn "
                "little more than that they are unlikely to be the fastest."
            )
        )
    return tuple(sentence for sentence in sentences if sentence)


def no_verdict_sentences(campaign: Campaign) -> tuple[str, ...]:
    """Return why a campaign cannot give a verdict, if that is known beforehand."""
    if len(campaign.configurations) < 2:
        return ()
    sentences = [
        tr(
            "There will be no verdict: pgFooting cannot separate its own parallel work ({work}) from other "
            "programs."
        ).format(work=background(name).label)
        for name in dict.fromkeys(_works_beside(campaign))
    ]
    if campaign.repeats < RUNS_FOR_A_VERDICT:
        sentence = trn(
            "{runs} run each is too few for a verdict, which needs {needed}.",
            "{runs} runs each are too few for a verdict, which needs {needed}.",
            campaign.repeats,
        )
        sentences.append(sentence.format(runs=campaign.repeats, needed=RUNS_FOR_A_VERDICT))
    if any(isinstance(each.target, ServerTarget) and not each.target.ssh for each in campaign.configurations):
        sentence = tr(
            "There will be no verdict if the server runs on another machine: without “ssh” pgFooting cannot "
            "see other activity there."
        )
        sentences.append(sentence)
    return tuple(sentences)


def _works_beside(campaign: Campaign) -> Iterator[str]:
    """Yield the names of parallel work in the phase that gives a run's figures."""
    for each in campaign.configurations:
        for turn in turns_of(each.workload):
            if turn.is_own and turn.phase.background is not None:
                yield turn.phase.background


def _comparisons(campaign: Campaign) -> int:
    """Return the number of comparisons with the first, in the condition that has most.

    If only conditions differ the campaign compares the levels of one, with the same transactions.
    """
    asks = len({each.footing for each in campaign.configurations}) == 1
    alike: Counter[Hashable] = Counter(
        each.workload.scripts if asks else each.condition for each in campaign.configurations
    )
    return max(alike.values()) - 1


def _spread(campaign: Campaign, spreads: Mapping[str, KnownSpread]) -> tuple[float, str]:
    """Return the variation used for planning, and its source, a clause.

    Of several kinds of target the largest counts; if one of them is unknown, none is used.
    """
    kinds = {each.target.kind for each in campaign.configurations}
    known = [spreads[kind] for kind in kinds if kind in spreads]
    if len(known) < len(kinds):
        return NOISY_SPREAD, ""
    largest = max(known, key=lambda each: each.spread)
    source = tr("as seen on such a target in {runs} runs of {configurations} configurations in this library")
    return largest.spread, source.format(runs=largest.runs, configurations=largest.configurations)


def _first(campaign: Campaign, plan: Plan, source: str) -> str:
    if campaign.repeats < RUNS_FOR_A_VERDICT:
        return ""  # `no_verdict_sentences` says it
    allowing = ""
    if plan.comparisons > 1:
        allowing = tr(", adjusted for {count} comparisons,").format(count=plan.comparisons)
    if source:
        sentence = tr(
            "With {runs} runs each{allowing} you can detect (80 % power) a difference of {shown}, if runs "
            "vary by {spread}, {source}."
        )
        return sentence.format(
            runs=campaign.repeats,
            allowing=allowing,
            shown=_percent(plan.detectable(campaign.repeats)),
            spread=_percent(plan.spread),
            source=source,
        )
    sentence = tr(
        "With {runs} runs each{allowing} you can detect (80 % power) {quiet} on a quiet machine (runs vary "
        "by {quiet_spread}) or {noisy} on a shared one. The figures below assume {noisy_spread}."
    )
    return sentence.format(
        runs=campaign.repeats,
        allowing=allowing,
        quiet=_percent(Plan(plan.comparisons, QUIET_SPREAD).detectable(campaign.repeats)),
        quiet_spread=_percent(QUIET_SPREAD),
        noisy=_percent(plan.detectable(campaign.repeats)),
        noisy_spread=_percent(plan.spread),
    )


def _for_differences(plan: Plan, per_repeat_s: float | None) -> str:
    """State how many repeats detect which difference, and how long they take."""
    parts = []
    for difference in _DIFFERENCES:
        repeats = plan.repeats(difference)
        if repeats is None or repeats > _MOST_REPEATS_SHOWN:
            words = tr("more than {most} repeats").format(most=number_text(_MOST_REPEATS_SHOWN, ","))
        else:
            words = tr("{repeats} repeats").format(repeats=repeats)
            if per_repeat_s is not None:
                words = tr("{repeats} ({time})").format(repeats=words, time=roughly(repeats * per_repeat_s))
        parts.append(
            tr("{difference} needs {repeats}").format(difference=_percent(difference), repeats=words)
        )
    return tr("Detecting {parts}.").format(parts=tr(", ").join(parts))


def _for_times(plan: Plan, per_repeat_s: float) -> str:
    """State what the repeats detect that fit into certain times."""
    parts = []
    for hours in _HOURS:
        repeats = int(hours * 3600 / per_repeat_s)
        if repeats < RUNS_FOR_A_VERDICT:
            continue
        repeats = min(repeats, _MOST_REPEATS_SHOWN)
        part = tr("{repeats} repeats in {hours} h detect {difference}")
        shown = _percent(plan.detectable(repeats))
        parts.append(part.format(hours=hours, repeats=repeats, difference=shown))
    return tr("With more time: {parts}.").format(parts="; ".join(parts)) if parts else ""


def roughly(seconds: float) -> str:
    """Return an estimated time without meaningless digits."""
    if seconds < 100:
        return tr("{count} s").format(count=math.ceil(seconds / 10) * 10)
    if seconds < 5400:
        return tr("{count} min").format(count=round(seconds / 60))
    if seconds < 48 * 3600:
        return tr("{count} h").format(count=number_text(seconds / 3600, ".1f"))
    return tr("{count} days").format(count=number_text(seconds / 86_400, ".1f"))


def _percent(share: float | None) -> str:
    if share is None:
        return tr("not known")
    percent = share * 100
    return number_text(percent, ".0f" if percent >= 9.95 else ".2g") + "\u00a0%"


_PAGE_SSH: Final = "target.server.ssh"


def reference_words() -> str:
    """Return the purpose and the requirements of a reference."""
    sentence = tr(
        "To rank two campaigns, measure an unchanged reference server in both, under the same name, at "
        "least {runs} times each. It needs ssh to its machine and pg_monitor for its disks."
    )
    return sentence.format(runs=RUNS_FOR_A_REFERENCE)


def has_reference(parts: DraftParts) -> bool:
    """Whether a server is already named reference."""
    return any(each.name.strip() in {"reference", tr("reference")} for each in parts.on_servers())


def add_reference(parts: DraftParts) -> ConfigurationDraft:
    """Add a server as a reference at the end of the list, and return it; the user types its connection.

    Its ssh name is that of the first page's server: they are on one machine.
    """
    texts = {_PAGE_SSH: parts.values[_PAGE_SSH]}
    made = ConfigurationDraft(tr("reference"), Place.OTHER_SERVER, texts)
    parts.configurations.append(made)
    return made
