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
from numpy.typing import NDArray

from app.domain.text import number_text
from app.runfile.series import MEAN_S, running_mean
from ui.charts.data.registry import EACH, EVERY, PERCENTILE, ChartSpec, CurveSpec, PlotDataset, WithBand
from ui.charts.data.scale import GAP_S

# Minima and maxima of a series at several resolutions.
#
# A pixel column shows all extremes of its seconds, however many there are.


Array = NDArray[np.float64]
Coarse = NDArray[np.float32]

FACTOR: Final = 8
_PER_COLUMN: Final = 2


class Pyramid:
    """A series that can be drawn at any time scale, at a cost that depends on the pixel width alone.

    Attributes:
        t_s: times, ascending.
        values: finite.
        drawn: cache of the painter: parameters and result of the last drawing.
    """

    __slots__ = ("_asked", "_extremes", "_levels", "drawn", "t_s", "values")

    def __init__(self, t_s: Array, values: Array) -> None:
        self.t_s = t_s
        self.values = values
        self.drawn: tuple[object, object] | None = None
        self._levels: list[tuple[Coarse, Coarse]] = []
        self._extremes: tuple[float, float] | None = None
        self._asked: tuple[float, float, tuple[float, float] | None] | None = None

    @property
    def extremes(self) -> tuple[float, float] | None:
        """Lowest and highest value, None for an empty series."""
        if self._extremes is None and len(self.values):
            self._extremes = float(self.values.min()), float(self.values.max())
        return self._extremes

    def extremes_in(self, start_s: float, end_s: float) -> tuple[float, float] | None:
        """Lowest and highest value between two times, None if there is none.

        The last answer is cached: each second of a live run repeats the question for all saved ones.
        """
        if self._asked is None or self._asked[:2] != (start_s, end_s):
            self._asked = start_s, end_s, self._find_extremes(start_s, end_s)
        return self._asked[2]

    def _find_extremes(self, start_s: float, end_s: float) -> tuple[float, float] | None:
        first = int(self.t_s.searchsorted(start_s))
        end = int(self.t_s.searchsorted(end_s, side="right"))
        if (first, end) == (0, len(self.t_s)):
            return self.extremes
        values = self.values[first:end]
        return (float(values.min()), float(values.max())) if len(values) else None

    def after(self, t_s: float) -> tuple[Array, Array]:
        """Return (t_s, values) later than a time, preceded by the last earlier one."""
        first = max(0, int(self.t_s.searchsorted(t_s, side="right")) - 1)
        return self.t_s[first:], self.values[first:]

    def reduced(self, start_s: float, end_s: float, columns: int) -> tuple[Array, Array]:
        """Return (t_s, values) to draw between two times on `columns` pixels, about two points per column.

        A column with several seconds has their minimum and maximum. One point beyond either edge is included,
        so that the line reaches it.
        """
        first = max(0, int(self.t_s.searchsorted(start_s)) - 1)
        end = min(len(self.t_s), int(self.t_s.searchsorted(end_s, side="right")) + 1)
        count = end - first
        if count <= _PER_COLUMN * columns or end_s <= start_s:
            return self.t_s[first:end], self.values[first:end]
        depth = 0
        while count // FACTOR ** (depth + 1) >= _PER_COLUMN * columns:
            depth += 1
        return self._columns(depth, (first, end), start_s, (end_s - start_s) / columns)

    def _columns(
        self, depth: int, span: tuple[int, int], start_s: float, column_s: float
    ) -> tuple[Array, Array]:
        size = FACTOR**depth
        begin, end = span[0] // size, -(-span[1] // size)
        if depth:
            low, high = self._level(depth)
            low, high = low[begin:end], high[begin:end]
        else:
            low = high = self.values[begin:end]  # type: ignore[assignment]
        times = self.t_s[begin * size : end * size : size]
        column = np.floor((times - start_s) / column_s)
        starts = np.concatenate(([0], np.flatnonzero(np.diff(column)) + 1))
        lows, highs = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        reduced = np.empty(2 * len(starts))
        # Alternate up and down between columns, to keep the connecting line short.
        reduced[0::4], reduced[1::4] = lows[0::2], highs[0::2]
        reduced[2::4], reduced[3::4] = highs[1::2], lows[1::2]
        return np.repeat(start_s + (column[starts] + 0.5) * column_s, 2), reduced

    def _level(self, depth: int) -> tuple[Coarse, Coarse]:
        """Return minima and maxima of groups of FACTOR**depth values; the last group may be smaller."""
        while len(self._levels) < depth:
            low, high = self._levels[-1] if self._levels else (self.values, self.values)
            starts = np.arange(0, len(low), FACTOR)
            self._levels.append(
                (
                    np.minimum.reduceat(low, starts).astype(np.float32),
                    np.maximum.reduceat(high, starts).astype(np.float32),
                )
            )
        return self._levels[depth - 1]


MOST_WITH_ALL_CURVES: Final = 3

_MOST_POINTS: Final = 200_000
"""Most points of a mean of repeats: with more seconds than this, several share a point."""


def width_words(width_s: float) -> str:
    """Return the width of a running mean as text."""
    if width_s < 60:
        return f"{number_text(width_s, 'g')} s"
    return f"{number_text(width_s / 60, 'g')} min"


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
