"""Statistics inside a run: jitter, stalls, drift, warm-up, steady state, autocorrelation."""

from __future__ import annotations

import csv
import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.statistics.series import (
    autocorrelation_time,
    drift,
    jitter,
    mser5,
    steady_state,
    within_run_error,
)

DATA = Path(__file__).parents[2] / "data" / "statistics" / "i5-raid0-scale1000-rw-tps.csv"

seconds = st.lists(st.floats(0, 1e6) | st.just(math.nan), max_size=120)
busy = st.lists(st.floats(1, 1e6), min_size=30, max_size=120)


def recorded(filesystem: str) -> NDArray[np.float64]:
    with DATA.open(encoding="ascii", newline="") as file:
        return np.array([float(row[filesystem]) for row in csv.DictReader(file)])


def noise(count: int, phi: float, seed: int) -> NDArray[np.float64]:
    """Return an AR(1) series around 1000 with a standard deviation of 50."""
    random = np.random.default_rng(seed)
    values = np.empty(count)
    value = random.normal()
    for place in range(count):
        values[place] = value
        value = phi * value + math.sqrt(1 - phi**2) * random.normal()
    return np.maximum(1000 + 50 * values, 0)


# --- jitter and stalls ---------------------------------------------------------------------------


def test_jitter_of_a_known_series() -> None:
    found = jitter([100, 100, 5, 0, 100, 40, 100, 9.9, 100, 100])
    assert (found.stall_seconds, found.longest_stall_s) == (3, 2)
    values = [100, 100, 5, 0, 100, 40, 100, 9.9, 100, 100]
    assert found.cv == pytest.approx(np.std(values, ddof=1) / np.mean(values))
    assert found.seconds == 10


def test_missed_second_ends_stall() -> None:
    found = jitter([100, 0, math.nan, 0, 0, 100, 100, 100])
    assert (found.seconds, found.stall_seconds, found.longest_stall_s) == (7, 3, 2)
    assert found.cv == jitter([100, 0, 0, 0, 100, 100, 100]).cv


def test_all_zero_run_one_stall() -> None:
    found = jitter([0] * 30)
    assert (found.stall_seconds, found.longest_stall_s) == (30, 30)
    assert found.cv is None


@pytest.mark.parametrize("series", [[], [math.nan, math.nan]])
def test_an_empty_series_has_no_figures(series: list[float]) -> None:
    found = jitter(series)
    assert dataclasses.astuple(found) == (None, 0, 0, 0, len(series))


def test_one_second_no_variation() -> None:
    assert jitter([7]).cv is None


@pytest.mark.parametrize("series", [[-1.0], [math.inf], [1.0, -math.inf]])
def test_what_is_no_tps_is_refused(series: list[float]) -> None:
    for function in (jitter, drift, mser5, steady_state, autocorrelation_time, within_run_error):
        with pytest.raises(ValueError, match="-?(1|inf)"):
            function(series)


