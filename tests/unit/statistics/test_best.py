"""The set that holds the best configuration: in at least 95 % of cases, and never against a verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.statistics.selection import possibly_best
from app.statistics.verdict import Samples, Verdict, compare_family
from tests.simulated_cells import best_sets

COUNT = 200
FEW = 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / COUNT)
"""At most that share may lack the best; the seeds are fixed, so that nothing differs."""


def samples_of(values: list[tuple[float, ...]]) -> Samples:
    return Samples(values[0], values[1], paired=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("configurations", "repeats", "paired"), [(3, 3, True), (4, 5, True), (6, 5, True), (3, 4, False)]
)
def test_equals_in_set_95_percent(
    configurations: int,
    repeats: int,
    paired: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Equals are the worst case: where the best one is better, it is left out more rarely."""
    missing = np.zeros(configurations)
    ratios = [1.0] * configurations
    for found in best_sets(ratios, [0.02] * configurations, repeats, COUNT, 4, paired=paired):
        missing += [place not in found for place in range(configurations)]
    assert (missing / COUNT <= FEW).all()


@pytest.mark.long
@pytest.mark.parametrize("best", [0, 2])
def test_best_in_set_unequal_variance_drift(best: int) -> None:
    ratios, spreads = [1.0, 1.0, 1.0, 0.99], [0.01, 0.08, 0.01, 0.02]
    ratios[best] = 1.005
    found = list(best_sets(ratios, spreads, 5, COUNT, 6, drift=0.1))
    assert sum(best not in each for each in found) / COUNT <= FEW


def test_what_is_clearly_worse_is_left_out() -> None:
    found = list(best_sets([1.0, 1.2, 1.19, 0.9], [0.01] * 4, 5, 60, 2))
    assert sum(each == (1, 2) for each in found) > 45
    assert all({0, 3}.isdisjoint(each) for each in found)


@pytest.mark.long
def test_set_never_contradicts_verdict() -> None:
    random = np.random.default_rng(8)
    for _ in range(150):
        logs = 0.02 * random.standard_normal((5, 4)) + 0.02 * random.standard_normal((5, 1))
        runs = [tuple(map(float, 1000 * np.exp(row))) for row in logs]
        verdicts = compare_family([Samples(runs[0], each, paired=True) for each in runs[1:]])

        def samples(one: int, other: int, runs: list[tuple[float, ...]] = runs) -> Samples:
            return samples_of([runs[one], runs[other]])

        found = possibly_best(verdicts, samples)
        assert found
        for place, each in enumerate(verdicts, 1):
            assert each.verdict is not Verdict.LOWER or place not in found
            assert each.verdict is not Verdict.HIGHER or 0 not in found
        if not any(each.verdict is Verdict.HIGHER for each in verdicts):
            assert 0 in found


def test_unreal_difference_excludes_nothing() -> None:
    runs = [(1000.0, 1001.0, 999.0), (1300.0, 1301.0, 1299.0), (1100.0, 1101.0, 1099.0)]
    verdicts = compare_family([Samples(runs[0], each, paired=True) for each in runs[1:]])

    def samples(one: int, other: int) -> Samples:
        return samples_of([runs[one], runs[other]])

    assert possibly_best(verdicts, samples) == (1,)
    assert possibly_best(verdicts, samples, is_real=lambda _one, _other, _found: False) == (1, 2)


def test_one_configuration_is_the_best_of_itself() -> None:
    def samples(_one: int, _other: int) -> Samples:
        raise AssertionError

    assert possibly_best((), samples) == (0,)
