"""Ranges, ticks and numbers of axes: time, percentiles, latencies, a swept number. Pure; times in seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.domain.text import number_text, tr

Array = NDArray[np.float64]
Places = TypeVar("Places", float, Array)

_TIME_STEPS_S: Final = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200),
    *(86400, 2 * 86400, 7 * 86400),
)
GAP_S: Final = 2.5
"""Seconds further apart than this have a gap: no line joins them."""

_TOPS: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_HEADROOM: Final = 1.04
_SHRINK_BELOW: Final = 0.5
"""An axis shrinks only when its lines need less than this share of it."""

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """The visible ranges of a chart, and its size in device pixels.

    Attributes:
        start_s: left edge.
        end_s: right edge.
        low: lower edge, in values.
        high: upper edge.
        width: pixels.
        height: pixels.
        is_log: whether the value axis is logarithmic.
        gap: points further apart are not joined.
    """

    start_s: float
    end_s: float
    low: float
    high: float
    width: int
    height: int
    is_log: bool
    gap: float = GAP_S

    def x(self, t_s: Places) -> Places:
        """Return the pixels of times, from the left."""
        return (t_s - self.start_s) * (self.width / (self.end_s - self.start_s))

    def y(self, value: Places) -> Places:
        """Return the pixels of values, from the top; a log axis clamps values below its lower edge."""
        bottom, top = self.low, self.high
        if self.is_log:
            bottom, top, least = math.log10(bottom), math.log10(top), bottom / 2
            value = _logs(value, least)
        return (top - value) * (self.height / (top - bottom))


def _logs(values: Places, least: float) -> Places:
    logs: Places = np.log10(np.maximum(values, least))
    return logs


def nice_top(value: float) -> float:
    """Return a round number at or above `value`; 1 if it is not positive."""
    if not math.isfinite(value) or value <= 0:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next((top * decade for top in _TOPS if top * decade >= value * (1 - 1e-12)), 10 * decade)


def _nice_bottom(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return max(part * decade for part in (1.0, 2.0, 5.0) if part * decade <= value * (1 + 1e-12))


def value_range(extremes: Range | None, *, zero_based: bool, is_log: bool) -> Range:
    """Return the range of a value axis for the lowest and highest value on it."""
    if extremes is None:
        return (0.1, 10.0) if is_log else (0.0, 1.0)
    low, high = extremes
    if is_log:
        positive = low if low > 0 else max(high / 1000, 0.001)
        bottom = _nice_bottom(max(positive, 0.001))
        return bottom, max(nice_top(high * _HEADROOM), bottom * 5)
    if zero_based or low <= high / 2:
        return min(0.0, -nice_top(-low) if low < 0 else 0.0), nice_top(high * _HEADROOM)
    step = tick_step(high - low or abs(high) or 1.0, 4)
    return math.floor(low / step) * step, math.ceil(high / step + 1e-9) * step


def keep_range(old: Range | None, wanted: Range, *, is_log: bool) -> Range:
    """Return the old range unless lines leave it or need less than half of it.

    An axis that moves every second is unreadable.
    """
    if old is None:
        return wanted
    inside = old[0] <= wanted[0] and wanted[1] <= old[1]
    if is_log:
        roomy = math.log(wanted[1] / wanted[0]) < _SHRINK_BELOW * math.log(old[1] / old[0])
    else:
        roomy = wanted[1] - wanted[0] < _SHRINK_BELOW * (old[1] - old[0])
    return old if inside and not roomy else wanted


def tick_step(span: float, most: int) -> float:
    """Return the smallest of 1, 2, 5, 10 ... that divides `span` into at most `most` parts."""
    rough = span / max(1, most)
    decade = 10.0 ** math.floor(math.log10(rough))
    return next(part * decade for part in (1.0, 2.0, 5.0, 10.0) if part * decade >= rough * (1 - 1e-9))


def value_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round values within a range, at most about `most`."""
    step = tick_step(high - low, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return 1, 2, 5 of every decade, fewer if there is no room."""
    decades = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
    ticks: list[float] = []
    for parts in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [
            part * 10.0**decade
            for decade in decades
            for part in parts
            if low * (1 - 1e-9) <= part * 10.0**decade <= high * (1 + 1e-9)
        ]
        if len(ticks) <= most:
            return ticks
    return ticks[:: -(-len(ticks) // max(1, most))]


def time_ticks(start_s: float, end_s: float, most: int) -> list[float]:
    """Return round times within a range, at most about `most`."""
    rough = (end_s - start_s) / max(1, most)
    step = next((step for step in _TIME_STEPS_S if step >= rough), math.ceil(rough / 604800) * 604800)
    first, last = math.ceil(start_s / step - 1e-9), math.floor(end_s / step + 1e-9)
    return [float(number * step) for number in range(first, last + 1)]


def format_time(t_s: float, end_s: float) -> str:
    """Return a tick of an axis that ends at `end_s`: mm:ss below an hour, else h:mm, h:mm:ss in between."""
    exact = format_moment(t_s, end_s)
    return exact if end_s < 3600 or not exact.endswith(":00") else exact.removesuffix(":00")


def format_moment(t_s: float, end_s: float) -> str:
    """Return a second on an axis that ends at `end_s`: mm:ss below an hour, else h:mm:ss."""
    sign = "\N{MINUS SIGN}" if round(t_s) < 0 else ""
    hours, rest = divmod(abs(round(t_s)), 3600)
    minutes, seconds = divmod(rest, 60)
    if not hours and end_s < 3600:
        return f"{sign}{minutes:02}:{seconds:02}"
    return f"{sign}{hours}:{minutes:02}:{seconds:02}"


def time_unit(end_s: float) -> str:
    """Return the unit of the labels of an axis that ends at `end_s`."""
    return "h:mm" if end_s >= 3600 else "min:s"


def format_value(value: float, step: float | None = None) -> str:
    """Return a number with thousands separators; with as many decimals as `step`, else four digits."""
    if step is not None:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    else:
        size = abs(value)
        decimals = 0 if size >= 1000 or size == 0 else max(0, 2 - math.floor(math.log10(max(size, 1e-3))))
        decimals = min(decimals, 3)
    text = number_text(value, f",.{decimals}f")
    return text.replace("-", "\N{MINUS SIGN}") if round(value, decimals) else text.lstrip("-")


def format_log_tick(value: float) -> str:
    """Return a tick of a log axis without superfluous zeros."""
    return number_text(value, ",.0f") if value >= 1 else number_text(value, ".3f").rstrip("0")


class XQuantity(StrEnum):
    """The quantity of a horizontal axis."""

    TIME = "time"
    NINES = "nines"
    LATENCY = "latency"
    SWEPT = "swept"


@dataclass(frozen=True, slots=True)
class XAxisKind:
    """The units and labels of a horizontal axis.

    Attributes:
        along: its quantity.
        unit: (end of the axis) -> unit of labels.
        ticks: (start, end, most) -> positions of labels.
        label: (position, end of the axis) -> text of a label.
        moment: (position, end of the axis) -> text of the crosshair.
        shortest: least range that can be shown.
        gap: points further apart are not joined; infinite if lines are curves of points.
        column: name of the column in a CSV file.
        number: position -> number in a CSV file.
        empty: text of an empty chart.
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
        """Whether values between two points are interpolated."""
        return math.isinf(self.gap)


def percent_of(nines: float) -> str:
    """Return a number of nines as a percentile: 0.301 is 50 %, 2 is 99 %, 3.3 is 99.95 %."""
    decimals = max(0, math.ceil(nines - 2 - 1e-6))
    share = 100 * (1 - 10.0**-nines)
    if decimals == 0 and abs(share - round(share)) > 0.05:
        decimals = 1
    return f"{number_text(share, f'.{decimals}f')} %"


_SHORT_LABEL: Final = 0.6
"""Room needed by 50 % and 95 %, relative to the longest label of any axis."""


def _nines_ticks(start: float, end: float, most: int) -> list[float]:
    """Return 0, 50, 90, 95, 99 %, 99.9 % ..., fewer if there is no room."""
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
    """Return the axis of a swept number, with labels at the measured levels.

    Args:
        name: of the number.
        levels: ascending.
        is_log: whether positions are powers of ten; needs levels above 0.
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
