"""Which configurations of a campaign go on after a round: those that may still be the fastest.

A sequential design repeats complete rounds (blocks). After each of them every configuration is compared with
the one that leads, by the paired differences of their common rounds, and left out where it is behind; what is
left out does not come back. Two errors are kept apart. That the best one is left out: as long as others go on
as well this decides nothing else, and a level that falls with their number is enough. That one of equals is
called the winner: so the nearest rival of the leader, without which only one would be left, is held to a
boundary that is high in early rounds (O'Brien and Fleming 1979), when it is mostly luck that decides.

The spread of a difference is its own, drawn towards that of all others (Smyth 2004, with a fixed weight of
the prior): after three rounds one's own has two degrees of freedom only. Of ranking and selection with
elimination (Kim and Nelson 2001) this is a simple form; its levels are not proven but simulated, for caps of
ten rounds (unequal spreads, drift, carry-over): resources/manual/method.md.

Arrays may have any leading axes (many campaigns at once); the last two are configurations and rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.statistics.sample_size import DEFAULT_ALPHA
from app.statistics.student_t import student_t_quantile

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

FEWEST_ROUNDS: Final = 3
"""Before anything is left out: everything that was measured gets an interval."""
MOST_LEVEL: Final = 0.18
"""One-sided error of one comparison of the leader with any but its nearest rival, among few."""
LEAST_LEVEL: Final = 0.03
"""The same among very many: the more there are, the more luck the one that leads has had."""
SHARED_LEVEL: Final = 0.9
"""Divided by their number, what is added to `LEAST_LEVEL`."""
RIVAL_LEVEL: Final = 0.0375
"""One-sided error of the comparison with the nearest rival in the last round that can leave it out."""
ENOUGH: Final = 6
"""Configurations from which on `RIVAL_LEVEL` holds. Of fewer, one would be left too often of equals."""
LAST_LOOK: Final = 9
"""Round up to which the boundary of the nearest rival falls, where there are as many."""
SIMULATED_LOST: Final = 0.05
"""How often at most one that is 5 % faster than all others is left out: ten rounds, 6 to 33 configurations,
the same spread of up to 4 % for all."""
SIMULATED_LOST_UNEQUAL: Final = 0.12
"""The same where spreads differ by a factor of 1.65, or one is four times that of all others."""
SIMULATED_ALONE: Final = 0.08
"""How often at most a single one is left where all are equal, likewise."""
PRIOR_DF: Final = 4
"""Degrees of freedom that the spread of all others weighs beside one's own."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Mean logarithms by which each configuration is behind one of them, over their common rounds.

    Attributes:
        behind: NaN without a common round.
        error: standard error.
        df: degrees of freedom of it; 0 where there is none.
        rounds: common ones; of the one itself all of its own.
    """

    behind: Array
    error: Array
    df: Places
    rounds: Places


@dataclass(frozen=True, slots=True)
class RoundJudged:
    """What is known after a round.

    Attributes:
        leader: place of the fastest until now.
        differences: from it.
        out: which are unlikely to be the fastest.
    """

    leader: Places
    differences: Differences
    out: Flags


def differences_from(logs: Array, place: Places, *, prior_df: int = PRIOR_DF) -> Differences:
    """Return how far each configuration is behind one of them.

    Args:
        logs: logarithms of run means, (..., configurations, rounds); NaN where a run is not there, or does
            not count.
        place: of that one.
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
    """Return which of the configurations that went on until now are left out.

    Args:
        logs: see `differences_from`.
        active: (..., configurations), what took part in the last round.
        cap: rounds of the campaign, at most.
        prior_df: see `PRIOR_DF`.
    """
    count, rounds = logs.shape[-2:]
    leader = leader_of(logs, active)
    found = differences_from(logs, leader, prior_df=prior_df)
    at = np.arange(count)
    may = (found.rounds >= FEWEST_ROUNDS) & (at != leader[..., None]) & active
    most, for_rival = _critical(level_of(count), found.df), _boundary(count, rounds, cap, found.df)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(found.behind == 0, 0.0, found.behind / found.error)
        nearest = np.argmin(np.where(may, score, np.inf), axis=-1)
        is_nearest = at == nearest[..., None]
        out = may & (score > np.where(is_nearest, np.maximum(most, for_rival), most))
    return RoundJudged(leader, found, out)


def level_of(configurations: int) -> float:
    """Return the error of each comparison of the leader with any but its nearest rival, among so many."""
    return min(MOST_LEVEL, LEAST_LEVEL + SHARED_LEVEL / max(1, configurations))


def rival_level_of(configurations: int) -> float:
    """Return the error of the comparison with the nearest rival among so many, see `RIVAL_LEVEL`."""
    return RIVAL_LEVEL * min(1.0, max(1, configurations - 1) / (ENOUGH - 1))


def _boundary(configurations: int, rounds: int, cap: int, df: Places) -> Array:
    """Return how many standard errors the nearest rival has to be behind after so many rounds.

    Up to `LAST_LOOK` this falls with the root of the rounds. Campaigns that are longer have half of the error
    until there; after it the error of each look falls with their number.
    """
    last, level = max(FEWEST_ROUNDS, min(cap - 1, LAST_LOOK)), rival_level_of(configurations)
    if cap - 1 > last:
        level /= 2
    if rounds > last:
        return _critical(level * last / rounds, df)
    return _critical(level, df) * math.sqrt(last / max(1, rounds))


def all_within(judged: RoundJudged, left: Flags, share: float, *, alpha: float = DEFAULT_ALPHA) -> Flags:
    """Return whether everything that is left is known to be no more than a share behind the leader.

    Args:
        judged: after a round.
        left: (..., configurations), what goes on.
        share: above 0.
        alpha: one-sided error allowed in all comparisons of one round.
    """
    found = judged.differences
    count = found.behind.shape[-1]
    is_leader = np.arange(count) == judged.leader[..., None]
    farthest = found.behind + _critical(alpha / max(1, count - 1), found.df) * found.error
    return np.asarray((is_leader | ~left | (farthest <= np.log1p(share))).all(axis=-1))


def leader_of(logs: Array, active: Flags) -> Places:
    """Return the fastest of the active ones; what rounds do to all that ran in them is taken out."""
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
    """Return the one-sided quantiles of Student's t, infinite where there are no degrees of freedom."""
    found: Array = _quantiles(1 - level, int(df.max(initial=1)))[df]
    return found


@lru_cache(maxsize=32)
def _quantiles(p: float, most_df: int) -> Array:
    return np.array([np.inf, *(student_t_quantile(p, df) for df in range(1, most_df + 1))])
