"""The growing lines of a race: one chart, a name at the end of every line, and stalls.

Drawn parts are kept in a picture; a frame adds only new data.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.analysis.labels import with_warning
from app.comparison.label_shortening import cut_words
from app.domain.text import tr
from app.domain.units import format_duration
from app.live.race import Race, RacingRun
from ui.charts.data.curves import width_words
from ui.charts.data.scale import GAP_S, Frame, format_moment, format_time, format_value, time_ticks, time_unit
from ui.charts.painting.sheet_painting import Scale
from ui.painting import painting
from ui.race.content import RaceChartData, RaceLine
from ui.theme import SMALL, TINY, Theme

_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
_NAMES_SHARE: Final = 0.3
"""Largest share of the width for names."""
_STAYS: Final = 4.0
"""Pixels by which the end of a line may move before its name does: a trembling name is unreadable."""
_LINE_SHARE: Final = 0.22
"""Width of a line, as a share of the type height."""


class RaceChart(QWidget):
    """One chart of a race, up to a moment.

    Attributes:
        data: the shown chart; None for none.
    """

    def __init__(self, theme: Theme, race: Race, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._race = race
        self.data: RaceChartData | None = None
        self._type = 16.0
        self._t_s = 0.0
        self._drawn_s = -math.inf
        self._picture: QPixmap | None = None
        self._labels: dict[str, float] = {}
        self._names_width: float | None = None
        self._stalling = tuple(run for run in race.runs if run.stalls)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Chart of the race"))
        theme.changed.connect(self._forget)

    def set_type(self, pixels: float) -> None:
        """Set the type height."""
        if pixels != self._type:
            self._type = pixels
            self._forget()

    def accessible_text(self) -> str:
        """Return the value of every line and the stalled time of its run, up to the moment."""
        data, t_s = self.data, self._t_s
        if data is None:
            return tr("No run has samples.")
        told = [_told_line(line, t_s) for line in data.lines]
        begun = tr("{chart}, {unit}, at {time}: {lines}.")
        time = format_moment(t_s, self._race.end_s)
        return begun.format(chart=_title_of(data), unit=data.spec.unit, time=time, lines="; ".join(told))

    def show_chart(self, data: RaceChartData | None) -> None:
        """Show another chart, up to the same moment."""
        self.data = data
        self._forget()

    def show_until(self, t_s: float) -> None:
        """Show the race up to a moment."""
        before, self._t_s = self._t_s, t_s
        if t_s < before or self._picture is None:
            self._forget()
            return
        plot = self.plot
        self._draw_on(t_s)
        x_from, x_to = (self._x(each) for each in (before, t_s))
        edge = math.ceil(self._pen_width) + 2
        changed = QRectF(
            x_from - edge, plot.top() - edge, x_to - x_from + 2 * edge, self.height() - plot.top()
        )
        self.update(changed.toAlignedRect())
        self._move_labels()

    def _forget(self) -> None:
        self._picture = self._names_width = None
        self._drawn_s = -math.inf
        self._labels = {}
        self.update()

    # Geometry

    @property
    def _pen_width(self) -> float:
        return max(2.0, self._type * _LINE_SHARE)

    def _font(self, *, bold: bool = False) -> QFont:
        font = self._theme.number_font(bold=bold)
        font.setPixelSize(max(8, round(self._type)))
        return font

    @property
    def _row(self) -> float:
        return math.ceil(QFontMetricsF(self._font()).height())

    @property
    def _stall_row(self) -> float:
        return max(5.0, self._type * 0.55)

    @property
    def plot(self) -> QRectF:
        """The area of the lines."""
        metrics, row = QFontMetricsF(self._font()), self._row
        left = max(metrics.horizontalAdvance(text) for text in ("00,000", tr("stalls"))) + SMALL
        stalls = max(row, len(self._stalling) * self._stall_row) + row / 2
        below = row + TINY + (stalls if self._stalling else 0.0)
        right = min(self._wanted_for_names(), self.width() * _NAMES_SHARE)
        height = max(10.0, self.height() - row - SMALL - below - row / 2)
        return QRectF(left, row + SMALL, max(10.0, self.width() - left - right), height)

    def _wanted_for_names(self) -> float:
        """Return the width needed for names with their warnings, and for the unit of the time below."""
        if self._names_width is None:
            bold = QFontMetricsF(self._font(bold=True))
            names = [bold.horizontalAdvance("".join(name_and_ending(run))) for run in self._race.runs]
            unit = QFontMetricsF(self._font()).horizontalAdvance("00:00:00 " + time_unit(0.0))
            self._names_width = max(unit, *names, 0.0) + 0.6 * self._row + 3 * SMALL
        return self._names_width

    def _frame(self) -> Frame | None:
        data, plot = self.data, self.plot
        if data is None:
            return None
        end_s = max(1.0, self._race.end_s)
        return Frame(0.0, end_s, *data.values, round(plot.width()), round(plot.height()), data.spec.log_y)

    def _x(self, t_s: float) -> float:
        plot = self.plot
        return plot.left() + plot.width() * min(1.0, max(0.0, t_s / max(1.0, self._race.end_s)))

    # Drawing

    @override
    def sizeHint(self) -> QSize:
        return QSize(600, 250)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self._picture is None:
            self._begin_picture()
            self._draw_on(self._t_s)
            self._labels = self._label_places()
        with painting(self) as painter:
            picture = self._picture
            if picture is not None:
                ratio, area = picture.devicePixelRatio(), QRectF(event.rect())
                source = QRectF(area.topLeft() * ratio, area.size() * ratio)
                painter.drawPixmap(area, picture, source)
            if event.rect().right() >= self.plot.right():
                self._paint_labels(painter)

    def _begin_picture(self) -> None:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(QSize(round(self.width() * ratio), round(self.height() * ratio)))
        picture.setDevicePixelRatio(ratio)
        picture.fill(self._theme.background)
        with painting(picture) as painter:
            painter.setFont(self._font())
            if self.data is not None:
                self._paint_heading(painter, self.data)
                self._paint_axes(painter, self.data)
        self._picture, self._drawn_s = picture, -math.inf

    def _paint_heading(self, painter: QPainter, data: RaceChartData) -> None:
        area = QRectF(self.plot.left(), 0, self.width() - self.plot.left(), self._row)
        title = _title_of(data)
        painter.setPen(self._theme.text)
        painter.setFont(self._font(bold=True))
        painter.drawText(area, _LEFT, title)
        used = QFontMetricsF(self._font(bold=True)).horizontalAdvance(title) + SMALL
        quiet = [data.spec.unit]
        if data.width_s:
            quiet.append(tr("mean over {width}").format(width=width_words(data.width_s)))
        painter.setFont(self._font())
        painter.setPen(self._theme.muted)
        painter.drawText(area.adjusted(used, 0, 0, 0), _LEFT, " \N{MIDDLE DOT} ".join(quiet))

    def _paint_axes(self, painter: QPainter, data: RaceChartData) -> None:
        theme, plot, row = self._theme, self.plot, self._row
        scale = Scale(*data.values, plot.bottom(), plot.top(), is_log=data.spec.log_y)
        ticks = scale.ticks(max(2, int(plot.height() / (2.4 * row))))
        for tick, label in zip(ticks, scale.labels(ticks), strict=True):
            y = round(scale.at(tick)) + 0.5
            painter.setPen(QPen(theme.grid, 1))
            painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
            painter.setPen(theme.muted)
            painter.drawText(QRectF(0, y - row / 2, plot.left() - SMALL, row), _RIGHT, label)
        end_s, bottom = max(1.0, self._race.end_s), self.height() - row
        widest = QFontMetricsF(self._font()).horizontalAdvance("00:00:00")
        for tick in time_ticks(0.0, end_s, max(2, int(plot.width() / (1.6 * widest)))):
            x = self._x(tick)
            place = QRectF(x - widest, bottom, 2 * widest, row)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, format_time(tick, end_s))
        unit = QRectF(plot.right() + widest / 2, bottom, self.width() - plot.right() - widest / 2, row)
        painter.drawText(unit, _LEFT, time_unit(end_s))
        if self._stalling:
            top = self._stalls_top
            height = len(self._stalling) * self._stall_row
            painter.fillRect(QRectF(plot.left(), top, plot.width(), height), theme.pale(theme.grid, 0.5))
            painter.drawText(
                QRectF(0, top + height / 2 - row / 2, plot.left() - SMALL, row), _RIGHT, tr("stalls")
            )

    @property
    def _stalls_top(self) -> float:
        return (
            self.plot.bottom()
            + self._row / 2
            + max(0.0, self._row - self._stall_row * len(self._stalling)) / 2
        )

    def _draw_on(self, t_s: float) -> None:
        """Add data to the picture that is new since it was last drawn."""
        frame, picture = self._frame(), self._picture
        if frame is None or picture is None or self.data is None:
            return
        with painting(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            plot, since_s = self.plot, self._drawn_s
            for line in self.data.lines:
                self._draw_line(painter, line, frame, plot, since_s, t_s)
            for place, run in enumerate(self._stalling):
                self._draw_stalls(painter, run, place, since_s, t_s)
        self._drawn_s = t_s

    def _draw_line(
        self, painter: QPainter, line: RaceLine, frame: Frame, plot: QRectF, since_s: float, t_s: float
    ) -> None:
        first = max(0, int(np.searchsorted(line.t_s, since_s, side="right")) - 1)
        last = int(np.searchsorted(line.t_s, t_s, side="right"))
        is_new = last > int(np.searchsorted(line.t_s, since_s, side="right"))
        if not is_new or last - first < 2:
            return
        times = line.t_s[first:last]
        x, y = frame.x(times) + plot.left(), frame.y(line.values[first:last]) + plot.top()
        gap_s = max(GAP_S, 2.5 * float(np.median(np.diff(line.t_s[:50]))) if len(line.t_s) > 1 else GAP_S)
        painter.setPen(self._pen(self._theme.series_colour(line.run.colour_index)))
        for part in np.split(np.arange(len(x)), np.flatnonzero(np.diff(times) > gap_s) + 1):
            painter.drawPolyline(QPolygonF([QPointF(float(x[i]), float(y[i])) for i in part]))

    def _pen(self, colour: QColor) -> QPen:
        cap, join = Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin
        return QPen(colour, self._pen_width, Qt.PenStyle.SolidLine, cap, join)

    def _draw_stalls(self, painter: QPainter, run: RacingRun, place: int, since_s: float, t_s: float) -> None:
        colour = self._theme.series_colour(run.colour_index)
        top = self._stalls_top + place * self._stall_row
        for begin_s, end_s in run.stalls:
            if end_s <= since_s or begin_s >= t_s:
                continue
            left, right = self._x(max(begin_s, since_s)), self._x(min(end_s, t_s))
            painter.fillRect(QRectF(left, top, max(2.0, right - left), self._stall_row - 1), colour)

    # Names

    def _label_places(self) -> dict[str, float]:
        frame, plot, row = self._frame(), self.plot, self._row
        if frame is None or self.data is None:
            return {}
        ends = []
        for line in self.data.lines:
            last = int(np.searchsorted(line.t_s, self._t_s, side="right")) - 1
            if last >= 0:
                ends.append((plot.top() + frame.y(float(line.values[last])), line.run.run_id))
        ends.sort()
        found: dict[str, float] = {}
        least = row / 2
        for place, (y, run_id) in enumerate(ends):
            highest = self.height() - row - row * (len(ends) - place) + row / 2  # the axis is below
            middle = max(min(y, highest), least)
            found[run_id] = middle
            least = middle + row
        return found

    def _move_labels(self) -> None:
        wanted = self._label_places()
        moved = wanted.keys() != self._labels.keys() or any(
            abs(y - self._labels[run_id]) >= _STAYS for run_id, y in wanted.items()
        )
        if moved:
            self._labels = wanted
            right = math.floor(self.plot.right())
            self.update(QRect(right, 0, self.width() - right, self.height()))

    def _paint_labels(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plot, row = self.plot, self._row
        font = self._font(bold=True)
        metrics = QFontMetricsF(font)
        runs = {run.run_id: run for run in self._race.runs}
        for run_id, y in self._labels.items():
            run = runs[run_id]
            left, sample = plot.right() + SMALL, row * 0.6
            painter.setPen(self._pen(self._theme.series_colour(run.colour_index)))
            painter.drawLine(QLineF(left + self._pen_width, y, left + sample, y))
            painter.setFont(font)
            painter.setPen(self._theme.text)
            area = QRectF(left + sample + SMALL, y - row / 2, self.width() - left - sample - SMALL, row)
            painter.drawText(area, _LEFT, fitting_name(run, metrics, area.width()))


def _title_of(data: RaceChartData) -> str:
    """Return the title: a chart, or one curve of it."""
    if data.curve.label in {data.spec.title, tr("TPS")}:
        return data.spec.title
    return f"{data.spec.title}: {data.curve.label}"


def _told_line(line: RaceLine, t_s: float) -> str:
    """Return the newest value of a line at a moment, its mean since the start, and the stalls of its run."""
    values = line.values[: int(np.searchsorted(line.t_s, t_s, side="right"))]
    if not len(values):
        return tr("{line}: {figures}").format(line=line.run.name, figures=tr("no samples yet"))
    figures = tr("newest {value}, mean {mean}").format(
        value=format_value(float(values[-1])), mean=format_value(float(values.mean()))
    )
    stalled_s = line.run.stalled_s(0.0, t_s)
    if stalled_s > 0:
        told = tr("stalled {time} so far").format(time=format_duration(stalled_s))
        figures = f"{figures}, {told}"
    return tr("{line}: {figures}").format(line=line.run.name, figures=figures)


def fitting_name(run: RacingRun, metrics: QFontMetricsF, room: float) -> str:
    """Return the name of a run, shortened to fit; its warning is never shortened."""
    name, ending = name_and_ending(run)
    return cut_words(name, lambda text: metrics.horizontalAdvance(text + ending) <= room) + ending


def name_and_ending(run: RacingRun) -> tuple[str, str]:
    """Return the name of a run without its warning, and the warning as its suffix."""
    ending = with_warning("", run.warning)
    return run.name.removesuffix(ending), ending
