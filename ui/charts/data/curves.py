"""Compute the curves of charts as arrays: seconds, running means, bands, and means of repeats.

Independent of colours. The width of a running mean follows the visible time
(`app.runfile.series.mean_width`), because 15 s of an hour are two pixels: noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.domain.text import tr
from app.runfile.series import MEAN_S, running_mean
from ui.charts.data.min_max_pyramid import Array, Pyramid
from ui.charts.data.plotted_run import PlotDataset, WithBand
from ui.charts.data.registry import EACH, EVERY, PERCENTILE, ChartSpec, CurveSpec
from ui.charts.data.scale import GAP_S

MOST_WITH_ALL_CURVES: Final = 3

_MOST_POINTS: Final = 200_000
"""Most points of a mean of repeats: with more seconds than this, several share a point."""


def width_words(width_s: float) -> str:
    """Return the width of a running mean as text."""
    if width_s < 60:
        return tr("{seconds:g} s").format(seconds=width_s)
    return tr("{minutes:g} min").format(minutes=width_s / 60)


@dataclass(frozen=True, slots=True)
class CurveData:
    """A curve of one run, in the chart's unit.

    Attributes:
        seconds: every second.
        mean: running mean, None for a curve that is not smoothed.
        band: lower and upper end of the band around the line; None if not requested.
        width_s: of the running mean.
        repeats: number of runs averaged; 1 for a single run.
    """

    seconds: Pyramid
    mean: Pyramid | None
    band: tuple[Pyramid, Pyramid] | None = None
    width_s: float = MEAN_S
    repeats: int = 1

    @property
    def main(self) -> Pyramid:
        """The series that is drawn as the line and read: the mean, else the seconds."""
        return self.seconds if self.mean is None else self.mean


def curve_samples(data: PlotDataset, curve: CurveSpec) -> tuple[Array, Array]:
    """Return (t_s, values in the metric's unit) of a curve; the sum of its parts."""
    (t_s, values), *others = [_part(data, part) for part in _instances(data, curve)] or [
        (np.empty(0), np.empty(0))
    ]
    for other_t_s, other in others:
        if len(other_t_s) == len(t_s) and (other_t_s == t_s).all():
            values = values + other
        else:
            t_s, mine, theirs = np.intersect1d(t_s, other_t_s, assume_unique=True, return_indices=True)
            values = values[mine] + other[theirs]
    return t_s, values


def _instances(data: PlotDataset, curve: CurveSpec) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for metric, instance in curve.parts:
        if instance in {EVERY, EACH}:
            found += [key for key in data.series_keys() if key[0] == metric]
        else:
            found.append((metric, instance))
    return found


def _part(data: PlotDataset, part: tuple[str, str]) -> tuple[Array, Array]:
    if part[0].startswith(PERCENTILE):
        return data.percentile(float(part[0].removeprefix(PERCENTILE)))
    return data.series(*part)


def curve_data(data: PlotDataset, curve: CurveSpec, factor: float, width_s: float = MEAN_S) -> CurveData:
    """Return the drawn data of a curve; running means are `width_s` wide."""
    t_s, values = curve_samples(data, curve)
    scaled = values if factor == 1.0 else values * factor
    mean = Pyramid(t_s, running_mean(t_s, scaled, width_s)) if curve.smooth else None
    band = None
    if isinstance(data, WithBand):
        low, high = (Pyramid(t_s, ends * factor) for ends in data.band(curve.parts[0][0]))
        band = low, high
    return CurveData(Pyramid(t_s, scaled), mean, band, width_s)


def with_width(data: CurveData, width_s: float) -> CurveData:
    """Return the same curve with running means of another width; drawn seconds are kept."""
    if data.mean is None or data.width_s == width_s:
        return data
    t_s, values = data.seconds.t_s, data.seconds.values
    return replace(data, mean=Pyramid(t_s, running_mean(t_s, values, width_s)), band=None, width_s=width_s)


def mean_of_repeats(members: Sequence[CurveData]) -> CurveData:
    """Return the mean of the repeats of a configuration, with their minimum and maximum as its band.

    The running means of the repeats are averaged at each time. The mean ends where fewer than half of them
    have a value, so that a run stopped early does not distort it.

    Args:
        members: the same curve of each repeat, at least one.
    """
    known = [member for member in members if len(member.seconds.t_s)]
    if len(known) < 2:
        return known[0] if known else members[0]
    begin_s = min(float(member.main.t_s[0]) for member in known)
    end_s = max(float(member.main.t_s[-1]) for member in known)
    usual_s = min(
        (float(np.median(np.diff(each.main.t_s))) for each in known if len(each.main.t_s) > 1), default=1
    )
    step_s = max(1.0, round(usual_s), math.ceil((end_s - begin_s) / _MOST_POINTS))
    t_s: Array = (
        np.arange(math.floor(begin_s / step_s), math.ceil(end_s / step_s) + 1).astype(np.float64) * step_s
    )
    table = np.vstack([_values_at(member.main, t_s, step_s) for member in known])
    there = np.isfinite(table)
    enough = 2 * there.sum(axis=0) >= len(known)
    t_s, table, there = t_s[enough], table[:, enough], there[:, enough]
    mean = Pyramid(t_s, np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0))
    band = (
        Pyramid(t_s, np.where(there, table, np.inf).min(axis=0)),
        Pyramid(t_s, np.where(there, table, -np.inf).max(axis=0)),
    )
    smooth = any(member.mean is not None for member in known)
    return CurveData(mean, mean if smooth else None, band, known[0].width_s, len(known))


