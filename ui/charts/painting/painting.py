"""Paint a chart's content in pixels: ground, grid, marks and lines. Independent of widgets.

Qt's raster engine is fast with opaque pens of one pixel; a thicker line is the same one painted several times
with an offset (measured: 0.1 ms, where a pen of two pixels takes 7 to 30 ms).

Marks on lines distinguish configurations of one colour. Each pair of colour and mark is unique.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontInfo, QIcon, QPainter, QPen, QPixmap, QPolygonF
from shiboken6 import VoidPtr

from app.runfile.series import PhaseRegion
from ui.charts.data.curves import Pyramid
from ui.charts.data.lines import Line
from ui.charts.data.scale import Array, Frame
from ui.theme import Appearance, Theme, painting

_POLYGONS: Final = (
    ((0.0, -1.0), (0.0, -1.0), (0.0, -1.0)),  # the circle, which is painted separately
    ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    ((0.0, -1.0), (0.95, 0.75), (-0.95, 0.75)),
    ((0.0, -1.15), (1.15, 0.0), (0.0, 1.15), (-1.15, 0.0)),
    ((0.0, 1.0), (0.95, -0.75), (-0.95, -0.75)),
)
"""Corners of the shapes, in radii of the mark."""

_FILLS: Final = 2
RADIUS: Final = 3.6
"""Radius of a mark, in pixels of the window."""


def mark_parts(mark: int) -> tuple[int, bool, int]:
    """Return (shape, whether it is hollow, number side by side) of a mark above 0."""
    count, rest = divmod(mark - 1, _FILLS * len(_POLYGONS))
    hollow, shape = divmod(rest, len(_POLYGONS))
    return shape, bool(hollow), count + 1


def _asides(mark: int, unit: float) -> list[float]:
    """Return where the shapes of a mark are beside its centre, in pixels of the device."""
    count = mark_parts(mark)[2]
    return [2.4 * RADIUS * unit * (number - (count - 1) / 2) for number in range(count)]


def paint_mark(painter: QPainter, at: QPointF, mark: int, colour: QColor, unit: float) -> None:
    """Draw a mark; nothing for mark 0.

    Args:
        painter: in pixels of the device.
        at: its centre.
        mark: number, see `ui.theme.Theme.series_mark`.
        colour: of its line.
        unit: device pixels per pixel of the window.
    """
    if not mark:
        return
    shape, hollow, _ = mark_parts(mark)
    radius = RADIUS * unit
    painter.setPen(QPen(colour, 1.4 * unit))
    ground = QColor("#ffffff" if colour.lightness() < 128 else "#000000")
    painter.setBrush(ground if hollow else colour)
    for aside in _asides(mark, unit):
        middle = at + QPointF(aside, 0)
        if shape == 0:
            painter.drawEllipse(middle, radius, radius)
        else:
            corners = [middle + QPointF(radius * x, radius * y) for x, y in _POLYGONS[shape]]
            painter.drawPolygon(QPolygonF(corners))
    painter.setBrush(Qt.BrushStyle.NoBrush)


_BESIDE: Final = (
    (0.0, 0.0),
    (0.0, 0.7),
    (0.7, 0.0),
    (0.7, 0.7),
    (0.0, -0.7),
    (-0.7, 0.0),
    (1.4, 0.7),
    (0.7, 1.4),
)
"""Offsets of repeated painting for weights 1, 2, 3 ...; two more for each."""


_BAND_OPACITY: Final = 0.16
_PALE_BAND_OPACITY: Final = 0.3
_MARKS_APART: Final = 110.0
"""Pixels between the marks of a line."""
_BAND_PIXELS: Final = 3
_MOST_MARKED: Final = 40
_PHASE_FONT: Final = 0.85
"""Type size of the names of phases and of notes, relative to the usual one."""
_ROWS_OF_NOTES: Final = 3


@dataclass(frozen=True, slots=True)
class ChartBackground:
    """The background behind the lines, times in seconds.

    Attributes:
        stalls: (start, end).
        checkpoints: (start, end).
        phases: of a workload with several.
        notes: (time, words) of the user.
    """

    stalls: tuple[tuple[float, float], ...] = ()
    checkpoints: tuple[tuple[float, float], ...] = ()
    phases: tuple[PhaseRegion, ...] = ()
    notes: tuple[tuple[float, str], ...] = ()


def paint_warm_up(painter: QPainter, frame: Frame, theme: Theme, ground: ChartBackground) -> None:
    """Shade times that do not count: before the measured phase, and phases declared so."""
    if not math.isfinite(frame.gap):
        return
    first_s = ground.phases[0].start_s if ground.phases else 0.0
    for start_s, end_s in (
        (frame.start_s, first_s),
        *((region.start_s, region.end_s) for region in ground.phases if not region.counts),
    ):
        left, right = max(0.0, frame.x(start_s)), frame.x(end_s)
        if right > left:
            painter.fillRect(QRectF(left, 0, right - left, frame.height), theme.colour("warm_up"))


def paint_stalls(painter: QPainter, frame: Frame, theme: Appearance, ground: ChartBackground) -> None:
    """Shade the stalls; painted content stays visible."""
    colour = theme.colour("stall")
    colour.setAlphaF(theme.stall_opacity)
    for start_s, end_s in ground.stalls:
        left, right = frame.x(start_s), frame.x(end_s)
        painter.fillRect(QRectF(left, 0, max(1.0, right - left), frame.height), colour)


def paint_grid(
    painter: QPainter, frame: Frame, theme: Theme, times: Sequence[float], values: Sequence[float]
) -> None:
    """Draw the lines of the grid at the ticks, the zero lines a little stronger."""
    painter.setPen(QPen(theme.grid, 0))
    xs = [round(frame.x(t_s)) + 0.5 for t_s in times]
    painter.drawLines([QLineF(x, 0, x, frame.height) for x in xs])
    ys = [min(round(frame.y(value)), frame.height - 1) + 0.5 for value in values]
    painter.drawLines([QLineF(0, y, frame.width, y) for y in ys])
    if frame.start_s < 0 < frame.end_s and math.isfinite(frame.gap):
        painter.setPen(QPen(theme.colour("frame"), 0))
        x = round(frame.x(0.0)) + 0.5
        painter.drawLine(QLineF(x, 0, x, frame.height))


def paint_checkpoints(
    painter: QPainter, frame: Frame, theme: Appearance, ground: ChartBackground, unit: float
) -> None:
    """Draw a thin line at the start of a checkpoint, and a bar at the bottom for its duration."""
    colour = theme.colour("checkpoint")
    painter.setPen(QPen(colour, unit, Qt.PenStyle.DotLine, Qt.PenCapStyle.FlatCap))
    for start_s, end_s in ground.checkpoints:
        left, right = frame.x(start_s), frame.x(end_s)
        if right < 0 or left > frame.width:
            continue
        x = round(left) + 0.5
        painter.drawLine(QLineF(x, 0, x, frame.height))
        height = 3 * unit
        painter.fillRect(QRectF(left, frame.height - height, max(unit, right - left), height), colour)


def paint_phases(painter: QPainter, frame: Frame, theme: Theme, ground: ChartBackground, unit: float) -> None:
    """Draw the start of each of several phases, with its name at the top if there is room."""
    _set_small_font(painter, theme, unit)
    for region in ground.phases:
        left, right = max(0.0, frame.x(region.start_s)), min(frame.width, frame.x(region.end_s))
        if right <= 0 or left >= frame.width:
            continue
        painter.setPen(QPen(theme.colour("frame"), 0))
        for x in {round(left) + 0.5, round(right) + 0.5}:
            painter.drawLine(QLineF(x, 0, x, frame.height))
        room = right - left - 6 * unit
        shown = painter.fontMetrics().elidedText(region.label, Qt.TextElideMode.ElideRight, int(room))
        if len(shown) > 1:
            painter.setPen(theme.muted)
            baseline = painter.fontMetrics().ascent() + unit
            painter.drawText(QPointF(left + 3 * unit, baseline), shown)


def paint_notes(
    painter: QPainter, frame: Frame, theme: Appearance, ground: ChartBackground, unit: float
) -> None:
    """Draw a line at the moment of each note, with its words beside it below the row for names of phases."""
    _set_small_font(painter, theme, unit)
    metrics = painter.fontMetrics()
    for number, (t_s, words) in enumerate(ground.notes):
        x, beside = round(frame.x(t_s)) + 0.5, 3 * unit
        if 0 <= x <= frame.width:
            painter.setPen(QPen(theme.colour("accent"), unit))
            painter.drawLine(QLineF(x, 0, x, frame.height))
            shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, frame.width // 3)
            wide, top = metrics.horizontalAdvance(shown), (1 + number % _ROWS_OF_NOTES) * metrics.height()
            left = x + beside if x + beside + wide < frame.width else x - beside - wide
            painter.fillRect(QRectF(left, top, wide, metrics.height()), theme.background)
            painter.drawText(QPointF(left, top + metrics.ascent()), shown)


def paint_events(painter: QPainter, frame: Frame, theme: Theme, ground: ChartBackground, unit: float) -> None:
    """Draw checkpoints and phases."""
    paint_checkpoints(painter, frame, theme, ground, unit)
    paint_phases(painter, frame, theme, ground, unit)


def _set_small_font(painter: QPainter, theme: Appearance, unit: float) -> None:
    font = theme.font()
    font.setPixelSize(round(QFontInfo(font).pixelSize() * _PHASE_FONT * unit))
    painter.setFont(font)


def paint_lines(
    painter: QPainter, frame: Frame, lines: Iterable[Line], unit: float, after_s: float | None = None
) -> None:
    """Draw lines: first all seconds, then the means, in the order of rank.

    Args:
        painter: in pixels of the device.
        frame: visible ranges.
        lines: in any order.
        unit: device pixels per pixel of the window.
        after_s: draw only later data, joined to the earlier.
    """
    ordered = sorted(lines, key=lambda line: line.rank)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
    if after_s is None:
        paint_bands(painter, frame, ordered)
    for line in ordered:
        if line.seconds_colour is not None:
            painter.setPen(QPen(line.seconds_colour, 0))
            _paint(painter, _rows_of(line.data.seconds, frame, after_s), _BESIDE[:1])
    for line in ordered:
        smooth = line.data.mean is not None or line.gap == np.inf
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=smooth)
        weight = max(1, round(line.weight * unit)) if smooth else round(unit)
        painter.setPen(_thin_pen(line.colour, line.style, max(weight, unit)))
        beside = _BESIDE[: min(len(_BESIDE), 2 * weight - 2 or 1)]
        _paint(painter, _rows_of(line.main, frame, after_s, _columns_of(line, frame)), beside)
        _paint_points(painter, frame, line, unit)
        _paint_marks(painter, frame, line, unit, after_s)


def _thin_pen(colour: QColor, style: Qt.PenStyle, thick: float) -> QPen:
    """Return a pen of one pixel with dashes as long as those of a pen of `thick` pixels.

    Else they shrink if a pixel of the window is several of the device, and a line painted repeatedly fills
    its own gaps.
    """
    pen = QPen(colour, 1, style, Qt.PenCapStyle.FlatCap)
    if style is not Qt.PenStyle.SolidLine:
        pen.setDashPattern([part * thick for part in pen.dashPattern()])
    pen.setCosmetic(True)
    return pen


def _paint_points(painter: QPainter, frame: Frame, line: Line, unit: float) -> None:
    """Mark the measured points of a curve with few points: between them it is only interpolated."""
    if math.isfinite(line.gap) or len(line.main.t_s) > _MOST_MARKED:
        return
    painter.setBrush(line.colour)
    for x, y in zip(frame.x(line.main.t_s).tolist(), frame.y(line.main.values).tolist(), strict=True):
        painter.drawEllipse(QPointF(x, y), 3 * unit, 3 * unit)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def _paint_marks(
    painter: QPainter, frame: Frame, line: Line, unit: float, after_s: float | None = None
) -> None:
    """Draw the mark of a line along it; marks of different lines are at different positions."""
    if not line.mark or not len(line.main.t_s):
        return
    apart = _MARKS_APART * unit
    first = apart * ((line.mark * 0.37) % 1.0)
    if after_s is not None:
        first += apart * max(0.0, math.ceil((frame.x(after_s) - first) / apart))
    end = min(float(frame.width), frame.x(float(line.main.t_s[-1])) + apart)
    if first >= end:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=True)
    single, asides = (line.mark - 1) % (_FILLS * len(_POLYGONS)) + 1, _asides(line.mark, unit)
    for x in np.arange(first, end, apart).tolist():
        t_s = frame.start_s + x / frame.width * (frame.end_s - frame.start_s)
        value = line.read(t_s) if after_s is None or t_s > after_s else None
        if value is None:
            continue
        for aside in asides:
            own = line.read(t_s + aside / frame.width * (frame.end_s - frame.start_s))
            y = frame.y(value if own is None else own)
            if 0 <= y <= frame.height:
                paint_mark(painter, QPointF(x + aside, y), single, line.colour, unit)


def draw_lines(painter: QPainter, frame: Frame, lines: Iterable[Line]) -> None:
    """Draw lines once each with pens of their width: slow, but small in a vector file."""
    ordered = sorted(lines, key=lambda line: line.rank)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=True)
    paint_bands(painter, frame, ordered)
    for line in ordered:
        if line.seconds_colour is not None:
            painter.setPen(QPen(line.seconds_colour, 0.6))
            _paint(painter, _rows_of(line.data.seconds, frame, None), _BESIDE[:1])
    for line in ordered:
        painter.setPen(QPen(line.colour, 0.4 + 0.5 * line.weight, line.style))
        _paint(painter, _rows_of(line.main, frame, None), _BESIDE[:1])
        _paint_points(painter, frame, line, 1.0)
        _paint_marks(painter, frame, line, 1.0)


def paint_bands(painter: QPainter, frame: Frame, lines: Iterable[Line]) -> None:
    """Fill the bands of lines; overlapping ones stay visible."""
    for line in lines:
        if line.data.band is None:
            continue
        colour = QColor(line.colour)
        colour.setAlphaF(_PALE_BAND_OPACITY if line.is_pale else _BAND_OPACITY)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        (t_s, low), (other_t_s, high) = _band_ends(line.data.band, frame)
        if not len(t_s) or not len(other_t_s):
            continue
        for begin_s, end_s in _rows(t_s, frame):
            below = (t_s >= begin_s) & (t_s <= end_s)
            above = (other_t_s >= begin_s) & (other_t_s <= end_s)
            xs = np.concatenate((frame.x(other_t_s[above]), frame.x(t_s[below])[::-1]))
            ys = np.concatenate((frame.y(high[above]), frame.y(low[below])[::-1]))
            painter.drawPolygon(_polygon(xs, np.clip(ys, -1e5, 1e5)))
    painter.setBrush(Qt.BrushStyle.NoBrush)


def _band_ends(
    band: tuple[Pyramid, Pyramid], frame: Frame
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return both ends of a band; with many seconds, one point in a few pixels, because filling is slow.

    The lower end is the minimum of its pixels, the upper one the maximum, so that all data is inside.
    """
    columns = max(2, frame.width // _BAND_PIXELS)
    (t_s, low), (other_t_s, high) = (end.reduced(frame.start_s, frame.end_s, columns) for end in band)
    if len(t_s) and np.array_equal(t_s[::2], t_s[1::2]):  # minimum and maximum of each column
        t_s, low = t_s[::2], low.reshape(-1, 2).min(axis=1)
        other_t_s, high = other_t_s[::2], high.reshape(-1, 2).max(axis=1)
    return (t_s, low), (other_t_s, high)


def _rows(t_s: Array, frame: Frame) -> Iterator[tuple[float, float]]:
    """Yield first and last position of each stretch without a gap."""
    longest_s = max(frame.gap, 2.5 * _BAND_PIXELS * (frame.end_s - frame.start_s) / frame.width)
    breaks = np.flatnonzero(np.diff(t_s) > longest_s) + 1
    for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(t_s)], strict=True):
        yield float(t_s[begin]), float(t_s[end - 1])


