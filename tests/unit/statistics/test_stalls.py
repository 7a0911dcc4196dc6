"""Seconds in which next to nothing was done, told from drift, bursts and the edges of a run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.statistics.series import stalled_seconds

HOUR = 3600


def run_of(seconds: int, dead: NDArray[np.intp], seed: int = 1) -> NDArray[np.float64]:
    """Return about 5,000 TPS, and 0.5 to 8 in the dead seconds."""
    random = np.random.default_rng(seed)
    tps = random.normal(5000, 300, seconds)
    tps[dead] = random.uniform(0.5, 8, len(dead))
    return tps


def scattered(share: float) -> NDArray[np.intp]:
    return np.random.default_rng(2).choice(np.arange(2, HOUR - 2), round(share * HOUR), replace=False)


def in_blocks(share: float) -> NDArray[np.intp]:
    """Ten blocks, evenly over the hour, none at its edges."""
    length = round(share * HOUR / 10)
    return np.concatenate([np.arange(start, start + length) for start in range(10, HOUR - 350, 350)[:10]])


def at_the_end(share: float) -> NDArray[np.intp]:
    return np.arange(HOUR - round(share * HOUR), HOUR)


@pytest.mark.parametrize("where", [scattered, in_blocks, at_the_end])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.49, 0.6, 0.9])
def test_dead_seconds_within_five_percent(where: Callable[[float], NDArray[np.intp]], share: float) -> None:
    dead = where(share)
    stalled = np.flatnonzero(stalled_seconds(run_of(HOUR, dead)))
    assert len(np.setxor1d(stalled, dead)) <= 0.05 * len(dead)


@pytest.mark.parametrize("slow", [30, 120, 300])
def test_slow_seconds_are_stalls(slow: float) -> None:
    tps = run_of(HOUR, np.arange(0))
    tps[1000:1060] = slow
    assert np.flatnonzero(stalled_seconds(tps)).tolist() == list(range(1000, 1060))


def test_lasting_drop_is_drift() -> None:
    tps = run_of(HOUR, np.arange(0))
    tps[300:] *= 0.08
    assert not stalled_seconds(tps).any()


def test_burst_makes_no_stalls() -> None:
    tps = run_of(HOUR, np.arange(0)) / 50
    for start in range(200, HOUR, 400):
        tps[start : start + 10] *= 50
    assert not stalled_seconds(tps).any()


def test_edge_seconds_alone_no_stall() -> None:
    tps = run_of(60, np.array([0, 59]))
    assert not stalled_seconds(tps).any()
    tps[55:] = 0.0
    tps[1] = 0.0
    assert np.flatnonzero(stalled_seconds(tps)).tolist() == [0, 1, 55, 56, 57, 58, 59]


def test_missed_second_no_stall() -> None:
    tps = run_of(600, np.array([300, 301, 303]))
    tps[302] = math.nan
    assert np.flatnonzero(stalled_seconds(tps)).tolist() == [300, 301, 303]
    assert not stalled_seconds([math.nan] * 20).any()
    assert stalled_seconds([]).tolist() == []


def test_all_zero_run_stalled() -> None:
    assert stalled_seconds([0.0] * 30).all()


@given(st.lists(st.integers(0, 10**6) | st.just(math.nan), max_size=80), st.integers(-3, 3))
def test_stalls_have_no_unit(values: list[float], exponent: int) -> None:
    power = 2.0**exponent
    assert stalled_seconds(np.array(values, dtype=float) * power).tolist() == stalled_seconds(values).tolist()
