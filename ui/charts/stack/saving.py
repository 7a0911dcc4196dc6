"""Save a chart as picture and as numbers: PNG, SVG, the clipboard, CSV.

A picture has the content of the window, with the time axis and the names of the runs below.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QIODevice,
    QRectF,
    QSaveFile,
    QSize,
    QSizeF,
    QStandardPaths,
    Qt,
)
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QWidget

from app.domain.text import tr
from app.export.runs import write_rows
from ui.charts.data.lines import Line
from ui.charts.data.scale import TIME, XAxisKind
from ui.charts.painting.painting import paint_sample
from ui.charts.painting.sheet_painting import LEFT
from ui.theme import SMALL, TINY, Theme, painting

if TYPE_CHECKING:
    from ui.charts.stack.chart import Chart

_SHARPNESS: Final = 2.0
_MARGIN: Final = 20.0
_PLACES: Final = 6


class Picture:
    """A chart ready to be painted elsewhere: heading, axes, lines, and the names of the runs below."""

    def __init__(self, chart: Chart, theme: Theme) -> None:
        self._chart, self._theme = chart, theme
        self._left = chart.axis.width()
        self._top = chart.heading.size().height()
        self._content = QSizeF(chart.view.width(), chart.view.height())
        self._width = self._left + self._content.width() + _MARGIN
        self._metrics = QFontMetricsF(theme.font(0.9))
        self._legend = self._legend_rows()

    @property
    def name(self) -> str:
        """Of its file."""
        return self._chart.spec.id

    @property
    def title(self) -> str:
        """Of the chart."""
        return self._chart.spec.title

    def csv(self) -> str:
        """Return the visible seconds of every line: one row per second, one column per line."""
        chart = self._chart
        return csv_text(chart.lines, chart.times, chart.spec.unit, chart.time_axis.kind)

    @property
    def size(self) -> QSize:
        """Size in device-independent pixels."""
        below = self._chart.time_axis.height() + len(self._legend) * self._row
        return QSize(
            math.ceil(self._width), math.ceil(self._top + self._content.height() + below + 2 * SMALL)
        )

    @property
    def _row(self) -> float:
        return float(math.ceil(self._metrics.height()) + 2)

    def _runs(self) -> list[Line]:
        """Return the representative line of each run."""
        first: dict[str, Line] = {}
        for line in sorted(self._chart.lines, key=lambda line: not line.curve.main):
            first.setdefault(line.run_id, line)
        return list(first.values())

    def _legend_rows(self) -> list[list[tuple[Line, float]]]:
        """Return the runs in rows that fit the width, with the position of each."""
        rows: list[list[tuple[Line, float]]] = []
        x = math.inf
        for line in self._runs():
            width = self._metrics.horizontalAdvance(line.label) + 4 * self._row
            if x + width > self._width:
                rows.append([])
                x = float(SMALL)
            rows[-1].append((line, x))
            x += width
        return rows

    def paint(self, painter: QPainter) -> None:
        """Paint the picture at the origin, in device-independent pixels."""
        chart, bottom = self._chart, self._top + self._content.height()
        painter.fillRect(QRectF(0, 0, self.size.width(), self.size.height()), self._theme.background)
        chart.heading.draw(painter, QSizeF(self._width - _MARGIN, self._top))
        for draw, x, y in (
            (chart.layer.draw, self._left, self._top),
            (chart.axis.draw, 0.0, self._top),
            (chart.time_axis.draw, self._left, bottom),
        ):
            painter.save()
            painter.translate(x, y)
            draw(painter)
            painter.restore()
        painter.setFont(chart.time_axis.font_used)
        painter.setPen(self._theme.muted)
        unit = QRectF(TINY, bottom, self._left, chart.time_axis.height())
        painter.drawText(unit, LEFT, chart.time_axis.kind.unit(chart.times[1]))
        self._paint_legend(painter, bottom + chart.time_axis.height() + SMALL)

    def _paint_legend(self, painter: QPainter, top: float) -> None:
        painter.setFont(self._theme.font(0.9))
        for number, row in enumerate(self._legend):
            y = top + number * self._row
            for line, x in row:
                sample = QRectF(x, y, 2 * self._row, self._row)
                paint_sample(painter, sample, line.colour, line.style, 2, line.mark)
                painter.setPen(self._theme.text)
                place = QRectF(sample.right() + SMALL, y, self._width, self._row)
                painter.drawText(place, LEFT, line.label)


class Paintable(Protocol):
    """A picture that can be painted into a file."""

    @property
    def name(self) -> str:
        """Of its file, without a suffix."""

    @property
    def title(self) -> str:
        """Its heading."""

    @property
    def size(self) -> QSize:
        """Size in device-independent pixels."""

    def paint(self, painter: QPainter) -> None:
        """Paint it at the origin, in device-independent pixels."""

    def csv(self) -> str:
        """Return its numbers as a table."""


def picture_image(picture: Paintable, theme: Theme) -> QImage:
    """Return a picture at twice the window's resolution."""
    image = QImage(picture.size * _SHARPNESS, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SHARPNESS)
    image.fill(theme.background)
    with painting(image) as painter:
        picture.paint(painter)
    return image