def _columns_of(line: Line, frame: Frame) -> int:
    """Return the number of columns for a line: half of them are enough for a mean over several seconds.

    Painting cost depends on the points: each tick of one run repaints eleven others.
    """
    pixel_s = (frame.end_s - frame.start_s) / frame.width
    return (
        frame.width // 2 if line.data.mean is not None and 4 * pixel_s <= line.data.width_s else frame.width
    )


def _piece(series: Pyramid, frame: Frame, after_s: float | None, columns: int) -> tuple[Array, Array]:
    if after_s is not None:
        return series.after(after_s)
    return _cut(*series.reduced(frame.start_s, frame.end_s, columns), frame)


def _cut(t_s: Array, values: Array, frame: Frame) -> tuple[Array, Array]:
    """Clip a line at the edges of the frame, instead of at the points beyond them."""
    if len(t_s) < 2 or (t_s[0] >= frame.start_s and t_s[-1] <= frame.end_s):
        return t_s, values
    inside = (t_s > frame.start_s) & (t_s < frame.end_s)
    edges = [edge for edge in (frame.start_s, frame.end_s) if t_s[0] <= edge <= t_s[-1]]
    times = np.concatenate((t_s[inside], edges))
    order = np.argsort(times, kind="stable")
    at_edges = np.interp(edges, t_s, values)
    return times[order], np.concatenate((values[inside], at_edges))[order]


