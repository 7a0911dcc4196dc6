"""Compare any two configurations of a sequential campaign.

Runs are paired by their common rounds only, and their spread is that of `app.statistics.selection`. The
leader at the end is partly a matter of luck: intervals against it allow for that (`app.statistics.chosen`).
Early dropping of others has little effect on a difference. Simulated coverage of the intervals:
resources/manual/method.md (93 to 98 of 100; among equals 99, because the leading one is never called slower).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.statistics.chosen import ChoiceAmong
from app.statistics.selection import FEWEST_ROUNDS, Array, Differences, differences_from, leader_of
from app.statistics.verdict import Estimate, Samples


@dataclass(frozen=True)
class SequentialRuns:
    """The runs of competing configurations.

    Attributes:
        values: of each configuration, run means by round.
        left_out: of each, whether it was dropped before the end.
    """

    values: Sequence[Mapping[int, float]]
    left_out: Sequence[bool]

    @cached_property
    def _logs(self) -> Array:
        rounds = sorted({at for each in self.values for at in each})
        found = [
            [math.log(each[at]) if each.get(at, 0.0) > 0 else math.nan for at in rounds]
            for each in self.values
        ]
        return np.array(found, dtype=np.float64).reshape(len(self.values), len(rounds))

    @cached_property
    def leader(self) -> int:
        """Index of the fastest of those that were not dropped."""
        left = np.array([not out for out in self.left_out])
        return int(leader_of(self._logs, left if left.any() else ~left))

    @cached_property
    def _from(self) -> dict[int, Differences]:
        return {}

    def _differences(self, place: int) -> Differences:
        if place not in self._from:
            self._from[place] = differences_from(self._logs, np.array(place))
        return self._from[place]

    def samples(self, one: int, other: int) -> Samples:
        """Return the second against the first of two, by their indexes."""
        both = sorted(self.values[one].keys() & self.values[other].keys())
        first, second = (tuple(self.values[each][at] for at in both) for each in (one, other))
        return Samples(first, second, paired=True, estimate=self._estimate(one, other))

    def _estimate(self, one: int, other: int) -> Estimate | None:
        """Return the estimate of their difference; None below three common rounds."""
        chosen = self.leader in (one, other)
        origin, place = (self.leader, one + other - self.leader) if chosen else (one, other)
        found = self._differences(origin)
        rounds = int(found.rounds[place])
        if rounds < FEWEST_ROUNDS:
            return None
        seen, error = float(found.behind[place]), float(found.error[place])
        sign = 1 if origin == other else -1
        return Estimate(
            sign * seen,
            error,
            int(found.df[place]),
            error * math.sqrt(rounds),
            choice=self._choice(place, seen) if chosen else None,
            is_first=origin == one,
        )

    def _choice(self, place: int, seen: float) -> ChoiceAmong:
        """Return how the leader was chosen: it would have lost to the nearest of the others, or to this one.

        A shift of 1 in the difference of two moves the leader by half of it, if both have the same spread.
        """
        behind = np.delete(self._differences(self.leader).behind, [self.leader, place])
        nearest = float(np.nanmin(behind)) if np.isfinite(behind).any() else math.inf
        return ChoiceAmong(max(0.0, seen - 2 * nearest), len(self.values) - 1)
