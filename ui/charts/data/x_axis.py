"""What lies along the horizontal axis of charts: time, percentiles, latencies, a swept number. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from app.domain.text import number_text, tr
from ui.charts.data.scale import (
    GAP_S,
    format_log_tick,
    format_moment,
    format_time,
    format_value,
    log_ticks,
    time_ticks,
    time_unit,
)


class XQuantity(StrEnum):
    """The quantity of a horizontal axis."""

    TIME = "time"
    NINES = "nines"
    LATENCY = "latency"
    SWEPT = "swept"


@dataclass(frozen=True, slots=True)
class XAxisKind:
    """How a horizontal axis counts, and how it says so.

    Attributes:
        along: its quantity.
        unit: (end of the axis) -> what labels are written in.
        ticks: (start, end, most) -> places of labels.
        label: (place, end of the axis) -> text of a label.
        moment: (place, end of the axis) -> text of the crosshair.
        shortest: least part that can be shown.
        gap: places farther apart are not joined; infinite where lines are curves of points.
        column: name of the column in a CSV file.
        number: place -> number in a CSV file.
        empty: what is shown where there is nothing.
    """

    along: XQuantity
    unit: Callable[[float], str]
    ticks: Callable[[float, float, int], list[float]]
    label: Callable[[float, float], str]
    moment: Callable[[float, float], str]
    shortest: float
    gap: float
    column: str
    number: Callable[[float], float]
    empty: tuple[float, float]

    @property
    def joined(self) -> bool:
        """Whether values between two places are read off the line that joins them."""
        return math.isinf(self.gap)


def percent_of(nines: float) -> str:
    """Return a number of nines as a percentile: 0.301 is 50 %, 2 is 99 %, 3.3 is 99.95 %."""
    decimals = max(0, math.ceil(nines - 2 - 1e-6))
    share = 100 * (1 - 10.0**-nines)
    if decimals == 0 and abs(share - round(share)) > 0.05:
        decimals = 1
    return tr("{percent} %").format(percent=number_text(share, f".{decimals}f"))


_SHORT_LABEL: Final = 0.6
"""Room that 50 % and 95 % need, of that of the longest label of any axis."""


def _nines_ticks(start: float, end: float, most: int) -> list[float]:
    """Return 0, 50, 90, 95, 99 %, 99.9 % ..., fewer where there is no room."""
    whole = [float(nines) for nines in range(max(0, math.ceil(start - 1e-9)), math.floor(end + 1e-9) + 1)]
    apart = _SHORT_LABEL * (end - start) / max(1, most)
    shown = whole[:: max(1, -(-len(whole) // max(1, most)))]
    between = [
        place
        for place in (math.log10(2), math.log10(20))
        if start <= place <= end and all(abs(place - other) >= apart for other in shown)
    ]
    return sorted([*shown, *between])


def _latency_ticks(start: float, end: float, most: int) -> list[float]:
    return [math.log10(tick) for tick in log_ticks(10**start, 10**end, most)]


TIME: Final = XAxisKind(
    XQuantity.TIME,
    time_unit,
    time_ticks,
    format_time,
    format_moment,
    5.0,
    GAP_S,
    "t_s",
    lambda place: place,
    (0.0, 60.0),
)
NINES: Final = XAxisKind(
    XQuantity.NINES,
    lambda _end: tr("percentile"),
    _nines_ticks,
    lambda place, _end: percent_of(place),
    lambda place, _end: tr("{percentile} of the transactions").format(percentile=percent_of(place)),
    0.2,
    math.inf,
    "percent",
    lambda place: 100 * (1 - 10.0**-place),
    (0.0, 4.0),
)
LATENCY: Final = XAxisKind(
    XQuantity.LATENCY,
    lambda _end: tr("ms, logarithmic"),
    _latency_ticks,
    lambda place, _end: format_log_tick(10**place),
    lambda place, _end: tr("within {latency} ms").format(latency=format_value(10**place)),
    0.1,
    math.inf,
    "latency_ms",
    lambda place: 10**place,
    (-1.0, 2.0),
)


def swept_axis(name: str, levels: Sequence[float], *, is_log: bool) -> XAxisKind:
    """Return the axis of a number that was swept, with labels where it was measured.

    Args:
        name: of the number.
        levels: ascending.
        is_log: whether places are powers of ten; needs levels above 0.
    """
    places = [math.log10(level) for level in levels] if is_log else list(levels)

    def number(place: float) -> float:
        return 10.0**place if is_log else place

    def ticks(start: float, end: float, most: int) -> list[float]:
        inside = [place for place in places if start - 1e-9 <= place <= end + 1e-9]
        return inside[:: -(-len(inside) // max(1, most))] if inside else []

    def text(place: float, _end: float) -> str:
        value = number(place)
        return (
            number_text(value, ",.0f")
            if abs(value - round(value)) < 1e-6 * max(1.0, value)
            else format_value(value)
        )

    return replace(
        LATENCY,
        along=XQuantity.SWEPT,
        unit=lambda _end: name,
        ticks=ticks,
        label=text,
        moment=lambda place, end: f"{text(place, end)} {name}",
        shortest=min((b - a for a, b in pairwise(places)), default=1.0) / 2,
        column=name,
        number=number,
        empty=(places[0], places[-1]) if len(places) > 1 else (0.0, 1.0),
    )
