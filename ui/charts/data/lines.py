"""The lines of a chart: which curves of which runs, in which colour; one rule for every view.

A colour is a configuration: repeats share it, and so do all curves of a run. Dashes distinguish curves of one
run. From the ninth configuration on marks distinguish those of the same colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.domain.text import tr
from ui.charts.data.curves import MOST_WITH_ALL_CURVES, CurveData, Pyramid
from ui.charts.data.registry import ChartSpec, CurveSpec, RunTrace
from ui.charts.data.scale import GAP_S, Range, format_value
from ui.theme import STYLES, Theme

MOST_WITH_SECONDS: Final = 6
_PALE_SHARE: Final = 0.6
"""Share of its colour that a line behind a live one keeps: it is compared with it, so it must be visible."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of a run as drawn.

    Attributes:
        run_id: of the run.
        label: name of the run.
        curve: the curve.
        data: its arrays.
        colour: opaque.
        seconds_colour: of the seconds behind the mean; None to not draw them.
        style: of the mean.
        weight: 1 for most, 2 for the run in focus, more on a projector.
        rank: drawing order; higher ones are on top.
        gap: points further apart are not joined; infinite if the line is interpolated.
        mark: number of its mark; 0 for none.
        is_pale: whether it is in the background.
        warning: end of its label that is never shortened.
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
    mark: int = 0
    is_pale: bool = False
    warning: str = ""

    @property
    def main(self) -> Pyramid:
        """The series that is read: the mean, else the seconds."""
        return self.data.main

    def extremes_in(self, times: Range) -> Range | None:
        """Return the lowest and highest value drawn between two times."""
        drawn = [self.main if self.seconds_colour is None else self.data.seconds, *(self.data.band or ())]
        found = [extremes for each in drawn if (extremes := each.extremes_in(*times)) is not None]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None

    def read(self, t_s: float) -> float | None:
        """Return the value of the line at a time: of the mean if drawn, as visible."""
        return self._read(self.main, t_s)

    def read_second(self, t_s: float) -> float | None:
        """Return the value of that second; None if seconds are not drawn."""
        return None if self.seconds_colour is None else self._read(self.data.seconds, t_s)

    def read_band(self, t_s: float) -> Range | None:
        """Return both ends of the band at a time; None without a band."""
        if self.data.band is None:
            return None
        low, high = (self._read(end, t_s) for end in self.data.band)
        return None if low is None or high is None else (low, high)

    def _read(self, shown: Pyramid, t_s: float) -> float | None:
        if not len(shown.t_s):
            return None
        if np.isinf(self.gap):
            inside = shown.t_s[0] <= t_s <= shown.t_s[-1]
            return float(np.interp(t_s, shown.t_s, shown.values)) if inside else None
        place = int(shown.t_s.searchsorted(t_s))  # a value covers the interval that ends at its time
        place = min(place, len(shown.t_s) - 1)
        if abs(float(shown.t_s[place]) - t_s) > self.gap:
            return None
        return float(shown.values[place])


class BandKind(StrEnum):
    """Band around the means."""

    AUTOMATIC = "automatic"
    NOTHING = "nothing"
    ENVELOPE = "envelope"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class LineStyler:
    """Determine the appearance of lines.

    Attributes:
        theme: colours.
        focus: run drawn with a thick line.
        shown: runs that are not pale.
        thick: for a projector.
        around: band around the means.
        gap: of the horizontal axis, see `Line`.
        offered: runs or configurations that could be shown, including hidden ones, so that hiding one does
            not add curves.
    """

    theme: Theme
    focus: str | None
    shown: int
    thick: bool = False
    around: BandKind = BandKind.AUTOMATIC
    gap: float = GAP_S
    offered: int = 0

    @property
    def alone(self) -> bool:
        """Whether there is only one run or configuration besides pale ones."""
        return self.shown <= 1

    def is_shown(self, curve: CurveSpec, trace: RunTrace) -> bool:
        """Return whether a curve is drawn by default."""
        if trace.pale:
            return curve.main
        offered = max(self.shown, self.offered)
        return curve.main or offered <= MOST_WITH_ALL_CURVES or trace.run_id == self.focus

    def style_line(self, trace: RunTrace, curve: CurveSpec, data: CurveData) -> Line:
        """Return the line of a curve of a run."""
        colour = self.theme.shade(self.theme.series_colour(trace.colour_index), curve.shade)
        focused = trace.run_id == self.focus and not self.alone
        with_seconds = not trace.pale and curve.smooth and (focused or self._wants_seconds)
        with_seconds = with_seconds and data.repeats == 1
        pale = self.theme.pale(colour)
        return Line(
            run_id=trace.run_id,
            label=trace.label,
            curve=curve,
            data=data,
            colour=self.theme.pale(colour, _PALE_SHARE) if trace.pale else colour,
            seconds_colour=pale if with_seconds else None,
            style=STYLES[curve.style],
            weight=self._weight(trace, focused=focused),
            rank=0 if trace.pale else 2 if focused else 1,
            gap=self.gap,
            mark=self.theme.series_mark(trace.colour_index),
            is_pale=trace.pale,
            warning=trace.warning,
        )

    def _weight(self, trace: RunTrace, *, focused: bool) -> int:
        """Return the width of a line; of many only the focused one is thick: each pixel costs as much."""
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


