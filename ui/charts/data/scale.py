"""Ranges, ticks and numbers of axes. Pure; times in seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
"""Seconds further apart than this were missed: no line leads over them."""

_TOPS: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_HEADROOM: Final = 1.04
_SHRINK_BELOW: Final = 0.5
"""An axis is made shorter only when its lines need less than this share of it."""

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """What a chart shows and on how many pixels of the device.

    Attributes:
        start_s: left edge.
        end_s: right edge.
        low: lower edge, in values.
        high: upper edge.
        width: pixels.
        height: pixels.
        is_log: whether the value axis is logarithmic.
        gap: points farther apart are not joined.
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
        """Return pixels from the left of a time, or of many."""
        return (t_s - self.start_s) * (self.width / (self.end_s - self.start_s))

    def y(self, value: Places) -> Places:
        """Return pixels from the top of a value, or of many; on a log axis none is below its lower edge."""
        bottom, top = self.low, self.high
        if self.is_log:
            bottom, top, least = math.log10(bottom), math.log10(top), bottom / 2
            value = _logs(value, least)
        return (top - value) * (self.height / (top - bottom))


def _logs(values: Places, least: float) -> Places:
    logs: Places = np.log10(np.maximum(values, least))
    return logs


def nice_top(value: float) -> float:
    """Return a round number at or above `value`; 1 for nothing."""
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

    An axis that moves every second cannot be read.
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
    """Return round values between two, at most about `most`."""
    step = tick_step(high - low, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return 1, 2, 5 of every decade, fewer where there is no room."""
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
    """Return round times between two, at most about `most`."""
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
    """Return what the labels of an axis that ends at `end_s` are written in."""
    return tr("h:mm") if end_s >= 3600 else tr("min:s")


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
    """Return a tick of a log axis without needless zeros."""
    return number_text(value, ",.0f") if value >= 1 else number_text(value, ".3f").rstrip("0")
