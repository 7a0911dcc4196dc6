"""The largest size of a window that fits its screen."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

_FRAME = QSize(16, 40)
"""Usual size of a window manager's frame, which is unknown until the window is shown."""


def screen_room(window: QWidget) -> QSize:
    """Return the available size of a window's screen without the frame.

    Not through `QWidget.screen`: PySide6 (6.8 to 6.11) makes the window the parent of the result, and deletes
    the screen when such a window is garbage-collected; the next widget then crashes.
    """
    screen = QGuiApplication.screenAt(window.frameGeometry().center()) or QGuiApplication.primaryScreen()
    return screen.availableSize() - _FRAME
