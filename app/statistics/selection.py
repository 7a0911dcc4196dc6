"""Select the configurations that may be the fastest: after a round, and at the end.

A sequential design repeats complete rounds (blocks). After each of them every configuration is compared with
the leader, by the paired differences of their common rounds, and dropped if it is behind; dropped ones do not
come back. There are two kinds of error. The best one is dropped: as long as others continue as well this
decides nothing else, and a level that falls with their number is enough. One of equals becomes the winner: so
the nearest rival of the leader, without which only one would remain, needs to cross a boundary that is high
in early rounds (O'Brien and Fleming 1979), which are mostly luck.

The spread of a difference is its own, shrunk towards that of all others (Smyth 2004, with a fixed weight of
the prior): after three rounds its own has only two degrees of freedom. This is a simple form of ranking and
selection with elimination (Kim and Nelson 2001); its levels are not proven but simulated, for caps of ten
rounds (unequal spreads, drift, carry-over): resources/manual/method.md.

Arrays may have any leading axes (many campaigns at once); the last two are configurations and rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.statistics.sample_size import DEFAULT_ALPHA, student_t_quantile
from app.statistics.verdict import (
    ChoiceAmong,
    Comparison,
    Estimate,
    Interval,
    Samples,
    Verdict,
    interval_beyond_chance,
)

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

FEWEST_ROUNDS: Final = 3
"""Rounds before anything is dropped: everything that was measured gets an interval."""
MOST_LEVEL: Final = 0.18
"""One-sided error of one comparison of the leader with any but its nearest rival, among few."""
LEAST_LEVEL: Final = 0.03
"""The same among very many: the more there are, the more the leader owes to luck."""
SHARED_LEVEL: Final = 0.9
"""Divided by their number, this is added to `LEAST_LEVEL`."""
RIVAL_LEVEL: Final = 0.0375
"""One-sided error of the comparison with the nearest rival in the last round that can drop it."""
ENOUGH: Final = 6
"""Number of configurations from which `RIVAL_LEVEL` holds. With fewer, one of equals would win too often."""
LAST_LOOK: Final = 9
"""Round up to which the boundary of the nearest rival falls, if there are that many."""
SIMULATED_LOST: Final = 0.05
"""Maximum frequency of dropping one that is 5 % faster than all others: ten rounds, 6 to 33 configurations,
the same spread of up to 4 % for all.
"""
SIMULATED_LOST_UNEQUAL: Final = 0.12
"""The same if spreads differ by a factor of 1.65, or one is four times that of all others."""
SIMULATED_ALONE: Final = 0.08
"""Maximum frequency of a single one remaining if all are equal, in the same simulations."""
PRIOR_DF: Final = 4
"""Weight of the spread of all others, in degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Differences:
    """How far each configuration is behind one of them, in mean logarithms over their common rounds.

    Attributes:
        behind: NaN without a common round.
        error: standard error.
        df: degrees of freedom of it; 0 if there is none.
        rounds: number of common ones; for the reference itself all of its own.
    """

    behind: Array
    error: Array
    df: Places
    rounds: Places


@dataclass(frozen=True, slots=True)
class RoundJudged:
    """State after a round.

    Attributes:
        leader: index of the fastest so far.
        differences: from it.
        out: which are unlikely to be the fastest.
    """

    leader: Places
    differences: Differences
    out: Flags


def differences_from(logs: Array, place: Places, *, prior_df: int = PRIOR_DF) -> Differences:
    """Return how far each configuration is behind one of them.

    Args:
        logs: logarithms of run means, (..., configurations, rounds); NaN if a run is missing or does not
            count.
        place: index of that one.
        prior_df: see `PRIOR_DF`.
    """
    there = ~np.isnan(logs)
    values = np.where(there, logs, 0.0)
    picked = np.asarray(place)[..., None, None]
    common = there & np.take_along_axis(there, picked, axis=-2)
    rounds = common.sum(axis=-1)
    each = np.where(common, np.take_along_axis(values, picked, axis=-2) - values, 0.0)
    is_itself = np.arange(logs.shape[-2]) == np.asarray(place)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        behind = each.sum(axis=-1) / rounds
        squares = np.where(common, (each - behind[..., None]) ** 2, 0.0).sum(axis=-1)
        own_df = np.where(is_itself, 0, np.maximum(rounds - 1, 0))
        others_df = own_df.sum(axis=-1, keepdims=True) - own_df
        others = squares.sum(axis=-1, keepdims=True) - squares
        weight = np.minimum(prior_df, others_df)
        df = own_df + weight
        prior = np.where(others_df > 0, others / others_df, 0.0)
        error = np.sqrt((squares + weight * prior) / df / rounds)
    return Differences(behind, error, df, rounds)


def judge_round(logs: Array, active: Flags, *, cap: int, prior_df: int = PRIOR_DF) -> RoundJudged:
    """Return which of the active configurations are dropped.

    Args:
        logs: see `differences_from`.
        active: (..., configurations) in the last round.
        cap: maximum number of rounds of the campaign.
        prior_df: see `PRIOR_DF`.
    """
    count, rounds = logs.shape[-2:]
    leader = leader_of(logs, active)
    found = differences_from(logs, leader, prior_df=prior_df)
    at = np.arange(count)
    may = (found.rounds >= FEWEST_ROUNDS) & (at != leader[..., None]) & active
    most, for_rival = _critical(pair_alpha(count), found.df), _boundary(count, rounds, cap, found.df)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(found.behind == 0, 0.0, found.behind / found.error)
        nearest = np.argmin(np.where(may, score, np.inf), axis=-1)
        is_nearest = at == nearest[..., None]
        out = may & (score > np.where(is_nearest, np.maximum(most, for_rival), most))
    return RoundJudged(leader, found, out)


