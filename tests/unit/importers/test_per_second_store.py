"""Latencies by the second: the same as counting them all at once, whatever the rate."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import ForeignDataError
from app.importers.runs import foreign_run as second_store
from app.importers.runs.foreign_run import LONGEST_S, SecondStore
from app.postgres.pgbench.histogram import Histogram, bucket_of
from app.postgres.pgbench.transaction_log import Outcome, TransactionBatch

ORIGIN_US = 1_700_000_000_000_000


def batch(ends_us: list[int], latencies_us: list[int], lag_us: list[int] | None = None) -> TransactionBatch:
    lags = None if lag_us is None else np.array(lag_us, np.int64)
    return TransactionBatch(np.array(ends_us, np.int64) + ORIGIN_US, np.array(latencies_us, np.int64), lags)


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2_000_000_000), st.integers(0, 10**7)), min_size=1, max_size=20),
        max_size=12,
    ),
    st.integers(0, 30),
)
def test_every_transaction_in_its_second(batches: list[list[tuple[int, int]]], pending: int) -> None:
    store = SecondStore(ORIGIN_US)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(second_store, "_PENDING_CELLS", pending)
        for each in batches:
            store.add(batch([end for end, _ in each], [latency for _, latency in each]))
    found = list(store.seconds())
    sums = store.sums()
    expected: dict[int, list[int]] = {}
    for each in batches:
        for end, latency in each:
            expected.setdefault(end // 1_000_000, []).append(latency)
    assert [second.number for second in found] == sorted(expected) == sums[:, 0].tolist()
    for second in found:
        latencies = expected[second.number]
        assert second.transactions == len(latencies)
        assert second.latency_sum_us == sum(latencies)
        counted = Counter(bucket_of(np.array(latencies, np.int64)).tolist())
        assert (
            dict(zip(second.histogram.buckets.tolist(), second.histogram.counts.tolist(), strict=True))
            == counted
        )


def test_skipped_failed_and_lags_summed() -> None:
    store = SecondStore(ORIGIN_US)
    store.add(batch([1, 2, 1_000_001], [10, 20, 30], [5, 6, 7]))
    others = {
        Outcome.SKIPPED: np.array([ORIGIN_US + 3]),
        Outcome.DEADLOCK: np.array([ORIGIN_US + 4, ORIGIN_US + 2_000_000]),
    }
    empty = np.empty(0, np.int64)
    store.add(TransactionBatch(empty, empty, others=others))
    assert store.sums().tolist() == [[0, 2, 30, 11, 1, 1], [1, 1, 30, 7, 0, 0], [2, 0, 0, 0, 0, 1]]
    assert (store.lines, store.transactions, store.last_us) == (6, 3, ORIGIN_US + 2_000_000)
    assert [second.histogram.total for second in store.seconds()] == [2, 1, 0]


def test_log_too_long_or_before_start() -> None:
    store = SecondStore(ORIGIN_US)
    with pytest.raises(ForeignDataError, match="31 days"):
        store.add(batch([(LONGEST_S + 2) * 1_000_000], [1]))
    with pytest.raises(ForeignDataError, match="go backwards"):
        store.add(batch([-61_000_000], [1]))


def test_small_clock_setback_in_first_second() -> None:
    store = SecondStore(ORIGIN_US)
    store.add(batch([-500_000, 10], [1, 2]))
    assert store.sums().tolist() == [[0, 2, 3, 0, 0, 0]]


def _peak_bytes(transactions: int) -> int:
    """Memory at its peak while ten seconds of a log are counted."""
    random = np.random.default_rng(1)
    tracemalloc.start()
    try:
        store = SecondStore(ORIGIN_US)
        for _ in range(0, transactions, 30_000):
            ends = ORIGIN_US + random.integers(0, 10_000_000, 30_000)
            latencies = random.lognormal(7, 1.5, 30_000).astype(np.int64)
            store.add(TransactionBatch(ends, latencies))
        assert sum(second.histogram.total for second in store.seconds()) == store.transactions
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_independent_of_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_store, "_PENDING_CELLS", 1 << 14)
    small, large = _peak_bytes(150_000), _peak_bytes(1_500_000)
    assert large < 1.25 * small


def test_histograms_match_program() -> None:
    store = SecondStore(ORIGIN_US)
    store.add(batch([1, 2, 3], [100, 100, 5000]))
    (second,) = store.seconds()
    assert second.histogram.encode() == Histogram.of(np.array([100, 100, 5000])).encode()
