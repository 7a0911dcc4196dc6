"""The curves of charts as arrays: seconds, running means, what lies around them, and several repeats as one.

Nothing here knows colours. The width of a running mean follows the time that is shown
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
"""Of the mean of repeats: more seconds than these lie several to a point."""


def width_words(width_s: float) -> str:
    """Return the width of a running mean as people read it."""
    if width_s < 60:
        return tr("{seconds:g} s").format(seconds=width_s)
    return tr("{minutes:g} min").format(minutes=width_s / 60)


@dataclass(frozen=True, slots=True)
class CurveData:
    """A curve of one run, in the chart's unit.

    Attributes:
        seconds: every second.
        mean: running mean, None for a curve that is not smoothed.
        band: lower and upper end of what lies around the line; None where nobody asked for it.
        width_s: of the running mean.
        repeats: of how many runs it is the mean; 1 for a run itself.
    """

    seconds: Pyramid
    mean: Pyramid | None
    band: tuple[Pyramid, Pyramid] | None = None
    width_s: float = MEAN_S
    repeats: int = 1

    @property
    def main(self) -> Pyramid:
        """What the line is drawn and read by: the mean, else the seconds."""
        return self.seconds if self.mean is None else self.mean


def curve_samples(data: PlotDataset, curve: CurveSpec) -> tuple[Array, Array]:
    """Return (t_s, values in the metric's unit) of a curve; a sum where it has several parts."""
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
    """Return what is drawn of a curve; running means are so many seconds wide."""
    t_s, values = curve_samples(data, curve)
    scaled = values if factor == 1.0 else values * factor
    mean = Pyramid(t_s, running_mean(t_s, scaled, width_s)) if curve.smooth else None
    band = None
    if isinstance(data, WithBand):
        low, high = (Pyramid(t_s, ends * factor) for ends in data.band(curve.parts[0][0]))
        band = low, high
    return CurveData(Pyramid(t_s, scaled), mean, band, width_s)


def with_width(data: CurveData, width_s: float) -> CurveData:
    """Return the same curve with running means of another width; what is drawn of its seconds is kept."""
    if data.mean is None or data.width_s == width_s:
        return data
    t_s, values = data.seconds.t_s, data.seconds.values
    return replace(data, mean=Pyramid(t_s, running_mean(t_s, values, width_s)), band=None, width_s=width_s)


def mean_of_repeats(members: Sequence[CurveData]) -> CurveData:
    """Return the mean of the repeats of a configuration, with their lowest and highest as its band.

    What is compared at a time are the running means of the repeats. The mean ends where fewer than half of
    them have a value: a run that was stopped early does not bend it.

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
    """Return the values of a series at times so far apart, not a number where it has none near."""
    places = np.clip(np.searchsorted(series.t_s, t_s - step_s / 2), 0, len(series.t_s) - 1)
    near = np.abs(series.t_s[places] - t_s) <= max(GAP_S, step_s)
    return np.where(near, series.values[places], np.nan)


def with_envelope(data: CurveData) -> CurveData:
    """Return a curve with the lowest and highest second within the width of each mean around it."""
    if data.mean is None or data.band is not None or not len(data.seconds.t_s):
        return data
    low, high = envelope(data.seconds.t_s, data.seconds.values, data.width_s)
    return replace(data, band=(Pyramid(data.seconds.t_s, low), Pyramid(data.seconds.t_s, high)))


def envelope(t_s: Array, values: Array, width_s: float) -> tuple[Array, Array]:
    """Return the lowest and highest value within `width_s` centred on each time."""
    begins = np.searchsorted(t_s, t_s - width_s / 2, side="left")
    ends = np.searchsorted(t_s, t_s + width_s / 2, side="right")
    pairs = np.column_stack((begins, ends)).ravel()
    # reduceat wants no index beyond the last value; the one added is in no interval.
    padded = np.append(values, values[-1])
    low: Array = np.minimum.reduceat(padded, pairs)[::2]
    high: Array = np.maximum.reduceat(padded, pairs)[::2]
    return low, high


def needed(charts: Iterable[ChartSpec], shown: int) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Return (series, percentiles) that charts read for so many lines of a curve, for `RunData.load`.

    Series of instance `EVERY` and `EACH` are left to the chart.
    """
    curves = [curve for chart in charts for curve in chart.curves]
    wanted = [curve for curve in curves if curve.main or shown <= MOST_WITH_ALL_CURVES]
    parts = [part for curve in wanted for part in curve.parts if part[1] not in {EVERY, EACH}]
    percents = tuple(float(name.removeprefix(PERCENTILE)) for name, _ in parts if name.startswith(PERCENTILE))
    return tuple(part for part in parts if not part[0].startswith(PERCENTILE)), percents


# --- The curves of a run that lasts: each second only what is new is computed.


class LiveCurves:
    """Keeps what was computed of the last look at a run.

    Attributes:
        width_s: of the running means.
    """

    def __init__(self, width_s: float = MEAN_S) -> None:
        self.width_s = width_s
        self._curves: dict[tuple[str, str], _LiveCurve] = {}

    def update(self, data: PlotDataset, chart: ChartSpec, curve: CurveSpec) -> tuple[CurveData, float]:
        """Return what is drawn of a curve and the time before which nothing is different."""
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
            # Means reach back by half of their width; theirs reach back as far again.
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
        """Return the first place at which a new look differs from the last one."""
        count = min(len(t_s), len(self._t_s))
        if len(t_s) < len(self._t_s):
            return 0
        differs = (t_s[:count] != self._t_s[:count]) | (values[:count] != self._values[:count])
        places = np.flatnonzero(differs)
        return int(places[0]) if len(places) else count
