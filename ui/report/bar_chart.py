"""Means beside each other on paper: a bar from zero, its interval, a ring for each run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.domain.text import tr
from app.report.blocks import Bar, BarFigure, letters
from ui.charts.data.scale import format_value, nice_top, tick_step, value_ticks
from ui.report.canvas import Canvas, TextStyle, colour, series_colour
from ui.report.time_chart import TITLE, TITLE_MM, UNIT
from ui.theme import mix

_NAME: Final = TextStyle(8.5)
_SMALL_NAME: Final = TextStyle(6.5)
_TOLD: Final = TextStyle(8, bold=True)
_SMALL_TOLD: Final = TextStyle(6.5, bold=True)
_WARNED: Final = TextStyle(6.5, bold=True, colour="warning")
_TICK: Final = TextStyle(7, colour="muted")
_AXIS_MM: Final = 5.0
_NAMES_SHARE: Final = 0.34
_TOLD_MM: Final = 34.0
_PALE: Final = 0.45
_SMALL_FROM: Final = 9
"""Bars from which names are set small."""


def row_mm(bars: int) -> float:
    """Return the height of one of so many bars."""
    return next(
        height for most, height in ((4, 9.0), (8, 7.0), (12, 5.0), (16, 3.3), (10_000, 2.7)) if bars <= most
    )


def bar_chart_mm(figure: BarFigure) -> float:
    """Return the height of a chart with title and axis."""
    return TITLE_MM + row_mm(len(figure.bars)) * len(figure.bars) + _AXIS_MM


def paint_bars(canvas: Canvas, figure: BarFigure, x: float, y: float, width: float) -> None:
    """Paint a figure into `width` times `bar_chart_mm`."""
    canvas.text(x, y, figure.title, TITLE)
    canvas.text(x + canvas.width(figure.title, TITLE) + 1.5, y + 0.5, figure.unit, UNIT)
    kind = _SMALL_NAME if len(figure.bars) >= _SMALL_FROM else _NAME
    tag_mm = max(canvas.width(letters(bar.look), replace(kind, bold=True)) for bar in figure.bars) + 1.5
    wanted = max(canvas.width(bar.name, kind) for bar in figure.bars)
    names_mm = min(wanted, width * _NAMES_SHARE) + tag_mm + 2
    left, right = x + names_mm, x + width - _TOLD_MM
    highest = max((value for bar in figure.bars for value in _values(bar)), default=0.0)
    top = nice_top(highest)
    scale = (right - left) / top
    height = row_mm(len(figure.bars))
    begin, end = y + TITLE_MM, y + TITLE_MM + height * len(figure.bars)
    _paint_axis(canvas, (left, right), (begin, end), top)
    for place, bar in enumerate(figure.bars):
        middle = begin + height * (place + 0.5)
        _paint_name(canvas, bar, kind, (x, tag_mm, names_mm), middle, height)
        _paint_bar(canvas, bar, left, scale, middle, height)
    canvas.rule(left, begin, left, end, "frame", 0.25)


def _values(bar: Bar) -> list[float]:
    return [value for value in (bar.value, bar.high, *bar.runs) if value is not None]


def _paint_axis(canvas: Canvas, across: tuple[float, float], down: tuple[float, float], top: float) -> None:
    left, right = across
    ticks = value_ticks(0.0, top, max(2, int((right - left) / 18)))
    step = ticks[1] - ticks[0] if len(ticks) > 1 else tick_step(top, 2)
    for tick in ticks:
        place = left + tick * (right - left) / top
        canvas.rule(place, down[0], place, down[1])
        label = format_value(tick, step)
        canvas.text(place + canvas.width(label, _TICK) / 2, down[1] + 0.8, label, _TICK, right=True)


def _paint_name(
    canvas: Canvas,
    bar: Bar,
    kind: TextStyle,
    across: tuple[float, float, float],
    middle: float,
    height: float,
) -> None:
    x, tag_mm, names_mm = across
    bold = replace(kind, bold=True)
    canvas.text(x, middle - bold.line_mm / 2, letters(bar.look), bold)
    room = names_mm - tag_mm - 2
    most = max(1, int(height / kind.line_mm))
    lines = canvas.wrap(bar.name, kind, room, most)
    top = middle - kind.line_mm * len(lines) / 2
    for number, line in enumerate(lines):
        canvas.text(x + tag_mm, top + number * kind.line_mm, line, kind)


def _paint_bar(canvas: Canvas, bar: Bar, left: float, scale: float, middle: float, height: float) -> None:
    told = _TOLD if height >= _TOLD.line_mm else _SMALL_TOLD
    if bar.value is None:
        canvas.text(left + 1.5, middle - UNIT.line_mm / 2, bar.told or tr("no result"), UNIT)
        return
    thick = height * 0.6
    ink = series_colour(bar.look)
    canvas.area(left, middle - thick / 2, bar.value * scale, thick, mix(ink, colour("background"), _PALE))
    canvas.area(left + bar.value * scale - 0.5, middle - thick / 2, 0.5, thick, ink)
    reach = bar.value
    if bar.low is not None and bar.high is not None:
        reach = max(reach, bar.high)
        low, high, cap = left + bar.low * scale, left + bar.high * scale, thick / 3
        canvas.rule(low, middle, high, middle, "text", 0.3)
        canvas.rule(low, middle - cap, low, middle + cap, "text", 0.3)
        canvas.rule(high, middle - cap, high, middle + cap, "text", 0.3)
    if len(bar.runs) > 1:
        for value in bar.runs:
            canvas.dot(left + value * scale, middle, min(0.8, thick / 4))
        reach = max(reach, *bar.runs)
    x = left + reach * scale + 1.8
    canvas.text(x, middle - told.line_mm / 2, bar.told, told)
    if bar.warning:
        x += canvas.width(bar.told, told) + 1.5
        canvas.warning_sign(x, middle - 1.1, 2.0)
        canvas.text(x + 3.2, middle - _WARNED.line_mm / 2, bar.warning, _WARNED)
