"""Campaigns with known truth, taken by the fixed matrix and sequentially. Seeded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.domain.campaign.matrix import random_blocks
from app.statistics.sample_size import student_t_quantile
from app.statistics.selection import FEWEST_ROUNDS, SequentialRuns, judge_round
from app.statistics.verdict import Comparison, compare
from tests.vondra_runs import published_runs

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]
CAP = 10


def truths(kind: str, configurations: int, campaigns: int, random: np.random.Generator) -> Array:
    """Return logarithms of true speeds, (campaigns, configurations), the best at any place.

    Args:
        kind: "equal"; "5 %", "2 %": one is faster by that than all others, which are equal; "spread": the
            best is 5 % before the second, all others spread by 10 %.
        configurations: how many.
        campaigns: how many.
        random: where chance comes from.
    """
    found = np.zeros((campaigns, configurations))
    if kind == "spread":
        found = 0.1 * random.standard_normal((campaigns, configurations))
        ordered = np.sort(found, axis=1)
        found[np.arange(campaigns), found.argmax(axis=1)] = ordered[:, -2] + math.log(1.05)
    elif kind != "equal":
        found[:, 0] = math.log1p(float(kind.removesuffix(" %")) / 100)
    return random.permuted(found, axis=1)


def published_truths(configurations: int, campaigns: int, random: np.random.Generator) -> Iterator[Array]:
    """Yield true speeds as published runs had them: of one machine, kind of transactions and scale each."""
    cells: dict[tuple[str, str, int], list[float]] = {}
    for run in published_runs():
        if not run.at_a_rate:
            cells.setdefault((run.machine, run.mode, run.scale), []).append(math.log(run.tps))
    enough = [np.array(logs) for logs in cells.values() if len(logs) >= configurations]
    for number in range(campaigns):
        yield random.permutation(enough[number % len(enough)])[:configurations] if enough else np.zeros(0)


def spreads(kind: str, cv: float, shape: tuple[int, int], random: np.random.Generator) -> Array:
    """Return the spread of the runs of each configuration.

    Args:
        kind: "alike"; "unequal": by a factor of 1.65 (one standard deviation) around `cv`; "one noisy": one
            of them spreads four times as much as all others.
        cv: spread.
        shape: campaigns and configurations.
        random: where chance comes from.
    """
    found = np.full(shape, cv)
    if kind == "unequal":
        found *= np.exp(0.5 * random.standard_normal(shape))
    if kind == "one noisy":
        found[np.arange(shape[0]), random.integers(shape[1], size=shape[0])] *= 4
    return found


def runs_of(
    truth: Array, spread: Array, random: np.random.Generator, *, drift: float = 0.0, carry_over: float = 0.0
) -> Array:
    """Return logarithms of run means of the fixed matrix, (campaigns, configurations, rounds).

    Args:
        truth: logarithms of true speeds.
        spread: of runs.
        random: where chance comes from.
        drift: change of the machine over the matrix, as a logarithm.
        carry_over: what a run of the first configuration does to the next one, as a logarithm.
    """
    campaigns, count = truth.shape
    logs = truth[..., None] + spread[..., None] * random.standard_normal((campaigns, count, CAP))
    orders = 5 if drift or carry_over else 0
    for number in range(orders):
        effect = np.zeros((count, CAP))
        line = [(each, at) for at, block in enumerate(random_blocks(count, CAP, number)) for each in block]
        for place, (each, at) in enumerate(line):
            effect[each, at] = drift * place / (len(line) - 1)
            if place and line[place - 1][0] == 0:
                effect[each, at] += carry_over
        logs[number::orders] += effect
    return logs


@dataclass(frozen=True)
class Selected:
    """What became of sequential campaigns.

    Attributes:
        seen: logarithms of run means, NaN where nothing was measured.
        left: which were not left out.
        leader: place of the fastest at the end.
    """

    seen: Array
    left: Flags
    leader: Places

    @property
    def share(self) -> Array:
        """Runs by those of the fixed matrix, of each campaign."""
        return np.asarray((~np.isnan(self.seen)).mean(axis=(1, 2)))

    def runs(self, campaign: int) -> SequentialRuns:
        """Return the runs of one campaign as a comparison has them."""
        values = [
            {at: float(np.exp(log)) for at, log in enumerate(row) if not np.isnan(log)}
            for row in self.seen[campaign]
        ]
        return SequentialRuns(values, [not left for left in self.left[campaign]])


def select(logs: Array) -> Selected:
    """Return what a sequential design makes of the runs that the fixed matrix would have had."""
    campaigns, count, cap = logs.shape
    active = np.ones((campaigns, count), dtype=bool)
    seen = np.full(logs.shape, np.nan)
    leader = np.zeros(campaigns, dtype=np.intp)
    for at in range(cap):
        going = active.sum(axis=1) > 1
        if not going.any():
            break
        seen[..., at] = np.where(active & going[:, None], logs[..., at], np.nan)
        if at + 1 < FEWEST_ROUNDS:
            continue
        found = judge_round(seen[going][..., : at + 1], active[going], cap=cap)
        leader[going] = found.leader
        if at + 1 < cap:
            active[going] &= ~found.out
    return Selected(seen, active, leader)


def distinguished_by_matrix(logs: Array, others: Places) -> Flags:
    """Return whether the fixed matrix calls its fastest faster than another one (pairs, Bonferroni)."""
    count, cap = logs.shape[1:]
    at = np.arange(len(logs))
    fastest = logs.mean(axis=2).argmax(axis=1)
    pairs = logs[at, fastest] - logs[at, others]
    errors = pairs.std(axis=1, ddof=1) / math.sqrt(cap)
    critical = student_t_quantile(1 - 0.05 / 2 / max(1, count - 1), cap - 1)
    return np.asarray((fastest != others) & (pairs.mean(axis=1) > critical * errors))


def holds(found: Comparison, truth: float) -> bool | None:
    """Return whether an interval of a ratio holds its logarithm; None where there is no interval."""
    return None if found.interval is None else found.interval.low <= math.exp(truth) <= found.interval.high


def interval_of(selected: Selected, campaign: int, one: int, other: int) -> Comparison:
    """Return the second of two configurations against the first."""
    return compare(selected.runs(campaign).samples(one, other))
