"""The table below the charts: the name of each run or configuration, and its figures in the visible time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.analysis.labels import mark_words, with_warning
from app.comparison.label_shortening import cut_words
from app.domain.text import titled, tr
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.series import RunData
from ui.charts.data.curves import Array, CurveData
from ui.charts.data.registry import ChartSpec, CurveSpec, RunTrace
from ui.charts.data.scale import Range, format_value
from ui.charts.painting.painting import sample_icon
from ui.charts.stack.chart_model import ChartModel
from ui.charts.stack.stack import ChartStack
from ui.theme import SMALL, TINY
from ui.widgets.texts import ElidedComboBox, plain_label, tooltip

_LEGEND_HIGH: Final = 95.0


@dataclass(frozen=True, slots=True)
class LegendRow:
    """A run, or a configuration with its repeats.

    Attributes:
        key: identity.
        trace: its style and name.
        run_ids: of its runs.
        visible: number of drawn ones.
        mean: of the visible seconds, in the chart's unit, or of the run; None if there are none.
        high: 95th percentile of the same seconds of all its runs.
        most: highest of these seconds.
        last: value of its line at the right edge.
        marks: of its runs, in words, without those in its name.
    """

    key: str
    trace: RunTrace
    run_ids: tuple[str, ...]
    visible: int
    mean: float | None
    high: float | None
    most: float | None
    last: float | None
    marks: tuple[str, ...]


def main_curve(chart: ChartSpec) -> CurveSpec:
    """Return the main curve of a chart, which gives the figures."""
    return next((curve for curve in chart.curves if curve.main), chart.curves[0])


def legend_rows(model: ChartModel, chart: ChartSpec, times: Range) -> tuple[LegendRow, ...]:
    """Return a row for everything that may be drawn, including hidden runs, in the order of the runs.

    Args:
        model: the state of the charts.
        chart: with the main curve for the figures.
        times: the visible ones; times before the measurement are ignored.
    """
    curve = main_curve(chart)
    rows = []
    for bundle in model.all_bundles:
        members = [model.curve_of(trace, chart, curve) for trace in bundle.members]
        values = [_inside(data, times) for data in members]
        pooled = np.concatenate(values) if values else np.empty(0)
        means = [
            _mean(trace, chart, times, each)
            for trace, each in zip(bundle.members, values, strict=True)
            if len(each)
        ]
        rows.append(
            LegendRow(
                bundle.trace.run_id,
                bundle.trace,
                tuple(trace.run_id for trace in bundle.members),
                sum(trace.visible for trace in bundle.members),
                float(np.mean(means)) if means else None,
                float(np.percentile(pooled, _LEGEND_HIGH)) if len(pooled) else None,
                float(pooled.max()) if len(pooled) else None,
                _last(members, times),
                _marks(bundle.members),
            )
        )
    return tuple(rows)


def _mean(trace: RunTrace, chart: ChartSpec, times: Range, values: Array) -> float:
    """Return the mean of the shown seconds; of the TPS of a whole run its result, as everywhere."""
    data = trace.data
    if chart.id == "tps" and isinstance(data, RunData) and not data.regions:
        of_run = data.summary.get("tps")
        if of_run is not None and times[0] <= 0 and times[1] >= data.end_s:
            return of_run
    return float(values.mean())


def _inside(data: CurveData, times: Range) -> Array:
    t_s, values = data.seconds.t_s, data.seconds.values
    begin_s = max(times[0], 0.0)
    first = int(np.searchsorted(t_s, begin_s, side="right"))
    return values[first : int(np.searchsorted(t_s, times[1], side="right"))]


def _last(members: Sequence[CurveData], times: Range) -> float | None:
    """Return the mean of the lines at the end of the visible time."""
    found = []
    for data in members:
        end = int(np.searchsorted(data.main.t_s, times[1], side="right")) - 1
        if end >= 0 and float(data.main.t_s[end]) >= times[0]:
            found.append(float(data.main.values[end]))
    return float(np.mean(found)) if found else None


def _marks(traces: Sequence[RunTrace]) -> tuple[str, ...]:
    kinds = {kind for trace in traces if isinstance(trace.data, RunData) for kind in trace.data.marks}
    return tuple(mark_words(kind) for kind in sorted(kinds - {UNSAFE, NOT_DURABLE}))


_KEY: Final = Qt.ItemDataRole.UserRole
_NUMBER: Final = Qt.ItemDataRole.UserRole + 1
_SAMPLE: Final = QSize(28, 14)
_LEAST_NAME_EMS: Final = 16
_TICK, _NAME, _RUNS, _MEAN, _HIGH, _MOST, _LAST, _MARKS = range(8)
_MOST_ROWS: Final = 8
"""With more rows the table scrolls: the charts are more important."""
_MOST_SHARE: Final = 0.3
"""Largest share of the height that the table takes automatically."""


class _Cell(QTableWidgetItem):
    """A cell sorted by its number; cells without one are last."""

    @override
    def __lt__(self, other: QTableWidgetItem) -> bool:
        mine, theirs = self.data(_NUMBER), other.data(_NUMBER)
        if mine is None and theirs is None:
            return self.text().casefold() < other.text().casefold()
        if mine is None or theirs is None:
            return theirs is None
        return bool(mine < theirs)


class _Table(QTableWidget):
    """Enter isolates the current row, like a click."""

    def __init__(self, legend: LegendTable) -> None:
        super().__init__(0, 8)
        self._legend = legend

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.currentRow() >= 0:
            self._legend.isolate(self.currentRow())
        elif event.key() == Qt.Key.Key_Space and self.currentRow() >= 0:
            self._legend.toggle(self.currentRow())
        else:
            super().keyPressEvent(event)


class LegendTable(QWidget):
    """A row for every line: tick to hide or show it, click to isolate it, click a heading to sort.

    Attributes:
        table: the rows.
        chart: source of the figures.
        everything: shows all lines again.

    Signals:
        fitted: the number of rows changed.
    """

    fitted = Signal()

    def __init__(self, stack: ChartStack, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stack = stack
        self._rows: tuple[LegendRow, ...] = ()
        self._wanted = 0
        self.table = _Table(self)
        self.chart = ElidedComboBox()
        self.everything = QPushButton(tr("Show all"))
        self._lay_out()
        stack.lines_changed.connect(self._update)
        stack.times_settled.connect(self._update)
        stack.charts_changed.connect(self._update)
        self.chart.activated.connect(self._update)
        self.everything.clicked.connect(lambda _checked: stack.show_only(None))
        self.table.itemChanged.connect(self._on_ticked)
        self.table.cellClicked.connect(self._on_clicked)
        self.table.horizontalHeader().sectionResized.connect(self._on_resized)
        self._update()

    def _lay_out(self) -> None:
        table = self.table
        table.setAccessibleName(tr("Lines and their values"))
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setIconSize(_SAMPLE)
        table.setFrameShape(QTableWidget.Shape.NoFrame)
        table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.setTabKeyNavigation(False)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + TINY)
        table.verticalHeader().setMinimumSectionSize(self.fontMetrics().height())
        heading = table.horizontalHeader()
        heading.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        heading.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        heading.setHighlightSections(False)
        heading.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        table.setSortingEnabled(True)
        self.chart.setAccessibleName(tr("Figures"))
        self.chart.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        label = plain_label(tr("Figures"))
        label.setBuddy(self.chart)  # AT-SPI takes the name of a combo box only from its label
        row = QHBoxLayout()
        row.setContentsMargins(SMALL, 0, SMALL, 0)
        row.addWidget(label)
        row.addWidget(self.chart)
        row.addStretch(1)
        row.addWidget(self.everything)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, TINY, 0, 0)
        layout.setSpacing(TINY)
        layout.addLayout(row)
        layout.addWidget(table, 1)

    @property
    def rows(self) -> tuple[LegendRow, ...]:
        """The rows, in the order of the runs."""
        return self._rows

    def cell(self, place: int, column: int) -> QTableWidgetItem:
        """Return a cell in the current sort order.

        Raises:
            LookupError: it does not exist.
        """
        item = self.table.item(place, column)
        if item is None:
            raise LookupError(place, column)
        return item

    # Content

    def _update(self) -> None:
        if not self.isVisible() and self.table.rowCount():
            return  # updated when visible
        self._offer_charts()
        specs = {chart.spec.id: chart.spec for chart in self._stack.charts}
        spec = specs.get(str(self.chart.currentData() or ""))
        self._rows = () if spec is None else legend_rows(self._stack.shown, spec, self._stack.times)
        self.everything.setEnabled(any(row.visible < len(row.run_ids) for row in self._rows))
        blocker = QSignalBlocker(self.table)
        self.table.setSortingEnabled(False)
        known = {self._key(place): place for place in range(self.table.rowCount())}
        if known.keys() != {row.key for row in self._rows} or len(known) != len(self._rows):
            self._make_rows()
            known = {self._key(place): place for place in range(self.table.rowCount())}
        unit = "" if spec is None else spec.unit
        curve = "" if spec is None or len(spec.curves) == 1 else main_curve(spec).label
        self._write_headings(curve, unit)
        for row in self._rows:
            self._write(known[row.key], row)
        self.table.setSortingEnabled(True)
        blocker.unblock()
        self._fit()

    def _offer_charts(self) -> None:
        wanted = [(chart.spec.id, chart.spec.title) for chart in self._stack.charts]
        places = range(self.chart.count())
        if [(self.chart.itemData(place), self.chart.itemText(place)) for place in places] == wanted:
            return
        before = self.chart.currentData()
        self.chart.clear()
        for chart_id, title in wanted:
            self.chart.addItem(title, chart_id)
        self.chart.setCurrentIndex(max(0, self.chart.findData(before)))

    def _make_rows(self) -> None:
        self.table.setRowCount(len(self._rows))
        for place, row in enumerate(sorted(self._rows, key=lambda row: not row.visible)):
            for column in range(self.table.columnCount()):
                item = _Cell()
                right = (
                    Qt.AlignmentFlag.AlignRight if _RUNS <= column <= _LAST else Qt.AlignmentFlag.AlignLeft
                )
                item.setTextAlignment(right | Qt.AlignmentFlag.AlignVCenter)
                item.setData(_KEY, row.key)
                self.table.setItem(place, column, item)

    def _write_headings(self, curve: str, unit: str) -> None:
        mean = tr("{curve} mean shown").format(curve=curve) if curve else tr("mean shown")
        headings = (
            "",
            titled(tr("name")),
            titled(tr("runs")),
            mean,
            "p95",
            tr("max"),
            tr("last"),
            tr("Marks"),
        )
        tips = (
            "",
            tr("Click a name to see it alone, and again to see all"),
            tr("Repeats of the configuration"),
            tr("Mean of the seconds shown, in {unit}").format(unit=unit),
            tr("95th percentile of the seconds shown, in {unit}").format(unit=unit),
            tr("Highest second shown, in {unit}").format(unit=unit),
            tr("Value at the right edge, in {unit}").format(unit=unit),
            tr("Warnings to read before you compare these numbers with others, such as unsafe or disturbed."),
        )
        for column, (text, tip) in enumerate(zip(headings, tips, strict=True)):
            item = self.table.horizontalHeaderItem(column) or QTableWidgetItem()
            item.setText(text)
            item.setToolTip(tooltip(tip))
            self.table.setHorizontalHeaderItem(column, item)

    def _write(self, place: int, row: LegendRow) -> None:
        theme = self._stack.theme
        colour = theme.series_colour(row.trace.colour_index)
        shown = row.visible > 0
        tick = self.cell(place, _TICK)
        tick.setFlags(
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
        )
        states = {0: Qt.CheckState.Unchecked, len(row.run_ids): Qt.CheckState.Checked}
        tick.setCheckState(states.get(row.visible, Qt.CheckState.PartiallyChecked))
        mark, ratio = theme.series_mark(row.trace.colour_index), self.devicePixelRatioF()
        tick.setIcon(sample_icon(_SAMPLE, ratio, colour, Qt.PenStyle.SolidLine, mark))
        tick.setData(_NUMBER, row.visible)
        tick.setData(Qt.ItemDataRole.AccessibleTextRole, row.trace.label)
        marks = ", ".join(row.marks)
        texts = (
            (_NAME, self._name(row), None),
            (_RUNS, str(len(row.run_ids)), float(len(row.run_ids))),
            (_MEAN, _number(row.mean), row.mean),
            (_HIGH, _number(row.high), row.high),
            (_MOST, _number(row.most), row.most),
            (_LAST, _number(row.last), row.last),
            (_MARKS, marks, None),
        )
        font = QFont(self.table.font())
        for column, text, number in texts:
            item = self.cell(place, column)
            item.setText(text)
            item.setData(_NUMBER, number)
            item.setFont(theme.number_font() if number is not None else font)
            item.setForeground(theme.text if shown else theme.muted)
        self.cell(place, _NAME).setToolTip(tooltip(row.trace.label))
        self.cell(place, _MARKS).setToolTip(tooltip(marks) if marks else "")

    def _name(self, row: LegendRow) -> str:
        """Return the name shortened by whole words to the column; the warning is never shortened."""
        ending = with_warning("", row.trace.warning)
        room = self.table.columnWidth(_NAME) - 2 * SMALL
        metrics = self.table.fontMetrics()
        name = row.trace.label.removesuffix(ending)
        return cut_words(name, lambda text: metrics.horizontalAdvance(text + ending) <= room) + ending

    def _key(self, place: int) -> str:
        return str(self.cell(place, _NAME).data(_KEY))

    def _fit(self) -> None:
        """Fit the height to the rows, within the share that the charts can spare."""
        row = self.table.verticalHeader().defaultSectionSize()
        least, most = min(3, len(self._rows)), min(_MOST_ROWS, len(self._rows))
        heading = self.table.horizontalHeader().sizeHint().height()
        self.table.setMinimumHeight(heading + least * row + 2)
        self.table.setMaximumHeight(heading + len(self._rows) * row + 2)
        above = self.chart.sizeHint().height() + 3 * TINY
        self.setMaximumHeight(heading + len(self._rows) * row + 2 + above)
        wanted = heading + most * row + 2 + above
        if wanted != self._wanted:
            self._wanted = wanted
            self.fitted.emit()
        self._make_room_for_names()

    def _make_room_for_names(self) -> None:
        """Hide marks and figures, from the right, until the names have the room to be told apart."""
        heading = self.table.horizontalHeader()
        left = self.table.viewport().width() - _LEAST_NAME_EMS * self.fontMetrics().averageCharWidth()
        for column in (_TICK, *range(_RUNS, _MARKS + 1)):
            self.table.setColumnHidden(column, False)  # noqa: FBT003 - Qt's signature; a hidden one has no width
            left -= max(self.table.sizeHintForColumn(column), heading.sectionSizeHint(column))
            self.table.setColumnHidden(column, left < 0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room_for_names()

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, self._wanted)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update()

    # User actions

    def _row(self, place: int) -> LegendRow | None:
        key = self._key(place)
        return next((row for row in self._rows if row.key == key), None)

    def _on_ticked(self, item: QTableWidgetItem) -> None:
        if item.column() == _TICK and (row := self._row(item.row())) is not None:
            self._stack.set_runs_visible(row.run_ids, visible=item.checkState() is Qt.CheckState.Checked)

    def _on_resized(self, column: int, _old: int, _new: int) -> None:
        """Shorten the names again for the new column width."""
        if column == _NAME:
            blocker = QSignalBlocker(self.table)
            for place in range(self.table.rowCount()):
                if (row := self._row(place)) is not None:
                    self.cell(place, _NAME).setText(self._name(row))
            blocker.unblock()

    def _on_clicked(self, place: int, column: int) -> None:
        if column != _TICK:
            self.isolate(place)

    def toggle(self, place: int) -> None:
        """Hide or show the line of a row."""
        if (row := self._row(place)) is not None:
            self._stack.set_runs_visible(row.run_ids, visible=not row.visible)

    def isolate(self, place: int) -> None:
        """Isolate the line of a row; show all if it is isolated already."""
        row = self._row(place)
        if row is not None:
            alone = row.visible and not any(other.visible for other in self._rows if other is not row)
            self._stack.show_only(None if alone else row.run_ids)


class ChartsAndLegend(QSplitter):
    """Charts above their legend, which is as high as its rows until the user resizes it."""

    def __init__(self, stack: ChartStack, legend: LegendTable) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._legend = legend
        self._moved = False
        self.setChildrenCollapsible(False)
        self.addWidget(stack)
        self.addWidget(legend)
        self.setStretchFactor(0, 1)
        self.setStretchFactor(1, 0)
        self.splitterMoved.connect(self._on_moved)
        legend.fitted.connect(self._fit)

    def _on_moved(self) -> None:
        self._moved = True

    def _fit(self) -> None:
        whole = sum(self.sizes())
        if not self._moved and whole:
            wanted = min(self._legend.sizeHint().height(), round(_MOST_SHARE * whole))
            self.setSizes([whole - wanted, wanted])

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


def _number(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else format_value(value)
