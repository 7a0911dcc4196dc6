"""Distributions and sweeps as charts draw them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.analysis.latency_distribution import Distribution
from app.comparison.factors import SweepLine
from app.runfile.reader import RunEvent

Array = NDArray[np.float64]
_NOTHING = (np.empty(0), np.empty(0))


class _Curves:
    """What no curve of points has."""

    planned_s: float | None = None

    def series_keys(self) -> tuple[tuple[str, str], ...]:
        """Return nothing: charts name what they want."""
        return ()

    def percentile(self, percent: float) -> tuple[Array, Array]:  # noqa: ARG002 - see Plotted
        """Return nothing: there are no seconds."""
        return _NOTHING

    def stalls(self) -> list[tuple[float, float]]:
        """Return nothing."""
        return []

    def checkpoints(self) -> list[tuple[float, float, RunEvent]]:
        """Return nothing."""
        return []


@dataclass(frozen=True)
class DistributionCurves(_Curves):
    """The latencies of a run or of a configuration over percentiles, or as shares over latencies.

    Attributes:
        distribution: of its transactions.
        over_latency: whether places are logarithms of latencies in ms, else numbers of nines.
    """

    distribution: Distribution
    over_latency: bool

    @property
    def begin_s(self) -> float:
        """Where its axis begins."""
        t_s = self.series("")[0]
        return float(t_s[0]) if self.over_latency and len(t_s) else 0.0

    @property
    def end_s(self) -> float:
        """Where its axis ends."""
        t_s = self.series("")[0]
        return float(t_s[-1]) if len(t_s) else 1.0

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:  # noqa: ARG002 - see Plotted
        """Return (places, values)."""
        if not self.over_latency:
            return self.distribution.nines()
        latency_ms, shares = self.distribution.shares()
        known = latency_ms > 0
        return np.log10(latency_ms[known]), shares[known]


@dataclass(frozen=True)
class SweepCurves(_Curves):
    """One line of a sweep.

    Attributes:
        lines: by figure, such as tps.
        is_log: whether places are powers of ten.
        ends: of the axis, the same for all lines.
    """

    lines: dict[str, SweepLine] = field(repr=False)
    is_log: bool
    ends: tuple[float, float]

    @property
    def begin_s(self) -> float:
        """Where the axis begins."""
        return self.ends[0]

    @property
    def end_s(self) -> float:
        """Where the axis ends."""
        return self.ends[1]

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:  # noqa: ARG002 - see Plotted
        """Return (places, means of the runs)."""
        line = self.lines.get(metric.removeprefix("sweep."))
        if line is None:
            return _NOTHING
        places = [math.log10(point.x) if self.is_log else point.x for point in line.points]
        return np.array(places), np.array([point.value.mean or 0.0 for point in line.points])

    def band(self, metric: str) -> tuple[Array, Array]:
        """Return the ends of the intervals; the means themselves where there is none."""
        line = self.lines.get(metric.removeprefix("sweep."))
        points = () if line is None else line.points
        low = [
            point.value.low if point.value.low is not None else point.value.mean or 0.0 for point in points
        ]
        high = [
            point.value.high if point.value.high is not None else point.value.mean or 0.0 for point in points
        ]
        return np.array(low), np.array(high)
