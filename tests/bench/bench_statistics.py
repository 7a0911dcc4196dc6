"""How often the statistics are right, on synthetic runs whose truth is known (see tests/simulated_runs.py).

Every campaign goes the program's whole way: seconds, one cut for all, run means, intervals and verdicts.
Promised: 95 % intervals cover 93 to 97 %; at most 5 % of A/A comparisons are called different, plus what
chance allows in so many.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.statistics.steadiness import steady_state  # noqa: E402
from app.statistics.verdict import Verdict, compare, run_interval  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402
from tests.simulated_runs import LEVEL, SimulatedCampaign, Truth, autocorrelated_noise, campaigns  # noqa: E402

RATIO = 1.05
SCENARIOS = (
    ("1 % from run to run", Truth(between=0.01)),
    ("4 % from run to run", Truth(between=0.04)),
    ("10 % from run to run", Truth(between=0.10)),
    ("17 % from run to run", Truth(between=0.17)),
    ("4 %, three runs each", Truth(between=0.04, runs=3)),
    ("4 %, ten runs each", Truth(between=0.04, runs=10)),
    ("1 %, slow noise (0.9)", Truth(between=0.01, phi=0.9)),
    ("4 %, checkpoint saw-tooth", Truth(between=0.04, checkpoint_s=60)),
    ("4 %, runs drift by 20 %", Truth(between=0.04, drift=0.2)),
    ("4 %, warm-up of 40 s", Truth(between=0.04, warm_up_s=40)),
    ("4 %, machine drifts by 20 %", Truth(between=0.04, campaign_drift=0.2)),
)


@dataclass(slots=True)
class Counts:
    """How often something was right.

    Attributes:
        same: A/A comparisons called different.
        equal: A/A comparisons called practically equal.
        ratio: intervals of the ratio that hold the truth.
        mean: intervals of the mean that hold the truth.
        found: true differences found.
        wrong: true differences found the wrong way round.
    """

    same: int = 0
    equal: int = 0
    ratio: int = 0
    mean: int = 0
    found: int = 0
    wrong: int = 0


def count_same(counts: Counts, campaign: SimulatedCampaign) -> None:
    """Judge a campaign without a difference."""
    verdict = compare(campaign.samples).verdict
    counts.same += verdict in {Verdict.HIGHER, Verdict.LOWER}
    counts.equal += verdict is Verdict.EQUAL
    interval = run_interval(campaign.samples.baseline)
    counts.mean += (interval.low or 0.0) <= campaign.mean <= (interval.high or 0.0)


def count_different(counts: Counts, campaign: SimulatedCampaign) -> None:
    """Judge the same campaign with a difference of 5 %: what scales every second scales the mean."""
    samples = campaign.samples
    found = compare(replace(samples, candidate=tuple(RATIO * value for value in samples.candidate)))
    if found.interval is not None:
        counts.ratio += found.interval.low <= RATIO <= found.interval.high
    counts.found += found.verdict is Verdict.HIGHER
    counts.wrong += found.verdict is Verdict.LOWER


def within_coverage(truth: Truth, count: int) -> float:
    """Return how often the interval within a run holds the mean that this run would have in the long term."""
    covered = 0
    alone = replace(truth, between=0.0, runs=1, checkpoint_s=0, drift=0.0, warm_up_s=0)
    total = 0
    for campaign in campaigns(alone, count // 2, 99, paired=False):
        for shape in campaign.shapes:
            interval = shape.own_interval()
            total += 1
            covered += interval is not None and interval.low <= alone.shape()[0] <= interval.high
    return covered / total


def print_steadiness(count: int) -> int:
    """Print how often runs are called not steady; return how many figures are not as promised."""
    missed, random = 0, np.random.default_rng(8)
    for seconds in (60, 120, 300, 900, 3600):
        rows = min(count, 360_000 // seconds)
        noise = autocorrelated_noise(random, rows, seconds, 0.8)
        for cv in (0.1, 0.2, 0.4):
            found = [steady_state(np.maximum(0.0, LEVEL * (1 + cv * row))).steady for row in noise]
            wrong, open_ = found.count(False) / rows, found.count(None) / rows
            told = f"called not steady {100 * wrong:.1f} %, too short to tell {100 * open_:.0f} %"
            print(
                f"stationary AR(0.8), jitter {100 * cv:.0f} %, {seconds} s, {rows} runs: {told}", flush=True
            )
            missed += wrong > 0.05 + 2.58 * math.sqrt(0.05 * 0.95 / rows)
    noise = autocorrelated_noise(random, min(count, 400), 900, 0.8)
    fall = 1 - 0.3 * np.arange(900) / 900
    drifting = [steady_state(np.maximum(0.0, LEVEL * fall * (1 + 0.1 * row))).steady for row in noise]
    share = drifting.count(False) / len(drifting)
    print(f"drift of 30 % over 15 minutes, jitter 10 %, AR(0.8): called not steady {100 * share:.1f} %")
    return missed + (share < 0.8)


def main() -> None:
    """Print a row a scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000)
    count = parser.parse_args().campaigns
    allowed = 0.05 + 2.58 * math.sqrt(0.05 * 0.95 / count)
    print(describe_machine())
    print(f"{count} campaigns a row, 5 runs each of {Truth().seconds} s unless said; percent")
    print(f"A/A may be called different in {100 * allowed:.1f} % at most (5 % and chance, 99 %)")
    head = ("order", "A/A different", "ratio covered", "mean covered", "5 % found", "wrong way", "equal")
    print(f"{'':30}" + "".join(f"{word:>15}" for word in head))
    began_s, missed = time.monotonic(), 0
    for name, truth in SCENARIOS:
        simulated = list(campaigns(truth, count, 1, paired=True))
        for paired in (True, False):
            counts = Counts()
            for each in simulated:
                campaign = replace(each, samples=replace(each.samples, paired=paired))
                count_same(counts, campaign)
                count_different(counts, campaign)
            cells = (counts.same, counts.ratio, counts.mean, counts.found, counts.wrong, counts.equal)
            order = "pairs" if paired else "independent"
            print(
                f"{name:30}{order:>15}" + "".join(f"{100 * cell / count:15.1f}" for cell in cells), flush=True
            )
            missed += counts.same / count > allowed or not 0.93 <= counts.ratio / count <= 0.97
    print()
    for phi in (0.3, 0.6, 0.9):
        for seconds in (300, 3600):
            share = within_coverage(Truth(phi=phi, seconds=seconds), min(count, 400))
            print(f"interval within a run, AR({phi}), {seconds} s: covers {100 * share:.1f} %")
    missed += print_steadiness(min(count, 1000))
    print(f"rows outside what is promised: {missed}; {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
