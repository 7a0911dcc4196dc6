"""Means beside each other on paper: a bar from zero, its interval, a ring for each run."""

from __future__ import annotations

from collections.abc import Sequence
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
_TITLE_SHARE: Final = 0.6
_AXIS_ROOM_MM: Final = 6.0
"""Behind the end of the axis, for half of its last label."""
_BEHIND_MM: Final = 1.8
_SIGN_MM: Final = 1.5
_WARNING_MM: Final = _SIGN_MM + 3.2
_LEAST_SHARE: Final = 0.3
"""Of the width, that the axis has at least, however long the words are."""
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
    title = canvas.elide(figure.title, TITLE, width * _TITLE_SHARE)
    canvas.text(x, y, title, TITLE)
    behind = canvas.width(title, TITLE) + 1.5
    canvas.text(x + behind, y + 0.5, canvas.elide(figure.unit, UNIT, width - behind), UNIT)
    kind = _SMALL_NAME if len(figure.bars) >= _SMALL_FROM else _NAME
    tag_mm = max(canvas.width(letters(bar.look), replace(kind, bold=True)) for bar in figure.bars) + 1.5
    wanted = max(canvas.width(bar.name, kind) for bar in figure.bars)
    names_mm = min(wanted, width * _NAMES_SHARE) + tag_mm + 2
    left = x + names_mm
    height = row_mm(len(figure.bars))
    top = nice_top(max((_reach(bar) for bar in figure.bars), default=0.0))
    scale = _scale(canvas, figure.bars, _told_style(height), x + width - left, top)
    right = left + top * scale
    begin, end = y + TITLE_MM, y + TITLE_MM + height * len(figure.bars)
    _paint_axis(canvas, (left, right), (begin, end), top)
    for place, bar in enumerate(figure.bars):
        middle = begin + height * (place + 0.5)
        _paint_name(canvas, bar, kind, (x, tag_mm, names_mm), middle, height)
        _paint_bar(canvas, bar, left, scale, middle, height)
    canvas.rule(left, begin, left, end, "frame", 0.25)


def _told_style(height: float) -> TextStyle:
    return _TOLD if height >= _TOLD.line_mm else _SMALL_TOLD


def _reach(bar: Bar) -> float:
    """Return the highest value that a bar shows: words begin behind it."""
    return max((value for value in (bar.value, bar.high, *bar.runs) if value is not None), default=0.0)


def _scale(canvas: Canvas, bars: Sequence[Bar], told: TextStyle, width: float, top: float) -> float:
    """Return the millimetres of one unit, so that the axis and what stands behind each bar fit the width."""
    most = [(width - _AXIS_ROOM_MM) / top]
    for bar in bars:
        if bar.value is not None and _reach(bar) > 0:
            room = width - _BEHIND_MM - canvas.width(bar.told, told)
            if bar.warning:
                room -= _WARNING_MM + canvas.width(bar.warning, _WARNED)
            most.append(room / _reach(bar))
    return max(min(most), width * _LEAST_SHARE / top)


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
    told = _told_style(height)
    if bar.value is None:
        canvas.text(left + 1.5, middle - UNIT.line_mm / 2, bar.told or tr("no result"), UNIT)
        return
    thick = height * 0.6
    ink = series_colour(bar.look)
    canvas.area(left, middle - thick / 2, bar.value * scale, thick, mix(ink, colour("background"), _PALE))
    canvas.area(left + bar.value * scale - 0.5, middle - thick / 2, 0.5, thick, ink)
    if bar.low is not None and bar.high is not None:
        low, high, cap = left + bar.low * scale, left + bar.high * scale, thick / 3
        canvas.rule(low, middle, high, middle, "text", 0.3)
        canvas.rule(low, middle - cap, low, middle + cap, "text", 0.3)
        canvas.rule(high, middle - cap, high, middle + cap, "text", 0.3)
    if len(bar.runs) > 1:
        for value in bar.runs:
            canvas.dot(left + value * scale, middle, min(0.8, thick / 4))
    x = left + _reach(bar) * scale + _BEHIND_MM
    canvas.text(x, middle - told.line_mm / 2, bar.told, told)
    if bar.warning:
        x += canvas.width(bar.told, told) + _SIGN_MM
        canvas.warning_sign(x, middle - 1.1, 2.0)
        canvas.text(x + _WARNING_MM - _SIGN_MM, middle - _WARNED.line_mm / 2, bar.warning, _WARNED)
