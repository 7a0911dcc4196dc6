"""A chart over time on paper: axes, grid, seconds behind running means, tags at the ends of the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from PySide6.QtGui import QColor, QPen

from app.domain.text import tr
from app.report.blocks import TimeFigure, Trace
from app.runfile.series import RunData, mean_width, running_mean
from ui.charts.data.curves import curve_samples
from ui.charts.data.limits import level, limit_of, limits_of
from ui.charts.data.min_max_pyramid import Pyramid
from ui.charts.data.plotted_run import devices_words, load_words
from ui.charts.data.registry import CHARTS, ChartSpec, CurveSpec
from ui.charts.data.scale import (
    GAP_S,
    Frame,
    Places,
    Range,
    format_log_tick,
    format_time,
    format_value,
    log_ticks,
    tick_step,
    time_ticks,
    time_unit,
    value_range,
    value_ticks,
)
from ui.report.canvas import Canvas, TextStyle, colour, series_colour
from ui.theme import mix

SECONDS_BINS: Final = 6
MEAN_BINS: Final = 3
"""Columns per millimetre; each has the minimum and the maximum of its seconds."""

SHORTEST_S: Final = 5.0
_LIMIT_STROKES: Final = 3
"""Number of the line style for the raw performance of a storage: dots and dashes."""
TITLE: Final = TextStyle(9, bold=True)
UNIT: Final = TextStyle(7.5, colour="muted")
_TICK: Final = TextStyle(7, colour="muted")
_TAG: Final = TextStyle(7.5, bold=True)
_CURVE: Final = TextStyle(6.5)
TITLE_MM: Final = 5.0
_TIMES_MM: Final = 4.9
_BELOW_MM: Final = 1.3
"""Millimetres between an axis and its times: below the zero of the other axis."""
_PALE: Final = 0.42
_MOST: Final = 1e15
_ALONE_MM: Final = 2.0
_MEAN_MM: Final = 0.32
_SECONDS_MM: Final = 0.14


Gutters = tuple[float, float]
"""Millimetres at the left and right of an axis, for its labels and line names."""


@dataclass(frozen=True)
class PlottedLine:
    """A line of a chart.

    Attributes:
        seconds: every second, None to not draw them.
        main: the series that is read.
        ink: its colour.
        strokes: number of its line style.
        tag: shown at its end.
    """

    seconds: Pyramid | None
    main: Pyramid
    ink: QColor
    strokes: int
    tag: str


class TimeCharts:
    """Paint charts of the runs of one report; results for a run are cached."""

    def __init__(self, canvas: Canvas, runs: Sequence[RunData]) -> None:
        self._canvas = canvas
        self._runs = runs
        self._known: dict[tuple[int, str, str, float], tuple[Pyramid, Pyramid]] = {}

    def gutters(self, figures: Sequence[TimeFigure], width: float) -> Gutters:
        """Return the largest gutters of these figures, which align their axes."""
        least = [0.0, 0.0]
        for figure in figures:
            spec = CHARTS[figure.chart]
            end_s = figure.end_s or self.end_s(figure)
            _, own = self._frame(figure, spec, self._lines(figure, spec), (0.0, end_s), width, None)
            least = [max(pair) for pair in zip(least, own, strict=True)]
        return least[0], least[1]

    def paint(self, figure: TimeFigure, x: float, y: float, width: float, gutters: Gutters) -> None:
        """Paint a figure with its title into `width` times `figure.height_mm`.

        Args:
            figure: the chart.
            x: its left edge.
            y: its upper edge.
            width: with the gutters.
            gutters: at least those of the figure.
        """
        spec = CHARTS[figure.chart]
        lines = self._lines(figure, spec)
        end_s = figure.end_s or self.end_s(figure)
        frame, gutters = self._frame(figure, spec, lines, (0.0, end_s), width, gutters)
        self._paint_title(figure, spec, x, y, width)
        plot = _Plot(self._canvas, frame, x + gutters[0], y + TITLE_MM)
        plot.paint_ground(self._runs[figure.marks_of] if figure.marks_of is not None else None)
        plot.paint_axes()
        for line in lines:
            if line.seconds is not None:
                pale = mix(line.ink, colour("background"), _PALE)
                plot.paint_line(line.seconds, self._canvas.pen(pale, _SECONDS_MM), SECONDS_BINS)
        for line in lines:
            plot.paint_line(line.main, self._canvas.pen(line.ink, _MEAN_MM, line.strokes), MEAN_BINS)
        plot.paint_tags(lines, _TAG if len(figure.traces) > 1 else _CURVE)

    def end_s(self, figure: TimeFigure) -> float:
        """Return the end of the longest run of a figure."""
        ends = [self._runs[trace.run].end_s for trace in figure.traces]
        return max([SHORTEST_S, *(end for end in ends if np.isfinite(end))])

    def high(self, figure: TimeFigure) -> float:
        """Return the highest drawn value of a figure, for a common scale."""
        lines = self._lines(figure, CHARTS[figure.chart])
        return max((extremes[1] for line in lines if (extremes := _extremes(line))), default=0.0)

    # Data

    def _lines(self, figure: TimeFigure, spec: ChartSpec) -> list[PlottedLine]:
        alone = len(figure.traces) == 1
        mean_s = mean_width(figure.end_s or self.end_s(figure))
        lines: list[PlottedLine] = []
        for trace in figure.traces:
            for place, curve in enumerate(_curves(spec, trace)):
                line = self._line(spec, trace, curve, place, mean_s=mean_s, alone=alone)
                if len(line.main.t_s):
                    lines.append(line)
                    lines += self._limits(figure, spec, trace, curve, line) if alone else []
        return lines

    def _limits(
        self, figure: TimeFigure, spec: ChartSpec, trace: Trace, curve: CurveSpec, line: PlottedLine
    ) -> list[PlottedLine]:
        """Return the level line of the storage's raw performance, if known and near."""
        limit = limit_of(limits_of(self._runs[trace.run]), spec, curve, _extremes(line))
        if limit is None:
            return []
        flat = level(limit.value, 0.0, figure.end_s or self.end_s(figure))
        words = tr("{curve}: can do {value}") if len(trace.curves) > 1 else tr("can do {value}")
        tag = words.format(curve=curve.label, value=format_value(limit.value))
        return [PlottedLine(seconds=None, main=flat, ink=line.ink, strokes=_LIMIT_STROKES, tag=tag)]

    def _line(
        self, spec: ChartSpec, trace: Trace, curve: CurveSpec, place: int, *, mean_s: float, alone: bool
    ) -> PlottedLine:
        seconds, mean = self._data(trace.run, spec, curve, mean_s)
        several = alone and len(trace.curves) > 1
        return PlottedLine(
            seconds=seconds if trace.seconds and curve.smooth else None,
            main=mean if curve.smooth else seconds,
            ink=series_colour(trace.look),
            strokes=place if several else 0 if alone else trace.look,
            tag=curve.label if several else trace.tag,
        )

    def _data(self, run: int, spec: ChartSpec, curve: CurveSpec, mean_s: float) -> tuple[Pyramid, Pyramid]:
        key = (run, spec.id, curve.id, mean_s)
        if key not in self._known:
            t_s, values = curve_samples(self._runs[run], curve)
            shown = (np.abs(values) < _MOST) & (t_s > 0)  # files from elsewhere may contain NaN
            t_s, values = t_s[shown], values[shown] * spec.factor
            self._known[key] = Pyramid(t_s, values), Pyramid(t_s, running_mean(t_s, values, mean_s))
        return self._known[key]

    def _frame(
        self,
        figure: TimeFigure,
        spec: ChartSpec,
        lines: Sequence[PlottedLine],
        times: Range,
        width: float,
        given: Gutters | None,
    ) -> tuple[Frame, Gutters]:
        """Return the frame in dots, and its gutters in mm: the given ones, else as needed."""
        found = [extremes for line in lines if (extremes := _extremes(line)) is not None]
        lowest = min((low for low, _ in found), default=0.0)
        highest = max([high for _, high in found] + ([figure.high] if figure.high else []), default=0.0)
        extremes = (lowest, highest) if found or figure.high else None
        low, high = value_range(extremes, zero_based=spec.zero_based, is_log=spec.log_y)
        widest = max(
            (self._canvas.width(label, _TICK) for _, label in _labels(low, high, 5, is_log=spec.log_y)),
            default=0,
        )
        tags = max((self._canvas.width(line.tag, _TAG) for line in lines if line.tag), default=0.0)
        gutters = given or (max(11.0, widest + 2), tags + 1.6 if tags else 1.0)
        dots = self._canvas.dots
        height = figure.height_mm - TITLE_MM - _TIMES_MM
        inner = max(10.0, width - sum(gutters))
        frame = Frame(*times, low, high, round(inner * dots), round(height * dots), spec.log_y)
        return frame, gutters

    def _paint_title(self, figure: TimeFigure, spec: ChartSpec, x: float, y: float, width: float) -> None:
        unit = "" if figure.title else spec.unit
        room = width - self._canvas.width(unit, UNIT) - 2
        title = self._canvas.elide(figure.title or chart_title(spec, figure.traces), TITLE, room)
        self._canvas.text(x, y, title, TITLE)
        devices = self._devices(figure, spec)
        load = load_words(self._runs[trace.run] for trace in figure.traces) if spec.is_of_latencies else ""
        words = " ".join(part for part in (unit, devices, load) if part)
        left = x + self._canvas.width(title, TITLE) + 1.5
        room = x + width - left
        if figure.title and self._canvas.width(words, UNIT) > room:
            return  # small ones have one statement below all
        self._canvas.text(left, y + 0.5, self._canvas.elide(words, UNIT, room), UNIT)

    def _devices(self, figure: TimeFigure, spec: ChartSpec) -> str:
        """Return the devices of a chart; empty if it has none."""
        words = devices_words(self._runs[trace.run] for trace in figure.traces) if spec.is_of_devices else ""
        return tr("of {devices}").format(devices=words) if words else ""


