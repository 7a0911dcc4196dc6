"""Fill layouts with widgets in one call; the largest window that fits a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from PySide6.QtCore import QEvent, QRect, QSize
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QSizePolicy, QWidget
from typing_extensions import override

from ui.theme import LARGE, MEDIUM, TINY

Part = QWidget | QLayout
Layout = TypeVar("Layout", bound=QBoxLayout)


def fill(
    layout: Layout,
    *items: Part | tuple[Part, int] | int,
    spacing: int | None = None,
    margins: int | tuple[int, int] | tuple[int, int, int, int] | None = None,
) -> Layout:
    """Add items to a layout and return it.

    Args:
        layout: a row or column.
        items: widgets and layouts, each alone or with its stretch; a number is empty space with that stretch.
        spacing: between items; None for the style's.
        margins: of all sides, of (sides, top and bottom), or of each from the left; None for the style's.
    """
    if spacing is not None:
        layout.setSpacing(spacing)
    if margins is not None:
        each = margins if isinstance(margins, tuple) else (margins,)
        layout.setContentsMargins(*(each * (4 // len(each))))
    for item in items:
        part, stretch = item if isinstance(item, tuple) else (item, 0)
        if isinstance(part, QWidget):
            layout.addWidget(part, stretch)
        elif isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addStretch(part)
    return layout


def empty(layout: QLayout) -> None:
    """Remove all widgets from a layout; Qt deletes them when it comes to it."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.setParent(None)
            widget.deleteLater()


# Arrange widgets in columns, or in lines like words.


_COLUMN_EMS: Final = 26
_MOST_COLUMNS: Final = 3


class _Arranging(QWidget):
    """Arranges its widgets itself: Qt's layouts keep the heights of earlier widths."""

    def __init__(self, vertical: QSizePolicy.Policy) -> None:
        super().__init__()
        self._widgets: list[QWidget] = []
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, vertical)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return self._arrange(width, place=False)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(max((widget.minimumSizeHint().width() for widget in self._shown()), default=0), 0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(event.size().width(), place=True)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self._arrange(self.width(), place=True)
            self.updateGeometry()
        return super().event(event)

    def _shown(self) -> list[QWidget]:
        return [widget for widget in self._widgets if not widget.isHidden()]

    def _arrange(self, width: int, *, place: bool) -> int:
        """Return the height of the widgets at this width; move them there if `place`."""
        raise NotImplementedError


class Columns(_Arranging):
    """Widgets in as many columns as fit, each row as high as its texts need."""

    def __init__(self, widgets: Sequence[QWidget], column_ems: int = _COLUMN_EMS) -> None:
        super().__init__(QSizePolicy.Policy.Preferred)
        self._widgets = list(widgets)
        self._column_ems = column_ems
        for widget in self._widgets:
            widget.setParent(self)

    @override
    def sizeHint(self) -> QSize:
        width = 2 * self._column_ems * self.fontMetrics().averageCharWidth()
        return QSize(width, self._arrange(width, place=False))

    @override
    def _arrange(self, width: int, *, place: bool) -> int:
        shown = self._shown()
        least = self._column_ems * self.fontMetrics().averageCharWidth()
        columns = max(1, min(_MOST_COLUMNS, (width + LARGE) // (least + LARGE), len(shown)))
        each = (width - (columns - 1) * LARGE) // columns
        top = 0
        for first in range(0, len(shown), columns):
            row = shown[first : first + columns]
            height = max(_height_of(widget, each) for widget in row)
            for number, widget in enumerate(row):
                if place:
                    widget.setGeometry(number * (each + LARGE), top, each, height)
            top += height + MEDIUM
        return max(0, top - MEDIUM)


def _height_of(widget: QWidget, width: int) -> int:
    if widget.hasHeightForWidth():
        return max(widget.heightForWidth(width), widget.minimumSizeHint().height())
    return widget.sizeHint().height()


class Flow(_Arranging):
    """Widgets in lines like words, each in its preferred width."""

    def __init__(self) -> None:
        super().__init__(QSizePolicy.Policy.Fixed)

    def show_widgets(self, widgets: Sequence[QWidget]) -> None:
        """Show these in this order; remove all others."""
        for old in self._widgets:
            if old not in widgets:
                old.setParent(None)
                old.deleteLater()
        self._widgets = list(widgets)
        before: QWidget | None = None
        for widget in widgets:
            widget.setParent(self)
            widget.show()
            if before is not None:
                QWidget.setTabOrder(before, widget)
            before = widget
        self._arrange(self.width(), place=True)
        self.updateGeometry()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self.width(), self._arrange(max(self.width(), 1), place=False))

    @override
    def _arrange(self, width: int, *, place: bool) -> int:
        left = top = 0
        line: list[tuple[QWidget, QRect]] = []
        for widget in self._widgets:
            size = widget.sizeHint()
            wide = min(size.width(), max(width, 1))
            if left and left + wide > width:
                left, top = 0, top + _end_line(line, place=place) + TINY
                line = []
            line.append((widget, QRect(left, top, wide, size.height())))
            left += wide + MEDIUM
        return top + _end_line(line, place=place)


def _end_line(line: Sequence[tuple[QWidget, QRect]], *, place: bool) -> int:
    """Return the height of a line; centre its widgets vertically if `place`."""
    height = max((rect.height() for _, rect in line), default=0)
    for widget, rect in line if place else ():
        widget.setGeometry(rect.translated(0, (height - rect.height()) // 2))
    return height


# The largest size of a window that fits its screen.


_FRAME = QSize(16, 40)
"""Usual size of a window manager's frame, which is unknown until the window is shown."""


def screen_room(window: QWidget) -> QSize:
    """Return the available size of a window's screen without the frame.

    Not through `QWidget.screen`: PySide6 (6.8 to 6.11) makes the window the parent of the result, and deletes
    the screen when such a window is garbage-collected; the next widget then crashes.
    """
    screen = QGuiApplication.screenAt(window.frameGeometry().center()) or QGuiApplication.primaryScreen()
    return screen.availableSize() - _FRAME
