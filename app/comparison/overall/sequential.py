"""Compare runs of sequential campaigns: competitors, dropped configurations, and paired samples. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line, some
from app.comparison.groups import ComparedGroup
from app.domain.campaign.matrix import LEFT_OUT, Design
from app.domain.text import tr
from app.runfile.metadata.safety import NOT_DURABLE
from app.statistics.selection import SequentialRuns
from app.statistics.verdict import Samples

if TYPE_CHECKING:
    from app.comparison.comparison import RunComparison

_MOST_NAMES: Final = 12


class SequentialPairs:
    """Configurations grouped by the contest they took part in."""

    def __init__(self, groups: Sequence[ComparedGroup]) -> None:
        """Store configurations, in any order."""
        self._place: dict[str, tuple[SequentialRuns, int]] = {}
        for contest in dict.fromkeys(group.contest for group in groups if group.contest):
            competing = [group for group in groups if group.contest == contest]
            runs = SequentialRuns(
                [group.by_repeat() for group in competing], [LEFT_OUT in group.marks for group in competing]
            )
            self._place |= {group.name: (runs, number) for number, group in enumerate(competing)}

    def samples(self, one: ComparedGroup, other: ComparedGroup) -> Samples | None:
        """Return the second against the first; None if they did not compete, or in too few rounds."""
        first, second = self._place.get(one.name), self._place.get(other.name)
        if first is None or second is None or first[0] is not second[0]:
            return None
        found = first[0].samples(first[1], second[1])
        return found if found.estimate is not None else None


def how_it_competed(runs: Sequence[RunFacts]) -> tuple[str, str]:
    """Return a key common to all that a configuration competed with, and why it was dropped early.

    Args:
        runs: of the configuration.

    Returns:
        Both empty for a fixed design; the second a clause, from its last run. Configurations that may lose
        commits compete only with each other.
    """
    first, marks = runs[0], [mark for run in runs for mark in run.marks]
    if first.design != Design.SEQUENTIAL or not first.rivals:
        return "", ""
    apart = ("not durable",) if NOT_DURABLE in dict(marks) else ()
    reasons = [reason for kind, reason in marks if kind == LEFT_OUT]
    contest = "\n".join((first.campaign_key, *sorted(first.rivals), *apart))
    return contest, one_line(reasons[-1]) if reasons else ""


def describe_design(comparison: RunComparison) -> Iterator[str]:
    """Yield that a design was sequential, what was dropped when, and what is left, as sentences."""
    contests = list(dict.fromkeys(group.contest for group in comparison.groups if group.contest))
    if not contests:
        return
    yield tr(
        "Sequential design: from the third round on, configurations unlikely to win were dropped. Only "
        "common rounds are compared. Intervals are adjusted for this selection."
    )
    for contest in contests:
        groups = [group for group in comparison.groups if group.contest == contest]
        out = [group for group in groups if group.left_out]
        left = [group for group in groups if not group.left_out]
        if out:
            sentence = tr("Dropped early: {reasons}.")
            sentences = [f"{each.name} ({each.left_out})" for each in out]
            yield sentence.format(reasons=some(sentences, _MOST_NAMES))
        yield from _what_is_left(left)
        rivals = {name for group in groups for name in group.facts.rivals}
        if len(rivals) > len(groups):
            sentence = tr(
                "{count} of the {all} configurations that competed are compared here; intervals are "
                "adjusted for these only."
            )
            yield sentence.format(all=len(rivals), count=len(groups))


def _what_is_left(left: Sequence[ComparedGroup]) -> Iterator[str]:
    rounds = max((run.facts.repeat + 1 for group in left for run in group.runs), default=0)
    names = some([group.name for group in left], _MOST_NAMES)
    if len(left) == 1:
        yield tr("Remaining after {rounds} rounds: {names}.").format(rounds=rounds, names=names)
    elif left:
        sentence = tr("Remaining after {rounds} rounds, without a winner: {names}.")
        yield sentence.format(rounds=rounds, names=names)
