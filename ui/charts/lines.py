"""The lines of a chart: which curves of which runs, in which colour, and the arrays behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.runs.run_data import RunData, running_mean
from ui.charts.pyramid import Array, Pyramid
from ui.charts.registry import PERCENTILE, ChartSpec, CurveSpec
from ui.charts.scale import Range
from ui.charts.traces import RunTrace
from ui.theme import SERIES, Theme

GAP_S: Final = 2.5
"""Seconds further apart than this were missed: no line leads over them."""
MOST_WITH_SECONDS: Final = 6
MOST_WITH_ALL_CURVES: Final = 3

_STYLES: Final = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)


@dataclass(frozen=True, slots=True)
class CurveData:
    """A curve of one run, in the chart's unit.

    Attributes:
        seconds: every second.
        mean: running mean over 15 s, None for a curve that is not smoothed.
    """

    seconds: Pyramid
    mean: Pyramid | None


def curve_samples(data: RunData, curve: CurveSpec) -> tuple[Array, Array]:
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


def _instances(data: RunData, curve: CurveSpec) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for metric, instance in curve.parts:
        if instance == "*":
            found += [key for key in data.series_keys() if key[0] == metric]
        else:
            found.append((metric, instance))
    return found


def _part(data: RunData, part: tuple[str, str]) -> tuple[Array, Array]:
    if part[0].startswith(PERCENTILE):
        return data.percentile(float(part[0].removeprefix(PERCENTILE)))
    return data.series(*part)


def curve_data(data: RunData, curve: CurveSpec, factor: float) -> CurveData:
    """Return what is drawn of a curve."""
    t_s, values = curve_samples(data, curve)
    scaled = values if factor == 1.0 else values * factor
    mean = Pyramid(t_s, running_mean(t_s, scaled)) if curve.smooth else None
    return CurveData(Pyramid(t_s, scaled), mean)


def needed(charts: Iterable[ChartSpec], shown: int) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Return (series, percentiles) that charts read when so many runs are shown, for `RunData.load`.

    Series of instance "*" are left to the chart.
    """
    curves = [curve for chart in charts for curve in chart.curves]
    wanted = [curve for curve in curves if curve.main or shown <= MOST_WITH_ALL_CURVES]
    parts = [part for curve in wanted for part in curve.parts if part[1] != "*"]
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

    @property
    def main(self) -> Pyramid:
        """What the line is read by: the mean, else the seconds."""
        return self.data.seconds if self.data.mean is None else self.data.mean

    @property
    def extremes(self) -> Range | None:
        """Lowest and highest value drawn."""
        return (self.main if self.seconds_colour is None else self.data.seconds).extremes

    def read(self, t_s: float) -> float | None:
        """Return the value at a time: of that second where seconds are drawn, else of the mean."""
        shown = self.main if self.seconds_colour is None else self.data.seconds
        if not len(shown.t_s):
            return None
        place = int(np.searchsorted(shown.t_s, t_s))  # a value describes the interval that ends at its time
        place = min(place, len(shown.t_s) - 1)
        if abs(float(shown.t_s[place]) - t_s) > GAP_S:
            return None
        return float(shown.values[place])


@dataclass(frozen=True, slots=True)
class Wardrobe:
    """What decides how lines look.

    Attributes:
        theme: colours.
        focus: run that is drawn thick.
        shown: runs that are not pale.
        thick: for a projector.
    """

    theme: Theme
    focus: str | None
    shown: int
    thick: bool = False

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
        with_seconds = not trace.pale and curve.smooth and (self.shown <= MOST_WITH_SECONDS or focused)
        pale = self.theme.pale(colour)
        return Line(
            run_id=trace.run_id,
            label=trace.label,
            curve=curve,
            data=data,
            colour=self.theme.pale(colour, 0.45) if trace.pale else colour,
            seconds_colour=pale if with_seconds else None,
            style=style,
            weight=(3 if self.thick else 1) if trace.pale else (4 if self.thick else 2 + focused),
            rank=0 if trace.pale else 2 if focused else 1,
        )

    def _colour_and_style(
        self, trace: RunTrace, chart: ChartSpec, curve: CurveSpec
    ) -> tuple[QColor, Qt.PenStyle]:
        index = trace.colour_index
        if self.alone and not trace.pale:
            place = _main_first(chart.curves).index(curve)
            return self.theme.series_colour(index + place), Qt.PenStyle.SolidLine
        style = self.theme.series_style(index) if index >= SERIES else _STYLES[curve.style % len(_STYLES)]
        return self.theme.series_colour(index), style


def _main_first(curves: Sequence[CurveSpec]) -> list[CurveSpec]:
    return sorted(curves, key=lambda curve: not curve.main)
