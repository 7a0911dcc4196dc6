"""The rate of a sampled log from its lines and the transactions: found for every rate that people choose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.importers.formats.transaction_logs import LogSampling, find_sampling


@pytest.mark.parametrize(("transactions", "lines"), [(27_539_822, 275_580), (12_628_005, 126_091)])
def test_published_runs_sampled_at_one_percent(transactions: int, lines: int) -> None:
    assert find_sampling(lines, transactions) == LogSampling(100.0)


@settings(deadline=None)
@given(
    st.sampled_from([0.5, 0.4, 0.25, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001]),
    st.integers(200_000, 50_000_000),
    st.integers(0, 2**32),
)
def test_usual_rates_estimated_from_samples(rate: float, transactions: int, seed: int) -> None:
    lines = int(np.random.default_rng(seed).binomial(transactions, rate))
    found = find_sampling(lines, transactions)
    assert found.one_in == pytest.approx(1 / rate)


def test_full_log_states_missing_lines() -> None:
    assert find_sampling(1000, 1000) == LogSampling(1.0)
    assert find_sampling(1000, 998) == LogSampling(1.0)  # counters that end before the log does
    assert find_sampling(990, 1000) == LogSampling(1.0, missing=10)


def test_unusual_rate_scaled_by_observed() -> None:
    found = find_sampling(123_457, 1_000_000_000)
    assert found.one_in == pytest.approx(8100, rel=0.01)
