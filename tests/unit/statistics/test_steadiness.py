"""Whether a run was steady: what chance explains is never told, what it does not explain is."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.statistics.series import FEWEST_PIECES, steady_state
from tests.simulated_runs import autocorrelated_noise

Array = NDArray[np.float64]


def runs(count: int, seconds: int, phi: float, cv: float, seed: int) -> Array:
    noise = autocorrelated_noise(np.random.default_rng(seed), count, seconds, phi)
    return np.maximum(0.0, 1000 * (1 + cv * noise))


def share_not_steady(series: Array) -> float:
    return float(np.mean([steady_state(row).steady is False for row in series]))


def test_rounds_within_the_limits_are_steady() -> None:
    found = steady_state(runs(1, 300, 0.5, 0.05, 1)[0])
    assert found.steady is True
    assert len(found.rounds) == 5
    assert found.pieces > 50


def test_step_above_20_percent_not_steady() -> None:
    found = steady_state([100] * 120 + [130] * 60 + [100] * 120)
    assert found.steady is False
    assert found.spread == pytest.approx(30 / 106)
    assert found.slope == pytest.approx(0)


def test_slow_rise_not_steady() -> None:
    means = [94, 97, 100, 103, 106]
    found = steady_state([mean for mean in means for _ in range(60)])
    assert found.spread == pytest.approx(0.12)
    assert found.slope == pytest.approx(0.12)
    assert found.steady is False


@pytest.mark.parametrize("series", [[], [5] * 9, [0] * 50, [math.nan] * 20 + [5] * 80])
def test_too_short_to_judge(series: list[float]) -> None:
    found = steady_state(series)
    assert dataclasses.astuple(found) == (None, None, None, (), 0.0)
    assert not found.is_too_short


@pytest.mark.parametrize(("series", "rounds"), [([5.0] * 100, 1), ([-1.0] * 100, 5), ([math.inf] * 100, 5)])
def test_invalid_series_or_rounds_refused(series: list[float], rounds: int) -> None:
    with pytest.raises(ValueError, match=r"1|inf"):
        steady_state(series, rounds=rounds)


@pytest.mark.parametrize(
    ("seconds", "phi", "cv"),
    [(60, 0.0, 0.4), (60, 0.5, 0.1), (60, 0.8, 0.1), (60, 0.8, 0.2), (300, 0.8, 0.2), (900, 0.8, 0.4)],
)
@pytest.mark.long
def test_stationary_false_alarm_rate(seconds: int, phi: float, cv: float) -> None:
    """By rounds alone it was 87 % of runs of 60 s with a jitter of 20 % (correlation 0.8)."""
    assert share_not_steady(runs(100, seconds, phi, cv, 5)) <= 0.05


def test_drift_detection_rate() -> None:
    falling = 1 - 0.3 * np.arange(900) / 900
    assert share_not_steady(runs(60, 900, 0.8, 0.1, 2) * falling) >= 0.8


def test_autocorrelated_run_too_short() -> None:
    found = steady_state(runs(1, 60, 0.97, 0.3, 3)[0])
    assert found.steady is None
    assert found.is_too_short
    assert found.pieces < FEWEST_PIECES
    assert len(found.rounds) == 5


def test_noiseless_run_judged_by_limits() -> None:
    assert steady_state(np.linspace(100, 1000, 300)).steady is False
    assert steady_state([7.0] * 300).steady is True


def test_rounds_are_checkpoint_cycles() -> None:
    saw = [100.0 - 0.5 * (second % 100) for second in range(790)]
    found = steady_state(saw, range(90, 790, 100))
    assert found.rounds == pytest.approx([75.25] * 5)
    assert len(set(np.round(steady_state(saw, range(90, 550, 100)).rounds, 6))) > 1


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1e6) | st.just(math.nan), max_size=80),
    st.lists(st.integers(0, 100), max_size=9, unique=True),
)
def test_any_series_finite_result(values: list[float], starts: list[int]) -> None:
    found = steady_state(values, sorted(starts))
    for value in dataclasses.astuple(found):
        assert not isinstance(value, float) or math.isfinite(value)
    assert found.pieces >= 0
