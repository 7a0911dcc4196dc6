"""What a checkpoint costs: the TPS just after one began against those just before the next begins.

With checkpoint_completion_target 0.9 a checkpoint is being written most of the time, so that inside against
outside says little. Pages are written whole to the WAL when they are first changed after a checkpoint began:
what that costs is largest at the begin of a cycle and gone at its end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.statistics.student_t import student_t_quantile

FEWEST_CYCLES: Final = 3
SHARE: Final = 0.2
"""Of a cycle: its begin, and its end."""
_SHORTEST_S: Final = 10

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CheckpointEffect:
    """The first fifth of the checkpoint cycles of a run against their last fifth.

    Attributes:
        change: mean TPS of the first fifths by that of the last fifths, minus one.
        low: lower end of its 95 % interval, from the cycles as the unit.
        high: upper end.
        cycles: from the begin of a checkpoint to the begin of the next.
    """

    change: float
    low: float
    high: float
    cycles: int

    @property
    def is_certain(self) -> bool:
        """Whether the interval says which of both is faster."""
        return self.low > 0 or self.high < 0


def checkpoint_effect(tps: Sequence[float] | Array, starts_s: Sequence[float]) -> CheckpointEffect | None:
    """Return what checkpoints cost in a run, without its drift; None below three cycles of ten seconds.

    Args:
        tps: transactions of each second, NaN where missed.
        starts_s: begins of the checkpoints from the begin of the series, ascending.
    """
    series = np.asarray(tps, dtype=np.float64)
    spans = [
        (first, last)
        for first, last in pairwise(starts_s)
        if first >= 0 and last - first >= _SHORTEST_S and last <= len(series)
    ]
    parts = [series[round(first) : round(last)] for first, last in spans]
    known = [(span, part) for span, part in zip(spans, parts, strict=True) if np.nansum(part) > 0]
    if len(known) < FEWEST_CYCLES:
        return None
    centres = np.array([(first + last) / 2 for (first, last), _ in known])
    means = np.array([float(np.nanmean(part)) for _, part in known])
    ratios = []
    for (first, _), part in known:
        level = _trend(np.arange(len(part), dtype=np.float64) + round(first) + 0.5, centres, means)
        flat = np.divide(part, level, out=np.full(len(part), np.nan), where=level > 0)
        length = max(1, round(SHARE * len(part)))
        begin, end = flat[:length], flat[-length:]
        if not (np.isnan(begin).all() or np.isnan(end).all()) and np.nanmean(begin) > 0 < np.nanmean(end):
            ratios.append(math.log(float(np.nanmean(begin)) / float(np.nanmean(end))))
    if len(ratios) < FEWEST_CYCLES:
        return None
    mean = math.fsum(ratios) / len(ratios)
    error = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios))
    half = student_t_quantile(0.975, len(ratios) - 1) * error
    return CheckpointEffect(
        math.expm1(mean), math.expm1(mean - half), math.expm1(min(mean + half, 700.0)), len(ratios)
    )


def _trend(places: Array, centres: Array, means: Array) -> Array:
    """Return the level of the run at some places: lines between the means of its cycles, and beyond them."""
    level = np.interp(places, centres, means)
    for outer, inner, beyond in ((0, 1, places < centres[0]), (-1, -2, places > centres[-1])):
        slope = (means[outer] - means[inner]) / (centres[outer] - centres[inner])
        level[beyond] = means[outer] + slope * (places[beyond] - centres[outer])
    found: Array = np.maximum(level, 0.0)
    return found
