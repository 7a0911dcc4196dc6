"""Latency histograms that can be added up, over time and over runs, without losing percentiles.

Buckets are log-linear: 128 per power of two, so that a bucket is at most 0.79 % wide and every whole number
of microseconds below 256 has its own bucket (the idea of HdrHistogram, with the floating-point format doing
the arithmetic). Bucket 0 is for 0 µs; bucket ``1 + i`` is for the values whose binary floating-point exponent
and first seven bits of the fraction are `i`.

`SecondHistograms` sorts the latencies of a running benchmark into the seconds in which the transactions
ended. Log lines come late and out of order: pgbench buffers up to 4 KiB of them per thread, which is several
seconds at 50 transactions per second and two minutes at one. A second therefore always accepts additions;
older ones are kept encoded to save memory.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import CorruptRunFileError
from app.domain.text import tr
from app.postgres.pgbench.transaction_log import Outcome, TransactionBatch

Integers = NDArray[np.int64]

_FRACTION_BITS: Final = 7
_SHIFT: Final = 52 - _FRACTION_BITS
"""A double has 52 bits of fraction; a float32 would round latencies above 16 s into the next bucket."""
_BIAS: Final = 1023 << _FRACTION_BITS
BUCKETS: Final = 2 + (54 << _FRACTION_BITS)
"""Up to 2**54 µs, which is 571 years and more than 16 digits."""

_VERSION: Final = 1
_MOST_NUMBERS: Final = 1 + 2 * BUCKETS
_LONGEST_NUMBER: Final = 9
"""Bytes of a number of 63 bits, with seven bits each."""


def bucket_of(latency_us: Integers) -> Integers:
    """Return the bucket of each latency; 0 for negative ones, which no clock yields."""
    bits: Integers = latency_us.astype(np.float64).view(np.int64)
    buckets: Integers = np.maximum((bits >> _SHIFT) - (_BIAS - 1), 0)
    return buckets


def bucket_low(bucket: int) -> int:
    """Return the smallest whole number of microseconds in a bucket that contains any."""
    if bucket == 0:
        return 0
    exponent, fraction = divmod(bucket - 1, 1 << _FRACTION_BITS)
    # Exactly: 2**exponent * (1 + fraction / 128), rounded up.
    scaled = ((1 << _FRACTION_BITS) + fraction) << exponent
    return -(-scaled >> _FRACTION_BITS)


def bucket_high(bucket: int) -> int:
    """Return the largest whole number of microseconds in a bucket that contains any."""
    return bucket_low(bucket + 1) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Number of latencies per bucket.

    Attributes:
        buckets: numbers of the buckets that are not empty, ascending.
        counts: latencies in each, at least one.
    """

    buckets: Integers
    counts: Integers

    @classmethod
    def empty(cls) -> Self:
        """Return an empty histogram."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of(cls, latency_us: Integers) -> Self:
        """Return the histogram of these latencies."""
        return cls.of_dense(np.bincount(bucket_of(latency_us)))

    @classmethod
    def of_dense(cls, counts: Integers) -> Self:
        """Return the histogram of counts by bucket number, zeros included."""
        buckets = np.flatnonzero(counts)
        return cls(buckets, counts[buckets].astype(np.int64))

    @classmethod
    def merged(cls, histograms: Iterable[Histogram]) -> Self:
        """Return the sum of several histograms."""
        dense = np.zeros(BUCKETS, np.int64)
        for histogram in histograms:
            dense[histogram.buckets] += histogram.counts
        return cls.of_dense(dense)

    @property
    def total(self) -> int:
        """Latencies in all buckets."""
        return int(self.counts.sum())

    def merge(self, other: Histogram) -> Histogram:
        """Return the sum of both."""
        return Histogram.merged((self, other))

    def percentile(self, percent: float) -> float:
        """Return the latency in microseconds that `percent` of the latencies do not exceed.

        It is the smallest latency with at least that share at or below it (percentile_disc() of PostgreSQL,
        "inverted_cdf" of numpy) as precisely as its bucket allows: latencies are assumed to be evenly spread
        within a bucket. The error is below the bucket's width of 0.79 %, and zero below 256 µs.

        Args:
            percent: 0 to 100; 100 is the maximum.

        Raises:
            ValueError: there are no latencies, or `percent` is out of range.
        """
        rank = self._rank(percent)
        ends = np.cumsum(self.counts)
        place = int(np.searchsorted(ends, rank))
        bucket, count = int(self.buckets[place]), int(self.counts[place])
        share = (rank - (int(ends[place]) - count) - 0.5) / count
        low = bucket_low(bucket)
        return low + (bucket_high(bucket) - low) * share

    def encode(self) -> bytes:
        """Encode as compact bytes: a version byte, then zlib over variable-length numbers.

        The numbers are: the number of buckets; for each the number of empty ones before it; for each its
        count minus one. Seven bits to a byte, lowest first, the eighth bit set if more follow (LEB128).
        """
        gaps = np.diff(self.buckets, prepend=-1) - 1
        numbers = np.concatenate(([len(self.buckets)], gaps, self.counts - 1))
        return bytes([_VERSION]) + zlib.compress(_encode_numbers(numbers), 9)

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Decode the bytes of `encode`.

        Raises:
            CorruptRunFileError: the bytes are invalid.
        """
        if encoded[:1] != bytes([_VERSION]):
            raise _corrupt(tr("invalid data"))
        numbers = _decode_numbers(_decompress(encoded[1:]))
        size = int(numbers[0]) if len(numbers) else -1
        if len(numbers) != 1 + 2 * size:
            raise _corrupt(tr("invalid data"))
        gaps, counts = numbers[1 : 1 + size], numbers[1 + size :]
        if (gaps >= BUCKETS).any():
            raise _corrupt(tr("invalid data"))
        buckets = np.cumsum(gaps + 1) - 1
        if size and buckets[-1] >= BUCKETS:
            raise _corrupt(tr("invalid data"))
        if (counts >= 2**48).any():  # more transactions than a second has nanoseconds
            raise _corrupt(tr("invalid data"))
        return cls(buckets, counts + 1)

    def _rank(self, percent: float) -> int:
        total = self.total
        if not total or not 0 <= percent <= 100:
            raise ValueError(f"percentile {percent} of {total}")
        # Rounded first: 99.9 % of 1000 is 999, not a hair above it.
        return max(1, math.ceil(round(percent * total / 100, 6)))


