"""A chart over time on paper, painted as in the window: axes, grid, seconds behind running means.

Unlike there, styles and marks distinguish configurations too, for paper without colours, and tags name lines
at their ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter, QPen

from app.domain.text import tr
from app.report.blocks import TimeFigure, Trace
from app.report.report_data import RunSeries
from app.runfile.series import mean_width, running_mean
from ui.charts.data.curves import CurveData, Pyramid, curve_samples
from ui.charts.data.lines import Line, limit_lines
from ui.charts.data.registry import CHARTS, ChartSpec, CurveSpec, devices_words, load_words
from ui.charts.data.scale import TIME, Frame, Range, value_range
from ui.charts.painting.painting import (
    ChartBackground,
    draw_lines,
    paint_checkpoints,
    paint_notes,
    paint_stalls,
)
from ui.charts.painting.sheet_painting import (
    QUIET,
    Look,
    Scale,
    left_ticks,
    line_height,
    put_text,
    put_ticks_below,
    put_ticks_left,
    put_title,
    text_width,
)
from ui.charts.stack.chart_model import ground_of
from ui.report.canvas import PaperAppearance
from ui.theme import SMALL, STYLES, TINY, Appearance

SHORTEST_S: Final = 5.0
_TAG: Final = Look(scale=0.9, bold=True)
_CURVE: Final = Look(scale=0.8)
_PALE: Final = 0.42
_MOST: Final = 1e15
_LEAST_LEFT: Final = 44.0
_LEAST_WIDTH: Final = 40
_APART: Final = 1.75
"""Least distance of values on an axis, in lines of text."""


Gutters = tuple[float, float]
"""Pixels at the left and right of an axis, for its labels and line names."""


@dataclass(frozen=True)
class TimeChart:
    """Lines over time with axes and their names at their ends; sizes in pixels of the window.

    Attributes:
        title: of the chart.
        note: next to it.
        is_small: whether a note that does not fit is left out: one statement below is for all small charts.
        lines: those with a label have it at their end.
        times: range of the time axis.
        values: range of the value axis.
        is_log: whether the value axis is logarithmic.
        ground: stalls and checkpoints behind the lines, notes before them.
        tag: style of the labels.
    """

    title: str
    note: str
    is_small: bool
    lines: tuple[Line, ...]
    times: Range
    values: Range
    is_log: bool
    ground: ChartBackground
    tag: Look

    def gutters(self, theme: Appearance, height: float) -> Gutters:
        """Return the gutters that this chart needs."""
        values = Scale(*self.values, self._plot_height(theme, height), 0, self.is_log)
        labels = (
            max(text_width(theme, label, QUIET.scale) for _, label in left_ticks(theme, values, _APART))
            + SMALL
        )
        tags = max((self._width(theme, line.label) for line in self.lines if line.label), default=-TINY)
        last = text_width(theme, TIME.label(self.times[1], self.times[1]), QUIET.scale)
        return max(_LEAST_LEFT, labels), max(tags + TINY, last / 2)

    def paint(self, painter: QPainter, size: QSizeF, theme: Appearance, gutters: Gutters) -> None:
        """Paint the chart between these gutters."""
        width = max(_LEAST_WIDTH, round(size.width() - sum(gutters)))
        height, (left, _), top = self._plot_height(theme, size.height()), gutters, self._top(theme)
        used = text_width(theme, self.title, bold=True) + SMALL + text_width(theme, self.note, QUIET.scale)
        note = "" if self.is_small and used > size.width() else self.note
        put_title(painter, theme, size.width(), self.title, note, indent=0)
        frame = Frame(*self.times, *self.values, width, height, self.is_log)
        painter.translate(left, top)
        paint_stalls(painter, frame, theme, self.ground)
        painter.translate(0, -top)
        put_ticks_below(painter, theme, Scale(*self.times, 0, width, kind=TIME), top, top + height + TINY)
        painter.translate(-left, 0)
        values = Scale(*self.values, top + height, top, self.is_log)
        put_ticks_left(painter, theme, values, left, left + width, _APART)
        unit = QRectF(0, top + height + 1.5 * TINY, left, line_height(theme, QUIET.scale))
        put_text(painter, theme, unit, TIME.unit(self.times[1]), QUIET)
        painter.translate(left, top)
        paint_checkpoints(painter, frame, theme, self.ground, 1.0)
        painter.setPen(QPen(theme.colour("frame"), 1))
        corners = ((0.5, 0.0), (0.5, height + 0.5), (width, height + 0.5))  # as the grid is placed
        painter.drawPolyline([QPointF(*corner) for corner in corners])
        draw_lines(painter, frame, self.lines)
        paint_notes(painter, frame, theme, self.ground, 1.0)
        self._paint_tags(painter, theme, frame)

    def accessible_text(self) -> str:
        """Return the title and the names of the lines."""
        notes = (words for _, words in self.ground.notes)
        return " ".join(filter(None, [self.title, self.note, *(line.label for line in self.lines), *notes]))

    @staticmethod
    def _top(theme: Appearance) -> float:
        return line_height(theme) + SMALL

    def _plot_height(self, theme: Appearance, height: float) -> int:
        return round(height - self._top(theme) - line_height(theme, QUIET.scale) - 1.5 * TINY)

    def _width(self, theme: Appearance, label: str) -> float:
        return text_width(theme, label, self.tag.scale, bold=self.tag.bold)

    def _paint_tags(self, painter: QPainter, theme: Appearance, frame: Frame) -> None:
        """Write each line's label at its end, without overlap."""
        tagged = [(frame.y(float(line.main.values[-1])), line.label) for line in self.lines if line.label]
        apart = line_height(theme, self.tag.scale) * 0.9
        least = 0.0
        for place, (y, label) in enumerate(sorted(tagged)):
            top = max(min(y - apart / 2, frame.height - apart * (len(tagged) - place)), least)
            least = top + apart
            area = QRectF(frame.width + TINY / 2, top, self._width(theme, label) + 1, apart)
            put_text(painter, theme, area, label, self.tag)


