"""The check list of everything that charts show: runs, and the curves of each chart."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from app.domain.text import tr
from ui.charts.painting import paint_sample
from ui.charts.stack import ChartStack

_SAMPLE = QSize(24, 12)
_KEY = Qt.ItemDataRole.UserRole


class SeriesList(QTreeWidget):
    """Ticks for runs and curves, instead of a legend that covers data.

    Signals are those of the stack: `lines_changed` after a tick.
    """

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stack = stack
        self.setHeaderHidden(True)
        self.setIconSize(_SAMPLE)
        self.setRootIsDecorated(True)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAccessibleName(tr("Lines shown in the charts"))
        stack.lines_changed.connect(self._fill)
        self.itemChanged.connect(self._on_item_changed)
        self._fill()

    def _fill(self) -> None:
        self.blockSignals(True)  # noqa: FBT003 - Qt's signature
        place = self.verticalScrollBar().value()
        self.clear()
        if self._stack.runs:
            runs = self._group(tr("Runs"))
            for trace in self._stack.runs:
                item = self._item(runs, trace.label, trace.visible, ("run", trace.run_id))
                colour = self._stack.theme.series_colour(trace.colour_index)
                item.setIcon(0, self._sample(colour, self._stack.theme.series_style(trace.colour_index)))
        for chart in self._stack.charts:
            group = self._group(chart.spec.title)
            for curve in chart.spec.curves:
                shown = self._stack.is_curve_visible(chart.spec.id, curve.id)
                item = self._item(group, curve.label, shown, ("curve", chart.spec.id, curve.id))
                lines = [line for line in chart.lines if line.curve.id == curve.id and line.rank]
                if len(lines) == 1:
                    item.setIcon(0, self._sample(lines[0].colour, lines[0].style))
        self.expandAll()
        self.verticalScrollBar().setValue(place)
        self.blockSignals(False)  # noqa: FBT003 - Qt's signature

    def _group(self, title: str) -> QTreeWidgetItem:
        group = QTreeWidgetItem(self, [title])
        group.setFlags(Qt.ItemFlag.ItemIsEnabled)
        font = group.font(0)
        font.setBold(True)
        group.setFont(0, font)
        return group

    def _item(
        self,
        group: QTreeWidgetItem,
        text: str,
        checked: bool,  # noqa: FBT001 - as Qt has it
        key: tuple[str, ...],
    ) -> QTreeWidgetItem:
        item = QTreeWidgetItem(group, [text])
        item.setFlags(
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
        )
        item.setCheckState(0, Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked)
        item.setToolTip(0, text)
        item.setData(0, _KEY, key)
        return item

    def _sample(self, colour: QColor, style: Qt.PenStyle) -> QIcon:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(_SAMPLE * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        paint_sample(painter, QRectF(0, 0, _SAMPLE.width(), _SAMPLE.height()), colour, style, 3)
        painter.end()
        return QIcon(picture)

    def _on_item_changed(self, item: QTreeWidgetItem) -> None:
        kind, *names = item.data(0, _KEY)
        checked = item.checkState(0) is Qt.CheckState.Checked
        if kind == "run":
            self._stack.set_run_visible(names[0], visible=checked)
        else:
            self._stack.set_curve_visible(names[0], names[1], visible=checked)
