"""Answer a question about a condition whose levels are numbers: clients, scale. Pure.

For clients that is the knee: the fewest that are among the fastest, beyond which more connections gain
nothing. For other conditions it is the largest step between neighbouring levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.analysis.labels import format_tps
from app.comparison.comparison import RunComparison
from app.comparison.disturbed_runs import without_verdict
from app.comparison.factors import number_of
from app.comparison.overall.conditions import PropertyRole, role_of
from app.comparison.overall.fastest import among_fastest, shows_speed
from app.comparison.table import ComparisonRow, pair_samples
from app.comparison.wording import format_difference, format_interval
from app.domain.text import tr
from app.statistics.verdict import Comparison, compare_family

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
        sentences = [tr("{knee}: {tps} TPS").format(knee=knee.name, tps=format_tps(knee.mean.mean))]
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
        "TPS go from {begin} ({first}) to {end} ({last}); the largest step is that from {lower} to {upper}: "
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
        yield tr("{difference} ({interval})").format(difference=format_difference(judged), interval=interval)
