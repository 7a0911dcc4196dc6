"""The curves of a run that lasts: each second only what is new is computed."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.runfile.series import MEAN_S, running_mean
from ui.charts.data.lines import CurveData, curve_samples
from ui.charts.data.min_max_pyramid import Array, Pyramid
from ui.charts.data.plotted_run import PlotDataset
from ui.charts.data.registry import ChartSpec, CurveSpec


class LiveCurves:
    """Keeps what was computed of the last look at a run."""

    def __init__(self) -> None:
        self._curves: dict[tuple[str, str], _LiveCurve] = {}

    def update(self, data: PlotDataset, chart: ChartSpec, curve: CurveSpec) -> tuple[CurveData, float]:
        """Return what is drawn of a curve and the time before which nothing is different."""
        known = self._curves.setdefault((chart.id, curve.id), _LiveCurve())
        return known.update(*curve_samples(data, curve), chart.factor, smooth=curve.smooth)


_EMPTY: Final = np.empty(0)


class _LiveCurve:
    __slots__ = ("_mean", "_t_s", "_values")

    def __init__(self) -> None:
        self._t_s: Array = _EMPTY
        self._values: Array = _EMPTY
        self._mean: Array = _EMPTY

    def update(self, t_s: Array, values: Array, factor: float, *, smooth: bool) -> tuple[CurveData, float]:
        values = values if factor == 1.0 else values * factor
        first = self._first_difference(t_s, values)
        changed_s = float(t_s[first]) if first < len(t_s) else math.inf
        if smooth:
            # Means reach back by half of their width; theirs reach back as far again.
            kept = int(np.searchsorted(t_s, changed_s - MEAN_S / 2)) if first < len(t_s) else len(t_s)
            begin = int(np.searchsorted(t_s, changed_s - MEAN_S - 1))
            fresh = running_mean(t_s[begin:], values[begin:])[kept - begin :] if kept < len(t_s) else _EMPTY
            self._mean = np.concatenate((self._mean[:kept], fresh))
        self._t_s, self._values = t_s, values
        mean = Pyramid(t_s, self._mean) if smooth else None
        return CurveData(Pyramid(t_s, values), mean), changed_s - (MEAN_S / 2 if smooth else 0)

    def _first_difference(self, t_s: Array, values: Array) -> int:
        """Return the first place at which a new look differs from the last one."""
        count = min(len(t_s), len(self._t_s))
        if len(t_s) < len(self._t_s):
            return 0
        differs = (t_s[:count] != self._t_s[:count]) | (values[:count] != self._values[:count])
        places = np.flatnonzero(differs)
        return int(places[0]) if len(places) else count
