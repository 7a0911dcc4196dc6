"""How large a window may be: asked so that the screen outlives the windows that asked."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from ui.background import finish_background
from ui.charts.stack.chart_window import ChartWindow
from ui.charts.stack.stack import ChartStack
from ui.theme import Scheme, Theme
from ui.window.commands.manual_window import HelpWindow, ManualWindow

TOP = Path(__file__).resolve().parents[2]
WINDOWS = """
import gc
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QWidget
from ui.widgets.layouts import screen_room

class Dialog(QDialog):
    def __init__(self, parent):
        super().__init__(parent)
        self.me = self
        screen_room(self)

class Window(QMainWindow):
    def __init__(self):
        super().__init__()
        self.me, self.dialog = self, Dialog(self)
        screen_room(self)

application = QApplication([])
gc.disable()
for number in range(12):
    window = Window()
    window.show()
    window.dialog.show()
    application.processEvents()
    if number % 3 == 0:
        window.deleteLater()
    elif number % 3 == 1:
        window.dialog.deleteLater()
    del window
    gc.collect()
    application.processEvents()
    QWidget().logicalDpiX()
print(len(QGuiApplication.screens()))
"""


def test_screen_outlives_collected_windows() -> None:
    """With QWidget.screen() in its place this is a segmentation fault (PySide6 6.8.2 and 6.11.3)."""
    ended = subprocess.run(
        [sys.executable, "-c", WINDOWS], cwd=TOP, capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr


def test_no_widget_is_asked_for_its_screen() -> None:
    asking = [
        path.name for path in (TOP / "ui").rglob("*.py") if re.search(r"\.screen\(\)", path.read_text())
    ]
    assert asking == []


@pytest.fixture
def _large_type(qtbot: QtBot) -> Iterator[None]:
    before = QApplication.font()
    large = QFont(before)
    large.setPointSizeF(before.pointSizeF() * 3)
    QApplication.setFont(large)
    yield
    QApplication.setFont(before)


@pytest.mark.usefixtures("_large_type")
def test_large_type_windows_stay_on_screen(qtbot: QtBot) -> None:
    theme = Theme(Scheme.LIGHT)
    stack = ChartStack(theme)
    qtbot.addWidget(stack)
    for made in (ManualWindow(theme), HelpWindow(theme), ChartWindow(stack)):
        qtbot.addWidget(made)
        room = QApplication.primaryScreen().availableSize()
        assert made.size() == made.size().boundedTo(room - QSize(8, 30)), made  # a frame must fit as well
    finish_background()
