"""The available size for a window on its screen."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget


def screen_room(window: QWidget) -> QSize:
    """Return the available size of a window's screen.

    Not through `QWidget.screen`: PySide6 (6.8 to 6.11) makes the window the parent of the result, and deletes
    the screen when such a window is garbage-collected; the next widget then crashes.
    """
    screen = QGuiApplication.screenAt(window.frameGeometry().center()) or QGuiApplication.primaryScreen()
    return screen.availableSize()