class TimeCharts:
    """Return the charts of the runs of one report; the series of a run are cached."""

    def __init__(self, theme: PaperAppearance, runs: Sequence[RunSeries]) -> None:
        self._theme, self._runs = theme, runs
        self._known: dict[tuple[int, str, str, float], CurveData] = {}

    def chart(self, figure: TimeFigure) -> TimeChart:
        """Return a figure as it is painted."""
        spec, lines = CHARTS[figure.chart], self._lines(figure)
        end_s = figure.end_s or self.end_s(figure)
        found = [extremes for line in lines if (extremes := line.extremes_in((0.0, math.inf))) is not None]
        lowest = min((low for low, _ in found), default=0.0)
        highest = max([figure.high or lowest, *(high for _, high in found)])
        extremes = (lowest, highest) if found or figure.high else None
        return TimeChart(
            figure.title or chart_title(spec, figure.traces),
            self._note(figure, spec),
            bool(figure.title),
            tuple(lines),
            (0.0, end_s),
            value_range(extremes, zero_based=spec.zero_based, is_log=spec.log_y),
            spec.log_y,
            ChartBackground() if figure.marks_of is None else self._ground(figure.marks_of, end_s),
            _TAG if len(figure.traces) > 1 else _CURVE,
        )

    def end_s(self, figure: TimeFigure) -> float:
        """Return the end of the longest run of a figure."""
        ends = [self._runs[trace.run].data.end_s for trace in figure.traces]
        return max([SHORTEST_S, *(end for end in ends if np.isfinite(end))])

    def high(self, figure: TimeFigure) -> float:
        """Return the highest drawn value of a figure, for a common scale."""
        found = (line.extremes_in((0.0, math.inf)) for line in self._lines(figure))
        return max((extremes[1] for extremes in found if extremes is not None), default=0.0)

    def _ground(self, run: int, end_s: float) -> ChartBackground:
        """Return the stalls, starts of checkpoints, and notes of a run, within its chart."""
        ground = ground_of(self._runs[run].data)
        stalls = tuple((max(start_s, 0.0), min(to_s, end_s)) for start_s, to_s in ground.stalls)
        return ChartBackground(
            tuple(each for each in stalls if each[0] <= each[1]),
            tuple((start_s, start_s) for start_s, _ in ground.checkpoints if 0 <= start_s <= end_s),
            notes=tuple(each for each in ground.notes if 0 <= each[0] <= end_s),
        )

    def _lines(self, figure: TimeFigure) -> list[Line]:
        spec, alone = CHARTS[figure.chart], len({trace.look for trace in figure.traces}) == 1
        end_s = figure.end_s or self.end_s(figure)
        lines = []
        for trace in figure.traces:
            for place, curve in enumerate(_curves(spec, trace)):
                line = self._line(spec, trace, curve, mean_width(end_s))
                if alone:
                    several = len(trace.curves) > 1
                    label, style = (
                        (curve.label, STYLES[place % len(STYLES)]) if several else (trace.tag, STYLES[0])
                    )
                    line = replace(line, label=label, style=style, mark=0)
                if len(line.main.t_s):
                    lines.append(line)
        if len(figure.traces) == 1:
            data = self._runs[figure.traces[0].run].data
            lines += limit_lines(spec, [(data, line) for line in lines], (0.0, end_s))
        return lines

    def _line(self, spec: ChartSpec, trace: Trace, curve: CurveSpec, mean_s: float) -> Line:
        key = (trace.run, spec.id, curve.id, mean_s)
        if key not in self._known:
            t_s, values = curve_samples(self._runs[trace.run].data, curve)
            shown = (np.abs(values) < _MOST) & (t_s > 0)  # files from elsewhere may contain NaN
            t_s, values = t_s[shown], values[shown] * spec.factor
            mean = Pyramid(t_s, running_mean(t_s, values, mean_s)) if curve.smooth else None
            self._known[key] = CurveData(Pyramid(t_s, values), mean, width_s=mean_s)
        colour, style, mark = self._theme.line_look(trace.look)
        return Line(
            run_id=str(trace.run),
            label=trace.tag,
            curve=curve,
            data=self._known[key],
            colour=colour,
            seconds_colour=self._theme.pale(colour, _PALE) if trace.seconds and curve.smooth else None,
            style=style,
            weight=2,
            rank=1,
            mark=mark,
        )

    def _note(self, figure: TimeFigure, spec: ChartSpec) -> str:
        runs = [self._runs[trace.run].data for trace in figure.traces]
        devices = devices_words(runs) if spec.is_of_devices else ""
        parts = (
            "" if figure.title else spec.unit,
            tr("of {devices}").format(devices=devices) if devices else "",
            load_words(runs) if spec.is_of_latencies else "",
        )
        return " ".join(filter(None, parts))


def chart_title(spec: ChartSpec, traces: Sequence[Trace]) -> str:
    """Return the title of a chart; with the curve if it shows one of several."""
    shown = {curve.label for trace in traces for curve in _curves(spec, trace)}
    if len(spec.curves) > 1 and len(shown) == 1:
        return f"{spec.title}, {shown.pop()}"
    return spec.title


def _curves(spec: ChartSpec, trace: Trace) -> list[CurveSpec]:
    if trace.curves:
        return [curve for name in trace.curves for curve in spec.curves if curve.id == name]
    return [curve for curve in spec.curves if curve.main]
