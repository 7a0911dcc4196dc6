"""A chart as picture and as numbers: PNG, SVG, the clipboard, CSV.

A picture holds what the window shows, with the time axis and the names of the runs below.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSaveFile, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.domain.errors import FootingError
from app.domain.text import tr
from ui.charts.lines import Line
from ui.charts.painting import paint_sample
from ui.theme import SMALL, Theme

if TYPE_CHECKING:
    from ui.charts.chart import Chart

_SHARPNESS: Final = 2.0
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class SavingError(FootingError):
    """A picture or table could not be written."""


class Picture:
    """A chart ready to be painted elsewhere."""

    def __init__(self, chart: Chart, theme: Theme) -> None:
        self._chart, self._theme = chart, theme
        top = chart.heading.sceneBoundingRect().top()
        content = chart.view.sceneBoundingRect()
        left = chart.axis.sceneBoundingRect().left()
        self._body = QRectF(left, top, content.right() - left + SMALL, content.bottom() - top + 2)
        axis = chart.time_axis.sceneBoundingRect()
        self._axis = QRectF(left, axis.top(), self._body.width(), axis.height())
        self._metrics = QFontMetricsF(theme.font(0.9))
        self._legend = self._legend_rows()

    @property
    def size(self) -> QSize:
        """In device-independent pixels."""
        height = self._body.height() + self._axis.height() + len(self._legend) * self._row + 2 * SMALL
        return QSize(math.ceil(self._body.width()), math.ceil(height))

    @property
    def _row(self) -> float:
        return float(math.ceil(self._metrics.height()) + 2)

    def _runs(self) -> list[Line]:
        first: dict[str, Line] = {}
        for line in sorted(self._chart.lines, key=lambda line: -line.rank):
            first.setdefault(line.run_id, line)
        return list(first.values())

    def _legend_rows(self) -> list[list[tuple[Line, float]]]:
        """Return the runs in rows that fit the width; with the place of each."""
        rows: list[list[tuple[Line, float]]] = []
        x = math.inf
        for line in self._runs():
            width = self._metrics.horizontalAdvance(line.label) + 4 * self._row
            if x + width > self._body.width():
                rows.append([])
                x = float(SMALL)
            rows[-1].append((line, x))
            x += width
        return rows

    def paint(self, painter: QPainter) -> None:
        """Paint the picture at the origin, in device-independent pixels."""
        painter.fillRect(QRectF(0, 0, self.size.width(), self.size.height()), self._theme.background)
        scene = self._chart.view.scene()
        body = QRectF(0, SMALL / 2, self._body.width(), self._body.height())
        self._chart.layer.vector = True
        reading = self._chart.crosshair.isVisible()
        self._chart.crosshair.setVisible(False)
        try:
            scene.render(painter, body, self._body)
            below = QRectF(0, body.bottom(), self._axis.width(), self._axis.height())
            scene.render(painter, below, self._axis)
        finally:
            self._chart.layer.vector = False
            self._chart.crosshair.setVisible(reading)
        self._paint_legend(painter, body.bottom() + self._axis.height() + SMALL / 2)

    def _paint_legend(self, painter: QPainter, top: float) -> None:
        painter.setFont(self._theme.font(0.9))
        for number, row in enumerate(self._legend):
            y = top + number * self._row
            for line, x in row:
                sample = QRectF(x, y, 2 * self._row, self._row)
                paint_sample(painter, sample, line.colour, line.style, 2)
                painter.setPen(self._theme.text)
                place = QRectF(sample.right() + SMALL, y, self._body.width(), self._row)
                painter.drawText(place, _LEFT, line.label)


def chart_image(chart: Chart, theme: Theme) -> QImage:
    """Return a picture of a chart, twice as sharp as the window."""
    picture = Picture(chart, theme)
    image = QImage(picture.size * _SHARPNESS, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SHARPNESS)
    image.fill(theme.background)
    painter = QPainter(image)
    picture.paint(painter)
    painter.end()
    return image


def save_png(chart: Chart, theme: Theme, path: Path) -> None:
    """Write a PNG file.

    Raises:
        SavingError: it cannot be written; what was there before is untouched.
    """
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    chart_image(chart, theme).save(buffer, "PNG")  # type: ignore[call-overload]
    _write(path, content)


def save_svg(chart: Chart, theme: Theme, path: Path) -> None:
    """Write an SVG file, lines as lines.

    Raises:
        SavingError: it cannot be written; what was there before is untouched.
    """
    picture = Picture(chart, theme)
    content = QByteArray()
    buffer = QBuffer(content)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(picture.size)
    generator.setViewBox(QRectF(0, 0, picture.size.width(), picture.size.height()))
    generator.setTitle(chart.spec.title)
    generator.setResolution(96)
    painter = QPainter(generator)
    picture.paint(painter)
    painter.end()
    _write(path, content)


def save_csv(chart: Chart, path: Path) -> None:
    """Write the seconds of every line between the edges of the chart: one row a second, one column a line.

    Raises:
        SavingError: it cannot be written; what was there before is untouched.
    """
    _write(path, QByteArray(csv_text(chart.lines, chart.times, chart.spec.unit).encode()))


def csv_text(lines: Sequence[Line], times: tuple[float, float], unit: str) -> str:
    """Return a table of lines: seconds as measured, not their means; empty where a second was missed."""
    columns = []
    for line in lines:
        t_s, values = line.data.seconds.t_s, line.data.seconds.values
        inside = (t_s >= times[0]) & (t_s <= times[1])
        columns.append(dict(zip(np.round(t_s[inside], 3).tolist(), values[inside].tolist(), strict=True)))
    rows = sorted({t_s for column in columns for t_s in column})
    written: list[str] = []

    class _Sink:
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    writer = csv.writer(_Sink())
    writer.writerow(["t_s", *(f"{line.label}: {line.curve.label} ({unit})" for line in lines)])
    for t_s in rows:
        writer.writerow([t_s, *(f"{column[t_s]:.6g}" if t_s in column else "" for column in columns)])
    return "".join(written)


def _write(path: Path, content: QByteArray) -> None:
    file = QSaveFile(str(path))
    if (
        not file.open(QIODevice.OpenModeFlag.WriteOnly)
        or file.write(content) != content.size()
        or not file.commit()
    ):
        message = tr("{path} cannot be written: {reason}. Nothing there was changed.")
        raise SavingError(
            message.format(path=path, reason=file.errorString()), hint=tr("Choose another folder.")
        )