# Draw the raw performance of a storage as level lines in its charts.


NEAR: Final = 3.0
"""A limit above this multiple of the highest second is not drawn: it would flatten the rest."""

MOST: Final = 3
"""Most limits of one curve, for runs on different storage, that can be distinguished."""

_STEP_S: Final = 1.0


@runtime_checkable
class WithLimits(Protocol):
    """Data with known limits of its storage."""

    @property
    def limits(self) -> Mapping[str, float]:
        """Limits by metric, in its unit; empty if the storage was not measured."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A level line.

    Attributes:
        curve: of the limit.
        value: in the chart's unit.
    """

    curve: CurveSpec
    value: float

    @property
    def label(self) -> str:
        """The visible label."""
        words = tr("{curve}: capacity {value}")
        return words.format(curve=self.curve.label, value=format_value(self.value))


def limits_of(data: object) -> Mapping[str, float]:
    """Return the raw performance of a run's storage, by metric; empty if not measured."""
    return data.limits if isinstance(data, WithLimits) else {}


def limit_of(
    limits: Mapping[str, float], chart: ChartSpec, curve: CurveSpec, extremes: Range | None
) -> Limit | None:
    """Return the limit of a curve if it is known, and near enough to be drawn.

    Args:
        limits: of its run, see `limits_of`.
        chart: of the curve.
        curve: of the chart.
        extremes: lowest and highest value of the curve in the chart's unit; None if it has none.
    """
    if len(curve.parts) != 1 or extremes is None:
        return None
    metric, instance = curve.parts[0]
    able = limits.get(metric)
    if instance or able is None or not able * chart.factor <= NEAR * extremes[1]:
        return None
    return Limit(curve, able * chart.factor)


@lru_cache(maxsize=16)
def level(value: float, begin_s: float, end_s: float) -> Pyramid:
    """Return a level line along an axis; cached, because a live page needs it every second."""
    t_s = np.arange(begin_s, max(end_s, begin_s + _STEP_S) + _STEP_S, _STEP_S)
    return Pyramid(t_s, np.full(len(t_s), value))


def limit_lines(chart: ChartSpec, drawn: Iterable[tuple[object, Line]], whole: Range) -> list[Line]:
    """Return the level lines for the limits of lines; runs on the same storage share them.

    Args:
        chart: to draw them on.
        drawn: each line with the data of its run.
        whole: start and end of the axis; a line that ended with the run would change every second.
    """
    found: dict[tuple[str, float], Line] = {}
    known: dict[int, Mapping[str, float]] = {}  # once per run, which may have many curves
    for data, line in drawn:
        if id(data) not in known:
            known[id(data)] = limits_of(data)
        limits = known[id(data)]
        extremes = line.extremes_in((0.0, math.inf)) if limits else None
        limit = limit_of(limits, chart, line.curve, extremes)
        if limit is None:
            continue
        curve = CurveSpec(f"limit:{limit.curve.id}:{limit.value:g}", limit.label, ())
        flat = CurveData(level(limit.value, *whole), None)
        found.setdefault(
            (limit.curve.id, limit.value),
            Line(
                run_id=line.run_id,
                label=limit.label,
                curve=curve,
                data=flat,
                colour=line.colour,
                seconds_colour=None,
                style=Qt.PenStyle.DashDotDotLine,
                weight=1,
                rank=-1,
                gap=line.gap,
            ),
        )
    crowded = {curve for curve, _ in found if sum(other == curve for other, _ in found) > MOST}
    return [line for (curve, _), line in found.items() if curve not in crowded]
