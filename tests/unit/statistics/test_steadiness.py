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


def test_a_step_of_more_than_20_percent_is_not_steady() -> None:
    found = steady_state([100] * 120 + [130] * 60 + [100] * 120)
    assert found.steady is False
    assert found.spread == pytest.approx(30 / 106)
    assert found.slope == pytest.approx(0)


def test_a_slow_rise_is_caught_by_its_slope() -> None:
    means = [94, 97, 100, 103, 106]
    found = steady_state([mean for mean in means for _ in range(60)])
    assert found.spread == pytest.approx(0.12)
    assert found.slope == pytest.approx(0.12)
    assert found.steady is False


@pytest.mark.parametrize("series", [[], [5] * 9, [0] * 50, [math.nan] * 20 + [5] * 80])
def test_too_little_to_judge_is_neither_steady_nor_not(series: list[float]) -> None:
    found = steady_state(series)
    assert dataclasses.astuple(found) == (None, None, None, (), 0.0)
    assert not found.is_too_short


@pytest.mark.parametrize(("series", "rounds"), [([5.0] * 100, 1), ([-1.0] * 100, 5), ([math.inf] * 100, 5)])
def test_what_is_no_series_or_no_rounds_is_refused(series: list[float], rounds: int) -> None:
    with pytest.raises(ValueError, match=r"1|inf"):
        steady_state(series, rounds=rounds)


@pytest.mark.parametrize(
    ("seconds", "phi", "cv"),
    [(60, 0.0, 0.4), (60, 0.5, 0.1), (60, 0.8, 0.1), (60, 0.8, 0.2), (300, 0.8, 0.2), (900, 0.8, 0.4)],
)
@pytest.mark.long
def test_stationary_runs_are_called_not_steady_at_most_5_in_100_times(
    seconds: int, phi: float, cv: float
) -> None:
    """By rounds alone it was 87 % of runs of 60 s with a jitter of 20 % (correlation 0.8)."""
    assert share_not_steady(runs(100, seconds, phi, cv, 5)) <= 0.05


def test_a_drift_of_30_percent_over_15_minutes_is_found_in_at_least_80_of_100() -> None:
    falling = 1 - 0.3 * np.arange(900) / 900
    assert share_not_steady(runs(60, 900, 0.8, 0.1, 2) * falling) >= 0.8


def test_a_run_whose_seconds_are_alike_for_long_is_too_short_to_tell() -> None:
    found = steady_state(runs(1, 60, 0.97, 0.3, 3)[0])
    assert found.steady is None
    assert found.is_too_short
    assert found.pieces < FEWEST_PIECES
    assert len(found.rounds) == 5


def test_a_run_without_any_noise_is_judged_by_its_limits() -> None:
    assert steady_state(np.linspace(100, 1000, 300)).steady is False
    assert steady_state([7.0] * 300).steady is True


def test_rounds_are_checkpoint_cycles_where_there_are_five_whole_ones() -> None:
    saw = [100.0 - 0.5 * (second % 100) for second in range(790)]
    found = steady_state(saw, range(90, 790, 100))
    assert found.rounds == pytest.approx([75.25] * 5)
    assert len(set(np.round(steady_state(saw, range(90, 550, 100)).rounds, 6))) > 1


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1e6) | st.just(math.nan), max_size=80),
    st.lists(st.integers(0, 100), max_size=9, unique=True),
)
def test_no_series_and_no_checkpoints_give_nan_or_an_exception(
    values: list[float], starts: list[int]
) -> None:
    found = steady_state(values, sorted(starts))
    for value in dataclasses.astuple(found):
        assert not isinstance(value, float) or math.isfinite(value)
    assert found.pieces >= 0
