"""The lines of a chart: which curves of which runs, in which colour, and the arrays behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.runfile.series import MEAN_S, running_mean
from ui.charts.data.min_max_pyramid import Array, Pyramid
from ui.charts.data.plotted_run import PlotDataset, RunTrace, WithBand
from ui.charts.data.registry import EACH, EVERY, PERCENTILE, ChartSpec, CurveSpec
from ui.charts.data.scale import GAP_S as GAP_S  # noqa: PLC0414 - the report reads it here
from ui.charts.data.scale import Range
from ui.theme import SERIES, Theme

MOST_WITH_SECONDS: Final = 6
MOST_WITH_ALL_CURVES: Final = 3

_STYLES: Final = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)


@dataclass(frozen=True, slots=True)
class CurveData:
    """A curve of one run, in the chart's unit.

    Attributes:
        seconds: every second.
        mean: running mean over 15 s, None for a curve that is not smoothed.
        band: lower and upper end of what lies around the line; None where nobody asked for it.
    """

    seconds: Pyramid
    mean: Pyramid | None
    band: tuple[Pyramid, Pyramid] | None = None


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


def curve_data(data: PlotDataset, curve: CurveSpec, factor: float) -> CurveData:
    """Return what is drawn of a curve."""
    t_s, values = curve_samples(data, curve)
    scaled = values if factor == 1.0 else values * factor
    mean = Pyramid(t_s, running_mean(t_s, scaled)) if curve.smooth else None
    band = None
    if isinstance(data, WithBand):
        low, high = (Pyramid(t_s, ends * factor) for ends in data.band(curve.parts[0][0]))
        band = low, high
    return CurveData(Pyramid(t_s, scaled), mean, band)


def with_envelope(data: CurveData) -> CurveData:
    """Return a curve with the lowest and highest second of the 15 s of each mean around it."""
    if data.mean is None or data.band is not None or not len(data.seconds.t_s):
        return data
    low, high = envelope(data.seconds.t_s, data.seconds.values, MEAN_S)
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
    """Return (series, percentiles) that charts read when so many runs are shown, for `RunData.load`.

    Series of instance `EVERY` and `EACH` are left to the chart.
    """
    curves = [curve for chart in charts for curve in chart.curves]
    wanted = [curve for curve in curves if curve.main or shown <= MOST_WITH_ALL_CURVES]
    parts = [part for curve in wanted for part in curve.parts if part[1] not in {EVERY, EACH}]
    percents = tuple(float(name.removeprefix(PERCENTILE)) for name, _ in parts if name.startswith(PERCENTILE))
    return tuple(part for part in parts if not part[0].startswith(PERCENTILE)), percents


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of a run as it is drawn.

    Attributes:
        run_id: whose.
        label: name of the run.
        curve: which.
        data: its arrays.
        colour: opaque.
        seconds_colour: of the seconds behind the mean; None: not drawn.
        style: of the mean.
        weight: 1 for most, 2 for the run in focus, more on a projector.
        rank: what is drawn later lies above.
        gap: places farther apart were missed; infinite where the line is read between its points.
    """

    run_id: str
    label: str
    curve: CurveSpec
    data: CurveData = field(repr=False)
    colour: QColor
    seconds_colour: QColor | None
    style: Qt.PenStyle
    weight: int
    rank: int
    gap: float = GAP_S

    @property
    def main(self) -> Pyramid:
        """What the line is read by: the mean, else the seconds."""
        return self.data.seconds if self.data.mean is None else self.data.mean

    def extremes_in(self, times: Range) -> Range | None:
        """Return the lowest and highest value drawn between two times."""
        drawn = [self.main if self.seconds_colour is None else self.data.seconds, *(self.data.band or ())]
        found = [extremes for each in drawn if (extremes := each.extremes_in(*times)) is not None]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None

    def read(self, t_s: float) -> float | None:
        """Return the value at a time: of that second where seconds are drawn, else of the mean."""
        shown = self.main if self.seconds_colour is None else self.data.seconds
        if not len(shown.t_s):
            return None
        if np.isinf(self.gap):
            inside = shown.t_s[0] <= t_s <= shown.t_s[-1]
            return float(np.interp(t_s, shown.t_s, shown.values)) if inside else None
        place = int(np.searchsorted(shown.t_s, t_s))  # a value describes the interval that ends at its time
        place = min(place, len(shown.t_s) - 1)
        if abs(float(shown.t_s[place]) - t_s) > self.gap:
            return None
        return float(shown.values[place])


