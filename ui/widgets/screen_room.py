"""How large a window may be on its screen."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget


def screen_room(window: QWidget) -> QSize:
    """Return the size of what may be used of the screen on which a window stands.

    Not asked of `QWidget.screen`: PySide6 (6.8 to 6.11) makes the window the parent of what that returns, and
    deletes the screen with the garbage of such a window; the next widget then crashes.
    """
    screen = QGuiApplication.screenAt(window.frameGeometry().center()) or QGuiApplication.primaryScreen()
    return screen.availableSize()
