"""Transactions sorted into seconds."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.postgres.pgbench.histogram import Histogram, SecondHistograms, SecondLatencies
from app.postgres.pgbench.transaction_log import LogFormat, Outcome, TransactionBatch, parse_transactions
from tests.unit.postgres.exact import exact_percentile

ORIGIN_US = 1795171066_250_000


def _batch(*transactions: tuple[int, int]) -> TransactionBatch:
    """Of (microseconds after the origin, latency)."""
    ends, latencies = np.array(transactions, np.int64).reshape(-1, 2).T
    return TransactionBatch(ends + ORIGIN_US, latencies)


def test_transaction_end_decides_second() -> None:
    seconds = SecondHistograms(ORIGIN_US)
    seconds.add(_batch((0, 10), (999_999, 20), (1_000_000, 30), (5_500_000, 40), (-1, 50)))
    found = {second.number: (second.transactions, second.latency_sum_us) for second in seconds}
    assert found == {-1: (1, 50), 0: (2, 30), 1: (1, 30), 5: (1, 40)}


def test_late_lines_added_to_their_second() -> None:
    seconds = SecondHistograms(ORIGIN_US)
    for number in range(500):
        seconds.add(_batch((number * 1_000_000, 100 + number)))
    seconds.add(_batch((3_000_000, 7), (400_000_000, 9)))
    found = list(seconds)
    assert [second.number for second in found] == list(range(500))
    assert found[3].histogram.buckets.tolist() == Histogram.of(np.array([7, 103])).buckets.tolist()
    assert (found[3].transactions, found[3].latency_sum_us) == (2, 110)
    assert (found[400].transactions, found[400].latency_sum_us) == (2, 509)


def test_only_changed_seconds_taken() -> None:
    seconds = SecondHistograms(ORIGIN_US)
    seconds.add(_batch((0, 10), (1_000_000, 20)))
    assert [second.number for second in seconds.take_changed()] == [0, 1]
    assert seconds.take_changed() == ()
    seconds.add(_batch((1_000_001, 30)))
    (changed,) = seconds.take_changed()
    assert (changed.number, changed.transactions, changed.latency_sum_us) == (1, 2, 50)
    assert changed.histogram.total == 2


def test_failures_counted_by_kind_and_second() -> None:
    seconds = SecondHistograms(1795171066_000_000)
    log = (
        b"0 1 skipped 0 1795171066 1\n0 2 skipped 0 1795171067 1\n0 3 failed 0 1795171067 2\n"
        b"0 4 deadlock 0 1795171067 3\n0 5 serialization 0 1795171069 4\n0 6 80 0 1795171067 5\n"
    )
    seconds.add(parse_transactions(log, LogFormat()))
    first, second, fourth = seconds
    assert (first.transactions, first.skipped, first.failed) == (0, 1, 0)
    assert (second.transactions, second.skipped, second.failed) == (1, 1, 2)
    assert second.others == {Outcome.SKIPPED: 1, Outcome.FAILED: 1, Outcome.DEADLOCK: 1}
    assert (fourth.number, fourth.others) == (3, {Outcome.SERIALIZATION: 1})


def test_any_window_has_its_percentiles() -> None:
    random = np.random.default_rng(20220912)
    ends = np.sort(random.integers(0, 200_000_000, 50_000))
    latencies = random.lognormal(6, 1, 50_000).astype(np.int64)
    seconds = SecondHistograms(ORIGIN_US)
    for piece in np.array_split(np.arange(50_000), 83):
        seconds.add(TransactionBatch(ends[piece] + ORIGIN_US, latencies[piece]))
    for first, last in ((0, 199), (0, 0), (17, 101), (198, 500)):
        inside = latencies[(ends >= first * 1_000_000) & (ends < (last + 1) * 1_000_000)]
        merged = Histogram.merged(each.histogram for each in seconds if first <= each.number <= last)
        assert merged.total == len(inside)
        for percent in (50, 99, 99.9):
            exact = exact_percentile(inside, percent)
            assert merged.percentile(percent) == pytest.approx(exact, rel=0.008)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-(10**9), 10**12), st.integers(0, 10**9)), max_size=30), max_size=8
    )
)
def test_any_order_counts_transactions_once(pieces: list[list[tuple[int, int]]]) -> None:
    seconds = SecondHistograms(ORIGIN_US)
    expected: dict[int, list[int]] = defaultdict(list)
    for piece in pieces:
        seconds.add(_batch(*piece))
        for end, latency in piece:
            expected[end // 1_000_000].append(latency)
    found: dict[int, SecondLatencies] = {second.number: second for second in seconds}
    assert sorted(expected) == sorted(found)
    for number, latencies in expected.items():
        second, exact = found[number], Histogram.of(np.array(latencies, np.int64))
        assert (second.transactions, second.latency_sum_us) == (len(latencies), sum(latencies))
        assert second.histogram.buckets.tolist() == exact.buckets.tolist()
        assert second.histogram.counts.tolist() == exact.counts.tolist()
