"""The statistics as a whole on synthetic runs with known truth; larger ones: resources/manual/method.md."""

from __future__ import annotations

import math

import pytest

from app.statistics.verdict import Verdict, compare, run_interval
from tests.simulated_runs import Truth, campaigns

COUNT = 200
SPREAD = math.sqrt(0.05 * 0.95 / COUNT)
"""Standard error of a share of 5 % in so many campaigns; the seeds are fixed, so that no run differs."""


@pytest.mark.long
@pytest.mark.parametrize("paired", [True, False], ids=["pairs", "independent"])
@pytest.mark.parametrize("between", [0.01, 0.17])
def test_interval_coverage_and_false_verdicts(
    between: float,
    paired: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    truth = Truth(between=between, checkpoint_s=40, drift=0.1, seconds=150, runs=4)
    different = covered = 0
    for campaign in campaigns(truth, COUNT, 11, paired=paired):
        different += compare(campaign.samples).verdict in {Verdict.HIGHER, Verdict.LOWER}
        interval = run_interval(campaign.samples.baseline)
        covered += (interval.low or 0) <= campaign.mean <= (interval.high or 0)
    assert different / COUNT <= 0.05 + 2.6 * SPREAD
    assert abs(covered / COUNT - 0.95) <= 2.6 * SPREAD


@pytest.mark.long
def test_paired_runs_of_drifting_machine() -> None:
    truth = Truth(between=0.01, campaign_drift=0.2, seconds=150, runs=4)
    found = [compare(each.samples) for each in campaigns(truth, COUNT, 5, paired=True)]
    different = sum(each.verdict in {Verdict.HIGHER, Verdict.LOWER} for each in found)
    assert different / COUNT <= 0.05 + 2.6 * SPREAD


def test_true_difference_found() -> None:
    truth = Truth(between=0.01, within=0.03, ratio=1.05, seconds=150, runs=4)
    verdicts = [compare(each.samples).verdict for each in campaigns(truth, 60, 3, paired=True)]
    assert verdicts.count(Verdict.HIGHER) > 50
    assert Verdict.LOWER not in verdicts


def test_per_second_tests_false_difference() -> None:
    """Why the unit is the run: Welch on the seconds of two identical configurations errs most of the time."""
    wrong = 0
    for campaign in campaigns(Truth(between=0.04, runs=1), 100, 8, paired=False):
        a, b = campaign.shapes[0].tps, campaign.shapes[1].tps
        error = math.sqrt(float(a.var(ddof=1)) / len(a) + float(b.var(ddof=1)) / len(b))
        wrong += abs(float(a.mean()) - float(b.mean())) > 1.96 * error
    assert wrong > 50
