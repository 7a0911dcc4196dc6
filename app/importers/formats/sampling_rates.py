"""At which rate a log was sampled: pgbench says it nowhere, but transactions and lines tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_WHOLE: Final = 1.02
"""Transactions over lines up to which a log is full: counters at its end may be a little behind."""
_STANDARD_ERRORS: Final = 5.0


@dataclass(frozen=True, slots=True)
class LogSampling:
    """How a log was sampled.

    Attributes:
        one_in: a line stands for so many transactions; 1 for a full log.
        is_exact: a rate that somebody would choose fits; else the ratio itself was taken.
        missing: transactions without a line in a log that is full otherwise.
    """

    one_in: float
    is_exact: bool
    missing: int = 0


def find_sampling(lines: int, transactions: int) -> LogSampling:
    """Return the rate at which so many lines were logged of so many transactions.

    pgbench logs each transaction with the probability of ``--sampling-rate``, so the lines are binomial; the
    first rate that somebody would choose (1, 2 or 5 of a power of ten, one or two digits, one in a whole
    number) is taken where it is within five standard errors.

    Args:
        lines: of all threads, at least one.
        transactions: of the summary, or of the clients' counters.
    """
    ratio = transactions / lines
    if ratio <= _WHOLE:
        return LogSampling(1.0, is_exact=True, missing=max(0, transactions - lines))
    for rate in _rates_near(1 / ratio):
        error = math.sqrt(transactions * rate * (1 - rate))
        if abs(lines - transactions * rate) <= _STANDARD_ERRORS * error + 1:
            return LogSampling(_tidy(1 / rate), is_exact=True)
    return LogSampling(ratio, is_exact=False)


def _rates_near(rate: float) -> Iterator[float]:
    """Yield rates that somebody would choose, the likeliest first, all below 1."""
    power = 10.0 ** math.floor(math.log10(rate))
    nearest = min((digit * power for digit in (1, 2, 5, 10)), key=lambda each: abs(math.log(each / rate)))
    digits = -math.floor(math.log10(rate))
    candidates = (nearest, round(rate, digits), 1 / round(1 / rate), round(rate, digits + 1))
    yield from (each for each in candidates if 0 < each < 1)


def _tidy(one_in: float) -> float:
    """Return a whole number where only rounding keeps it from being one."""
    return float(round(one_in)) if math.isclose(one_in, round(one_in), rel_tol=1e-9) else one_in
