"""Latency histograms: their buckets, their percentiles, their bytes."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.domain.errors import CorruptRunFileError
from app.postgres.pgbench.histogram import (
    BUCKETS,
    Histogram,
    bucket_high,
    bucket_low,
    bucket_of,
)
from tests.unit.postgres.exact import exact_percentile

Integers = NDArray[np.int64]
LATENCIES = st.lists(st.integers(0, 10**16 - 1) | st.integers(0, 300), min_size=1, max_size=200)
PERCENTS = (0, 1, 25, 50, 90, 95, 99, 99.9, 100)


def _bucket(latency_us: int) -> int:
    return int(bucket_of(np.array([latency_us], np.int64))[0])


def _same(one: Histogram, other: Histogram) -> bool:
    return np.array_equal(one.buckets, other.buckets) and np.array_equal(one.counts, other.counts)


@given(st.integers(0, 10**16 - 1) | st.integers(0, 10_000))
def test_latency_lies_within_narrow_bucket(latency_us: int) -> None:
    bucket = _bucket(latency_us)
    low, high = bucket_low(bucket), bucket_high(bucket)
    assert low <= latency_us <= high
    assert bucket < BUCKETS
    assert high - low <= 0.0079 * low


def test_exact_buckets_below_256_microseconds() -> None:
    for latency_us in range(257):
        bucket = _bucket(latency_us)
        assert (bucket_low(bucket), bucket_high(bucket)) == (latency_us, latency_us + (latency_us == 256))


@pytest.mark.parametrize("exponent", range(8, 53))
def test_powers_of_two_begin_bucket(exponent: int) -> None:
    assert bucket_low(_bucket(2**exponent)) == 2**exponent
    assert _bucket(2**exponent - 1) == _bucket(2**exponent) - 1


def test_clocks_that_went_backwards_count_as_nothing() -> None:
    assert _bucket(-5) == 0


def _distributions() -> dict[str, Integers]:
    random = np.random.default_rng(20030401)
    size = 20_000
    drawn = {
        "lognormal": random.lognormal(6, 0.5, size),
        "wide lognormal": random.lognormal(8, 2, size),
        "exponential": random.exponential(700, size),
        "uniform": random.uniform(0, 1e6, size),
        "pareto": (random.pareto(1.1, size) + 1) * 50,
        "two humps": np.concatenate([random.normal(80, 9, size), random.normal(40_000, 3000, size // 50)]),
        "stall": np.concatenate([random.normal(300, 30, size), np.full(30, 3_000_000)]),
        "constant": np.full(size, 31_337),
        "seconds": random.gamma(3, 5e6, size),
        "few": random.lognormal(6, 1, 7),
    }
    return {name: np.maximum(values, 0).astype(np.int64) for name, values in drawn.items()}


DISTRIBUTIONS = _distributions()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_recorded_percentiles_within_one_percent(name: str) -> None:
    latency_us = DISTRIBUTIONS[name]
    histogram = Histogram.of(latency_us)
    assert histogram.total == len(latency_us)
    for percent in PERCENTS:
        exact = exact_percentile(latency_us, percent)
        assert histogram.percentile(percent) == pytest.approx(exact, rel=0.008)


@given(LATENCIES, st.sampled_from(PERCENTS))
def test_random_percentiles_within_one_percent(latencies: list[int], percent: float) -> None:
    latency_us = np.array(latencies, np.int64)
    exact = exact_percentile(latency_us, percent)
    assert Histogram.of(latency_us).percentile(percent) == pytest.approx(exact, rel=0.008)


def test_percentile_is_smallest_sufficient_latency() -> None:
    histogram = Histogram.of(np.arange(1, 101))
    assert [histogram.percentile(percent) for percent in (0, 1, 1.5, 50, 99, 100)] == [1, 1, 2, 50, 99, 100]
    thousand = Histogram.of(np.repeat(np.arange(100), 10))
    assert thousand.percentile(99.9) == 99  # 999 of 1000, not 999.0000000001


def test_exact_percentile_agrees_with_numpy() -> None:
    latency_us = DISTRIBUTIONS["lognormal"][:19_997]
    for percent in PERCENTS:
        expected = np.percentile(latency_us, percent, method="inverted_cdf")
        assert exact_percentile(latency_us, percent) == expected


def test_percentiles_never_fall_when_the_share_rises() -> None:
    histogram = Histogram.of(DISTRIBUTIONS["wide lognormal"])
    values = [histogram.percentile(percent) for percent in np.linspace(0, 100, 501).tolist()]
    assert values == sorted(values)


@given(LATENCIES, LATENCIES)
def test_merging_is_counting_together(one: list[int], other: list[int]) -> None:
    first, second = (Histogram.of(np.array(each, np.int64)) for each in (one, other))
    together = Histogram.of(np.array(one + other, np.int64))
    assert _same(first.merge(second), together)
    assert _same(Histogram.merged([Histogram.empty(), second, first]), together)


@given(LATENCIES, st.data())
def test_encoding_is_lossless_and_compact(latencies: list[int], data: st.DataObject) -> None:
    histogram = Histogram.of(np.array(latencies, np.int64))
    factor = data.draw(st.integers(1, 2**30))
    many = Histogram(histogram.buckets, histogram.counts * factor)
    assert _same(Histogram.decode(many.encode()), many)


def test_nothing_is_encoded_too() -> None:
    encoded = Histogram.empty().encode()
    assert Histogram.decode(encoded).total == 0
    assert len(encoded) < 16


def test_second_of_10000_transactions_is_small() -> None:
    latency_us = np.random.default_rng(1).lognormal(6, 0.45, 10_000).astype(np.int64)
    assert len(Histogram.of(latency_us).encode()) < 450


@pytest.mark.parametrize("percent", [-0.1, 100.1, math.nan])
def test_invalid_shares(percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        Histogram.of(np.array([1])).percentile(percent)


def test_nothing_has_no_percentiles() -> None:
    with pytest.raises(ValueError, match="percentile 50 of 0"):
        Histogram.empty().percentile(50)


ENCODED = Histogram.of(DISTRIBUTIONS["lognormal"]).encode()


@given(st.integers(0, len(ENCODED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(ENCODED)
    damaged[place] ^= change
    try:
        decoded = Histogram.decode(bytes(damaged))
    except CorruptRunFileError:
        return
    # Bits that carry no content may differ: the claimed level in zlib's header (RFC 1950, 2.2), and those
    # that fill up a byte of deflate's data (RFC 1951, 3.2.4; byte 527 was seen).
    assert _same(decoded, Histogram.decode(ENCODED))


@given(st.integers(0, len(ENCODED) - 1))
def test_a_cut_is_noticed(length: int) -> None:
    with pytest.raises(CorruptRunFileError, match="damaged"):
        Histogram.decode(ENCODED[:length])


def test_bytes_that_follow_are_noticed() -> None:
    with pytest.raises(CorruptRunFileError, match="invalid data"):
        Histogram.decode(ENCODED + b"x")


@given(st.binary(max_size=100) | st.binary(max_size=100).map(lambda content: b"\1" + zlib.compress(content)))
def test_any_bytes_decode_or_raise(encoded: bytes) -> None:
    try:
        histogram = Histogram.decode(encoded)
    except CorruptRunFileError:
        return
    assert (histogram.counts > 0).all()
    assert (np.diff(histogram.buckets) > 0).all()
    if len(histogram.buckets):
        assert 0 <= histogram.buckets[0] <= histogram.buckets[-1] < BUCKETS


def _numbers(*numbers: int) -> bytes:
    content = bytearray()
    for number in numbers:
        rest = number
        while rest > 127:
            content.append(128 | (rest & 127))
            rest >>= 7
        content.append(rest)
    return b"\1" + zlib.compress(bytes(content))


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        (b"", "invalid data"),
        (b"\2" + ENCODED[1:], "invalid data"),
        (b"\1", "invalid data"),
        (b"\1abc", "incorrect header"),
        (_numbers(2, 0, 0, 5), "invalid data"),
        (_numbers(1, 2**63 - 1, 5), "invalid data"),
        (_numbers(2, BUCKETS - 1, 0, 5, 5), "invalid data"),
        (_numbers(1, 3, 2**60), "invalid data"),
        (_numbers(1, 3, 2**70), "invalid data"),
        (b"\1" + zlib.compress(b"\1\3\x85"), "invalid data"),
        (b"\1" + zlib.compress(b""), "invalid data"),
        (b"\1" + zlib.compress(bytes(10_000_000)), "invalid data"),
    ],
)
def test_foreign_bytes_are_refused_with_the_reason(encoded: bytes, reason: str) -> None:
    with pytest.raises(CorruptRunFileError, match=reason):
        Histogram.decode(encoded)
