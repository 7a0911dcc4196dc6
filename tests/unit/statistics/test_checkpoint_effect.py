"""What checkpoints cost, found again in runs whose truth is known: cycles, drift and noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from app.statistics.series import checkpoint_effect


def run_of(
    depth: float, *, cycle_s: int = 300, cycles: int = 12, drift: float = 0.0, cv: float = 0.1, seed: int = 1
) -> NDArray[np.float64]:
    """Return TPS that begin each cycle `depth` below its end, rise over its first half, and drift."""
    rise = np.minimum(1.0, np.arange(cycle_s) / (cycle_s / 2))
    profile = np.tile(1 - depth + depth * rise, cycles)
    length = len(profile)
    noise = np.random.default_rng(seed).normal(1, cv, length)
    return np.maximum(0, 5000 * profile * (1 + drift * np.arange(length) / length) * noise)


def truth(depth: float) -> float:
    """The first fifth of the profile against its last: it rises to two fifths of the depth there."""
    first = np.mean(1 - depth + depth * np.arange(60) / 150)
    return float(first) - 1


@pytest.mark.parametrize("drift", [0.0, -0.5, 0.6])
@pytest.mark.parametrize("depth", [0.0, 0.1, 0.3, 0.6])
def test_known_effect_despite_drift(depth: float, drift: float) -> None:
    found = checkpoint_effect(run_of(depth, drift=drift), range(0, 3601, 300))
    assert found is not None
    assert found.cycles == 12
    assert found.change == pytest.approx(truth(depth), abs=0.03)
    assert found.low <= found.change <= found.high


@pytest.mark.long
def test_noise_seldom_certain() -> None:
    found = [checkpoint_effect(run_of(0.0, cycles=6, seed=seed), range(0, 1801, 300)) for seed in range(400)]
    assert (
        sum(each is not None and each.is_certain for each in found) / len(found) < 0.09
    )  # 5 %, three errors


def test_too_few_or_short_cycles() -> None:
    tps = run_of(0.5)
    assert checkpoint_effect(tps, [0, 300, 600]) is None
    assert checkpoint_effect(tps, range(0, 50, 5)) is None
    assert checkpoint_effect(tps, []) is None
    assert checkpoint_effect([], [0, 300, 600, 900]) is None
    assert checkpoint_effect([0.0] * 3600, range(0, 3601, 300)) is None


def test_missed_and_zero_cycles_excluded() -> None:
    tps = run_of(0.3)
    tps[100:140] = math.nan
    tps[600:900] = 0.0
    found = checkpoint_effect(tps, range(0, 3601, 300))
    assert found is not None
    assert found.cycles == 11
    assert found.change == pytest.approx(truth(0.3), abs=0.05)