def chart_title(spec: ChartSpec, traces: Sequence[Trace]) -> str:
    """Return the title of a chart; with the curve if it shows one of several."""
    shown = {curve.label for trace in traces for curve in _curves(spec, trace)}
    if len(spec.curves) > 1 and len(shown) == 1:
        return tr("{chart}, {curve}").format(chart=spec.title, curve=shown.pop())
    return spec.title


def _curves(spec: ChartSpec, trace: Trace) -> list[CurveSpec]:
    if trace.curves:
        return [curve for name in trace.curves for curve in spec.curves if curve.id == name]
    return [curve for curve in spec.curves if curve.main]


def _extremes(line: PlottedLine) -> Range | None:
    return (line.main if line.seconds is None else line.seconds).extremes


def _labels(low: float, high: float, most: int, *, is_log: bool) -> list[tuple[float, str]]:
    if is_log:
        return [(tick, format_log_tick(tick)) for tick in log_ticks(low, high, most + 2)]
    ticks = value_ticks(low, high, most)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else tick_step(high - low, 2)
    return [(tick, format_value(tick, step)) for tick in ticks]


class _Plot:
    """The framed part of one chart; left and top in mm."""

    def __init__(self, canvas: Canvas, frame: Frame, left: float, top: float) -> None:
        self._canvas, self._frame = canvas, frame
        self._left, self._top = left, top
        self._width, self._height = frame.width / canvas.dots, frame.height / canvas.dots

    def _x(self, t_s: Places) -> Places:
        return self._left + self._frame.x(t_s) / self._canvas.dots

    def _y(self, values: Places) -> Places:
        return self._top + self._frame.y(values) / self._canvas.dots

    def paint_ground(self, run: RunData | None) -> None:
        """Shade the stalls of a run and mark the starts of its checkpoints."""
        if run is None:
            return
        for start_s, end_s in run.stalls():
            left, right = (self._x(min(max(t, 0.0), self._frame.end_s)) for t in (start_s, end_s))
            self._canvas.area(left, self._top, max(0.25, right - left), self._height, colour("stall"))
        for start_s, _, _ in run.checkpoints():
            if 0 <= start_s <= self._frame.end_s:
                x = self._x(start_s)
                pen = self._canvas.pen(colour("checkpoint"), 0.18, 2)
                self._canvas.curve(np.array([x, x]), np.array([self._top, self._top + self._height]), pen)

    def paint_axes(self) -> None:
        """Draw grid, frame and labels."""
        canvas, frame = self._canvas, self._frame
        right, bottom = self._left + self._width, self._top + self._height
        most = max(2, int(self._height / 6.5))
        for value, label in _labels(frame.low, frame.high, most, is_log=frame.is_log):
            y = self._y(value)
            canvas.rule(self._left, y, right, y)
            canvas.text(self._left - 1, y - 1.35, label, _TICK, right=True)
        ticks = time_ticks(frame.start_s, frame.end_s, max(2, int(self._width / 14)))
        for t_s in ticks:
            x = self._x(t_s)
            canvas.rule(x, self._top, x, bottom)
            label = format_time(t_s, frame.end_s)
            centre = x + canvas.width(label, _TICK) / 2
            canvas.text(centre, bottom + _BELOW_MM, label, _TICK, right=True)
        canvas.text(self._left - 4.5, bottom + _BELOW_MM, time_unit(frame.end_s), _TICK, right=True)
        for x1, y1, x2, y2 in (
            (self._left, self._top, self._left, bottom),
            (self._left, bottom, right, bottom),
        ):
            canvas.rule(x1, y1, x2, y2, "frame", 0.2)

    def paint_line(self, series: Pyramid, pen: QPen, bins: int) -> None:
        """Draw a line, reduced to `bins` columns per mm; it has gaps for missing seconds."""
        frame = self._frame
        columns = max(1, round(self._width * bins))
        t_s, values = series.reduced(frame.start_s, frame.end_s, columns)
        inside = t_s <= frame.end_s + 1e-6
        t_s, values = t_s[inside], values[inside]
        if not len(t_s):
            return
        if len(t_s) == 1:  # too small to be visible
            t_s = t_s + np.array([-0.5, 0.5]) * _ALONE_MM * (frame.end_s - frame.start_s) / self._width
            values = np.repeat(values, 2)
        xs, ys = self._x(t_s), np.clip(self._y(values), self._top - 1, self._top + self._height)
        longest_s = max(GAP_S, 2.5 * (frame.end_s - frame.start_s) / columns)
        breaks = np.flatnonzero(np.diff(t_s) > longest_s) + 1
        for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(t_s)], strict=True):
            self._canvas.curve(xs[begin:end], ys[begin:end], pen)

    def paint_tags(self, lines: Sequence[PlottedLine], kind: TextStyle) -> None:
        """Write each line's tag at its end, without overlap."""
        tagged = [(self._y(float(line.main.values[-1])), line) for line in lines if line.tag]
        tagged.sort(key=lambda pair: pair[0])
        apart = kind.line_mm * 0.85
        least = self._top
        lowest = self._top + self._height - apart * len(tagged)
        for place, (y, line) in enumerate(tagged):
            top = max(min(y - apart / 2, lowest + apart * place), least)
            least = top + apart
            self._canvas.text(self._left + self._width + 0.8, top, line.tag, kind)