def pair_alpha(configurations: int) -> float:
    """Return the error of each comparison of the leader with any but its nearest rival."""
    return min(MOST_LEVEL, LEAST_LEVEL + SHARED_LEVEL / max(1, configurations))


def rival_alpha(configurations: int) -> float:
    """Return the error of the comparison with the nearest rival, see `RIVAL_LEVEL`."""
    return RIVAL_LEVEL * min(1.0, max(1, configurations - 1) / (ENOUGH - 1))


def _boundary(configurations: int, rounds: int, cap: int, df: Places) -> Array:
    """Return by how many standard errors the nearest rival has to be behind after some rounds.

    Up to `LAST_LOOK` this falls with the root of the rounds. Longer campaigns spend half of the error until
    then; after it the error of each look falls with their number.
    """
    last, level = max(FEWEST_ROUNDS, min(cap - 1, LAST_LOOK)), rival_alpha(configurations)
    if cap - 1 > last:
        level /= 2
    if rounds > last:
        return _critical(level * last / rounds, df)
    return _critical(level, df) * math.sqrt(last / max(1, rounds))


def within_precision(
    judged: RoundJudged, left: Flags, share: float, *, alpha: float = DEFAULT_ALPHA
) -> Flags:
    """Return whether all remaining configurations are significantly within a share of the leader.

    Args:
        judged: after a round.
        left: (..., configurations) that remain.
        share: above 0.
        alpha: one-sided error allowed in all comparisons of one round.
    """
    found = judged.differences
    count = found.behind.shape[-1]
    is_leader = np.arange(count) == judged.leader[..., None]
    farthest = found.behind + _critical(alpha / max(1, count - 1), found.df) * found.error
    return np.asarray((is_leader | ~left | (farthest <= np.log1p(share))).all(axis=-1))


def leader_of(logs: Array, active: Flags) -> Places:
    """Return the fastest of the active ones, after removing the common effect of each round."""
    counted = ~np.isnan(logs) & active[..., None]
    values = np.where(counted, logs, 0.0)
    runs = np.maximum(counted.sum(axis=-1), 1)
    in_round = np.maximum(counted.sum(axis=-2), 1)
    level = values.sum(axis=-1) / runs
    gaps = bool((counted != active[..., None]).any())
    for _ in range(20 if gaps else 0):
        rounds = np.where(counted, values - level[..., None], 0.0).sum(axis=-2) / in_round
        level = np.where(counted, values - rounds[..., None, :], 0.0).sum(axis=-1) / runs
    found: Places = np.argmax(np.where(counted.any(axis=-1), level, -np.inf), axis=-1)
    return found


def _critical(level: float, df: Places) -> Array:
    """Return the one-sided quantiles of Student's t, infinite without degrees of freedom."""
    found: Array = _quantiles(1 - level, int(df.max(initial=1)))[df]
    return found


@lru_cache(maxsize=32)
def _quantiles(p: float, most_df: int) -> Array:
    return np.array([np.inf, *(student_t_quantile(p, df) for df in range(1, most_df + 1))])


# Compare any two configurations of a sequential campaign.
#
# Runs are paired by their common rounds only, and their spread is that of the selection above. The leader at
# the end is partly a matter of luck: intervals against it allow for that (`app.statistics.verdict`). Early
# dropping of others has little effect on a difference. Simulated coverage of the intervals:
# resources/manual/method.md (93 to 98 of 100; among equals 99, because the leading one is never called
# slower).


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


# Find the configurations that may be the best, consistent with the verdicts.
#
# A configuration is excluded if another one is significantly better. The remaining set contains the truly
# best one in at least 95 % of cases: it is only excluded by an error, and the errors that may exclude a given
# configuration are shared among the others (Bonferroni), one-sided, because only "another one is better"
# excludes it. This is subset selection (Gupta, On some multiple decision rules, Technometrics 7, 1965, pages
# 225 to 245) by multiple comparisons with the best (Edwards and Hsu 1983: available whenever any
# configuration may be the control), with Bonferroni in place of critical values that assume equal spreads.
#
# Half of the error goes to the comparison with the first, which is the verdict of the table already (Holm),
# so that the two never contradict each other; the other half is shared by all others. The first itself is
# excluded exactly if a verdict says that another one is better. Simulated: resources/manual/method.md.


def possibly_best(
    with_first: Sequence[Comparison],
    samples: Callable[[int, int], Samples],
    *,
    is_real: Callable[[int, int, Interval], bool] = lambda _one, _other, _found: True,
    alpha: float = DEFAULT_ALPHA,
) -> tuple[int, ...]:
    """Return the indexes of the configurations that may be the best, where higher is better.

    Args:
        with_first: verdicts on each but the first, as `compare_family` makes them at `alpha`.
        samples: runs of two others by their indexes, from 1; called for the second against the first.
        is_real: whether a difference between two others counts; False for instance if it may have another
            cause.
        alpha: error allowed in all.

    Returns:
        Ascending; only empty without configurations.
    """
    count = len(with_first) + 1
    others = range(1, count)
    level = alpha / max(1, count - 2)  # two-sided, so that half of it is the share of one direction

    def beaten(place: int) -> bool:
        if not place:
            return any(found.verdict is Verdict.HIGHER for found in with_first)
        if with_first[place - 1].verdict is Verdict.LOWER:
            return True
        for other in others:
            if other != place:
                found = interval_beyond_chance(samples(place, other), level)
                if found is not None and found.low > 1 and is_real(place, other, found):
                    return True
        return False

    return tuple(place for place in range(count) if not beaten(place)) or tuple(range(count))
