"""Which configurations of a campaign go on after a round: those that may still be the fastest.

A sequential design repeats complete rounds (blocks). After each of them every configuration is compared with
the one that leads, by the paired differences of their common rounds, and left out where it is behind beyond
chance; what is left out does not come back. The spread of a difference is its own, drawn towards that of all
others (Smyth 2004, with a fixed weight of the prior): after three rounds one's own has two degrees of freedom
only. Of ranking and selection with elimination (Kim and Nelson 2001) this is the simplest form; how it errs
is not proven but simulated (unequal spreads, drift, carry-over): tests/bench/bench_sequential.py.

Arrays may have any leading axes (many campaigns at once); the last two are configurations and rounds.
"""

from __future__ import annotations

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
LEVEL: Final = 0.02
"""One-sided error of one comparison with the leader, after one round."""
ENOUGH: Final = 5
"""Configurations from which on `LEVEL` holds. Of fewer, one would be left too often where all are equal."""
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
        out: which cannot win any more.
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


def judge_round(
    logs: Array, active: Flags, *, level: float | None = None, prior_df: int = PRIOR_DF
) -> RoundJudged:
    """Return which of the configurations that went on until now are left out.

    Args:
        logs: see `differences_from`.
        active: (..., configurations), what took part in the last round.
        level: error of each comparison; None for `level_of` as many.
        prior_df: see `PRIOR_DF`.
    """
    count = logs.shape[-2]
    leader = _leader(logs, active)
    found = differences_from(logs, leader, prior_df=prior_df)
    critical = _critical(level_of(count) if level is None else level, found.df)
    is_leader = np.arange(count) == leader[..., None]
    enough = (found.rounds >= FEWEST_ROUNDS) & ~is_leader & active
    with np.errstate(invalid="ignore"):
        return RoundJudged(leader, found, enough & (found.behind > critical * found.error))


def level_of(configurations: int) -> float:
    """Return the error of each comparison among so many."""
    return LEVEL * min(1.0, max(1, configurations - 1) / (ENOUGH - 1))


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


def _leader(logs: Array, active: Flags) -> Places:
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
