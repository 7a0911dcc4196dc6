"""Collect the findings of a report: ordered configurations, tables of conditions, the answer. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.label_shortening import telling_names
from app.comparison.matrix import Block, Matrix, lay_out
from app.comparison.overall.answer import Answer, find_answer
from app.comparison.overall.fastest import describe_fastest, find_fastest, shows_speed, under
from app.comparison.warnings import comparison_notes
from app.domain.errors import FootingError, UsageError, did_you_mean
from app.domain.text import tr
from app.report.report_data import ReportedConfiguration, ReportedRun, RunSeries

MOST_LETTERS: Final = 48
"""Most letters of a configuration's name; longer ones are shortened in the middle."""
_MOST_RATES: Final = 6


@dataclass(frozen=True, slots=True)
class ReportedCondition:
    """The results of one condition.

    Attributes:
        name: distinguishes it from the others; empty for the only one.
        configurations: the fastest first; those that are not durable last.
        part: their comparison.
        block: their table; None if a list says more.
    """

    name: str
    configurations: tuple[ReportedConfiguration, ...]
    part: RunComparison
    block: Block | None = None

    @property
    def places(self) -> Mapping[str, str]:
        """Column and row of each configuration in its table, by name; empty without a table."""
        if self.block is None:
            return {}
        several = len(self.block.rows) > 1
        return {
            one.group.name: f"{column}, {row}" if several else column
            for (row, column), cell in self.block.cells.items()
            for one in cell.rows
        }

    @property
    def fastest(self) -> str:
        """Those that may be the fastest, a sentence; empty if unknown."""
        return describe_fastest(find_fastest(self.part))


@dataclass(frozen=True)  # without slots: some properties are cached
class Findings:
    """The findings of a report.

    Attributes:
        title: of the report.
        comparison: of the runs, with names that fit a sentence.
        matrix: its tables; None if no two factors are crossed.
        conditions: each with its configurations; those with a table first.
        answers: sentences that answer the question.
        warnings: that weaken the comparison, as sentences.
        verdicts: on pairs, as sentences.
        limits: bottlenecks, and what the figures cannot show, as sentences.
        notes: on unusual methods, as sentences.
        baseline: chosen configuration or level across the tables to compare with; empty for none.
    """

    title: str
    comparison: RunComparison
    matrix: Matrix | None
    conditions: tuple[ReportedCondition, ...]
    answers: tuple[str, ...]
    warnings: tuple[str, ...]
    verdicts: tuple[str, ...]
    limits: tuple[str, ...]
    notes: tuple[str, ...]
    baseline: str = ""

    @cached_property
    def configurations(self) -> tuple[ReportedConfiguration, ...]:
        """All configurations, condition by condition."""
        return tuple(each for condition in self.conditions for each in condition.configurations)

    @cached_property
    def runs(self) -> tuple[ReportedRun, ...]:
        """All runs, configuration by configuration."""
        return tuple(run for configuration in self.configurations for run in configuration.runs)

    @property
    def baselines(self) -> tuple[str, ...]:
        """What can be compared with: levels across the tables, else ranked configurations."""
        if self.matrix is not None:
            return tuple(each.level for each in self.matrix.columns)
        return tuple(each.full_name for each in self.configurations if each.row.is_ranked)


def find(facts: Sequence[RunFacts], series: Sequence[RunSeries], baseline: str = "") -> Findings:
    """Compare the runs of a report and group them.

    Args:
        facts: of each run; the first configuration of the first one's campaign is the baseline.
        series: their seconds.
        baseline: name of the configuration to compare with, or of a level across the tables; empty for none.

    Raises:
        UsageError: there is no such baseline.
        FootingError: there are no runs.
    """
    if not facts:
        raise FootingError(tr("There is no run to report."))
    comparison = compare_runs(facts, shorten=True)
    names: Mapping[str, str] = {}
    known = list(facts)
    matrix = lay_out(comparison)
    if matrix is None:  # tables have names of their own
        names = _short_names(list(dict.fromkeys(run.configuration or run.name for run in facts)))
        known = [replace(run, configuration=names[run.configuration or run.name]) for run in facts]
        comparison = compare_runs(known, shorten=True)
    group = _group_named(comparison, names, baseline)
    if group:
        comparison = compare_runs(known, shorten=True, baseline=group)
        matrix = matrix and lay_out(comparison)
    answer = find_answer(comparison, matrix)
    found = Findings(
        title=_title(comparison),
        comparison=comparison,
        matrix=matrix,
        conditions=tuple(_conditions(comparison, matrix, series)),
        answers=tuple(_answers(comparison, answer)) if matrix is None else answer.sentences,
        warnings=answer.weakened_by,
        verdicts=answer.verdicts,
        limits=answer.limits,
        notes=comparison_notes(comparison),
        baseline=baseline,
    )
    if baseline and not group and baseline not in found.baselines:
        message = tr("None of these runs has the configuration “{name}”.").format(name=baseline)
        hint = tr("Known: {names}.").format(names=", ".join(found.baselines))
        raise UsageError(message, hint=did_you_mean(baseline, found.baselines) or hint)
    return found


