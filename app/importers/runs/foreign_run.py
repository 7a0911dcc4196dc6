"""A foreign run, ready to be written, with its known and missing values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ForeignDataError
from app.domain.json_value import Json
from app.domain.text import tr
from app.postgres.pgbench.histogram import BUCKETS, Histogram, bucket_of
from app.postgres.pgbench.transaction_log import Outcome, TransactionBatch
from app.runfile.metadata.run_metadata import RunMetadata

# Count the latencies of a whole log by the second: memory grows with its seconds, not with its transactions.
#
# Every transaction is a cell (second, bucket of its latency) of 16 bytes; equal cells are counted together.
# An hour has some 10 MiB of them.


LONGEST_S: Final = 31 * 86_400
_STEP_S: Final = 60
_PENDING_CELLS: Final = 1 << 18
"""Cells after which equal ones are added up."""
_SECOND_US: Final = 1_000_000

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoredSecond:
    """One second of a log.

    Attributes:
        number: seconds since the origin.
        transactions: lines with a latency.
        latency_sum_us: sum of their latencies.
        lag_sum_us: sum of their schedule lags; 0 without ``--rate``.
        skipped: lines of transactions that the latency limit skipped.
        failed: lines of failed transactions.
        histogram: of the latencies.
    """

    number: int
    transactions: int
    latency_sum_us: int
    lag_sum_us: int
    skipped: int
    failed: int
    histogram: Histogram


_COLUMNS: Final = 5
_TRANSACTIONS, _LATENCY, _LAG, _SKIPPED, _FAILED = range(_COLUMNS)


class SecondStore:
    """Takes the transactions of a log in any order.

    Attributes:
        origin_us: start of second 0, since the epoch.
        lines: lines so far, of any outcome.
        transactions: lines with a latency.
        last_us: end of the latest transaction; `origin_us` before the first.
    """

    def __init__(self, origin_us: int) -> None:
        self.origin_us = origin_us
        self.lines = 0
        self.transactions = 0
        self.last_us = origin_us
        self._keys: list[Integers] = []
        self._counts: list[Integers] = []
        self._pending = 0
        self._sums: dict[int, list[int]] = {}

    def add(self, batch: TransactionBatch, *, lag_is_known: bool = True) -> None:
        """Count the transactions of a piece of the log.

        Raises:
            ForeignDataError: the log spans more than a month.
        """
        self.lines += batch.lines
        self.transactions += batch.transactions
        if batch.transactions:
            numbers = self._numbers(batch.epoch_us)
            keys, counts = np.unique(numbers * BUCKETS + bucket_of(batch.latency_us), return_counts=True)
            self._keys.append(keys)
            self._counts.append(counts)
            self._pending += len(keys)
            lag = batch.lag_us if lag_is_known and batch.lag_us is not None else None
            self._add_sums(numbers, batch.latency_us, lag)
        for outcome, epoch_us in batch.others.items():
            column = _SKIPPED if outcome is Outcome.SKIPPED else _FAILED
            found, counted = np.unique(self._numbers(epoch_us), return_counts=True)
            for number, count in zip(found.tolist(), counted.tolist(), strict=True):
                self._row(number)[column] += count
        if self._pending > _PENDING_CELLS:
            self._merge_pending()

    def sums(self) -> Integers:
        """Return rows (number, transactions, sums of latencies and lags, skipped, failed), ascending."""
        rows = [[number, *self._sums[number]] for number in sorted(self._sums)]
        return np.array(rows, np.int64).reshape(-1, 1 + _COLUMNS)

    def seconds(self) -> Iterator[StoredSecond]:
        """Yield every second with lines, ascending."""
        self._merge_pending()
        keys, counts = self._keys[0], self._counts[0]
        for number in sorted(self._sums):
            begin, stop = np.searchsorted(keys, (number * BUCKETS, (number + 1) * BUCKETS))
            histogram = Histogram(keys[begin:stop] - number * BUCKETS, counts[begin:stop])
            row = self._sums[number]
            yield StoredSecond(
                number,
                row[_TRANSACTIONS],
                row[_LATENCY],
                row[_LAG],
                row[_SKIPPED],
                row[_FAILED],
                histogram,
            )

    def _numbers(self, epoch_us: Integers) -> Integers:
        self.last_us = max(self.last_us, int(epoch_us.max()))
        numbers: Integers = (epoch_us - self.origin_us) // _SECOND_US
        if int(numbers.max()) > LONGEST_S or int(numbers.min()) < -_STEP_S:
            message = tr("The log spans more than {days} days, or its times go backwards.")
            hint = tr("If it is from several runs, import each separately.")
            raise ForeignDataError(message.format(days=LONGEST_S // 86_400), hint=hint)
        # After a clock was set back slightly: an end before the first start belongs to second 0.
        return np.maximum(numbers, 0)

    def _row(self, number: int) -> list[int]:
        return self._sums.setdefault(number, [0] * _COLUMNS)

    def _add_sums(self, numbers: Integers, latency_us: Integers, lag_us: Integers | None) -> None:
        found, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        # Exact up to 2**53 µs in one piece of the log, which is 285 years.
        latencies = np.bincount(places, weights=latency_us)
        lags = np.zeros(len(found)) if lag_us is None else np.bincount(places, weights=lag_us)
        for number, count, latency, lag in zip(
            found.tolist(), counts.tolist(), latencies.tolist(), lags.tolist(), strict=True
        ):
            row = self._row(number)
            row[_TRANSACTIONS] += count
            row[_LATENCY] += int(latency)
            row[_LAG] += int(lag)

    def _merge_pending(self) -> None:
        keys, counts = _added(self._keys, self._counts)
        self._keys, self._counts, self._pending = [keys], [counts], 0


def _added(keys: list[Integers], counts: list[Integers]) -> tuple[Integers, Integers]:
    """Return sorted cells, equal ones added up."""
    if len(keys) == 1:
        return keys[0], counts[0]
    if not keys:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    all_keys, all_counts = np.concatenate(keys), np.concatenate(counts)
    order = np.argsort(all_keys, kind="stable")
    all_keys, all_counts = all_keys[order], all_counts[order]
    starts = np.flatnonzero(np.concatenate(([True], all_keys[1:] != all_keys[:-1])))
    if not len(all_keys):
        return all_keys, all_counts
    return all_keys[starts], np.add.reduceat(all_counts, starts)


Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ForeignSeries:
    """One series.

    Attributes:
        metric: see app/domain/metrics.py.
        t_s: end of each interval since the start of the run.
        values: in the metric's unit; NaN is not written.
        source: of the numbers, in words.
    """

    metric: str
    t_s: Array
    values: Array
    source: str


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """An event, see table `event`."""

    t_s: float
    kind: str
    message: str
    data: Mapping[str, Json]


@dataclass(slots=True)
class ForeignRun:
    """One run.

    Attributes:
        digest: of its sources; the same for the same files.
        name: configuration and repeat.
        campaign: its name.
        folder: its campaign as a path below the imported root.
        started_epoch_s: None if unknown.
        duration_s: measured time.
        metadata: all that is known except name, campaign and start.
        facts: of the environment, under the probes' names.
        series: by the second.
        seconds: latencies by the second, None if there are none; may be called once.
        events: of the server.
        outputs: of programs, verbatim.
        marks: (kind, reason) labels.
        missing: (source, reason) of unknown values.
        notes: skipped lines and decisions, by file and line.
    """

    digest: str
    name: str
    campaign: str
    folder: str
    started_epoch_s: float | None = None
    duration_s: float = 0.0
    metadata: RunMetadata = field(default_factory=RunMetadata)
    facts: dict[str, Json] = field(default_factory=dict)
    series: list[ForeignSeries] = field(default_factory=list)
    seconds: Callable[[], Iterator[StoredSecond]] | None = None
    events: list[ForeignEvent] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    marks: list[tuple[str, str]] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
