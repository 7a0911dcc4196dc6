"""Compute percentiles of many encoded histograms at once, equal to `Histogram.decode(...).percentile(...)`.

An hour has 3600 histograms; one by one that takes a third of a second per run, a noticeable wait. The
encoding is that of `app.postgres.pgbench.histogram`; anything unusual is left to `Histogram.decode`, which
refuses it properly.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.postgres.pgbench.histogram import BUCKETS, Histogram, bucket_high, bucket_low

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_BATCH: Final = 256
_VERSION: Final = 1
_LONGEST: Final = 4
"""Bytes of a number: no machine has 2**28 transactions in one bucket of one second."""


def percentiles(encoded: Sequence[bytes], percents: Sequence[float]) -> Array:
    """Return the percentiles in microseconds, a row for each of `percents`, a column for each histogram.

    NaN for an empty histogram.

    Raises:
        CorruptRunFileError: a histogram is damaged.
    """
    rows = np.empty((len(percents), len(encoded)))
    for begin in range(0, len(encoded), _BATCH):
        batch = encoded[begin : begin + _BATCH]
        quick = _batch(batch, percents)
        rows[:, begin : begin + len(batch)] = _one_by_one(batch, percents) if quick is None else quick
    return rows


def merge_encoded(encoded: Iterable[bytes]) -> Histogram:
    """Return all latencies of many encoded histograms in one: `Histogram.merged` of the decoded ones.

    They are decoded in batches: a day's need not be in memory at once.

    Raises:
        CorruptRunFileError: a histogram is damaged.
    """
    dense = np.zeros(BUCKETS, np.int64)
    rest = iter(encoded)
    while batch := tuple(islice(rest, _BATCH)):
        decoded = _decode(batch)
        found = None if decoded is None else _buckets(*decoded)
        if found is None:
            whole = Histogram.merged(map(Histogram.decode, batch))
            dense[whole.buckets] += whole.counts
        else:
            np.add.at(dense, found.buckets, found.counts)
    return Histogram.of_dense(dense)


def _one_by_one(encoded: Sequence[bytes], percents: Sequence[float]) -> Array:
    rows = np.full((len(percents), len(encoded)), np.nan)
    for column, each in enumerate(encoded):
        histogram = Histogram.decode(each)
        if histogram.total:
            rows[:, column] = [histogram.percentile(percent) for percent in percents]
    return rows


def _batch(encoded: Sequence[bytes], percents: Sequence[float]) -> Array | None:
    decoded = _decode(encoded)
    found = None if decoded is None else _buckets(*decoded)
    return None if found is None else _percentiles(found, percents)


def _decode(encoded: Sequence[bytes]) -> tuple[Integers, Integers] | None:
    """Return the numbers of histograms if all have the form of `Histogram.encode`; else None."""
    limit = _LONGEST * (1 + 2 * BUCKETS)
    if not encoded or any(len(each) < 2 or each[0] != _VERSION or len(each) > limit for each in encoded):
        return None
    try:
        contents = [_content(each, limit) for each in encoded]
    except zlib.error:
        return None
    if any(content is None for content in contents):
        return None
    plain = [content for content in contents if content is not None]
    lengths = np.array([len(content) for content in plain])
    octets = np.frombuffer(b"".join(plain), np.uint8)
    return _numbers(octets, np.cumsum(lengths))


def _content(encoded: bytes, limit: int) -> bytes | None:
    stream = zlib.decompressobj()
    content = stream.decompress(encoded[1:], limit)
    return content if stream.eof and not stream.unused_data else None


def _numbers(octets: NDArray[np.uint8], borders: Integers) -> tuple[Integers, Integers] | None:
    """Return all numbers and their count per histogram; None if one is cut off or too long."""
    last = octets < 0x80
    if (borders == np.concatenate(([0], borders[:-1]))).any() or not last[borders - 1].all():
        return None
    ends = np.flatnonzero(last)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > _LONGEST:
        return None
    numbers = (octets[starts] & 0x7F).astype(np.int64)
    for place in range(1, longest):
        longer = np.flatnonzero(lengths > place)
        numbers[longer] |= (octets[starts[longer] + place] & 0x7F).astype(np.int64) << (7 * place)
    counts = np.diff(np.searchsorted(ends, borders), prepend=0)
    return numbers, counts


@dataclass(frozen=True, slots=True)
class _Buckets:
    """Buckets and counts of several histograms in sequence; `firsts` and `sizes` delimit each."""

    buckets: Integers
    counts: Integers
    firsts: Integers
    sizes: Integers


def _buckets(numbers: Integers, lengths: Integers) -> _Buckets | None:
    begins = np.cumsum(lengths) - lengths
    sizes = numbers[begins]
    if (lengths != 1 + 2 * sizes).any() or (sizes > BUCKETS).any():
        return None
    # Positions of gaps and counts of all histograms, in sequence.
    firsts = np.cumsum(sizes) - sizes
    places = np.arange(int(sizes.sum())) - np.repeat(firsts, sizes) + np.repeat(begins + 1, sizes)
    gaps, counts = numbers[places], numbers[places + np.repeat(sizes, sizes)] + 1
    buckets = _within(gaps + 1, firsts, sizes) - 1
    if len(buckets) and int(buckets.max()) >= BUCKETS:
        return None
    return _Buckets(buckets, counts, firsts, sizes)


def _percentiles(found: _Buckets, percents: Sequence[float]) -> Array:
    counts, buckets = found.counts, found.buckets
    ends = np.cumsum(counts)
    before = np.concatenate(([0], ends))[found.firsts]
    totals = np.concatenate(([0], ends))[found.firsts + found.sizes] - before
    rows = np.full((len(percents), len(found.sizes)), np.nan)
    filled = np.flatnonzero(totals)
    for row, percent in enumerate(percents):
        ranks = [max(1, math.ceil(round(percent * total / 100, 6))) for total in totals[filled].tolist()]
        place = np.searchsorted(ends, before[filled] + ranks)
        begin = ends[place] - counts[place]
        share = (before[filled] + ranks - begin - 0.5) / counts[place]
        lows = np.array([bucket_low(bucket) for bucket in buckets[place].tolist()], dtype=np.float64)
        highs = np.array([bucket_high(bucket) for bucket in buckets[place].tolist()], dtype=np.float64)
        rows[row, filled] = lows + (highs - lows) * share
    return rows


def _within(values: Integers, firsts: Integers, sizes: Integers) -> Integers:
    """Return the running sum of each group."""
    sums = np.cumsum(values)
    before = np.concatenate(([0], sums))[firsts]
    within: Integers = sums - np.repeat(before, sizes)
    return within
