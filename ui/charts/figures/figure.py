"""The interface of figures that are not charts over time, and the widget that shows them.

The constant part is painted once into a pixmap; the pointer is painted over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize, QSizeF, QStandardPaths, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QScrollArea, QToolTip, QWidget
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from ui.charts.stack.saving import picture_image, write_png, write_svg, write_text
from ui.painting import painting
from ui.theme import Theme
from ui.widgets.formatting import tooltip


class Figure(Protocol):
    """A figure that can be painted in any size. Sizes and positions in device-independent pixels."""

    @property
    def title(self) -> str:
        """Its heading and the name of its file."""

    def least_height(self, theme: Theme, width: float) -> float:
        """Return the least legible height in pixels."""

    def paint(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Paint the figure at the origin."""

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Theme, at: QPointF) -> None:
        """Paint the marks for a pointer position over it."""

    def text_at(self, size: QSizeF, theme: Theme, at: QPointF) -> str:
        """Return the text at a position, as lines of plain text; empty for none."""

    def accessible_text(self) -> str:
        """Return the whole figure in sentences, for screen readers."""

    def csv(self) -> str:
        """Return its numbers as a table."""


@dataclass(frozen=True)
class FigurePicture:
    """A figure in a size, ready for a file."""

    figure: Figure
    theme: Theme
    size: QSize

    def paint(self, painter: QPainter) -> None:
        """Paint it at the origin."""
        painter.fillRect(QRect(QPoint(0, 0), self.size), self.theme.background)
        self.figure.paint(painter, QSizeF(self.size), self.theme)


class FigureView(QScrollArea):
    """Show a figure, with values under the pointer and a menu to copy and save."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent, widgetResizable=True)
        self.setLayoutDirection(
            Qt.LayoutDirection.LeftToRight
        )  # axes of numbers run to the right in every script
        self.setFrameStyle(0)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its sheet has the focus, with a name
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sheet = _Sheet(theme)
        self.setWidget(self.sheet)

    @property
    def figure(self) -> Figure | None:
        """The shown figure."""
        return self.sheet.figure

    def show_figure(self, figure: Figure | None) -> None:
        """Show a figure, or none."""
        self.sheet.show_figure(figure)
        self._fit()

    def picture(self) -> FigurePicture | None:
        """Return the shown figure, ready for a file."""
        return self.sheet.picture()

    def _fit(self) -> None:
        figure, width = self.sheet.figure, self.viewport().width()
        least = 0.0 if figure is None else figure.least_height(self.sheet.theme, width)
        self.sheet.setMinimumHeight(round(least))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


class _Sheet(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.figure: Figure | None = None
        self._pixmap: QPixmap | None = None
        self._at: QPointF | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.changed.connect(self._repaint_all)

    def show_figure(self, figure: Figure | None) -> None:
        self.figure = figure
        self.setAccessibleName("" if figure is None else figure.title)
        self._repaint_all()

    def accessible_text(self) -> str:
        return "" if self.figure is None else self.figure.accessible_text()

    def picture(self) -> FigurePicture | None:
        return None if self.figure is None else FigurePicture(self.figure, self.theme, self.size())

    def _repaint_all(self) -> None:
        self._pixmap = None
        self.update()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._pixmap = None

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.drawPixmap(0, 0, self._painted())
            if self.figure is not None and self._at is not None:
                self.figure.paint_pointer(painter, QSizeF(self.size()), self.theme, self._at)

    def _painted(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        if self._pixmap is None or self._pixmap.devicePixelRatio() != ratio:
            self._pixmap = QPixmap(self.size() * ratio)
            self._pixmap.setDevicePixelRatio(ratio)
            self._pixmap.fill(self.theme.background)
            if self.figure is not None:
                with painting(self._pixmap) as painter:
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    self.figure.paint(painter, QSizeF(self.size()), self.theme)
        return self._pixmap

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._at = event.position()
        self.update()
        words = "" if self.figure is None else self.figure.text_at(QSizeF(self.size()), self.theme, self._at)
        # As rich text with all characters escaped: a tool tip would interpret markup in a run's name
        # otherwise.
        text = tooltip(*words.splitlines())
        QToolTip.showText(event.globalPosition().toPoint(), text, self)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._at = None
        self.update()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.figure is not None:
            FigureMenu(self, self.figure).popup(event.globalPos())


class FigureMenu(QMenu):
    """Copy and save a figure; deletes itself when closed."""

    def __init__(self, sheet: _Sheet, figure: Figure) -> None:
        super().__init__(sheet)
        self.aboutToHide.connect(self.deleteLater)
        self._sheet, self._figure = sheet, figure
        self.addAction(tr("&Copy as image"), self._copy)
        self.addSeparator()
        self.addAction(tr("Save as &PNG…"), self._asking("png"))
        self.addAction(tr("Save as &SVG…"), self._asking("svg"))
        self.addAction(tr("Save numbers as CS&V…"), self._asking("csv"))

    def _copy(self) -> None:
        if (picture := self._sheet.picture()) is not None:
            QGuiApplication.clipboard().setImage(picture_image(picture, self._sheet.theme))

    def _asking(self, kind: str) -> Callable[[], None]:
        return lambda: self._ask(kind)

    def _ask(self, kind: str) -> None:
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        dialog = QFileDialog(self._sheet, tr("Save figure"), folder, f"{kind.upper()} (*.{kind})")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"comparison.{kind}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet = self._sheet  # the menu is deleted when the dialog ends
        dialog.fileSelected.connect(lambda name: save_figure(sheet, Path(name)))
        dialog.open()


def save_figure(sheet: _Sheet, path: Path) -> None:
    """Write the shown figure in the format of the file name; report failures."""
    picture = sheet.picture()
    if picture is None:
        return
    try:
        if path.suffix.lower() == ".svg":
            write_svg(picture, picture.figure.title, path)
        elif path.suffix.lower() == ".csv":
            write_text(picture.figure.csv(), path)
        else:
            write_png(picture, sheet.theme, path)
    except FootingError as error:
        box = QMessageBox(QMessageBox.Icon.Warning, tr("Save figure"), error.message, parent=sheet)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(error.hint or "")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()
