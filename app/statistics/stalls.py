"""Which seconds of a run stalled: what was done in them against what was reached near them.

The median of a run cannot be the measure: where more than half of the seconds are dead it is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

NEAR_SECONDS: Final = 300
"""Before a second, and after it."""
NEAR_SHARE: Final = 0.1
RUN_SHARE: Final = 0.01

_PERCENT: Final = 95.0
_FEWEST_NEAR: Final = 30
"""Fewer seconds on one side say nothing of what is reached there."""
_ROWS: Final = 4096

Array = NDArray[np.float64]


def stalled_seconds(tps: Sequence[float] | Array) -> NDArray[np.bool_]:
    """Return which seconds stalled.

    Stalled is a second without any transaction, one below 1 % of the run's own 95th percentile, and one below
    10 % of what was reached near it: the lower of the 95th percentiles of the five minutes before it and of
    the five minutes after it. A run that falls and stays low has drifted: after the fall, that is what is
    reached. The first and the last second alone are no stall: pgbench is still connecting, or has ended.

    Args:
        tps: transactions of each second from 0 on, NaN where missed, which is no stall.
    """
    series = np.asarray(tps, dtype=np.float64)
    present = series[~np.isnan(series)]
    if not len(present):
        return np.zeros(len(series), dtype=bool)
    top = float(np.percentile(present, _PERCENT))
    stalled: NDArray[np.bool_] = (series == 0) | (series < RUN_SHARE * top)  # comparing NaN is false
    suspects = np.flatnonzero(~stalled & (series < NEAR_SHARE * float(present.max())))
    nothing = np.full(NEAR_SECONDS, np.nan)
    padded = np.concatenate((nothing, series, nothing))
    places = np.arange(NEAR_SECONDS)
    for first in range(0, len(suspects), _ROWS):
        some = suspects[first : first + _ROWS]
        before = _reached(padded[some[:, None] + places])
        after = _reached(padded[some[:, None] + NEAR_SECONDS + 1 + places])
        near = np.minimum(before, after)
        near[np.isinf(near)] = top
        stalled[some] = series[some] < NEAR_SHARE * near
    for edge, beside in ((0, 1), (-1, -2)):
        if len(series) > 1 and not stalled[beside]:
            stalled[edge] = False
    return stalled


def _reached(rows: Array) -> Array:
    """Return the 95th percentile of each row's known seconds; infinite where they are too few."""
    ordered = np.sort(rows, axis=1)  # NaN last
    counts = (~np.isnan(rows)).sum(axis=1)
    place = np.maximum(counts - 1, 0) * (_PERCENT / 100)
    lower = place.astype(int)
    upper = np.minimum(lower + 1, np.maximum(counts - 1, 0))
    line = np.arange(len(rows))
    low, high = ordered[line, lower], ordered[line, upper]
    found: Array = np.where(counts < _FEWEST_NEAR, np.inf, low + (place - lower) * (high - low))
    return found
