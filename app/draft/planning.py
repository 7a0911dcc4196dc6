"""Estimate before measuring: detectable differences, needed runs, and the cost of the data sets. Pure.

Stated and simulated detectable differences: resources/manual/method.md.

Also adds a reference on a server that already runs, which links two campaigns.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import Campaign, DataSet, MemoryTarget, ServerTarget
from app.domain.campaign.matrix import Design
from app.domain.campaign.phases import background, turns_of
from app.domain.text import CALLED, format_size, number_text, tr, trn
from app.draft.fields.state import ConfigurationDraft, DraftParts, Place
from app.execution.data_set import order_of
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.hosts.folders.own_folders import templates_folder
from app.hosts.templates.making import DataSetOrder
from app.hosts.templates.store import TemplateStore, why_no_room, why_not_beside
from app.library.spreads import KnownSpread
from app.process.starter import Account, unrecorded
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
        return (tr("There is only one configuration, so the campaign compares nothing."),)
    if not comparisons:
        return (tr("Each configuration has different conditions, so they are not compared."),)
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
                "This applies to configurations that remain until the last round. You learn little about "
                "dropped ones, except that they are unlikely to be the fastest."
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
    source = tr(
        "as seen on this kind of target in {runs} runs of {configurations} configurations in this library"
    )
    return largest.spread, source.format(runs=largest.runs, configurations=largest.configurations)


def _first(campaign: Campaign, plan: Plan, source: str) -> str:
    if campaign.repeats < RUNS_FOR_A_VERDICT:
        return ""  # `no_verdict_sentences` says it
    allowing = ""
    if plan.comparisons > 1:
        allowing = tr(", adjusted for {count} comparisons,").format(count=plan.comparisons)
    if source:
        sentence = tr(
            "With {runs} runs each{allowing} you can detect (80 % power) a difference of {shown}. This "
            "assumes that runs vary by {spread}, {source}."
        )
        return sentence.format(
            runs=campaign.repeats,
            allowing=allowing,
            shown=_percent(plan.detectable(campaign.repeats)),
            spread=_percent(plan.spread),
            source=source,
        )
    sentence = tr(
        "With {runs} runs each{allowing} you can detect a difference of {quiet} on a quiet machine "
        "(run-to-run variation {quiet_spread}) or {noisy} on a shared one, with 80 % power."
    )
    why = tr("The figures below assume {spread}, because this library has too few repeats on such a target.")
    sentence = sentence.format(
        runs=campaign.repeats,
        allowing=allowing,
        quiet=_percent(Plan(plan.comparisons, QUIET_SPREAD).detectable(campaign.repeats)),
        quiet_spread=_percent(QUIET_SPREAD),
        noisy=_percent(plan.detectable(campaign.repeats)),
    )
    return f"{sentence} {why.format(spread=_percent(plan.spread))}"


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
                words = f"{words} ({roughly(repeats * per_repeat_s)})"
        parts.append(
            tr("{difference} needs {repeats}").format(difference=_percent(difference), repeats=words)
        )
    return tr("Detecting {parts}.").format(parts=", ".join(parts))


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
        return f"{math.ceil(seconds / 10) * 10} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"{number_text(seconds / 3600, '.1f')} h"
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
        "least {runs} times each. pgFooting needs ssh to its machine and pg_monitor."
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


# Estimate the cost of the data sets of a campaign, loaded or copied, and the source of copies.
#
# Measured on the development machine (PostgreSQL 15, 2 CPUs, a virtual disk, 2026-11): loading 0.85 GB takes
# 9 s, copying it 2 s.


LOAD_BYTES_PER_S: Final = 100e6
COPY_BYTES_PER_S: Final = 400e6
STATED_TAKE_LONGER: Final = 2
"""Rows with a stated compressibility take this many times as long to load as pgbench's own (measured at scale
10 with PostgreSQL 15: 1.5 to 2.6).
"""
LOAD_WRITES: Final = 2
"""Loading writes this many times the size: data and WAL. A copy is written once."""
_WORTH_SHOWING_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class TemplatesFound:
    """The templates of a campaign found on this machine.

    Attributes:
        folder: of the templates.
        obstacle: why they cannot be kept there while this campaign runs; empty if they can.
        kept: data sets of the campaign that already exist there.
    """

    folder: str
    obstacle: str
    kept: frozenset[DataSetOrder]


def as_it_will_be(resolved: ResolvedCampaign, found: TemplatesFound | None) -> ResolvedCampaign:
    """Return the campaign with its actual way of providing data: loading, if no template can be kept.

    For estimates only: the campaign itself keeps its choice.
    """
    if found is None or not found.obstacle:
        return resolved
    return replace(
        resolved,
        configurations={name: _loaded(each) for name, each in resolved.configurations.items()},
    )


def _loaded(resolved: ResolvedConfiguration) -> ResolvedConfiguration:
    configuration = resolved.configuration
    workload = replace(configuration.workload, data_set=DataSet.LOADED)
    return replace(resolved, configuration=replace(configuration, workload=workload))


def is_copied(resolved: ResolvedCampaign) -> bool:
    """Whether the data sets are created once and copied; the same for all configurations of a campaign."""
    return all(_copies(each) for each in resolved.configurations.values())


def data_seconds(resolved: ResolvedCampaign) -> float:
    """Return the estimated seconds for all data sets of a campaign."""
    each_run = sum(map(run_seconds, resolved.configurations.values()))
    return resolved.campaign.repeats * each_run + _making_seconds(_orders(resolved))


def run_seconds(resolved: ResolvedConfiguration) -> float:
    """Return the estimated seconds for the data set of one run."""
    copied = resolved.scale.data_bytes / COPY_BYTES_PER_S
    return copied if _copies(resolved) else load_seconds(order_of(resolved))


def load_seconds(order: DataSetOrder) -> float:
    """Return the estimated seconds to load a data set."""
    seconds = order.data_bytes / LOAD_BYTES_PER_S
    return seconds if order.compressibility is None else STATED_TAKE_LONGER * seconds


def data_writes(resolved: ResolvedConfiguration) -> int:
    """Return the bytes written to provide the data set of one run."""
    return resolved.scale.data_bytes * (1 if _copies(resolved) else LOAD_WRITES)


def _copies(resolved: ResolvedConfiguration) -> bool:
    return resolved.configuration.workload.data_set is DataSet.COPIED


def _orders(resolved: ResolvedCampaign) -> tuple[DataSetOrder, ...]:
    """Return the distinct data sets that are created once."""
    found = (order_of(each) for each in resolved.configurations.values() if _copies(each))
    return tuple(dict.fromkeys(found))


def _making_seconds(orders: Iterable[DataSetOrder]) -> float:
    return sum(map(load_seconds, orders))


def data_sentences(resolved: ResolvedCampaign, found: TemplatesFound | None = None) -> tuple[str, ...]:
    """Return the cost of the data sets, and the source of copies, as sentences.

    Args:
        resolved: the campaign.
        found: None if unknown, or nothing is copied.
    """
    return (*_bringing_sentences(resolved, found), *at_most_sentences(resolved.campaign))


def at_most_sentences(campaign: Campaign) -> tuple[str, ...]:
    """Return a remark on figures for all rounds if the campaign may end early; else empty."""
    if campaign.design is not Design.SEQUENTIAL:
        return ()
    sentence = tr("Figures cover all {rounds} rounds; dropped configurations or an early end reduce them.")
    return (sentence.format(rounds=campaign.repeats),)


def _bringing_sentences(resolved: ResolvedCampaign, found: TemplatesFound | None) -> tuple[str, ...]:
    runs = resolved.campaign.total_runs
    orders = [order_of(each) for each in resolved.configurations.values()]
    loading_s = sum(map(load_seconds, orders)) * resolved.campaign.repeats
    once_s = _making_seconds(dict.fromkeys(orders))
    copying_s = sum(order.data_bytes for order in orders) / COPY_BYTES_PER_S * resolved.campaign.repeats
    if not is_copied(resolved):
        sentence = tr("Loading takes about {time} in total, for {runs}.")
        first = sentence.format(time=roughly(loading_s), runs=_runs(runs))
        targets = [each.configuration.target for each in resolved.configurations.values()]
        on_server = any(isinstance(target, ServerTarget) for target in targets)  # nothing is copied there
        if on_server or loading_s - once_s - copying_s < _WORTH_SHOWING_S:
            return (first,)
        could = tr("Loading once and copying (page “Workload”) would take about {time}.")
        return (f"{first} {could.format(time=roughly(once_s + copying_s))}",)
    if found is not None and found.obstacle:
        sentence = tr(
            "The data will still be loaded for every run, which takes about {time} and writes twice as "
            "much as copying: {reason}"
        )
        return (sentence.format(time=roughly(loading_s), reason=found.obstacle),)
    sentence = tr("Copying takes about {copying} in total, for {runs}; loading would take about {loading}.")
    first = sentence.format(copying=roughly(copying_s), runs=_runs(runs), loading=roughly(loading_s))
    kept = found.kept if found is not None else frozenset()
    missing = [order for order in dict.fromkeys(orders) if order not in kept]
    return (first, *_template_sentences(missing, found))


def _template_sentences(missing: list[DataSetOrder], found: TemplatesFound | None) -> tuple[str, ...]:
    """State which data sets are created once, and where they are kept."""
    where = tr(" in {folder}").format(folder=found.folder) if found is not None else ""
    if not missing:
        return (tr("The template already exists{where}.").format(where=where),)
    size = format_size(sum(order.data_bytes for order in missing))
    sentence = trn(
        "The template (about {size}) is created once, in about {time}, and kept{where}.",
        "{count} templates (about {size}) are created once, in about {time}, and kept{where}.",
        len(missing),
    )
    making = sentence.format(
        count=len(missing), time=roughly(_making_seconds(missing)), where=where, size=size
    )
    removed = tr("Later campaigns reuse templates; `{command} templates` lists and removes them.")
    return (making, removed.format(command=CALLED))


def _runs(count: int) -> str:
    return trn("{count} run", "{count} runs", count).format(count=number_text(count, ","))


def loading_sentence(configurations: Iterable[ResolvedConfiguration], repeats: int) -> str:
    """Return the bytes that providing the data sets of configurations writes to disks, as a sentence."""
    each = [item for item in configurations if not isinstance(item.configuration.target, MemoryTarget)]
    size = format_size(sum(map(data_writes, each)) * repeats)
    if each and all(map(_copies, each)):
        return tr("Copying the data writes about {size} to disk.").format(size=size)
    return tr("Loading writes about {size} to disk (data and WAL).").format(size=size)


def look_for_templates(resolved: ResolvedCampaign, account: Account) -> TemplatesFound | None:
    """Find where templates are kept, whether they can be, and which exist; changes nothing.

    Starts programs of PostgreSQL, which takes a moment. None if the campaign copies nothing.

    Raises:
        OSError: the folder, or a program, cannot be read.
        FootingError: the account cannot be used.
    """
    if not is_copied(resolved):
        return None
    folder = templates_folder(account)
    there = Path(folder)
    while not os.path.isdir(there) and there != there.parent:  # noqa: PTH112 - Path.is_dir raises
        there = there.parent
    store = TemplateStore(folder, account, unrecorded)
    orders = _orders(resolved)
    kept = frozenset(order for order in orders if store.find(order.key()) is not None)
    reasons = [why_not_beside(str(there), each.target) for each in resolved.configurations.values()]
    reasons += [why_no_room(str(there), order.data_bytes) for order in orders if order not in kept]
    return TemplatesFound(folder, next(filter(None, reasons), ""), kept)
