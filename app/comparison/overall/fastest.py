"""Find configurations that may be the fastest: a set that contains the fastest in 95 of 100 cases. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.labels import with_warning
from app.comparison.comparison import RunComparison
from app.comparison.groups import could_be_others
from app.comparison.overall.sequential import SequentialPairs
from app.comparison.table import ComparisonRow, pair_samples
from app.domain.text import tr
from app.statistics.selection import possibly_best
from app.statistics.verdict import Interval, Samples, Verdict

_NO_VERDICT = frozenset({Verdict.INDICATIVE, Verdict.IMPOSSIBLE})
_FEWEST = 3
"""Configurations needed; for two, the verdict is the answer."""
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Fastest:
    """The fastest configuration and those that may be it, each as its row.

    Attributes:
        best: highest mean among those that may be the fastest.
        others: not significantly slower than it, ordered by mean.
        judged: number of compared configurations.
        not_judged: ranked ones that cannot be judged: too few runs, another campaign, a rate, or disturbed by
            others.
    """

    best: ComparisonRow
    others: tuple[ComparisonRow, ...]
    judged: int
    not_judged: tuple[ComparisonRow, ...]


def find_fastest(comparison: RunComparison) -> Fastest | None:
    """Return the configurations that may be the fastest; None if fewer than three can be compared.

    Args:
        comparison: of one condition (`RunComparison.parts`).
    """
    if len(comparison.rows) < _FEWEST or comparison.groups[0].disturbed or not shows_speed(comparison):
        return None
    judged = [
        row
        for row in comparison.ranked
        if row.comparison is not None
        and row.comparison.verdict not in _NO_VERDICT
        and row.group.campaign == comparison.groups[0].campaign
    ]
    rows = [comparison.rows[0], *judged]
    if len(rows) < _FEWEST:
        return None
    groups = [row.group for row in rows]
    contests = SequentialPairs(groups)

    def samples(one: int, other: int) -> Samples:
        pair = groups[one], groups[other]
        values = [group.by_repeat() for group in pair]
        return contests.samples(*pair) or pair_samples(*values, interleaved=True)

    def is_real(one: int, other: int, interval: Interval) -> bool:
        runs = [[run.facts for run in groups[each].included_runs] for each in (one, other)]
        return not could_be_others(runs, interval)

    family = [row.comparison for row in judged if row.comparison is not None]
    maybe = [rows[each] for each in possibly_best(family, samples, is_real=is_real)]
    maybe.sort(key=lambda row: -(row.mean.mean or 0.0))
    left = tuple(row for row in comparison.ranked if row.group not in groups)
    return Fastest(maybe[0], tuple(maybe[1:]), len(rows), left)


def shows_speed(part: RunComparison) -> bool:
    """Return whether TPS of a condition show speed: not if a rate was kept, or late work skipped."""
    loads = [row.load for row in part.ranked if row.runs]
    return all(not each.at_a_rate or (each.kept is False and not each.is_limited) for each in loads)


def among_fastest(part: RunComparison) -> tuple[ComparisonRow, ...]:
    """Return the rows of groups to recommend under a condition, the highest mean first.

    If nothing is known of the others that is the highest mean alone: they are not known to be as fast.
    """
    found = find_fastest(part)
    if found is not None:
        return (found.best, *found.others)
    alike = _verdict_of_two(part) in {Verdict.EQUAL, Verdict.INCONCLUSIVE}
    ordered = sorted(_measured(part), key=lambda row: -(row.mean.mean or 0.0))
    return tuple(ordered[: 2 if alike else 1])


def is_proved(part: RunComparison) -> bool:
    """Return whether runs prove `among_fastest`, or there is no alternative; a mean alone does not."""
    is_judged = find_fastest(part) is not None or _verdict_of_two(part) is not None
    return is_judged or len(_measured(part)) < 2


def _measured(part: RunComparison) -> list[ComparisonRow]:
    return [row for row in part.ranked if row.mean.mean is not None]


def _verdict_of_two(part: RunComparison) -> Verdict | None:
    """Return the verdict between exactly two ranked groups; else None."""
    rows = _measured(part)
    found = rows[1].comparison if len(rows) == 2 else None
    if found is not None and part.why_indicative(rows[1].group):
        return None
    return None if found is None or found.verdict in _NO_VERDICT else found.verdict


def describe_fastest(found: Fastest | None) -> str:
    """Return which configurations may be the fastest, a sentence with a full stop; empty if unknown."""
    if found is None:
        return ""
    names = [with_warning(row.name, row.group.warning) for row in (found.best, *found.others)]
    message = tr("Fastest: {name}. Each of the other {count} is significantly slower")
    if len(names) == found.judged:
        message = tr("None of these {count} is proven to be the fastest; {name} has the highest mean")
    elif found.others:
        message = tr("Fastest: {name}. Not significantly slower: {others}")
    message = message.format(
        name=names[0],
        others=", ".join(names[1:]),
        count=found.judged if len(names) == found.judged else found.judged - 1,
    )
    if found.not_judged:
        left = ", ".join(row.name for row in found.not_judged)
        message = tr("{sentence}. Not compared: {names}").format(sentence=message, names=left)
    if len(names) == found.judged:
        return f"{message}."
    return tr("{sentence} (with 95 % confidence).").format(sentence=message)


def under(condition: str, sentence: str) -> str:
    """Return a sentence with its condition; unchanged if there is only one."""
    return f"{condition}: {sentence}" if condition and sentence else sentence


def under_conditions(
    parts: Sequence[RunComparison], told_of: Callable[[RunComparison], Iterable[str]]
) -> tuple[str, ...]:
    """Return sentences, each with its conditions unless these are all.

    Args:
        parts: the conditions.
        told_of: gives the sentences of one condition.
    """
    conditions: dict[str, list[str]] = {}
    for part in parts:
        for sentence in dict.fromkeys(told_of(part)):
            conditions.setdefault(sentence, []).append(part.condition)
    return tuple(
        sentence if len(names) == len(parts) else under(_some(names, len(parts)), sentence)
        for sentence, names in conditions.items()
    )


def _some(names: Sequence[str], of: int) -> str:
    if len(names) <= _MOST_NAMED:
        return "; ".join(names)
    return tr("In {count} of {of} conditions").format(count=len(names), of=of)