@settings(deadline=None)
@given(busy, st.floats(0.01, 100), st.randoms())
def test_jitter_without_unit_or_order(
    values: list[float], factor: float, random: np.random.Generator
) -> None:
    one = jitter(values)
    shuffled = list(values)
    random.shuffle(shuffled)
    other = jitter(
        [value * 2 for value in shuffled]
    )  # a power of two: no value crosses a threshold by rounding
    assert other.cv == pytest.approx(one.cv, rel=1e-6, abs=1e-9)
    scaled = jitter([value * factor for value in values])
    assert scaled.cv == pytest.approx(one.cv, rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(seconds)
def test_no_series_gives_nan_or_an_exception(values: list[float]) -> None:
    results = (
        jitter(values),
        drift(values),
        mser5(values),
        steady_state(values),
        within_run_error(values),
    )
    for result in results:
        for value in dataclasses.astuple(result):
            assert not isinstance(value, float) or math.isfinite(value)
    found = jitter(values)
    assert 0 <= found.longest_stall_s <= found.stall_seconds <= found.seconds
    assert 1 <= autocorrelation_time(values) <= max(1, len(values))


# --- drift ---------------------------------------------------------------------------------------


def test_drift_first_and_last_tenth() -> None:
    found = drift([100] * 10 + [1] * 80 + [40] * 10)
    assert (found.first, found.last) == (100, 40)
    assert found.change == pytest.approx(-0.6)


def test_drift_of_short_and_zero_series() -> None:
    assert drift([1] * 9).change is None
    assert drift([0] * 20).change is None
    assert drift([0] * 20).last == 0
    assert drift([math.nan] * 10 + [5] * 90).first is None


# --- warm-up -------------------------------------------------------------------------------------


def test_mser_cuts_a_slow_start_off() -> None:
    series = noise(300, 0.3, 7)
    series[:40] *= np.linspace(0.2, 0.9, 40)
    found = mser5(series)
    assert 35 <= found.cut_s <= 50
    assert found.settled


def test_mser_keeps_constant_series() -> None:
    for value in (0.0, 0.1, 1 / 3, 7777.7):
        assert dataclasses.astuple(mser5([value] * 300)) == (0, True)


def test_a_series_that_never_settles_says_so() -> None:
    found = mser5(np.linspace(100, 1000, 300))
    assert (found.cut_s, found.settled) == (150, False)


def test_mser_undecided_below_20_seconds() -> None:
    assert dataclasses.astuple(mser5([1, 2] * 9)) == (0, None)
    assert dataclasses.astuple(mser5([math.nan] * 100)) == (0, None)


def test_mser_equals_its_definition() -> None:
    series = recorded("btrfs")[:200]
    z = series.reshape(-1, 5).mean(axis=1)
    k = len(z)
    scores = [((z[d:] - z[d:].mean()) ** 2).sum() / (k - d) ** 2 for d in range(k // 2 + 1)]
    assert mser5(series).cut_s == 5 * int(np.argmin(scores))


@settings(deadline=None)
@given(busy, st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_cut_has_no_unit(values: list[float], factor: float) -> None:
    assert mser5([value * factor for value in values]) == mser5(values)


# --- uncertainty within a run --------------------------------------------------------------------


@pytest.mark.parametrize(("phi", "time_s"), [(0.0, 1.0), (0.3, 1.857), (0.6, 4.0), (0.9, 19.0)])
def test_autocorrelation_time_of_ar1(phi: float, time_s: float) -> None:
    found = np.mean([autocorrelation_time(noise(20_000, phi, seed)) for seed in range(5)])
    assert found == pytest.approx(time_s, rel=0.12)


def test_autocorrelation_time_equals_its_definition() -> None:
    x = recorded("xfs")[1:]
    centred = x - x.mean()
    rho = [float(centred[: len(x) - k] @ centred[k:]) for k in range(len(x))]
    rho = [value / rho[0] for value in rho]
    pairs: list[float] = []
    for k in range(0, len(x) - 1, 2):
        pair = rho[k] + rho[k + 1]
        if pair <= 0:
            break
        pairs.append(min(pair, pairs[-1]) if pairs else pair)
    assert autocorrelation_time(x) == pytest.approx(2 * sum(pairs) - 1)


def test_negative_autocorrelation_counts_as_one() -> None:
    assert autocorrelation_time([1, 2] * 50) == 1
    assert autocorrelation_time([0.1] * 50) == 1
    assert autocorrelation_time([]) == 1


@pytest.mark.long
def test_within_run_error_coverage() -> None:
    covered = 0
    for seed in range(400):
        found = within_run_error(noise(600, 0.6, seed))
        assert found.mean is not None
        assert found.standard_error is not None
        covered += abs(found.mean - 1000) < 1.96 * found.standard_error
    assert 0.90 <= covered / 400 <= 0.98  # a naive error would cover 67 %


def test_the_error_of_few_seconds_is_unknown() -> None:
    assert within_run_error([]).mean is None
    few = within_run_error([5] * 9)
    assert (few.mean, few.standard_error) == (5, None)
    assert within_run_error([0] * 20).standard_error == 0


# --- the published runs --------------------------------------------------------------------------


def test_recorded_stalls_btrfs_not_xfs() -> None:
    xfs, btrfs = jitter(recorded("xfs")), jitter(recorded("btrfs"))
    assert (xfs.stall_seconds, btrfs.stall_seconds) == (
        0,
        28,
    )  # that pgbench was still connecting is no stall
    assert (xfs.seconds, btrfs.seconds) == (900, 900)
    assert xfs.cv is not None
    assert btrfs.cv is not None
    assert btrfs.cv > 1.5 * xfs.cv
    assert btrfs.longest_stall_s == 2


def test_recorded_seconds_autocorrelated() -> None:
    found = within_run_error(recorded("xfs")[10:])
    assert found.effective_seconds < 300
