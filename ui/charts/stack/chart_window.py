"""A small window next to the charts: charts and their order, and the lines in them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QTabWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.domain.text import titled, tr
from ui.charts.data.registry import charts_along
from ui.charts.painting.painting import sample_icon
from ui.charts.stack.stack import ChartStack
from ui.theme import SMALL
from ui.widgets.fields import OrderedList, plain
from ui.widgets.layouts import screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import tooltip

_SAMPLE = QSize(24, 12)
_KEY = Qt.ItemDataRole.UserRole


class SeriesList(QTreeWidget):
    """Check boxes for runs and curves, instead of a legend that covers data.

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
        self._rows: list[tuple[tuple[str, ...], QTreeWidgetItem]] = []
        self._samples: dict[tuple[int, Qt.PenStyle, int, float], QIcon] = {}
        stack.lines_changed.connect(self._update)
        self.itemChanged.connect(self._on_item_changed)
        self._update()

    def _update(self) -> None:
        """Update the check boxes from the stack.

        Rows are rebuilt only if others are needed: a tick is signalled from inside its row, which must
        survive.
        """
        wanted = self._wanted()
        self.blockSignals(True)  # noqa: FBT003 - Qt's signature
        if [key for key, _ in self._rows] != [key for keys in wanted.values() for key in keys]:
            self._make(wanted)
        for key, item in self._rows:
            self._show(key, item)
        self.blockSignals(False)  # noqa: FBT003 - Qt's signature

    def _wanted(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the keys of the rows by the title of their group."""
        groups: dict[str, list[tuple[str, ...]]] = {}
        if self._stack.runs:
            groups[titled(tr("runs"))] = [("run", trace.run_id) for trace in self._stack.runs]
        for chart in self._stack.charts:
            keys = [("curve", chart.spec.id, curve.id) for curve in chart.spec.curves]
            groups[chart.spec.title] = list(keys)
        return groups

    def _make(self, wanted: dict[str, list[tuple[str, ...]]]) -> None:
        place = self.verticalScrollBar().value()
        self.clear()
        self._rows = []
        for title, keys in wanted.items():
            group = QTreeWidgetItem(self, [title])
            group.setFlags(Qt.ItemFlag.ItemIsEnabled)
            font = group.font(0)
            font.setBold(True)
            group.setFont(0, font)
            for key in keys:
                item = QTreeWidgetItem(group)
                item.setFlags(
                    Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
                )
                item.setData(0, _KEY, key)
                self._rows.append((key, item))
        self.expandAll()
        self.verticalScrollBar().setValue(place)

    def _show(self, key: tuple[str, ...], item: QTreeWidgetItem) -> None:
        theme = self._stack.theme
        if key[0] == "run":
            trace = next(trace for trace in self._stack.runs if trace.run_id == key[1])
            text, shown = trace.label, trace.visible
            index = trace.colour_index
            colour, mark = theme.series_colour(index), theme.series_mark(index)
            item.setIcon(0, self._sample(colour, Qt.PenStyle.SolidLine, mark))
        else:
            chart = next(chart for chart in self._stack.charts if chart.spec.id == key[1])
            text = next(curve.label for curve in chart.spec.curves if curve.id == key[2])
            lines = [line for line in chart.lines if line.curve.id == key[2]]
            shown = bool(lines)
            full = [line for line in lines if line.rank]
            styles = {line.style for line in full}
            colour = full[0].colour if len(full) == 1 else theme.muted
            item.setIcon(0, self._sample(colour, full[0].style) if len(styles) == 1 else QIcon())
        if item.text(0) != text:
            item.setText(0, text)
            item.setToolTip(0, tooltip(text))  # names may look like markup
        item.setCheckState(0, Qt.CheckState.Checked if shown else Qt.CheckState.Unchecked)

    def _sample(self, colour: QColor, style: Qt.PenStyle, mark: int = 0) -> QIcon:
        """Return a line sample; cached, because a tick updates all rows."""
        ratio = self.devicePixelRatioF()
        key = (colour.rgb(), style, mark, ratio)
        if key not in self._samples:
            self._samples[key] = sample_icon(_SAMPLE, ratio, colour, style, mark)
        return self._samples[key]

    def _on_item_changed(self, item: QTreeWidgetItem) -> None:
        kind, *names = item.data(0, _KEY)
        checked = item.checkState(0) is Qt.CheckState.Checked
        if kind == "run":
            self._stack.set_run_visible(names[0], visible=checked)
        else:
            self._stack.set_curve_visible(names[0], names[1], visible=checked)


class ChartChooser(OrderedList):
    """Every chart with a check box, in the order of the stack; changes apply at once."""

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(plain(tr("C&harts")), parent)
        self._stack = stack
        self.rows.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        self._fill()
        self.changed.connect(lambda: stack.set_charts(self.ticked()))
        stack.charts_changed.connect(self._on_charts_changed)

    def _fill(self) -> None:
        shown = self._stack.chart_ids
        offered = charts_along(self._stack.kind.along)
        others = (each for each in offered if each not in shown)
        self.show_rows((each, offered[each].title, each in shown) for each in (*shown, *others))

    def _on_charts_changed(self, ids: list[str]) -> None:
        if ids != self.ticked():  # changed elsewhere
            self._fill()


class ChartWindow(QDialog):
    """Not modal: every tick is visible in the charts at once.

    Attributes:
        charts: choice of charts.
        lines: choice of lines.
    """

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self.setWindowTitle(plain(tr("C&harts")))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.charts = ChartChooser(stack, self)
        self.lines = SeriesList(stack, self)
        pages = QTabWidget(self)
        pages.addTab(self.charts, tr("C&harts"))
        pages.addTab(self.lines, tr("&Lines"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(pages)
        layout.addWidget(buttons)
        em = self.fontMetrics().averageCharWidth()
        self.resize(QSize(em * 60, em * 66).boundedTo(screen_room(self)))


def open_chart_window(stack: ChartStack) -> ChartWindow:
    """Open the window of a stack of charts, or bring it to the front: there is one per stack."""
    window = stack.findChild(ChartWindow)
    if window is None:
        window = ChartWindow(stack, stack)
    window.show()
    window.activateWindow()
    return window
