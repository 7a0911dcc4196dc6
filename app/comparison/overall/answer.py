"""Give the answer of a comparison in one sentence, and its reservations. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.labels import format_tps, with_warning
from app.comparison.comparison import RunComparison
from app.comparison.limits import describe_limits
from app.comparison.matrix import describe_matrix, lay_out
from app.comparison.overall.fastest import describe_fastest, find_fastest, under
from app.comparison.table import ComparisonRow
from app.comparison.warnings import comparison_warnings
from app.domain.text import tr

MOST_CONDITIONS: Final = 4
"""Most conditions with answers in one sentence; more would be unreadable."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a comparison.

    Attributes:
        sentence: the fastest configuration, or why there is none; with a full stop.
        weakened_by: reservations, a sentence each.
        verdicts: each configuration against the first, a sentence each; without the content of `sentence`.
        limits: bottlenecks, and what the figures cannot show, a sentence each.
    """

    sentence: str
    weakened_by: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


def find_answer(comparison: RunComparison) -> Answer:
    """Return the answer of a comparison.

    For three or more configurations: the fastest ones; for two: the verdict; with too few runs for a verdict:
    the highest mean, and that it proves nothing. For several conditions, the answers of their tables if two
    factors are crossed, else the answer of each.
    """
    sentences = [describe_fastest(find_fastest(part)) or _of_few(part) for part in comparison.parts]
    matrix = lay_out(comparison) if len(comparison.parts) > 1 else None
    over_all = () if matrix is None else describe_matrix(matrix, comparison.effect)
    answers = [under(part.condition, each) for part, each in zip(comparison.parts, sentences, strict=True)]
    first = answers if len(answers) <= MOST_CONDITIONS + 1 else answers[:MOST_CONDITIONS]
    left = answers[len(first) :]
    more = tr("{count} more conditions follow among the verdicts.").format(count=len(left))
    verdicts = (
        under(part.condition, verdict)
        for part in comparison.parts
        for verdict in part.verdicts
        if verdict not in sentences
    )
    return Answer(
        " ".join(over_all or ((*first, more) if left else first)),
        comparison_warnings(comparison),
        (*(answers if over_all else left), *verdicts),
        describe_limits(comparison),
    )


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
        return tr("No run was completed: there is nothing to compare.")
    first = measured[0]
    mean, name = first.mean, with_warning(first.name, first.group.warning)
    unit = comparison.measured(tr("transactions per second"))
    if len(measured) == 1:
        message = tr("{name}: {tps} {unit} in the mean of {runs}.")
        runs = tr("one run") if mean.runs == 1 else tr("{count} runs").format(count=mean.runs)
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