class BandKind(StrEnum):
    """What is drawn around the means."""

    AUTOMATIC = "automatic"
    NOTHING = "nothing"
    ENVELOPE = "envelope"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class LineStyler:
    """What decides how lines look.

    Attributes:
        theme: colours.
        focus: run that is drawn thick.
        shown: runs that are not pale.
        thick: for a projector.
        around: what is drawn around the means.
        styled: whether the line style tells runs apart, not curves.
        gap: of the horizontal axis, see `Line`.
    """

    theme: Theme
    focus: str | None
    shown: int
    thick: bool = False
    around: BandKind = BandKind.AUTOMATIC
    styled: bool = False
    gap: float = GAP_S

    @property
    def alone(self) -> bool:
        """Whether there is one run only besides pale ones, so that colours can tell its curves apart."""
        return self.shown <= 1

    def is_shown(self, curve: CurveSpec, trace: RunTrace) -> bool:
        """Return whether a curve is drawn when nobody chose."""
        if trace.pale:
            return curve.main
        return curve.main or self.shown <= MOST_WITH_ALL_CURVES or trace.run_id == self.focus

    def dress(self, trace: RunTrace, chart: ChartSpec, curve: CurveSpec, data: CurveData) -> Line:
        """Return the line of a curve of a run."""
        colour, style = self._colour_and_style(trace, chart, curve)
        focused = trace.run_id == self.focus and not self.alone
        with_seconds = not trace.pale and curve.smooth and (focused or self._wants_seconds)
        pale = self.theme.pale(colour)
        return Line(
            run_id=trace.run_id,
            label=trace.label,
            curve=curve,
            data=data,
            colour=self.theme.pale(colour, 0.45) if trace.pale else colour,
            seconds_colour=pale if with_seconds else None,
            style=style,
            weight=self._weight(trace, focused=focused),
            rank=0 if trace.pale else 2 if focused else 1,
            gap=self.gap,
        )

    def _weight(self, trace: RunTrace, *, focused: bool) -> int:
        """Return the width of a line; of many only the one in focus is thick: each pixel costs as much."""
        if trace.pale:
            return 3 if self.thick else 1
        if self.thick:
            return 4
        return 3 if focused else 1 if self.shown > MOST_WITH_SECONDS else 2

    @property
    def _wants_seconds(self) -> bool:
        if self.around is BandKind.AUTOMATIC:
            return self.shown <= MOST_WITH_SECONDS
        return self.around is BandKind.SECONDS

    def style_of(self, trace: RunTrace) -> Qt.PenStyle:
        """Return the line style of a run's main curve."""
        if self.styled:
            return _STYLES[trace.colour_index % len(_STYLES)]
        return self.theme.series_style(trace.colour_index)

    def _colour_and_style(
        self, trace: RunTrace, chart: ChartSpec, curve: CurveSpec
    ) -> tuple[QColor, Qt.PenStyle]:
        index = trace.colour_index
        if self.alone and not trace.pale:
            place = _main_first(chart.curves).index(curve)
            return self.theme.series_colour(index + place), Qt.PenStyle.SolidLine
        if self.styled and curve.main and (self.shown > MOST_WITH_ALL_CURVES or len(chart.curves) == 1):
            return self.theme.series_colour(index), self.style_of(trace)
        style = self.theme.series_style(index) if index >= SERIES else _STYLES[curve.style % len(_STYLES)]
        return self.theme.series_colour(index), style


def _main_first(curves: Sequence[CurveSpec]) -> list[CurveSpec]:
    return sorted(curves, key=lambda curve: not curve.main)


# --- The curves of a run that lasts: each second only what is new is computed.


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