def _rows_of(
    series: Pyramid, frame: Frame, after_s: float | None, columns: int | None = None
) -> list[QPolygonF]:
    """Return the drawn points of a series in pixels, a polygon for each stretch without a gap.

    Cached until another frame is drawn: each tick of one run repaints all, and computing is a quarter of it.
    """
    if after_s is None and series.drawn is not None and series.drawn[0] == frame:
        return cast("list[QPolygonF]", series.drawn[1])
    t_s, values = _piece(series, frame, after_s, columns or frame.width)
    found: list[QPolygonF] = []
    if len(t_s):
        # Called every second for each curve with few points, where np.clip and np.diff took the most time.
        xs, ys = frame.x(t_s), np.minimum(np.maximum(frame.y(values), -1e5), 1e5)
        longest_s = max(frame.gap, 2.5 * (frame.end_s - frame.start_s) / frame.width)
        breaks = (np.flatnonzero(t_s[1:] - t_s[:-1] > longest_s) + 1).tolist()
        for begin, end in zip([0, *breaks], [*breaks, len(t_s)], strict=True):
            found.append(_polygon(xs[begin:end], ys[begin:end]))
    if after_s is None:
        series.drawn = frame, found
    return found


def _polygon(xs: Array, ys: Array) -> QPolygonF:
    """Return points for Qt, written into its memory: an object for each takes a hundred times as long."""
    found: Any = QPolygonF()
    found.resize(len(xs))
    points = np.frombuffer(cast("Any", VoidPtr)(found.data(), 16 * len(xs), True), np.float64)  # noqa: FBT003
    points[::2], points[1::2] = xs, ys
    return cast("QPolygonF", found)


def _paint(painter: QPainter, rows: Sequence[QPolygonF], beside: Sequence[tuple[float, float]]) -> None:
    for right, down in beside:
        painter.translate(right, down)
        for row in rows:
            if row.size() == 1:  # a single second between gaps
                painter.drawPoint(row.at(0))
            else:
                painter.drawPolyline(row)
        painter.translate(-right, -down)


def paint_sample(
    painter: QPainter, area: QRectF, colour: QColor, style: Qt.PenStyle, weight: float, mark: int = 0
) -> None:
    """Draw a short piece of a line with its mark, for lists and headings."""
    pen = QPen(colour, weight, style, Qt.PenCapStyle.FlatCap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=True)
    painter.setPen(pen)
    y = area.center().y()
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
    paint_mark(painter, area.center(), mark, colour, 1.0)


def sample_icon(size: QSize, ratio: float, colour: QColor, style: Qt.PenStyle, mark: int) -> QIcon:
    """Return a sample of a line as an icon, for a screen with so many pixels per pixel of the window."""
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    with painting(picture) as painter:
        paint_sample(painter, QRectF(0, 0, size.width(), size.height()), colour, style, 3, mark)
    return QIcon(picture)
