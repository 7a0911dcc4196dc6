"""Pairs of a sequential campaign: common rounds, the luck of the fastest, intervals that hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.statistics.selection import SequentialRuns
from app.statistics.verdict import Verdict, compare, compare_family
from tests.simulated_selections import holds, interval_of, runs_of, select, spreads, truths

A = {0: 100.0, 1: 101.0, 2: 99.0, 3: 100.5, 4: 100.0}
B = {0: 90.0, 1: 91.5, 2: 89.5}
C = {0: 99.0, 1: 101.5, 2: 98.0, 3: 100.0, 4: 99.0}
RUNS = SequentialRuns((A, B, C), (False, True, False))


def test_pairs_are_of_common_rounds_only() -> None:
    samples = RUNS.samples(0, 1)
    assert (samples.baseline, samples.candidate) == ((100.0, 101.0, 99.0), (90.0, 91.5, 89.5))
    assert compare(samples).runs == (3, 3)
    assert compare(RUNS.samples(2, 0)).runs == (5, 5)


def test_leader_among_remaining() -> None:
    assert RUNS.leader == 0
    assert SequentialRuns((A, B, C), (True, True, False)).leader == 2
    assert SequentialRuns((A, B, C), (True, True, True)).leader == 0


def test_reversed_comparison_symmetric() -> None:
    one, other = compare(RUNS.samples(0, 1)), compare(RUNS.samples(1, 0))
    assert one.verdict is Verdict.LOWER
    assert other.verdict is Verdict.HIGHER
    assert one.interval is not None
    assert other.interval is not None
    assert one.interval.low == pytest.approx(1 / other.interval.high)
    assert one.p_value == pytest.approx(other.p_value)


def test_only_against_the_fastest_its_luck_counts() -> None:
    near, far = RUNS.samples(0, 2).estimate, RUNS.samples(1, 2).estimate
    assert near is not None
    assert far is not None
    assert near.choice is not None
    assert near.is_first
    assert far.choice is None


def test_no_estimate_below_three_rounds() -> None:
    runs = SequentialRuns((A, {0: 90.0, 1: 90.0}), (False, False))
    assert runs.samples(0, 1).estimate is None
    assert compare(runs.samples(0, 1)).verdict is Verdict.INDICATIVE


def test_runs_without_transactions_do_not_count() -> None:
    runs = SequentialRuns((A, {0: 90.0, 1: 0.0, 2: 90.0, 3: 91.0}, C), (False, False, False))
    found = runs.samples(0, 1).estimate
    assert found is not None
    assert math.isfinite(found.difference)


@pytest.mark.long
def test_ratio_within_interval() -> None:
    random = np.random.default_rng(9)
    for _ in range(30):
        logs = 0.02 * random.standard_normal((6, 10))
        runs = SequentialRuns([dict(enumerate(map(float, np.exp(row)))) for row in logs], [False] * 6)
        family = compare_family([runs.samples(0, place) for place in range(1, 6)])
        for found in family:
            assert found.interval is not None
            assert found.ratio is not None
            assert found.interval.low <= found.ratio <= found.interval.high


@pytest.mark.long
@pytest.mark.parametrize(("kind", "cv"), [("5 %", 0.025), ("spread", 0.04), ("equal", 0.025)])
def test_interval_coverage_of_leader(kind: str, cv: float) -> None:
    """Student's intervals of those that are equal hold it in 86: see what `alone` counts."""
    random = np.random.default_rng(21)
    truth = truths(kind, 6, 250, random)
    selected = select(runs_of(truth, spreads("unequal", cv, truth.shape, random), random))
    held, alone = [], []
    for campaign in range(len(truth)):
        leader = int(selected.leader[campaign])
        other = (leader + 1 + campaign % 5) % 6
        difference = truth[campaign, other] - truth[campaign, leader]
        held.append(holds(interval_of(selected, campaign, leader, other), difference))
        samples = selected.runs(campaign).samples(leader, other)
        pair = SequentialRuns(
            [dict(enumerate(samples.baseline)), dict(enumerate(samples.candidate))], (False, False)
        )
        found = pair.samples(0, 1).estimate
        assert found is not None
        alone.append(abs(found.difference - difference) < 2.26 * found.error)
    assert all(each is not None for each in held)
    assert 0.92 <= np.mean([bool(each) for each in held]) <= 0.99
    assert kind != "equal" or np.mean(alone) < 0.92