def save_picture(parent: QWidget, picture: Paintable, theme: Theme, path: Path) -> None:
    """Write a picture in the format of the file name; report failures, which leave a file untouched."""
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if path.suffix.lower() == ".svg":
        _paint_svg(picture, buffer)
    elif path.suffix.lower() == ".csv":
        buffer.write(picture.csv().encode())
    else:
        picture_image(picture, theme).save(buffer, "PNG")  # type: ignore[call-overload]
    file = QSaveFile(str(path))
    if (
        file.open(QIODevice.OpenModeFlag.WriteOnly)
        and file.write(content) == content.size()
        and file.commit()
    ):
        return
    message = tr("{path} cannot be written: {reason}. Nothing there was changed.")
    told = message.format(path=path, reason=file.errorString())
    box = QMessageBox(QMessageBox.Icon.Warning, tr("Save chart"), told, parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(tr("Choose another folder."))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()


def _paint_svg(picture: Paintable, buffer: QBuffer) -> None:
    """Paint lines as lines."""
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(picture.size)
    generator.setViewBox(QRectF(0, 0, picture.size.width(), picture.size.height()))
    generator.setTitle(picture.title)
    generator.setResolution(96)
    with painting(generator) as painter:
        picture.paint(painter)


class SavingMenu(QMenu):
    """Copy a picture and save it with its numbers; deletes itself when closed."""

    def __init__(self, parent: QWidget, take: Callable[[], Paintable], theme: Theme) -> None:
        """Create the menu.

        Args:
            parent: of the dialogs, which outlive the menu.
            take: returns the picture as it is then.
            theme: colours.
        """
        super().__init__(parent)
        self.aboutToHide.connect(self.deleteLater)

        def asking(kind: str) -> Callable[[], None]:
            return lambda: _ask_to_save(parent, take, theme, kind)

        def copy() -> None:
            QGuiApplication.clipboard().setImage(picture_image(take(), theme))

        self.addAction(tr("&Copy as image"), copy)
        self.addSeparator()
        self.addAction(tr("Save as &PNG…"), asking("png"))
        self.addAction(tr("Save as &SVG…"), asking("svg"))
        self.addAction(tr("Save numbers as CS&V…"), asking("csv"))


def _ask_to_save(parent: QWidget, take: Callable[[], Paintable], theme: Theme, kind: str) -> None:
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    dialog = QFileDialog(parent, tr("Save chart"), folder, f"{kind.upper()} (*.{kind})")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(kind)
    dialog.selectFile(f"{take().name}.{kind}")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda path: save_picture(parent, take(), theme, Path(path)))
    dialog.open()


def csv_text(lines: Sequence[Line], times: tuple[float, float], unit: str, kind: XAxisKind = TIME) -> str:
    """Return a table of lines: seconds as measured, not means; empty for missing seconds."""
    columns = []
    for line in lines:
        t_s, values = line.data.seconds.t_s, line.data.seconds.values
        inside = (t_s >= times[0]) & (t_s <= times[1])
        columns.append(
            dict(zip(np.round(t_s[inside], _PLACES).tolist(), values[inside].tolist(), strict=True))
        )
    places = sorted({t_s for column in columns for t_s in column})
    headings = [kind.column, *(f"{line.label}: {line.curve.label} ({unit})" for line in lines)]
    rows = [
        [f"{kind.number(place):.10g}", *(f"{each[place]:.6g}" if place in each else "" for each in columns)]
        for place in places
    ]
    return table_text([headings, *rows])


def table_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; numbers with ten digits, None as empty."""
    stream = io.StringIO(newline="")
    texts = ([f"{cell:.10g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    write_rows(stream, texts)
    return stream.getvalue()