def _encode_numbers(numbers: Integers) -> bytes:
    parts = bytearray()
    for number in numbers.tolist():
        rest = number
        while rest > 0x7F:
            parts.append(0x80 | (rest & 0x7F))
            rest >>= 7
        parts.append(rest)
    return bytes(parts)


def _decode_numbers(encoded: bytes) -> Integers:
    octets = np.frombuffer(encoded, np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if not len(ends) or int(ends[-1]) != len(octets) - 1:
        raise _corrupt(tr("invalid data"))
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if int(lengths.max()) > _LONGEST_NUMBER:
        raise _corrupt(tr("invalid data"))
    place = np.arange(len(octets)) - np.repeat(starts, lengths)
    return np.add.reduceat((octets & 0x7F).astype(np.int64) << (7 * place), starts)


def _decompress(encoded: bytes) -> bytes:
    """Decompress, limited to the maximum size of a histogram."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(encoded, _MOST_NUMBERS * _LONGEST_NUMBER)
    except zlib.error as err:
        raise _corrupt(str(err)) from err
    if not stream.eof or stream.unused_data:
        raise _corrupt(tr("invalid data"))
    return content


def _corrupt(reason: str) -> CorruptRunFileError:
    return CorruptRunFileError(
        tr("A latency histogram in the run file is damaged: {reason}.").format(reason=reason),
        hint=tr("The other figures of the run may still be right; restore the file from a copy."),
    )


_SECOND_US: Final = 1_000_000
_KEPT_DECODED: Final = 60
"""Number of seconds that stay decoded: nearly all additions go to the newest."""
_DENSE: Final = 1 << 18
"""Cells up to which counting into a table is cheaper than sorting, for any number of lines."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondLatencies:
    """Transactions of one second.

    Attributes:
        number: seconds since the origin; negative before it.
        transactions: log lines with a latency.
        latency_sum_us: sum of their latencies.
        others: log lines without a latency by outcome.
        histogram: of their latencies.
    """

    number: int
    transactions: int
    latency_sum_us: int
    others: Mapping[Outcome, int]
    histogram: Histogram

    @property
    def skipped(self) -> int:
        """Transactions that the latency limit skipped."""
        return self.others.get(Outcome.SKIPPED, 0)

    @property
    def failed(self) -> int:
        """Transactions that failed, for any reason."""
        return sum(count for outcome, count in self.others.items() if outcome is not Outcome.SKIPPED)


@dataclass(slots=True)
class _Second:
    transactions: int = 0
    latency_sum_us: int = 0
    others: dict[Outcome, int] = field(default_factory=dict)
    histogram: Histogram | bytes = field(default_factory=Histogram.empty)

    def decoded(self) -> Histogram:
        if isinstance(self.histogram, bytes):
            return Histogram.decode(self.histogram)
        return self.histogram


class SecondHistograms:
    """Sorts transactions into seconds; every transaction is counted exactly once.

    Attributes:
        origin_us: start of second 0, since the epoch.
    """

    def __init__(self, origin_us: int) -> None:
        self.origin_us = origin_us
        self._seconds: dict[int, _Second] = {}
        self._decoded: set[int] = set()
        self._changed: set[int] = set()

    def add(self, batch: TransactionBatch) -> None:
        """Count the transactions of a piece of the log."""
        if batch.transactions:
            self._add_latencies(batch)
        for outcome, epoch_us in batch.others.items():
            numbers, counts = np.unique(self._numbers(epoch_us), return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                others = self._second(number).others
                others[outcome] = others.get(outcome, 0) + count
        self._encode_old()

    def __iter__(self) -> Iterator[SecondLatencies]:
        """Yield every second with lines, ascending."""
        return map(self._latencies, sorted(self._seconds))

    def take_changed(self) -> tuple[SecondLatencies, ...]:
        """Return the seconds with new lines since the last call, ascending, each with all its lines."""
        changed, self._changed = sorted(self._changed), set()
        return tuple(map(self._latencies, changed))

    def _numbers(self, epoch_us: Integers) -> Integers:
        numbers: Integers = (epoch_us - self.origin_us) // _SECOND_US
        return numbers

    def _second(self, number: int) -> _Second:
        self._changed.add(number)
        return self._seconds.setdefault(number, _Second())

    def _add_latencies(self, batch: TransactionBatch) -> None:
        numbers, buckets = self._numbers(batch.epoch_us), bucket_of(batch.latency_us)
        first, width = int(numbers.min()), int(buckets.max()) + 1
        cells = (numbers - first) * width + buckets
        span = int(numbers.max()) - first + 1
        if span * width <= _DENSE + 8 * len(cells):
            counted = np.bincount(cells)
            present = np.flatnonzero(counted)
            counts = counted[present]
        else:  # few lines, far apart
            present, counts = np.unique(cells, return_counts=True)
        row_of = present // width
        rows, begins = np.unique(row_of, return_index=True)
        ends = np.append(begins[1:], len(present))
        sums = _sums(numbers - first, batch.latency_us, rows)
        for row, begin, end, latency_sum_us in zip(
            rows.tolist(), begins.tolist(), ends.tolist(), sums, strict=True
        ):
            second = self._second(first + row)
            added = Histogram(present[begin:end] - row * width, counts[begin:end].astype(np.int64))
            second.histogram = second.decoded().merge(added) if second.transactions else added
            self._decoded.add(first + row)
            second.transactions += added.total
            second.latency_sum_us += latency_sum_us

    def _encode_old(self) -> None:
        if len(self._decoded) <= 2 * _KEPT_DECODED:
            return
        for number in sorted(self._decoded)[:-_KEPT_DECODED]:
            second = self._seconds[number]
            second.histogram = second.decoded().encode()
            self._decoded.discard(number)

    def _latencies(self, number: int) -> SecondLatencies:
        second = self._seconds[number]
        return SecondLatencies(
            number, second.transactions, second.latency_sum_us, dict(second.others), second.decoded()
        )


def _sums(row_of: Integers, latency_us: Integers, rows: Integers) -> list[int]:
    """Return the sum of latencies of each of `rows`; exact up to 2**53 µs, which is 285 years."""
    if len(rows) == 1:
        return [int(latency_us.sum())]
    sums = np.bincount(np.searchsorted(rows, row_of), weights=latency_us)
    return [int(each) for each in sums]
