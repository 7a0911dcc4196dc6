"""The interface of figures that are not charts over time, and the widget that shows them.

The constant part is painted once into a pixmap; the pointer is painted over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QScrollArea, QToolTip, QWidget
from typing_extensions import override

from app.domain.text import tr
from ui.charts.stack.saving import SavingMenu
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

    @property
    def name(self) -> str:
        """Of its file."""
        return "comparison"

    @property
    def title(self) -> str:
        """Of the figure."""
        return self.figure.title

    def csv(self) -> str:
        """Return its numbers as a table."""
        return self.figure.csv()

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


_NO_FIGURE = tr("Figure")
"""Accessible name of a sheet whose figure is not there yet."""


class _Sheet(QWidget):
    clicked = Signal(QPointF)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.figure: Figure | None = None
        self._pixmap: QPixmap | None = None
        self._at: QPointF | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(_NO_FIGURE)
        theme.changed.connect(self._repaint_all)

    def show_figure(self, figure: Figure | None) -> None:
        self.figure = figure
        self.setAccessibleName(_NO_FIGURE if figure is None else figure.title)
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
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit(event.position())

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._at = None
        self.update()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.figure is not None:
            picture, words = FigurePicture(self.figure, self.theme, self.size()), tr("Save numbers as CS&V…")
            SavingMenu(self, lambda: picture, self.theme, words).popup(event.globalPos())
