"""Give the answer of a comparison in a few sentences, the question of its campaign first. Pure.

A campaign may name the figures that answer its question. The answer about TPS is the fastest configurations,
for a sweep the level from which more gains nothing, and for several conditions that of their tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from app.analysis.labels import format_tps, one_line, with_warning
from app.comparison.comparison import RunComparison
from app.comparison.factors import number_of
from app.comparison.figures import FIGURE_NAMES, FigureComparison, compare_figure, format_mean
from app.comparison.groups import without_verdict
from app.comparison.matrix import Matrix, describe_matrix, lay_out
from app.comparison.overall.conditions import PropertyRole, role_of
from app.comparison.overall.fastest import (
    among_fastest,
    describe_fastest,
    find_fastest,
    shows_speed,
    under,
    under_conditions,
)
from app.comparison.overall.phases import describe_changes
from app.comparison.table import ComparisonRow, pair_samples
from app.comparison.verdict import known_words
from app.comparison.warnings import comparison_warnings, describe_limits
from app.comparison.wording import format_difference, format_interval
from app.domain.text import tr, trn
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, compare_family

# Answer a question about a condition whose levels are numbers: clients, scale. Pure.
#
# For clients that is the knee: the fewest that are among the fastest, beyond which more connections gain
# nothing. For other conditions it is the largest step between neighbouring levels.


_FEWEST_LEVELS = 3


def describe_sweep(part: RunComparison) -> str:
    """Return the answer, a sentence with a full stop; empty if fewer than three levels show their speed.

    Args:
        part: of one condition, which compares the levels of another one.
    """
    rows = _ascending(part)
    if len(rows) < _FEWEST_LEVELS or not shows_speed(part):
        return ""
    first, last = rows[0], rows[-1]
    if part.asked is PropertyRole.CLIENTS:
        best, most = among_fastest(part), max(row.mean.mean or 0.0 for row in rows)
        knee = next(row for row in rows if row in best or (row.mean.mean or 0.0) * (1 + part.effect) >= most)
        found = _differences(part, [(first, knee), (knee, last)])
        sentences = [f"{knee.name}: {format_tps(knee.mean.mean)} TPS"]
        if knee is not first:
            sentences.append(tr("{difference} against {name}").format(difference=found[0], name=first.name))
        if knee is not last:
            sentences.append(
                tr("{name} {difference} against that").format(name=last.name, difference=found[1])
            )
        return f"{'; '.join(sentences)}."
    steps = list(pairwise(rows))
    found = _differences(part, steps)
    lower, upper = max(steps, key=_size)
    sentence = tr(
        "TPS go from {begin} ({first}) to {end} ({last}). The largest step is from {lower} to {upper}: "
        "{difference}."
    )
    return sentence.format(
        begin=format_tps(first.mean.mean),
        first=first.name,
        end=format_tps(last.mean.mean),
        last=last.name,
        lower=lower.name,
        upper=upper.name,
        difference=found[steps.index((lower, upper))],
    )


def _ascending(part: RunComparison) -> list[ComparisonRow]:
    """Return the ranked rows with TPS by their levels; empty if one of them is not a number."""
    levels = []
    for row in part.ranked:
        items = (item for item in row.group.facts.properties if role_of(item) is part.asked)
        numbers = [number for item in items if (number := number_of(item.value)) is not None]
        if row.mean.mean:
            levels.append((numbers[:1], row))
    if not all(numbers for numbers, _ in levels):
        return []
    return [row for _, row in sorted(levels, key=lambda level: level[0])]


def _size(step: tuple[ComparisonRow, ComparisonRow]) -> float:
    """Return by how many times the levels of a step differ."""
    lower, upper = (row.mean.mean or 0.0 for row in step)
    return max(lower, upper) / min(lower, upper)


def _differences(part: RunComparison, pairs: Sequence[tuple[ComparisonRow, ComparisonRow]]) -> list[str]:
    """Return the difference of the second of each pair from the first, with its interval."""
    samples = [
        pair_samples(
            *(row.group.by_repeat() for row in pair),
            interleaved=pair[0].group.campaign == pair[1].group.campaign,
        )
        for pair in pairs
    ]
    found = compare_family(samples, effect=part.effect)
    return list(_words(pairs, found))


def _words(
    pairs: Sequence[tuple[ComparisonRow, ComparisonRow]], found: Sequence[Comparison]
) -> Iterator[str]:
    for pair, each in zip(pairs, found, strict=True):
        judged = without_verdict(each) if any(row.group.disturbed for row in pair) else each
        interval = format_interval(judged) or tr("no verdict")
        yield f"{format_difference(judged)} ({interval})"


MOST_CONDITIONS: Final = 4
"""Most conditions with answers in one sentence; more would be unreadable."""

_MOST_LISTED: Final = 4
_TPS: Final = "tps"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a comparison.

    Attributes:
        sentences: the question, and the answers or why there are none; each with a full stop.
        weakened_by: reservations, a sentence each.
        verdicts: each configuration against the first, a sentence each; without the content of `sentences`.
        limits: bottlenecks, and what the figures cannot show, a sentence each.
    """

    sentences: tuple[str, ...]
    weakened_by: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The question and its answers in one text."""
        return " ".join(self.sentences)


def find_answer(comparison: RunComparison, matrix: Matrix | None = None) -> Answer:
    """Return the answer of a comparison, of each figure that its campaign asks about.

    For three or more configurations: the fastest ones; for two: the verdict; with too few runs for a verdict:
    the highest mean, and that it proves nothing. If two factors are crossed, the answers of their tables; for
    several conditions else the answer of each.

    Args:
        comparison: of the runs.
        matrix: its tables; None to lay them out as usual.
    """
    question, figures = question_of(comparison)
    sentences = [_of_speed(part) for part in comparison.parts]
    matrix = matrix or lay_out(comparison)
    over_all = () if matrix is None else describe_matrix(matrix, comparison.effect)
    answers = [under(part.condition, each) for part, each in zip(comparison.parts, sentences, strict=True)]
    first = answers if len(answers) <= MOST_CONDITIONS + 1 else answers[:MOST_CONDITIONS]
    left = answers[len(first) :]
    more = tr("{count} more conditions are listed with the verdicts.").format(count=len(left))
    about = {_TPS: over_all or ((*first, more) if left else first)}
    if over_all and len(comparison.parts) == 1 and (fastest := describe_fastest(find_fastest(comparison))):
        about[_TPS] = (*over_all, fastest)
    changes = under_conditions(comparison.parts, describe_changes) if question else ()
    for name in figures:
        if name not in about:
            about[name] = under_conditions(comparison.parts, partial(_of_figure, name=name))
    few = [row for row in comparison.rows if row.judged.chance is not None]
    verdicts = [
        under(row.condition, row.judged.sentence)
        for row in comparison.rows
        if row.verdict
        and row.judged.sentence not in sentences
        and (len(few) < 2 or row.judged.chance is None)
    ]
    if len(few) > 1:
        sentence = tr(
            "{count} differences have no verdict, which needs {runs} runs of each. “Chance from” is the "
            "run-to-run variation at which chance alone would explain a difference"
        )
        sentence = sentence.format(count=len(few), runs=RUNS_FOR_A_VERDICT)
        known = dict.fromkeys(known_words(row.judged.chance) for row in few if row.judged.chance)
        verdicts.append(f"{'; '.join(filter(None, (sentence, *known)))}.")
    return Answer(
        _with_question(question, [*changes, *(each for name in figures for each in about[name])]),
        comparison_warnings(comparison),
        (*(answers if over_all or _TPS not in figures else left), *verdicts),
        describe_limits(comparison),
    )


def _with_question(question: str, answers: Sequence[str]) -> tuple[str, ...]:
    first, *others = answers or [""]
    if first.startswith(question):  # the tables of a matrix ask the same
        question = ""
    return tuple(filter(None, (f"{question} {first}".strip(), *others)))


def question_of(comparison: RunComparison) -> tuple[str, tuple[str, ...]]:
    """Return the question that all runs answer, empty for none, and the names of the figures that answer it.

    Runs at a kept rate differ in latency, others in TPS, unless their campaign names figures.
    """
    asked = {(run.facts.question, run.facts.figures) for run in comparison.runs}
    question, figures = asked.pop() if len(asked) == 1 else ("", ())
    known = tuple(each for each in figures if each in FIGURE_NAMES)
    usual = (_TPS,) if any(map(shows_speed, comparison.parts)) else ("latency_p99_ms", _TPS)
    return tr(one_line(question)) if question else "", known or usual


def _of_speed(part: RunComparison) -> str:
    """Return the answer about TPS under one condition."""
    if part.asked is not None and (sentence := describe_sweep(part)):
        return sentence
    if len(part.ranked) == 1 and len(part.rows) > 2:
        return next(iter(_of_figure(part, _TPS)), "") or _of_few(part)
    return describe_fastest(find_fastest(part)) or _of_few(part)


def _of_figure(part: RunComparison, name: str) -> Iterator[str]:
    """Yield the means of a figure: each configuration against the first, or the extremes of many."""
    found = compare_figure(part, name)
    means = [(each.mean, place) for place, each in enumerate(found.means) if each.mean is not None]
    if len(means) < 2:
        return
    label = f"{found.figure.label[:1].upper()}{found.figure.label[1:]}"
    if len(means) > _MOST_LISTED or found.means[0].mean is None:
        sentence = tr("{figure}: from {least} ({first}) to {most} ({last}).")
        (_, first), (_, last) = min(means), max(means)
        names = {"first": part.groups[first].name_in_sentences, "last": part.groups[last].name_in_sentences}
        yield sentence.format(
            figure=label, least=format_mean(found, first), most=format_mean(found, last), **names
        )
        return
    others = "; ".join(_against_first(part, found, place) for _, place in means if place)
    yield f"{label}: {part.groups[0].name_in_sentences} {format_mean(found, 0)}; {others}."


def _against_first(part: RunComparison, found: FigureComparison, place: int) -> str:
    """Return the mean of a configuration, and its difference from the first with the interval."""
    group, comparison = part.groups[place], found.comparisons[place]
    difference = ""
    if comparison is not None and comparison.ratio is not None:
        interval = format_interval(comparison) or tr("no verdict")
        difference = f"{format_difference(comparison)}, {interval}"
    words = f"{group.name_in_sentences} {format_mean(found, place)}"
    more = "; ".join(filter(None, (group.warning, difference)))
    return f"{words} ({more})" if more else words


def by_speed(comparison: RunComparison) -> Sequence[ComparisonRow]:
    """Return the rows, the fastest first; those not ranked or without TPS are last.

    Args:
        comparison: of one condition (`RunComparison.parts`).
    """

    def key(row: ComparisonRow) -> tuple[bool, bool, float]:
        return not row.is_ranked, row.mean.mean is None, -(row.mean.mean or 0.0)

    return sorted(comparison.rows, key=key)


def _of_few(comparison: RunComparison) -> str:
    measured = [row for row in by_speed(comparison) if row.mean.mean is not None]
    if not measured:
        return tr("No run was completed, so there is nothing to compare.")
    first = measured[0]
    mean, name = first.mean, with_warning(first.name, first.group.warning)
    unit = comparison.measured(tr("transactions per second"))
    if len(measured) == 1:
        message = tr("{name}: {tps} {unit}, mean of {runs}.")
        runs = trn("{count} run", "{count} runs", mean.runs).format(count=mean.runs)
        return message.format(name=name, tps=format_tps(mean.mean), runs=runs, unit=unit)
    ranked = comparison.ranked
    if len(ranked) == 2 and (sentence := ranked[1].judged.sentence):
        return sentence
    unranked = [row for row in measured if not row.is_ranked]
    if len(ranked) == 1 and unranked and (sentence := unranked[0].judged.sentence):
        return sentence
    message = tr(
        "{name} has the highest mean, {tps} {unit}. These runs do not show that it is really the fastest."
    )
    return message.format(name=name, tps=format_tps(mean.mean), unit=unit)
