"""What a log of pgbench held as a whole, for tests; the program reads it piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from app.postgres.pgbench.transaction_log import Integers, Outcome, TransactionBatch, TransactionLogTail


def concatenate(batches: Iterable[TransactionBatch]) -> TransactionBatch:
    """Return the transactions of all batches in one."""
    parts = list(batches)
    if not parts:
        empty = np.empty(0, np.int64)
        return TransactionBatch(empty, empty)
    outcomes = [outcome for outcome in Outcome if any(outcome in part.others for part in parts)]
    return TransactionBatch(
        epoch_us=np.concatenate([part.epoch_us for part in parts]),
        latency_us=np.concatenate([part.latency_us for part in parts]),
        lag_us=_joined([part.lag_us for part in parts]),
        others={
            outcome: np.concatenate([part.others[outcome] for part in parts if outcome in part.others])
            for outcome in outcomes
        },
    )


def _joined(columns: list[Integers | None]) -> Integers | None:
    present = [column for column in columns if column is not None]
    return np.concatenate(present) if present else None


def unread_bytes(tail: TransactionLogTail) -> int:
    """What stands in the files and was not handed on: after `drain` only lines that were cut off."""
    return sum(os.fstat(log.descriptor).st_size - log.consumed for log in tail._logs.values())
