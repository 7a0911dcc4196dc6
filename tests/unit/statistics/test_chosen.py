"""What was chosen for being the largest is overestimated; its intervals hold the truth all the same."""

from __future__ import annotations

import numpy as np
import pytest

from app.statistics.sample_size import student_t_quantile
from app.statistics.verdict import ChoiceAmong

FAR = -1e9


def test_clear_choice_has_student_interval() -> None:
    low, high = ChoiceAmong(FAR, 5).interval(0.1, 0.01, 8, 0.05)
    half = student_t_quantile(0.975, 8) * 0.01
    assert low == pytest.approx(0.1 - half, rel=0.02)
    assert high == pytest.approx(0.1 + half, rel=0.02)


def test_closer_choice_lowers_interval() -> None:
    ends = [ChoiceAmong(bound, 5).interval(0.1, 0.01, 8, 0.05) for bound in (0.05, 0.08, 0.09, 0.098)]
    lows, highs = zip(*ends, strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs, reverse=True)
    assert all(low < high for low, high in ends)


def test_bound_above_estimate_clipped() -> None:
    assert ChoiceAmong(0.2, 5).interval(0.1, 0.01, 8, 0.05) == ChoiceAmong(0.1, 5).interval(
        0.1, 0.01, 8, 0.05
    )


def test_lower_end_bounded_by_bonferroni() -> None:
    low, _ = ChoiceAmong(0.1, 5).interval(0.1, 0.01, 8, 0.05)
    assert low >= 0.1 - 0.01 * student_t_quantile(1 - 0.005 / 10, 8) - 1e-9


@pytest.mark.parametrize("seen", [0.002, 0.01, 0.03, 0.08])
@pytest.mark.parametrize("bound", [FAR, -0.02, 0.0])
def test_p_value_inverts_interval(seen: float, bound: float) -> None:
    choice = ChoiceAmong(bound, 4)
    p = choice.p_value(seen, 0.01, 9)
    for alpha, excludes in ((min(1.1 * p, 0.999), True), (0.9 * p, False)):
        low, high = choice.interval(seen, 0.01, 9, alpha)
        assert (not low <= 0 <= high) is excludes or p > 0.9


def test_chosen_never_significantly_worse() -> None:
    """The others are as good: given that, hardly anything of what was seen is true."""
    choice = ChoiceAmong(0.0299, 8)
    low, high = choice.interval(0.03, 0.01, 9, 0.05)
    assert low < 0 <= high < 0.03
    assert choice.p_value(0.03, 0.01, 9) > 0.5
    assert choice.p_value(-0.01, 0.01, 9) == 1
    assert choice.interval(-0.01, 0.01, 9, 0.05)[1] >= -0.01


def test_zero_variance_is_exact() -> None:
    assert ChoiceAmong(0.0, 3).interval(0.1, 0.0, 5, 0.05) == (0.1, 0.1)
    assert ChoiceAmong(0.0, 3).p_value(0.1, 0.0, 5) == 0
    assert ChoiceAmong(0.0, 3).p_value(0.0, 0.0, 5) == 1


@pytest.mark.long
@pytest.mark.parametrize("ahead", [0.0, 1.0, 4.0])
def test_largest_of_six_coverage(ahead: float) -> None:
    random = np.random.default_rng(5)
    held = naive = 0
    count, df = 400, 12
    truth = np.array([ahead, 0, 0, 0, 0, 0])
    for _ in range(count):
        seen = truth + random.standard_normal(6)
        error = float(np.sqrt(random.chisquare(df) / df))
        best = int(seen.argmax())
        value, second = float(seen[best]), float(np.sort(seen)[-2])
        low, high = ChoiceAmong(second, 5).interval(value, error, df, 0.05)
        held += low <= truth[best] <= high
        naive += abs(value - truth[best]) <= student_t_quantile(0.975, df) * error
    assert 0.925 <= held / count <= (0.975 if ahead else 0.99)  # exactly no difference is never excluded
    assert naive / count < 0.9 or ahead > 1
