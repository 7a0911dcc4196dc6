"""Percentiles of many encoded histograms at once: what `Histogram.decode(...).percentile(...)` says of each.

An hour has 3600 of them; one by one that takes a third of a second a run, which one waits for. The encoding
is that of `app.postgres.histogram`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.postgres.histogram import (
    Histogram,
)

Array = NDArray[np.float64]

_BATCH: Final = 256


def percentiles(encoded: Sequence[bytes], percents: Sequence[float]) -> Array:
    """Return the percentiles in microseconds, a row for each of `percents`, a column for each histogram.

    Raises:
        CorruptRunFileError: a histogram is damaged.
    """
    rows = np.empty((len(percents), len(encoded)))
    for column, each in enumerate(encoded):
        histogram = Histogram.decode(each)
        rows[:, column] = [
            histogram.percentile(percent) if histogram.total else math.nan for percent in percents
        ]
    return rows
