"""A small window beside the charts: which charts in which order, and which lines in them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.text import tr
from ui.charts.data.registry import charts_along
from ui.charts.stack.series_list import SeriesList
from ui.charts.stack.stack import ChartStack
from ui.theme import SMALL
from ui.widgets.screen_room import screen_room
from ui.widgets.tab_order import go_as_read

_ID = Qt.ItemDataRole.UserRole


class _Charts(QListWidget):
    """A list whose rows are also moved by Alt with Up and Down."""

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None or not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            super().keyPressEvent(event)
        else:
            self.move_row(step)

    def move_row(self, step: int) -> None:
        """Move the current row up or down."""
        row = self.currentRow()
        if row >= 0 and 0 <= row + step < self.count():
            self.model().moveRow(self.rootIndex(), row, self.rootIndex(), row + step + (step > 0))


class ChartChooser(QWidget):
    """Every chart with a tick, in the order of the stack; ticked, dragged or moved they change at once."""

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stack = stack
        self.list = _Charts()
        self.list.setAccessibleName(tr("Charts"))
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.up = QPushButton(tr("Move &up"))
        self.down = QPushButton(tr("Move &down"))
        self.up.clicked.connect(lambda: self.list.move_row(-1))
        self.down.clicked.connect(lambda: self.list.move_row(1))
        buttons = QHBoxLayout()
        buttons.addWidget(self.up)
        buttons.addWidget(self.down)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        layout.addWidget(self.list)
        layout.addLayout(buttons)
        self._fill()
        self.list.itemChanged.connect(self._apply)
        self.list.model().rowsMoved.connect(self._apply)
        self.list.currentRowChanged.connect(self._update_buttons)
        self.list.setCurrentRow(0)
        stack.charts_changed.connect(self._on_charts_changed)

    def _fill(self) -> None:
        shown = self._stack.chart_ids
        self.list.clear()
        offered = charts_along(self._stack.kind.along)
        for chart_id in (*shown, *(each for each in offered if each not in shown)):
            item = QListWidgetItem(offered[chart_id].title, self.list)
            item.setData(_ID, chart_id)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if chart_id in shown else Qt.CheckState.Unchecked)

    def _ticked(self) -> list[str]:
        items = [self.list.item(row) for row in range(self.list.count())]
        return [str(item.data(_ID)) for item in items if item.checkState() is Qt.CheckState.Checked]

    def _apply(self) -> None:
        self._stack.set_charts(self._ticked())
        self._update_buttons()

    def _on_charts_changed(self, ids: list[str]) -> None:
        if ids != self._ticked():  # changed elsewhere
            self.list.blockSignals(True)  # noqa: FBT003 - Qt's signature
            self._fill()
            self.list.blockSignals(False)  # noqa: FBT003 - Qt's signature

    def _update_buttons(self) -> None:
        row = self.list.currentRow()
        self.up.setEnabled(row > 0)
        self.down.setEnabled(0 <= row < self.list.count() - 1)


class ChartWindow(QDialog):
    """Not modal: every tick is seen in the charts at once.

    Attributes:
        charts: which charts.
        lines: which lines.
    """

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        go_as_read(self)
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
        self.resize(QSize(em * 60, em * 66).boundedTo(screen_room(self)))


def open_chart_window(stack: ChartStack) -> ChartWindow:
    """Show the window of a stack of charts, or bring it to the front: there is one for each stack."""
    window = stack.findChild(ChartWindow)
    if window is None:
        window = ChartWindow(stack, stack)
    window.show()
    window.activateWindow()
    return window