def _answers(comparison: RunComparison, answer: Answer) -> Iterator[str]:
    """Yield the answer of a comparison without tables; at a rate whether each configuration kept it."""
    if any(map(shows_speed, comparison.parts)):
        yield answer.sentence
    kept = (
        under(part.condition, verdict)
        for part in comparison.parts
        if not shows_speed(part)
        for verdict in part.verdicts
    )
    yield from islice(kept, _MOST_RATES)


def _group_named(comparison: RunComparison, names: Mapping[str, str], baseline: str) -> str:
    """Return the name of the ranked group that is meant by a whole or shortened name; empty for none."""
    meant = {baseline, names.get(baseline, baseline)}
    ranked = (row.group for row in comparison.ranked)
    return next((each.name for each in ranked if meant & {each.name, each.facts.configuration}), "")


def _title(comparison: RunComparison) -> str:
    campaigns = {one_line(run.facts.campaign) for run in comparison.runs}
    only = campaigns.pop() if len(campaigns) == 1 else ""
    if len(comparison.runs) == 1:
        name = comparison.runs[0].name
        return f"{only}: {name}" if only else name
    if only:
        return only
    return tr("{count} configurations of PostgreSQL compared").format(count=len(comparison.groups))


def _short_names(names: Sequence[str]) -> Mapping[str, str]:
    """Return names that fit a sentence, by the whole ones; long ones lose their middle and stay unique."""
    short: dict[str, str] = {}
    for whole, name in zip(names, telling_names(names), strict=True):
        label = whole
        if len(whole) > MOST_LETTERS:
            label = name
        if len(label) > MOST_LETTERS:
            label = f"{label[: 2 * MOST_LETTERS // 3].rstrip()}…{label[-MOST_LETTERS // 3 :].lstrip()}"
        number = 2
        while label in short.values():
            label, number = f"{label.partition(' (')[0]} ({number})", number + 1
        short[whole] = label
    return short


def _conditions(
    comparison: RunComparison, matrix: Matrix | None, series: Sequence[RunSeries]
) -> Iterator[ReportedCondition]:
    """Yield the conditions, those with a table first; the fastest configuration of each first.

    Configurations that are not durable are not ranked: they follow all others.
    """
    blocks = {} if matrix is None else {block.part.condition: block for block in matrix.blocks}
    parts = comparison.parts if matrix is None else (*(block.part for block in matrix.blocks), *matrix.others)
    places = {group.name: place for place, group in enumerate(comparison.groups)}
    looks = _looks(comparison, matrix)
    count = 0
    for part in parts:
        found = []
        for row in sorted(part.rows, key=lambda row: (row.group.not_durable, -(row.mean.mean or 0.0))):
            members = sorted(row.group.runs, key=lambda run: _order(run.facts))
            runs = tuple(
                ReportedRun(number, run, series[run.index]) for number, run in enumerate(members, count)
            )
            count += len(runs)
            name = row.group.name
            found.append(
                ReportedConfiguration(looks[name], runs, places[name], row, name == part.groups[0].name)
            )
        yield ReportedCondition(part.condition, tuple(found), part, blocks.get(part.condition))


def _looks(comparison: RunComparison, matrix: Matrix | None) -> Mapping[str, int]:
    """Return the number of each configuration that determines its colour, by name.

    In a matrix it is that of its level across. Else numbers follow the order of first
    measurement, as in the window, so that adding a run or another winner does not change a colour.
    """
    begun = {
        group.name: min(run.facts.started_epoch_s or 0.0 for run in group.runs) for group in comparison.groups
    }
    looks = {name: look for look, name in enumerate(sorted(begun, key=lambda name: begun[name]))}
    if matrix is not None:
        cells = Counter(column for block in matrix.blocks for _, column in block.cells)
        ranks = {each.level: rank for rank, each in enumerate(matrix.columns)}
        usual = max(cells.values()) / 2  # rare ones last: there are eight colours
        levels = sorted(cells, key=lambda level: (cells[level] < usual, ranks.get(level, len(ranks))))
        looks |= {
            row.group.name: levels.index(column)
            for block in matrix.blocks
            for (_, column), cell in block.cells.items()
            for row in cell.rows
        }
    return looks


def _order(facts: RunFacts) -> tuple[int, float]:
    return facts.repeat, facts.started_epoch_s or 0.0
