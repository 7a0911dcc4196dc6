"""Collect the findings of a report: ordered configurations, verdicts and reservations in short sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.groups import ComparedGroup
from app.comparison.overall.factor_verdicts import FactorVerdicts, judge_factors
from app.comparison.overall.fastest import describe_fastest, find_fastest, under
from app.comparison.table import ComparisonRow
from app.comparison.warnings import comparison_notes, comparison_warnings
from app.domain.text import tr
from app.report.blocks import letters
from app.report.report_data import ReportedConfiguration, ReportedRun
from app.runfile.series import RunData

MOST_LETTERS: Final = 40
"""Most letters of a name in a sentence."""

_MUCH: Final = 12
"""Least letters of a common ending of names that is worth stating once."""

_JOINTS: Final = " ,;:-/"


@dataclass(frozen=True, slots=True)
class ReportedCondition:
    """The results of one condition.

    Attributes:
        name: distinguishes it from the others; empty for the only one.
        configurations: the fastest first; those that are not durable last.
        fastest: those that may be the fastest, a sentence; empty if unknown.
        part: their comparison.
    """

    name: str
    configurations: tuple[ReportedConfiguration, ...]
    fastest: str
    part: RunComparison


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a report.

    Attributes:
        title: of the report.
        comparison: of the runs, with names that fit a sentence.
        conditions: each with its configurations.
        warnings: that weaken the comparison, as sentences.
        notes: on unusual methods, as sentences.
        ending: common ending of all configuration names, stated once.
        factors: verdicts over the cells of a matrix.
    """

    title: str
    comparison: RunComparison
    conditions: tuple[ReportedCondition, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    ending: str
    factors: FactorVerdicts = field(default_factory=FactorVerdicts)

    @property
    def configurations(self) -> tuple[ReportedConfiguration, ...]:
        """All configurations, condition by condition."""
        return tuple(each for condition in self.conditions for each in condition.configurations)

    @property
    def runs(self) -> tuple[ReportedRun, ...]:
        """All runs, configuration by configuration."""
        return tuple(run for configuration in self.configurations for run in configuration.runs)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """All verdicts, those on the fastest first."""
        return tuple(each.verdict for each in self.configurations if each.verdict)


def find(facts: Sequence[RunFacts], data: Sequence[RunData]) -> Findings:
    """Compare the runs of a report and group them.

    Args:
        facts: of each run; the first configuration of the first one's campaign is the baseline.
        data: their series.
    """
    whole = compare_runs(facts)
    configurations = group_runs(whole, data)
    comparison = compare_runs(_with_short_names(whole, configurations))
    judged = tuple(
        replace(
            each,
            verdict=under(each.row.condition, comparison.rows[each.group].judged.sentence),
            name_in_sentences=comparison.rows[each.group].name,
        )
        for each in configurations
    )
    ending = common_ending([group.name for group in whole.groups]).strip(_JOINTS)
    return Findings(
        title=_title(whole),
        comparison=comparison,
        conditions=tuple(
            ReportedCondition(
                part.condition,
                tuple(each for each in judged if each.row.condition == part.condition),
                describe_fastest(find_fastest(part)),
                part,
            )
            for part in comparison.parts
        ),
        warnings=comparison_warnings(comparison),
        notes=comparison_notes(comparison),
        ending=ending,
        factors=judge_factors(comparison),
    )


def _title(comparison: RunComparison) -> str:
    campaigns = {one_line(run.facts.campaign) for run in comparison.runs}
    only = campaigns.pop() if len(campaigns) == 1 else ""
    if len(comparison.runs) == 1:
        name = comparison.runs[0].name
        return f"{only}: {name}" if only else name
    if only:
        return only
    return tr("{count} configurations of PostgreSQL compared").format(count=len(comparison.groups))


def _with_short_names(
    comparison: RunComparison, configurations: Sequence[ReportedConfiguration]
) -> tuple[RunFacts, ...]:
    """Return the compared runs with names that fit a sentence."""
    labels: dict[int, tuple[str, str]] = {}
    begins = Counter(each.name[: MOST_LETTERS // 2] for each in configurations)
    for configuration in configurations:
        label = short(configuration.name, configuration.tag)
        if label != configuration.name and begins[configuration.name[: MOST_LETTERS // 2]] > 1:
            label = configuration.tag  # the rest of the name would not be unique
        for number, run in enumerate(configuration.runs, 1):
            name = f"{label} #{number}" if len(configuration.runs) > 1 else label
            labels[id(run.compared)] = label, name
    return tuple(
        replace(run.facts, configuration=labels[id(run)][0], name=labels[id(run)][1])
        for run in comparison.runs
    )


def short(name: str, tag: str) -> str:
    """Return a name for sentences: its tag and beginning if it is long."""
    if len(name) <= MOST_LETTERS:
        return name
    return f"{tag} ({name[: MOST_LETTERS // 2].rstrip()}…)"


def common_ending(names: Sequence[str]) -> str:
    """Return the common ending of all names, if it is long enough and leaves a part of each."""
    if len(names) < 2:
        return ""
    words = [re.findall(r"\s*\S+", name) for name in names]
    most = min(map(len, words)) - 1
    count = 0
    while count < most and len({parts[-1 - count] for parts in words}) == 1:
        count += 1
    ending = "".join(words[0][len(words[0]) - count :]) if count else ""
    return ending if len(ending) >= _MUCH else ""


def group_runs(comparison: RunComparison, data: Sequence[RunData]) -> tuple[ReportedConfiguration, ...]:
    """Return the runs by condition and configuration; the fastest first, those without a result last.

    Configurations that are not durable are not ranked: they follow all others.

    Args:
        comparison: of the runs.
        data: their series, in the order of the comparison's runs.
    """
    triples = zip(range(len(comparison.rows)), comparison.groups, comparison.rows, strict=True)
    places = {part.condition: place for place, part in enumerate(comparison.parts)}

    def key(triple: tuple[int, ComparedGroup, ComparisonRow]) -> tuple[int, bool, float]:
        _, group, row = triple
        return places[row.condition], group.not_durable, -(row.mean.mean or 0.0)

    ordered = sorted(triples, key=key)
    ending = common_ending([group.name for _, group, _ in ordered])
    looks = _looks(comparison)
    found, count = [], 0
    for place, group, row in ordered:
        look = looks[place]
        tag, name = letters(look), group.name.removesuffix(ending).rstrip(_JOINTS)
        members = sorted(group.runs, key=lambda run: _order(run.facts))
        runs = tuple(
            ReportedRun(
                number=count + number,
                tag=f"{tag}{number + 1}" if len(members) > 1 else tag,
                compared=run,
                data=data[run.index],
            )
            for number, run in enumerate(members)
        )
        count += len(runs)
        is_first = group.name in {part.groups[0].name for part in comparison.parts}
        found.append(
            ReportedConfiguration(look, tag, name, group.name, runs, place, row, is_baseline=is_first)
        )
    return tuple(found)


def _looks(comparison: RunComparison) -> dict[int, int]:
    """Return the number of each configuration, which determines its colour and tag.

    Numbers follow the order of first measurement, as in the window, so that adding a run or another winner
    does not change a colour.
    """
    begun = {
        place: min(run.facts.started_epoch_s or 0.0 for run in group.runs)
        for place, group in enumerate(comparison.groups)
    }
    return {place: look for look, place in enumerate(sorted(begun, key=lambda place: begun[place]))}


def _order(facts: RunFacts) -> tuple[int, float]:
    return facts.repeat, facts.started_epoch_s or 0.0
