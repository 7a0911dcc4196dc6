"""One small chart for each of many runs, all on the same scales."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from app.domain.text import tr
from app.runfile.series import mean_width
from ui.charts.data.curves import CurveData, curve_data, width_words
from ui.charts.data.lines import Line, LineStyler
from ui.charts.data.registry import ChartSpec, RunTrace
from ui.charts.data.scale import (
    Frame,
    Range,
    format_log_tick,
    format_moment,
    format_time,
    format_value,
    time_ticks,
    time_unit,
    value_range,
)
from ui.charts.painting.painting import (
    ChartBackground,
    paint_checkpoints,
    paint_grid,
    paint_lines,
    paint_notes,
    paint_sample,
    paint_stalls,
)
from ui.charts.painting.sheet_painting import (
    QUIET,
    RIGHT,
    TICK_BELOW,
    Look,
    Scale,
    left_ticks,
    line_height,
    put_text,
    put_tick_labels_left,
    put_title,
    text_width,
)
from ui.charts.stack.chart_model import ground_of
from ui.charts.stack.saving import csv_text
from ui.theme import SMALL, TINY, Theme

_LOWEST_CELL = 90.0
_NARROWEST_CELL = 230.0


@dataclass(frozen=True)
class SmallMultiples:
    """The main curve of a chart for every run.

    Attributes:
        spec: the chart.
        traces: runs, in the order of the cells.
        focus: run with a framed cell.
    """

    spec: ChartSpec
    traces: tuple[RunTrace, ...]
    focus: str = ""

    @property
    def title(self) -> str:
        """Name of the chart."""
        return f"{self.spec.title}, {self.spec.unit}"

    @cached_property
    def _curves(self) -> tuple[CurveData, ...]:
        main = next(curve for curve in self.spec.curves if curve.main)
        width_s = mean_width(self.times[1])
        return tuple(curve_data(trace.data, main, self.spec.factor, width_s) for trace in self.traces)

    @cached_property
    def _grounds(self) -> tuple[ChartBackground, ...]:
        return tuple(ground_of(trace.data) for trace in self.traces)

    @cached_property
    def times(self) -> Range:
        """The time range of all cells."""
        return 0.0, max([5.0, *(trace.data.end_s for trace in self.traces)])

    @cached_property
    def values(self) -> Range:
        """The value range of all cells."""
        found = [extremes for curve in self._curves if (extremes := curve.seconds.extremes) is not None]
        extremes = (min(low for low, _ in found), max(high for _, high in found)) if found else None
        return value_range(extremes, zero_based=self.spec.zero_based, is_log=self.spec.log_y)

    def least_height(self, theme: Theme, width: float) -> float:
        """Return the least legible height in pixels."""
        rows = math.ceil(len(self.traces) / self._columns(width))
        cell = _LOWEST_CELL + line_height(theme)
        return line_height(theme) + SMALL + rows * cell + line_height(theme, 0.9) + SMALL

    def paint(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Paint all cells."""
        put_title(
            painter,
            theme,
            size.width(),
            self.title,
            tr("the same scales everywhere; thin line, seconds; thick line, {width} mean").format(
                width=width_words(mean_width(self.times[1]))
            ),
        )
        for place, (head, body) in enumerate(self._cells(size, theme)):
            self._paint_cell(painter, theme, place, head, body)
        self._paint_axes(painter, size, theme)

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Theme, at: QPointF) -> None:
        """Draw the crosshair through every cell, with the value of each next to its name."""
        t_s = self._time_at(size, theme, at)
        if t_s is None:
            return
        for place, (head, body) in enumerate(self._cells(size, theme)):
            x = body.left() + (t_s - self.times[0]) / (self.times[1] - self.times[0]) * body.width()
            painter.setPen(QPen(theme.muted, 1))
            painter.drawLine(QLineF(x, body.top(), x, body.bottom()))
            value = self._line(theme, place).read(t_s)
            text = "\N{EN DASH}" if value is None else format_value(value)
            wide = text_width(theme, text, bold=True) + SMALL
            area = QRectF(head.right() - wide, head.top(), wide, head.height())
            painter.fillRect(area, theme.background)
            put_text(painter, theme, area, text, Look(RIGHT, bold=True))

    def text_at(self, size: QSizeF, theme: Theme, at: QPointF) -> str:
        """Return the time under the pointer."""
        t_s = self._time_at(size, theme, at)
        return "" if t_s is None else format_moment(t_s, self.times[1])

    def accessible_text(self) -> str:
        """Return mean and last value of every run."""
        sentences = []
        for trace, curve in zip(self.traces, self._curves, strict=True):
            values = curve.seconds.values[curve.seconds.t_s > 0]
            figures = tr("no samples")
            if len(values):
                newest = tr("newest {value}").format(value=format_value(float(curve.main.values[-1])))
                mean = tr("mean {value}").format(value=format_value(float(values.mean())))
                figures = f"{newest}, {mean}"
            sentences.append(f"{trace.label}: {figures}")
        end = format_moment(self.times[1], self.times[1])
        shown = tr("Shown from {begin} to {end}.").format(begin=format_moment(0.0, self.times[1]), end=end)
        return f"{self.title}. {shown} {'; '.join(sentences)}."

    def csv(self) -> str:
        """Return the seconds of every run."""
        theme = Theme()
        lines = [self._line(theme, place) for place in range(len(self.traces))]
        return csv_text(lines, self.times, self.spec.unit)

    # Geometry

    def _columns(self, width: float) -> int:
        most = max(1, int(width / _NARROWEST_CELL))
        count = max(1, len(self.traces))
        rows = math.ceil(count / min(most, max(1, math.ceil(math.sqrt(count)))))
        return math.ceil(count / rows)

    def _axis_width(self, theme: Theme) -> float:
        low, high = self.values
        labels = (
            (format_log_tick(low), format_log_tick(high)) if self.spec.log_y else (format_value(high, 1),)
        )
        unit = text_width(theme, time_unit(self.times[1]) + "00", 0.9)
        return max(unit, *(text_width(theme, label, 0.9) for label in labels)) + 2 * SMALL

    def _cells(self, size: QSizeF, theme: Theme) -> Iterator[tuple[QRectF, QRectF]]:
        """Yield the areas of name and chart of every run."""
        columns, left = self._columns(size.width()), self._axis_width(theme)
        rows = max(1, math.ceil(len(self.traces) / columns))
        top, name = line_height(theme) + SMALL, line_height(theme)
        width = (size.width() - left - SMALL) / columns
        height = (size.height() - top - line_height(theme, 0.9) - TINY) / rows
        for place in range(len(self.traces)):
            x, y = left + place % columns * width, top + place // columns * height
            head = QRectF(x, y, width - SMALL, name)
            yield head, QRectF(x, y + name, width - SMALL, max(10.0, height - name - SMALL))

    def _time_at(self, size: QSizeF, theme: Theme, at: QPointF) -> float | None:
        for _, body in self._cells(size, theme):
            if body.contains(at):
                return self.times[0] + (at.x() - body.left()) / body.width() * (self.times[1] - self.times[0])
        return None

    # One cell

    def _line(self, theme: Theme, place: int) -> Line:
        main = next(curve for curve in self.spec.curves if curve.main)
        styler = LineStyler(theme, None, 2)
        line = styler.style_line(self.traces[place], main, self._curves[place])
        return replace(line, style=Qt.PenStyle.SolidLine, mark=0)  # the only line in its cell

    def _frame(self, body: QRectF, ratio: float) -> Frame:
        width, height = max(2, round(body.width() * ratio)), max(2, round(body.height() * ratio))
        return Frame(*self.times, *self.values, width, height, self.spec.log_y)

    def _paint_cell(self, painter: QPainter, theme: Theme, place: int, head: QRectF, body: QRectF) -> None:
        trace, line = self.traces[place], self._line(theme, place)
        sample = QRectF(head.left(), head.top(), 18, head.height())
        paint_sample(painter, sample, line.colour, line.style, 3)
        named = head.adjusted(18 + TINY, 0, 0, 0)  # the pointer's value covers the end
        put_text(painter, theme, named, trace.label, Look(bold=trace.run_id == self.focus))
        ratio = painter.device().devicePixelRatioF()
        frame = self._frame(body, ratio)
        painter.save()
        painter.translate(body.topLeft())
        painter.scale(1 / ratio, 1 / ratio)
        painter.setClipRect(QRectF(0, 0, frame.width, frame.height))
        paint_stalls(painter, frame, theme, self._grounds[place])
        values = [tick for tick, _ in left_ticks(theme, self._value_scale(body))]
        paint_grid(painter, frame, theme, self._time_ticks(theme, body), values)
        paint_checkpoints(painter, frame, theme, self._grounds[place], ratio)
        paint_notes(painter, frame, theme, self._grounds[place], ratio)
        paint_lines(painter, frame, [line] if len(line.main.t_s) else [], ratio)
        painter.restore()
        focused = trace.run_id == self.focus
        painter.setPen(QPen(theme.colour("accent" if focused else "frame"), 2 if focused else 1))
        painter.drawPolyline(QPolygonF([body.topLeft(), body.bottomLeft(), body.bottomRight()]))
        if not len(line.main.t_s):
            put_text(painter, theme, body, tr("no samples"), TICK_BELOW)

    def _time_ticks(self, theme: Theme, body: QRectF) -> list[float]:
        return time_ticks(*self.times, max(2, int(body.width() / text_width(theme, "00:00:00", 1.1))))

    def _value_scale(self, body: QRectF) -> Scale:
        return Scale(*self.values, body.bottom(), body.top(), self.spec.log_y)

    def _paint_axes(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Put labels at the left of the first column and below the last cell of each column."""
        cells, columns = list(self._cells(size, theme)), self._columns(size.width())
        height = line_height(theme, 0.9)
        for place, (_, body) in enumerate(cells):
            if place % columns == 0:
                put_tick_labels_left(painter, theme, self._value_scale(body), body.left())
            if place + columns >= len(cells):
                last = place + 1 == len(cells) or (place + 1) % columns == 0
                for tick in self._time_ticks(theme, body):
                    if not last and tick > self.times[0] + 0.9 * (self.times[1] - self.times[0]):
                        continue  # the next chart's first label is there
                    x = body.left() + (tick - self.times[0]) / (self.times[1] - self.times[0]) * body.width()
                    area = QRectF(x - 30, body.bottom() + 1, 60, height)
                    put_text(painter, theme, area, format_time(tick, self.times[1]), TICK_BELOW)
        if cells:
            area = QRectF(TINY, cells[-1][1].bottom() + 1, cells[0][1].left(), height)
            put_text(painter, theme, area, time_unit(self.times[1]), QUIET)
