"""The crosshair: a line at a time, and a box with the value of every line there.

Also the names of lines at their right ends, which identify lines without a mouse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsObject,
    QGraphicsWidget,
    QStyleOptionGraphicsItem,
    QWidget,
)
from typing_extensions import override

from app.analysis.labels import with_warning
from app.comparison.label_shortening import cut_words
from app.domain.text import tr
from ui.charts.data.lines import Line
from ui.charts.data.registry import ChartSpec, CurveSpec
from ui.charts.data.scale import Frame, Range, format_value
from ui.charts.painting.painting import RADIUS, mark_parts, paint_sample
from ui.charts.painting.sheet_painting import LEFT, RIGHT
from ui.theme import SMALL, TINY, Theme

_SCALE = 0.85
_STAYS = 4.0
"""Pixels by which the end of a line may move before its name does: a trembling name is unreadable."""


@dataclass(frozen=True, slots=True)
class LineLabel:
    """A name at the end of a line.

    Attributes:
        line: the line.
        name: of the run, configuration or curve.
        ending: suffix of the name that is never shortened: its warning.
    """

    line: Line
    name: str
    ending: str = ""


def labels_of(lines: Sequence[Line], spec: ChartSpec) -> list[LineLabel]:
    """Return a name for every line that needs one.

    Several runs or configurations are named at their first main curve; the curves of a single one by their
    labels; a single line needs no name, the heading has it, unless it is of an earlier run.
    """
    runs = list(dict.fromkeys(line.run_id for line in lines))
    if len(runs) < 2 and not any(line.is_pale for line in lines):
        return [LineLabel(line, line.curve.label) for line in lines] if len(lines) > 1 else []
    order = [curve.id for curve in sorted(spec.curves, key=lambda curve: not curve.main)]
    first: dict[str, Line] = {}
    for line in sorted(lines, key=lambda line: order.index(line.curve.id)):
        first.setdefault(line.run_id, line)
    return [LineLabel(first[run], *name_and_warning(first[run])) for run in runs]


def name_and_warning(line: Line) -> tuple[str, str]:
    """Return the name of a line's run without its warning, and the warning as its suffix."""
    ending = with_warning("", line.warning)
    return line.label.removesuffix(ending), ending


class LineLabels(QGraphicsWidget):
    """Paint names next to a chart, each at the height of its line's end, without overlap."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._type_scale = 1.0
        self._labels: Sequence[LineLabel] = ()
        self._frame: Frame | None = None
        self._drawn: list[tuple[float, LineLabel]] = []
        self._wanted = 0.0

    @property
    def shown(self) -> tuple[str, ...]:
        """The names next to the chart, top first, as shown."""
        return tuple(self._text(label) for _, label in self._drawn)

    @property
    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self._theme.font(_SCALE * self._type_scale))

    @property
    def _sample(self) -> float:
        counts = (mark_parts(label.line.mark)[2] for label in self._labels if label.line.mark)
        return self._metrics.height() * 0.9 + 2.4 * RADIUS * (max(counts, default=1) - 1)

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self._type_scale = scale
        self._measure()

    def set_labels(self, labels: Sequence[LineLabel]) -> None:
        """Set the lines to name."""
        others = [_whole(label) for label in labels] != [_whole(label) for label in self._labels]
        self._labels = labels
        if others:
            self._measure()
            self.update()
        self.place()

    def grow(self, lines: Sequence[Line]) -> None:
        """Update lines that changed only at their ends."""
        grown = {(line.run_id, line.curve.id): line for line in lines}
        found = ((label, grown.get((label.line.run_id, label.line.curve.id))) for label in self._labels)
        self._labels = [
            label if line is None else LineLabel(line, label.name, label.ending) for label, line in found
        ]
        self.place()

    def _measure(self) -> None:
        metrics = self._metrics
        widths = (metrics.horizontalAdvance(_whole(label)) for label in self._labels)
        self._wanted = max(widths, default=-1.0) + self._sample + 3 * TINY if self._labels else 0.0

    def wanted_width(self) -> float:
        """Return the pixels needed by the names; 0 if there are none."""
        return self._wanted

    def set_width(self, pixels: float) -> None:
        """Set the width, the same for all charts of a stack."""
        if pixels != self.maximumWidth():
            self.setMinimumWidth(pixels)
            self.setMaximumWidth(pixels)

    def set_ranges(self, times: Range, values: Range, height: float, *, is_log: bool) -> None:
        """Set the visible ranges of the chart."""
        self._frame = Frame(*times, *values, 1000, max(2, round(height)), is_log)
        self.place()

    def place(self) -> None:
        """Compute the positions again; repaint only if one changed."""
        found = self._places()
        same = [(label.line.run_id, label.name) for _, label in found] == [
            (label.line.run_id, label.name) for _, label in self._drawn
        ]
        moved = zip(found, self._drawn, strict=False)
        if same and all(abs(new[0] - old[0]) < _STAYS for new, old in moved):
            found = [(old[0], new[1]) for new, old in zip(found, self._drawn, strict=True)]
        else:
            self.update()
        self._drawn = found

    def _places(self) -> list[tuple[float, LineLabel]]:
        frame = self._frame
        if frame is None or not self._labels or frame.end_s <= frame.start_s:
            return []
        ends = [(end_height(label.line, frame), label) for label in self._labels]
        known = sorted(((y, label) for y, label in ends if y is not None), key=lambda each: each[0])
        row = math.ceil(self._metrics.height())
        fitting = max(1, int(frame.height / row))
        if len(known) > fitting:  # the list below the charts contains all names
            known = _most_apart(known, fitting)
        return _apart(known, row, frame.height)

    def _text(self, label: LineLabel) -> str:
        metrics, room = self._metrics, self.maximumWidth() - self._sample - 2 * TINY
        ending = label.ending
        return cut_words(label.name, lambda text: metrics.horizontalAdvance(text + ending) <= room) + ending

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Paint the names at the painter's origin."""
        metrics, sample = self._metrics, self._sample
        painter.setFont(self._theme.font(_SCALE * self._type_scale))
        for y, label in self._drawn:
            line = label.line
            area = QRectF(TINY, y - metrics.height() / 2, self.maximumWidth() - TINY, metrics.height())
            place = QRectF(area.left(), area.top(), sample - TINY, area.height())
            paint_sample(painter, place, line.colour, line.style, 2 * self._type_scale, line.mark)
            painter.setPen(self._theme.muted if line.is_pale else self._theme.text)
            painter.drawText(area.adjusted(sample, 0, 0, 0), LEFT, self._text(label))


