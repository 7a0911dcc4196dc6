"""The time budget of a campaign: no run is begun that would not end within it, as far as was seen.

It counts from each start of the campaign: one that goes on another night gets the same budget again. A round
of which not all runs would fit is not begun once one round is complete, because rounds are what is compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.domain.campaign.configuration import Campaign, PlannedRun
from app.domain.text import tr
from app.domain.units import format_duration
from app.execution.resume.lengths import RunLengths
from app.recording.events import RunResult
from app.runfile.writer import RunState


@dataclass(slots=True)
class TimeBudget:
    """What is left of the budget.

    Attributes:
        campaign: whose `time_budget_s` counts; without one everything fits.
        clock: monotonic, seconds.
        is_spent: whether something was not begun because of it.
    """

    campaign: Campaign
    clock: Callable[[], float] = time.monotonic
    is_spent: bool = False
    _begun_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self._begun_s = self.clock()

    def refuses(
        self, runs: Sequence[PlannedRun], results: Sequence[RunResult], *, is_round: bool = False
    ) -> str:
        """Return why the next run is not begun any more, a sentence; empty where it is.

        Args:
            runs: those of the round that are still to be done, the next one first.
            results: every run so far.
            is_round: they are a whole round, of which none was begun.
        """
        budget_s = self.campaign.time_budget_s
        if budget_s is None or not runs:
            return ""
        left_s = budget_s - (self.clock() - self._begun_s)
        whole = is_round and self._has_whole_round(results)
        wanted = runs if whole else runs[:1]
        needed_s = self._needed_seconds(wanted, results)
        if needed_s <= left_s:
            return ""
        self.is_spent = True
        sentence = tr(
            "The time budget of {budget} ends the campaign here: {what} would take about {needed}, and "
            "{left} are left. With --resume it goes on, with the same budget again."
        )
        what = tr("the next round of {count} runs").format(count=len(runs)) if whole else tr("the next run")
        return sentence.format(
            budget=format_duration(budget_s),
            what=what,
            needed=format_duration(needed_s),
            left=format_duration(max(0.0, left_s)),
        )

    def _needed_seconds(self, runs: Sequence[PlannedRun], results: Sequence[RunResult]) -> float:
        """Return how long runs take at least, as far as is known."""
        done = [each for each in results if each.state is RunState.DONE]
        lengths = RunLengths(
            self.campaign, ((each.planned.configuration.name, each.length_s) for each in done)
        )
        total = 0.0
        for name in (run.configuration.name for run in runs):
            expected_s = lengths.expected_seconds(name)
            total += expected_s if expected_s is not None else lengths.planned_seconds(name) or 0.0
        return total

    def _has_whole_round(self, results: Sequence[RunResult]) -> bool:
        """Whether every configuration has ended once, in whatever way: a round that can be compared."""
        ended = {each.planned.configuration.name for each in results}
        return len(ended) >= len(self.campaign.configurations)
