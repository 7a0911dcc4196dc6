"""At which rate a log was sampled: pgbench says it nowhere, but transactions and lines tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_WHOLE: Final = 1.02
"""Transactions over lines up to which a log is full: counters at its end may be a little behind."""
_STANDARD_ERRORS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a log was sampled.

    Attributes:
        one_in: a line stands for so many transactions; 1 for a full log.
        is_exact: a rate that somebody would choose fits; else the ratio itself was taken.
        missing: transactions without a line in a log that is full otherwise.
    """

    one_in: float
    is_exact: bool
    missing: int = 0


def find_sampling(lines: int, transactions: int) -> Sampling:
    """Return the rate at which so many lines were logged of so many transactions.

    pgbench logs each transaction with the probability of ``--sampling-rate``, so the lines are binomial; the
    nearest rate of two digits, or one in a whole number, is taken where it is within five standard errors.

    Args:
        lines: of all threads, at least one.
        transactions: of the summary, or of the clients' counters.
    """
    ratio = transactions / lines
    if ratio <= _WHOLE:
        return Sampling(1.0, is_exact=True, missing=max(0, transactions - lines))
    digits = 1 - math.floor(math.log10(1 / ratio))
    for rate in (round(1 / ratio, digits - 1), 1 / round(ratio), round(1 / ratio, digits)):
        error = math.sqrt(transactions * rate * max(0.0, 1 - rate))
        if rate < 1 and abs(lines - transactions * rate) <= _STANDARD_ERRORS * error + 1:
            return Sampling(_tidy(1 / rate), is_exact=True)
    return Sampling(ratio, is_exact=False)


def _tidy(one_in: float) -> float:
    """Return a whole number where only rounding keeps it from being one."""
    return float(round(one_in)) if math.isclose(one_in, round(one_in), rel_tol=1e-9) else one_in