def end_height(line: Line, frame: Frame) -> float | None:
    """Return the distance from the top to the end of a line, in pixels; None if no part is visible."""
    t_s, values = line.main.t_s, line.main.values
    last = len(t_s) - 1
    if last >= 0 and t_s[last] > frame.end_s:
        last = int(t_s.searchsorted(frame.end_s, side="right")) - 1
    if last < 0 or t_s[last] < frame.start_s:
        return None
    return min(max(0.0, frame.y(float(values[last]))), float(frame.height))


def _whole(label: LineLabel) -> str:
    return label.name + label.ending


def _most_apart(known: list[tuple[float, LineLabel]], count: int) -> list[tuple[float, LineLabel]]:
    """Return `count` of them, dropping those nearest to the one above; lines that are not pale are kept."""
    kept = list(known)
    while len(kept) > count:
        gaps = [
            (not kept[place][1].line.is_pale, kept[place][0] - kept[place - 1][0], place)
            for place in range(1, len(kept))
        ]
        if not gaps:
            break
        del kept[min(gaps)[2]]
    return kept


def _apart(known: list[tuple[float, LineLabel]], row: float, height: float) -> list[tuple[float, LineLabel]]:
    """Return centres at least a row apart and within the height, in the same order."""
    found: list[tuple[float, LineLabel]] = []
    least = row / 2
    for place, (y, label) in enumerate(known):
        highest = height - row / 2 - row * (len(known) - 1 - place)
        middle = max(min(y, highest), least)
        found.append((middle, label))
        least = middle + row
    return found


_LONGEST = 34
_CHOOSING_OPACITY = 0.18
_MOST_SHARE = 0.45


