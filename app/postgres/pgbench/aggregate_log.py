"""pgbench's aggregated log (``--aggregate-interval``): one line per interval and thread.

No source of a live run (pgbench flushes 4 KiB, that is about once a minute); read from results of others.
Formats of 13 to 19rc1 (doLog() of pgbench.c; recorded in tests/data/pgbench).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

from app.domain.errors import PgbenchError
from app.domain.text import tr

_LENGTHS: Final = frozenset({6, 10, 11, 15, 16})
"""Fields of a line: plain, with rate, with skipped too (13 and 14); 15 and later print zeros instead, and 19
has other failures in a field of their own."""
_COUNT_INCLUDES_SKIPPED: Final = 11
"""13 and 14 count skipped transactions among the others; 15 stopped that (recorded)."""


@dataclass(frozen=True, slots=True)
class AggregateInterval:
    """Transactions that ended in one interval.

    Attributes:
        start_s: seconds since the epoch.
        transactions: how many, without skipped ones.
        latency_sum_us: sum of their latencies.
        latency_squares_us2: sum of the squares.
        latency_min_us: 0 where there were none.
        latency_max_us: 0 where there were none.
        lag_sum_us: schedule lag of ``--rate``; these four are 0 without.
        lag_squares_us2: sum of the squares.
        lag_min_us: smallest.
        lag_max_us: largest.
        skipped: with ``--rate`` and ``--latency-limit``, else 0.
        retried: transactions tried again; 0 before 15.
        retries: number of such tries; 0 before 15.
        serialization_failures: 0 before 15.
        deadlock_failures: 0 before 15.
        other_failures: of ``--continue-on-error``; 0 before 19.
    """

    start_s: int
    transactions: int
    latency_sum_us: float
    latency_squares_us2: float
    latency_min_us: float
    latency_max_us: float
    lag_sum_us: float = 0.0
    lag_squares_us2: float = 0.0
    lag_min_us: float = 0.0
    lag_max_us: float = 0.0
    skipped: int = 0
    retried: int = 0
    retries: int = 0
    serialization_failures: int = 0
    deadlock_failures: int = 0
    other_failures: int = 0

    def __add__(self, other: AggregateInterval) -> AggregateInterval:
        """Return both threads' transactions of the same interval.

        Raises:
            ValueError: the intervals begin at different seconds.
        """
        if self.start_s != other.start_s:
            raise ValueError(f"{self.start_s} and {other.start_s}")
        sums = {name: getattr(self, name) + getattr(other, name) for name in _NAMES if name not in _NOT_ADDED}
        return AggregateInterval(
            **sums,
            start_s=self.start_s,
            latency_min_us=self._smaller(other, "latency_min_us"),
            latency_max_us=max(self.latency_max_us, other.latency_max_us),
            lag_min_us=self._smaller(other, "lag_min_us"),
            lag_max_us=max(self.lag_max_us, other.lag_max_us),
        )

    def _smaller(self, other: AggregateInterval, name: str) -> float:
        """Return the minimum of the two that had transactions (zero stands for none)."""
        known = [getattr(each, name) for each in (self, other) if each.transactions]
        return min(known, default=0.0)


_NAMES: Final = tuple(attribute.name for attribute in fields(AggregateInterval))
_NOT_ADDED: Final = frozenset({"start_s", "latency_min_us", "latency_max_us", "lag_min_us", "lag_max_us"})
_WHOLE: Final = frozenset(
    {
        "start_s",
        "transactions",
        "skipped",
        "retried",
        "retries",
        "serialization_failures",
        "deadlock_failures",
        "other_failures",
    }
)


_MOST: Final = 1e30
"""More than the squares of all latencies of a day; its square can still be counted with."""


def parse_aggregate_line(line: str) -> AggregateInterval:
    """Return the interval of one line.

    Raises:
        PgbenchError: not 6, 10, 11, 15 or 16 numbers, or one that no machine has.
    """
    words = line.split()
    names = _NAMES[: len(words)]
    try:
        values = [
            int(word) if name in _WHOLE else float(word) for name, word in zip(names, words, strict=True)
        ]
    except ValueError as err:
        raise _not_a_line(line) from err
    if len(words) not in _LENGTHS or not all(0 <= value <= _MOST for value in values):  # NaN is neither
        raise _not_a_line(line)
    interval = AggregateInterval(**dict(zip(names, values, strict=True)))  # type: ignore[arg-type]  # see _WHOLE
    if len(words) == _COUNT_INCLUDES_SKIPPED:
        return replace(interval, transactions=interval.transactions - interval.skipped)
    return interval


def _not_a_line(line: str) -> PgbenchError:
    return PgbenchError(
        tr("This is no line of an aggregated pgbench log: “{line}”.").format(line=line.strip()[:120]),
        hint=tr("Such a line has 6, 10, 11, 15 or 16 numbers."),
    )