def _values_at(series: Pyramid, t_s: Array, step_s: float) -> Array:
    """Return the values of a series at times `step_s` apart; NaN where it has none nearby."""
    places = np.clip(np.searchsorted(series.t_s, t_s - step_s / 2), 0, len(series.t_s) - 1)
    near = np.abs(series.t_s[places] - t_s) <= max(GAP_S, step_s)
    return np.where(near, series.values[places], np.nan)


def with_envelope(data: CurveData) -> CurveData:
    """Return a curve with a band of the lowest and highest second within the width of each mean."""
    if data.mean is None or data.band is not None or not len(data.seconds.t_s):
        return data
    low, high = envelope(data.seconds.t_s, data.seconds.values, data.width_s)
    return replace(data, band=(Pyramid(data.seconds.t_s, low), Pyramid(data.seconds.t_s, high)))


def envelope(t_s: Array, values: Array, width_s: float) -> tuple[Array, Array]:
    """Return the lowest and highest value within `width_s` centred on each time."""
    begins = np.searchsorted(t_s, t_s - width_s / 2, side="left")
    ends = np.searchsorted(t_s, t_s + width_s / 2, side="right")
    pairs = np.column_stack((begins, ends)).ravel()
    # reduceat rejects an index beyond the last value; the added one is in no interval.
    padded = np.append(values, values[-1])
    low: Array = np.minimum.reduceat(padded, pairs)[::2]
    high: Array = np.maximum.reduceat(padded, pairs)[::2]
    return low, high


def needed(charts: Iterable[ChartSpec], shown: int) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Return (series, percentiles) needed to draw `shown` lines of each curve, for `RunData.load`.

    The chart itself reads series of instance `EVERY` and `EACH`.
    """
    curves = [curve for chart in charts for curve in chart.curves]
    wanted = [curve for curve in curves if curve.main or shown <= MOST_WITH_ALL_CURVES]
    parts = [part for curve in wanted for part in curve.parts if part[1] not in {EVERY, EACH}]
    percents = tuple(float(name.removeprefix(PERCENTILE)) for name, _ in parts if name.startswith(PERCENTILE))
    return tuple(part for part in parts if not part[0].startswith(PERCENTILE)), percents


# --- Curves of a current run: each second only new data is computed.


class LiveCurves:
    """Cache the results for the last state of a run.

    Attributes:
        width_s: of the running means.
    """

    def __init__(self, width_s: float = MEAN_S) -> None:
        self.width_s = width_s
        self._curves: dict[tuple[str, str], _LiveCurve] = {}

    def update(self, data: PlotDataset, chart: ChartSpec, curve: CurveSpec) -> tuple[CurveData, float]:
        """Return the drawn data of a curve, and the time before which it is unchanged."""
        known = self._curves.setdefault((chart.id, curve.id), _LiveCurve(self.width_s))
        return known.update(*curve_samples(data, curve), chart.factor, smooth=curve.smooth)


_EMPTY: Final = np.empty(0)


class _LiveCurve:
    __slots__ = ("_mean", "_t_s", "_values", "_width_s")

    def __init__(self, width_s: float) -> None:
        self._width_s = width_s
        self._t_s: Array = _EMPTY
        self._values: Array = _EMPTY
        self._mean: Array = _EMPTY

    def update(self, t_s: Array, values: Array, factor: float, *, smooth: bool) -> tuple[CurveData, float]:
        values = values if factor == 1.0 else values * factor
        first = self._first_difference(t_s, values)
        changed_s = float(t_s[first]) if first < len(t_s) else math.inf
        if smooth:
            # Means change back to half of their width, and are computed from seconds as far back again.
            width_s = self._width_s
            kept = int(np.searchsorted(t_s, changed_s - width_s / 2)) if first < len(t_s) else len(t_s)
            begin = int(np.searchsorted(t_s, changed_s - width_s - 1))
            fresh = _EMPTY
            if kept < len(t_s):
                fresh = running_mean(t_s[begin:], values[begin:], width_s)[kept - begin :]
            self._mean = np.concatenate((self._mean[:kept], fresh))
        self._t_s, self._values = t_s, values
        mean = Pyramid(t_s, self._mean) if smooth else None
        data = CurveData(Pyramid(t_s, values), mean, width_s=self._width_s)
        return data, changed_s - (self._width_s / 2 if smooth else 0)

    def _first_difference(self, t_s: Array, values: Array) -> int:
        """Return the first index at which new data differs from the last."""
        count = min(len(t_s), len(self._t_s))
        if len(t_s) < len(self._t_s):
            return 0
        differs = (t_s[:count] != self._t_s[:count]) | (values[:count] != self._values[:count])
        places = np.flatnonzero(differs)
        return int(places[0]) if len(places) else count
