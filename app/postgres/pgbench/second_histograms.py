"""Latencies of a running benchmark by the second in which the transactions ended.

Lines of the log come late and out of order: pgbench keeps up to 4 KiB of them per thread, which at 50
transactions a second is seconds, at one a second two minutes. A second therefore stays open to additions for
ever; older ones are kept encoded, so that hours cost little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from app.postgres.pgbench.histogram import Histogram, Integers, bucket_of
from app.postgres.pgbench.transaction_log import Outcome, TransactionBatch

_SECOND_US: Final = 1_000_000
_KEPT_DECODED: Final = 60
"""Seconds that are not yet encoded: nearly all additions go to the newest."""
_DENSE: Final = 1 << 18
"""Cells up to which counting into a table is cheaper than sorting, whatever the number of lines."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondLatencies:
    """What is known of one second.

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
        """Transactions that failed, for whatever reason."""
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
        origin_us: when second 0 begins, since the epoch.
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
        """Yield every second that has lines, ascending."""
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
