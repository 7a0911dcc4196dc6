"""Campaigns beside others with known truth: what they did is simulated, judged and compared as in real life.

A run's mean is a level, times the ratio of its configuration, times a chance from run to run, times what is
left of the CPUs beside others. What others used is seen through the series of the run file, with the noise of
their ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from app.analysis.facts import RunFacts
from app.comparison.comparison import RunComparison, compare_runs
from app.domain.campaign.matrix import random_blocks
from app.domain.disturbances import MeasuredActivity, judge_disturbances
from app.domain.run import RunState
from app.runfile.disturbance import disturbance_marks
from app.statistics.verdict import Verdict

CPUS = 2
SECONDS = 30
TICK_NOISE = 0.008
"""Standard deviation of others' share of the CPUs in a quiet run: ticks of 10 ms, 2 CPUs, 30 s (measured)."""

CLEAN = frozenset({Verdict.LOWER, Verdict.HIGHER})


class Others(Enum):
    """What other programs do beside a campaign: their share of the CPUs in each run."""

    NOTHING = "nothing"
    BURSTS = "bursts in three of ten runs"
    REGULAR = "a job that meets every fourth run"
    A_WHILE = "a while in the middle"
    ALWAYS = "always"
    ONE_CONFIGURATION = "whenever the last configuration runs"


@dataclass(frozen=True, slots=True)
class Campaigns:
    """What is simulated.

    Attributes:
        others: what they do.
        configurations: the first is the baseline, the last is `ratio` times as fast.
        repeats: of each.
        between: variation from run to run, as a share.
        ratio: 1 for an A/A.
        least: smallest share of the CPUs that a disturbance takes.
        most: largest.
    """

    others: Others
    configurations: int = 2
    repeats: int = 5
    between: float = 0.025
    ratio: float = 1.0
    least: float = 0.1
    most: float = 0.7


_RUN = RunFacts(
    path="",
    id="",
    name="",
    campaign="c",
    campaign_key="c",
    configuration="",
    repeat=0,
    state=RunState.DONE.value,
    error="",
    started_epoch_s=None,
    marks=(),
    properties=(),
    summary={},
    commands=(),
    environment=(),
    unavailable=(),
)


def shares_of(setup: Campaigns, order: list[tuple[int, int]], random: np.random.Generator) -> list[float]:
    """Return the share of the CPUs that others use in each run of an order of (configuration, repeat)."""
    count = len(order)
    strength = random.uniform(setup.least, setup.most, count)
    begin = int(random.integers(0, count))
    phase = int(random.integers(0, 4))
    hits: dict[Others, Callable[[int], bool]] = {
        Others.NOTHING: lambda _at: False,
        Others.BURSTS: lambda _at: bool(random.random() < 0.3),
        Others.REGULAR: lambda at: at % 4 == phase,
        Others.A_WHILE: lambda at: begin <= at < begin + count // 3,
        Others.ALWAYS: lambda _at: True,
        Others.ONE_CONFIGURATION: lambda at: order[at][0] == setup.configurations - 1,
    }
    return [float(strength[at]) if hits[setup.others](at) else 0.0 for at in range(count)]


def activity(share: float, random: np.random.Generator) -> MeasuredActivity:
    """Return what the series of a run say where others used a share of the CPUs."""
    seen = max(0.0, share + TICK_NOISE * float(random.standard_normal())) * CPUS
    means = {
        ("cpu.user", ""): 1.1 + seen,
        ("cpu.system", ""): 0.4,
        ("cpu.steal", ""): 0.002,
        ("process.cpu_user", "postgres"): 0.75,
        ("process.cpu_system", "postgres"): 0.3,
        ("process.cpu_user", "pgbench"): 0.35,
        ("process.cpu_system", "pgbench"): 0.1,
        ("pressure.memory_some", ""): 0.0,
    }
    totals = {key: (mean * SECONDS, mean, SECONDS) for key, mean in means.items()}
    return MeasuredActivity(totals, CPUS, needs_memory=False)


def simulated(setup: Campaigns, count: int, seed: int) -> Iterator[tuple[RunComparison, float]]:
    """Yield the comparison of each campaign, with the share of its undisturbed runs that were marked."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        blocks = random_blocks(setup.configurations, setup.repeats, int(random.integers(2**31)))
        order = [(place, repeat) for repeat, block in enumerate(blocks) for place in block]
        shares = shares_of(setup, order, random)
        runs, quiet, wrong = [], 0, 0
        for (place, repeat), share in zip(order, shares, strict=True):
            ratio = setup.ratio if place == setup.configurations - 1 else 1.0
            chance = float(np.exp(setup.between * random.standard_normal()))
            judged = judge_disturbances(activity(share, random))
            quiet += share == 0
            wrong += share == 0 and bool(judged.found)
            runs.append(
                replace(
                    _RUN,
                    id=f"{place} {repeat}",
                    name=f"{place} #{repeat}",
                    configuration=str(place),
                    repeat=repeat,
                    summary={"tps": 5000 * ratio * chance * (1 - share)},
                    marks=tuple(disturbance_marks(judged)),
                    disturbances=judged,
                )
            )
        runs.sort(key=lambda run: run.configuration)
        yield compare_runs(runs, cut_s=0.0), wrong / quiet if quiet else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Shares over many campaigns.

    Attributes:
        clean: with any clean verdict that the last, or in an A/A any, configuration is faster or slower.
        covered: of the intervals of the last configuration, those that contain the truth.
        judged: campaigns whose last configuration had an interval.
        marked: of the undisturbed runs, those that were marked.
    """

    clean: float
    covered: float
    judged: int
    marked: float


def outcome_of(setup: Campaigns, count: int, seed: int) -> Outcome:
    """Simulate campaigns and return what became of them."""
    clean = covered = judged = 0
    marked = []
    for comparison, wrong in simulated(setup, count, seed):
        marked.append(wrong)
        found = [row.comparison for row in comparison.rows if row.comparison is not None]
        looked_at = found if setup.ratio == 1 else found[-1:]
        clean += any(each.verdict in CLEAN for each in looked_at)
        interval = found[-1].interval
        if interval is not None:
            judged += 1
            covered += interval.low <= setup.ratio <= interval.high
    share = covered / judged if judged else float("nan")
    return Outcome(clean / count, share, judged, float(np.mean(marked)))