@dataclass(frozen=True)
class Reading:
    """The text of the crosshair in one chart.

    Attributes:
        title: the time.
        columns: names of the columns of values, empty if there is only one.
        rows: (line for the sample, name, values).
        left_out: number of rows without room.
        is_detailed: whether further columns show the band around the first; omitted in a small chart.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Line, str, tuple[str, ...]], ...]
    left_out: int = 0
    is_detailed: bool = False


def read_lines(lines: Sequence[Line], curves: Sequence[CurveSpec], t_s: float, title: str) -> Reading:
    """Return the value of every line at a time, as visible: runs as rows, curves as columns.

    If each run has one curve, the seconds and the ends of bands have separate columns.
    """
    runs = list(dict.fromkeys(line.run_id for line in lines))
    drawn = {line.curve.id for line in lines}
    curves = [curve for curve in curves if curve.id in drawn]
    if len(runs) == 1:
        return _with_details(title, [(line, line.curve.label) for line in lines], t_s)
    first = {line.run_id: line for line in sorted(lines, key=lambda line: line.curve.main)}
    if len(curves) < 2:
        return _with_details(title, [(first[run], first[run].label) for run in runs], t_s)
    values = {(line.run_id, line.curve.id): _value(line.read(t_s)) for line in lines}
    return Reading(
        title,
        tuple(curve.label for curve in curves),
        tuple(
            (first[run], first[run].label, tuple(values.get((run, curve.id), "") for curve in curves))
            for run in runs
        ),
    )


def _with_details(title: str, named: Sequence[tuple[Line, str]], t_s: float) -> Reading:
    """Return a reading of lines with details of each: its second, the ends of its band."""
    means = [_value(line.read(t_s)) for line, _ in named]
    seconds = [line.read_second(t_s) for line, _ in named]
    bands = [line.read_band(t_s) for line, _ in named]
    columns: list[tuple[str, list[str]]] = [("", means)]
    if any(each is not None for each in seconds):
        columns = [
            (tr("mean"), means),
            (tr("second"), ["" if each is None else _value(each) for each in seconds]),
        ]
    if any(each is not None for each in bands):
        of_repeats = any(line.data.repeats > 1 for line, _ in named)
        columns[0] = tr("mean"), means
        columns.append((tr("repeats") if of_repeats else tr("band"), [_ends(each) for each in bands]))
    headings = tuple(heading for heading, _ in columns) if len(columns) > 1 else ()
    values = zip(*(column for _, column in columns), strict=True)
    rows = tuple((line, name, row) for (line, name), row in zip(named, values, strict=True))
    return Reading(title, headings, rows, is_detailed=len(columns) > 1)


def _ends(band: tuple[float, float] | None) -> str:
    if band is None:
        return ""
    return tr("{low} to {high}").format(low=format_value(band[0]), high=format_value(band[1]))


def _value(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else format_value(value)


class Crosshair(QGraphicsObject):
    """Paint line and box over a chart."""

    def __init__(self, theme: Theme, parent: QGraphicsItem) -> None:
        super().__init__(parent)
        self._theme = theme
        self._size = (0.0, 0.0)
        self._x: float | None = None
        self._choosing: tuple[float, float] | None = None
        self._reading: Reading | None = None
        self._type_scale = 1.0
        self.setZValue(100)

    def set_size(self, width: float, height: float) -> None:
        """Set the size of the parent, in its pixels."""
        self.prepareGeometryChange()
        self._size = (width, height)

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self._type_scale = scale

    def show_at(self, x: float | None, reading: Reading | None) -> None:
        """Show a reading at a pixel from the left; None to hide it."""
        self.update(self._area())
        self._x, self._reading = x, self._narrow(self._fitting(reading))
        self.update(self._area())

    def show_choosing(self, ends: tuple[float, float] | None) -> None:
        """Shade a range being chosen, between two pixels from the left; None for none."""
        if ends != self._choosing:
            self._choosing = ends
            self.update()

    @property
    def choosing(self) -> tuple[float, float] | None:
        """The pixels at the ends of a range being chosen; None for none."""
        return self._choosing

    @property
    def reading(self) -> Reading | None:
        """The shown reading."""
        return self._reading if self._x is not None else None

    @override
    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, *self._size)

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if self._choosing is not None:
            self._paint_choosing(painter, *self._choosing)
        if self._x is None:
            return
        x = round(self._x) + 0.5
        painter.setPen(QPen(self._theme.muted, 0))
        painter.drawLine(QPointF(x, 0), QPointF(x, self._size[1]))
        if self._reading is not None and self._reading.rows:
            self._paint_box(painter, self._reading, self._box(self._reading, self._x))

    def _paint_choosing(self, painter: QPainter, left: float, right: float) -> None:
        colour = self._theme.colour("accent")
        painter.setPen(QPen(colour, 0))
        colour.setAlphaF(_CHOOSING_OPACITY)
        painter.fillRect(QRectF(left, 0, right - left, self._size[1]), colour)
        for x in (round(left) + 0.5, round(right) + 0.5):
            painter.drawLine(QPointF(x, 0), QPointF(x, self._size[1]))

    @property
    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self._theme.number_font(0.85 * self._type_scale))

    def _fitting(self, reading: Reading | None) -> Reading | None:
        """Drop rows that do not fit the height of the chart."""
        if reading is None:
            return None
        lines = (
            int((self._size[1] - 2 * TINY) / math.ceil(self._metrics.height())) - 1 - bool(reading.columns)
        )
        if len(reading.rows) <= max(1, lines):
            return reading
        kept = reading.rows[: max(1, lines - 1)]
        return replace(reading, rows=kept, left_out=len(reading.rows) - len(kept))

    def _narrow(self, reading: Reading | None) -> Reading | None:
        """Drop the columns after the first if the box would cover more than half of the chart."""
        if reading is None or not reading.rows or not reading.is_detailed:
            return reading
        if self._box(reading, 0.0).width() <= _MOST_SHARE * self._size[0]:
            return reading
        rows = tuple((line, name, values[:1]) for line, name, values in reading.rows)
        return replace(reading, columns=(), rows=rows)

    def _widths(self, reading: Reading) -> tuple[float, list[float]]:
        metrics = self._metrics
        names = max(metrics.horizontalAdvance(_short(line, name)) for line, name, _ in reading.rows)
        count = len(reading.rows[0][2])
        columns = []
        for place in range(count):
            texts = [values[place] for _, _, values in reading.rows]
            texts.append(reading.columns[place] if reading.columns else "")
            columns.append(max(metrics.horizontalAdvance(text) for text in texts) + SMALL)
        return names + 2 * metrics.height(), columns

    def _box(self, reading: Reading, x: float) -> QRectF:
        names, columns = self._widths(reading)
        line = math.ceil(self._metrics.height())
        rows = len(reading.rows) + 1 + bool(reading.columns) + bool(reading.left_out)
        width = max(names + sum(columns), self._metrics.horizontalAdvance(reading.title)) + 2 * SMALL
        right_of = x + SMALL
        left = right_of if right_of + width < self._size[0] else x - SMALL - width
        return QRectF(max(0.0, left), TINY, width, rows * line + TINY)

    def _area(self) -> QRectF:
        if self._x is None:
            return QRectF()
        area = QRectF(self._x - 2, 0, 4, self._size[1])
        if self._reading is not None and self._reading.rows:
            area = area.united(self._box(self._reading, self._x).adjusted(-2, -2, 2, 2))
        return area

    def _paint_box(self, painter: QPainter, reading: Reading, box: QRectF) -> None:
        line = math.ceil(self._metrics.height())
        names, columns = self._widths(reading)
        painter.setFont(self._theme.number_font(0.85 * self._type_scale))
        painter.setPen(QPen(self._theme.colour("frame"), 0))
        painter.setBrush(self._theme.colour("box"))
        painter.drawRoundedRect(box, 3, 3)
        area = box.adjusted(SMALL, TINY / 2, -SMALL, 0)
        painter.setPen(self._theme.muted)
        painter.drawText(QRectF(area.left(), area.top(), area.width(), line), LEFT, reading.title)
        y = area.top() + line
        if reading.columns:
            self._paint_values(painter, area.left() + names, y, columns, reading.columns)
            y += line
        for sample, name, values in reading.rows:
            place = QRectF(area.left(), y, 1.4 * line, line)
            paint_sample(painter, place, sample.colour, sample.style, 2, sample.mark)
            painter.setPen(self._theme.text)
            painter.drawText(QRectF(area.left() + 1.8 * line, y, names, line), LEFT, _short(sample, name))
            self._paint_values(painter, area.left() + names, y, columns, values)
            y += line
        if reading.left_out:
            painter.setPen(self._theme.muted)
            text = tr("and {count} more").format(count=reading.left_out)
            painter.drawText(QRectF(area.left(), y, area.width(), line), LEFT, text)

    def _paint_values(
        self, painter: QPainter, x: float, y: float, columns: Sequence[float], values: Sequence[str]
    ) -> None:
        for width, value in zip(columns, values, strict=True):
            painter.drawText(QRectF(x, y, width, math.ceil(self._metrics.height())), RIGHT, value)
            x += width


def _short(line: Line, name: str) -> str:
    """Return a name shortened by whole words; the warning is never shortened."""
    ending = name_and_warning(line)[1]
    bare = name.removesuffix(ending) if ending else name
    ending = name[len(bare) :]
    return cut_words(bare, lambda text: len(text + ending) <= _LONGEST) + ending
