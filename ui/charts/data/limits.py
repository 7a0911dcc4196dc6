"""Draw the raw performance of a storage as level lines in its charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

import numpy as np
from PySide6.QtCore import Qt

from app.domain.text import tr
from ui.charts.data.curves import CurveData
from ui.charts.data.lines import Line
from ui.charts.data.min_max_pyramid import Pyramid
from ui.charts.data.registry import ChartSpec, CurveSpec
from ui.charts.data.scale import Range, format_value

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
        words = tr("{curve}: can do {value}")
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
