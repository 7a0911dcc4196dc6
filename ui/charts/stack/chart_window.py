"""A small window beside the charts: which charts in which order, and which lines in them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTabWidget, QVBoxLayout, QWidget

from app.domain.text import tr
from ui.charts.stack.chooser import ChartChooser
from ui.charts.stack.series_list import SeriesList
from ui.charts.stack.stack import ChartStack


class ChartWindow(QDialog):
    """Not modal: every tick is seen in the charts at once.

    Attributes:
        charts: which charts.
        lines: which lines.
    """

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Charts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.charts = ChartChooser(stack, self)
        self.lines = SeriesList(stack, self)
        pages = QTabWidget(self)
        pages.addTab(self.charts, tr("&Charts"))
        pages.addTab(self.lines, tr("&Lines"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(pages)
        layout.addWidget(buttons)
        em = self.fontMetrics().averageCharWidth()
        self.resize(em * 60, em * 66)


def open_chart_window(stack: ChartStack) -> ChartWindow:
    """Show the window of a stack of charts, or bring it to the front: there is one for each stack."""
    window = stack.findChild(ChartWindow)
    if window is None:
        window = ChartWindow(stack, stack)
    window.show()
    window.activateWindow()
    return window
