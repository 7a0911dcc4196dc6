"""The views of compared runs, in one registry; each is created when first needed.

Also phases of runs that measured several, side by side with separate axes, and small multiples: a chart for
each run, all on the same scales.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QKeyEvent, QKeySequence, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
)
from typing_extensions import override

from app.analysis.glossary import meaning_of
from app.analysis.labels import one_line
from app.analysis.stability import since_checkpoint
from app.comparison.comparison import RunComparison
from app.comparison.factors import Dimension, SweepLine, sweep
from app.comparison.figures import (
    COSTS,
    EVENNESS,
    LATENCIES,
    LOADING,
    FigureComparison,
    compare_figures,
    format_mean,
)
from app.comparison.label_shortening import short_names
from app.comparison.overall.phases import PHASE_FIGURES, ComparedPhase
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn, ComparisonRow, columns_for
from app.comparison.wording import format_difference, format_interval
from app.domain.columns import Alignment, CellKind, Column
from app.domain.errors import FootingError
from app.domain.text import titled, tr
from app.runfile.series import RunData
from ui.background import BackgroundOp
from ui.charts.data.lines import BandKind
from ui.charts.data.registry import CHARTS, RunTrace
from ui.charts.data.scale import swept_axis
from ui.charts.figures.bars import FigureView, Panel, PanelFigure
from ui.charts.figures.small_multiples import SmallMultiples
from ui.charts.painting.sheet_painting import put_body
from ui.charts.stack.chart_window import SeriesList, open_chart_window
from ui.charts.stack.legend_table import ChartsAndLegend, LegendTable
from ui.charts.stack.saving import table_text
from ui.charts.stack.stack import ChartStack, prefetch
from ui.compare.content import MOST_SHOWN, NOT_YET, Content
from ui.compare.distribution import DistributionView, SweepCurves
from ui.compare.figures import bar_of, better_words, figure_heading, figure_label, known_figures
from ui.compare.parts import (
    Choice,
    View,
    control_row,
    figure_entries,
    labelled,
    list_and_charts,
    name_some,
    sentence_label,
)
from ui.compare.result import ResultView
from ui.theme import SMALL, Theme, painting
from ui.widgets.fields import EmptyState
from ui.widgets.texts import plain_label, tooltip

# Overlay: the runs in common charts over elapsed time or the time since their last checkpoint.


FIRST_CHARTS: Final = ("tps", "latency")
ELAPSED: Final = "elapsed"
CHECKPOINT: Final = "checkpoint"

_AROUND: Final = (
    (BandKind.AUTOMATIC, tr("one per configuration")),
    (BandKind.NOTHING, tr("each run: means")),
    (BandKind.ENVELOPE, tr("each run: means, envelope")),
    (BandKind.SECONDS, tr("each run: means, per-second values")),
)


class OverTimeView(View):
    """Charts on one time axis, with a table of their lines below.

    Attributes:
        stack: the charts.
        legend: names and figures of the lines, with ticks.
        axis: elapsed time or time since the last checkpoint.
        around: bands around the means.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._folded: dict[str, RunData | None] = {}
        self._left_out: Collection[str] | None = None
        self._why = self._words = ""
        self.stack = ChartStack(theme)
        self.stack.set_charts(FIRST_CHARTS)
        self.stack.run_clicked.connect(self.focus_asked)
        self.legend = LegendTable(self.stack)
        self.axis = Choice(tr("&Time"))
        self.axis.offer([(ELAPSED, tr("elapsed time")), (CHECKPOINT, tr("since the last checkpoint"))])
        self.around = Choice(tr("&Lines"))
        self.around.offer([(around.value, words) for around, words in _AROUND])
        charts = QPushButton(tr("C&harts …"))
        charts.clicked.connect(self.open_chooser)
        row = control_row(self)
        labelled(row, tr("&Time"), self.axis)
        labelled(row, tr("&Lines"), self.around)
        row.addWidget(charts)
        row.addStretch(1)
        self.axis.chosen.connect(self.refresh)
        self.around.chosen.connect(lambda: self.stack.set_around(BandKind(self.around.choice)))
        self.message = sentence_label()
        self.message.setMargin(SMALL)
        self.message.hide()
        self.stack.lines_changed.connect(lambda: self._show_words(self._words))
        self.rows.addWidget(self.message)
        self.rows.addWidget(ChartsAndLegend(self.stack, self.legend), 1)

    @override
    def set_content(self, content: Content) -> None:
        paths = {run.path for run in content.runs}
        if paths != {run.path for run in self.content.runs}:
            self._left_out, self._why = content.left_out
        known = {run.path: run.data for run in self.content.runs}
        same = {run.path for run in content.runs if known.get(run.path) is run.data}
        self._folded = {path: data for path, data in self._folded.items() if path in paths & same}
        super().set_content(content)

    @override
    def refresh(self) -> None:
        if self.axis.choice == CHECKPOINT:
            self._show_folded()
        else:
            self._words = ""
            self._show(self.content.traces)

    def _show(self, traces: tuple[RunTrace, ...]) -> None:
        hidden: Collection[str] = {trace.run_id for trace in self.stack.runs if not trace.visible}
        if self._left_out is not None:
            hidden, self._left_out = self._left_out, None
        wanted = tuple(replace(trace, visible=trace.run_id not in hidden) for trace in traces)
        if wanted != self.stack.runs or any(
            new.data is not old.data for new, old in zip(wanted, self.stack.runs, strict=False)
        ):
            self.stack.set_runs(wanted)
        self.stack.set_focus(self.content.focus or None)
        self._show_words(self._words)

    def _show_folded(self) -> None:
        missing = [run for run in self.content.runs if run.data is not None and run.path not in self._folded]
        if missing:
            self.stop()
            charts = self.stack.chart_ids
            wanted = {run.path: run.data for run in missing if run.data is not None}
            self._op = BackgroundOp(
                lambda: {path: _fold(data, charts, len(wanted)) for path, data in wanted.items()},
                self._take_folded,
                lambda error: self._show_words(error.message),
            ).start()
            self._show_words(NOT_YET)
            return
        traces, without = [], []
        for trace in self.content.traces:
            folded = self._folded.get(trace.run_id)
            if folded is None:
                without.append(trace.label)
            else:
                traces.append(replace(trace, data=folded))
        self._words = tr("Without a checkpoint: {names}.").format(names=name_some(without)) if without else ""
        self._show(tuple(traces))

    def _take_folded(self, folded: dict[str, RunData | None]) -> None:
        self._folded |= folded
        if self.axis.choice == CHECKPOINT:
            self._show_folded()

    def _show_words(self, words: str) -> None:
        """Show a sentence, and how many lines of a crowd are hidden."""
        self._words, lines = words, self.stack.shown.all_bundles
        hidden = sum(not any(trace.visible for trace in line.members) for line in lines)
        if hidden and len(lines) > MOST_SHOWN:
            more = tr(
                "{hidden} of {all} lines are hidden: tick them below, or choose runs with the buttons above."
            )
            words = " ".join((words, self._why, more.format(hidden=hidden, all=len(lines))))
        self.message.setText(one_line(words))
        self.message.setVisible(bool(words))

    def open_chooser(self) -> None:
        """Open the dialog to choose and order the charts."""
        open_chart_window(self.stack)


def _fold(data: RunData, charts: tuple[str, ...], shown: int) -> RunData | None:
    try:
        folded = since_checkpoint(data)
        return None if folded is None else prefetch(folded, charts, shown)
    except FootingError:
        return None  # removed since: the run is listed among those without data


# Show sweeps: TPS and 99th percentile over a number such as clients, rate or scale.


_FIGURES: Final = ("tps", "latency_p99_ms")
_LOG_FROM: Final = 8.0
"""Levels further apart than this factor get a logarithmic axis."""


class SweepView(View):
    """Lines over a swept number.

    Attributes:
        over: the number.
        stack: the charts; a new one for another number.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.over = Choice(tr("&X axis"))
        row = control_row(self)
        labelled(row, tr("&X axis"), self.over)
        self.words = plain_label(parent=self)
        row.addWidget(self.words)
        row.addStretch(1)
        self.over.chosen.connect(self.refresh)
        self.stack: ChartStack | None = None
        self._lines: SeriesList | None = None
        self._shown: tuple[str, tuple[float, ...]] | None = None
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self.rows.addWidget(self._splitter, 1)

    @override
    def refresh(self) -> None:
        comparison = self.content.comparison
        swept = [each for each in self.content.dimensions if each.is_swept]
        self.over.offer([(each.name, each.name) for each in swept])
        over = next((each for each in swept if each.name == self.over.choice), None)
        if comparison is None or over is None:
            return
        found = {name: sweep(comparison, over, name) for name in _FIGURES}
        levels = sorted({point.x for line in found["tps"] for point in line.points})
        if not levels:
            return
        is_log = levels[0] > 0 and levels[-1] >= _LOG_FROM * levels[0]
        stack = self._stack_for(over, levels, is_log=is_log)
        stack.set_runs(self._traces(found, levels, is_log=is_log))
        self.words.setText(self.content.left_out[1])

    def _stack_for(self, over: Dimension, levels: list[float], *, is_log: bool) -> ChartStack:
        """Return the charts with this axis; the axis of a stack never changes."""
        wanted = (over.name, tuple(levels))
        if self.stack is None or self._shown != wanted:
            for old in (self.stack, self._lines):
                if old is not None:
                    # Hidden, not destroyed: Python's garbage collection must not delete pyqtgraph's items.
                    old.hide()
                    old.setParent(self)
            self.stack = ChartStack(self.theme, kind=swept_axis(over.name, levels, is_log=is_log))
            self.stack.set_charts(["sweep-tps", "sweep-p99"])
            self._lines = SeriesList(self.stack)
            self._splitter.addWidget(self._lines)
            self._splitter.addWidget(self.stack)
            self._splitter.setStretchFactor(1, 1)
            self._splitter.setSizes(list_and_charts(self))
            self._shown = wanted
        return self.stack

    def _traces(
        self, found: dict[str, tuple[SweepLine, ...]], levels: list[float], *, is_log: bool
    ) -> list[RunTrace]:
        comparison = self.content.comparison
        if comparison is None:
            return []
        places = [_place(level, is_log=is_log) for level in (levels[0], levels[-1])]
        margin = 0.03 * (places[1] - places[0]) or 0.5
        ends = places[0] - margin, places[1] + margin
        by_name: dict[str, dict[str, SweepLine]] = {}
        for figure, lines in found.items():
            for line in lines:
                by_name.setdefault(line.name, {})[figure] = line
        traces = []
        for name, lines_of in by_name.items():
            groups = [comparison.groups[each.group] for line in lines_of.values() for each in line.points]
            paths = {self.content.runs[run.index].path for group in groups for run in group.runs}
            colour = self.content.colours[groups[0].runs[0].index]
            shown = not paths.issubset(self.content.left_out[0])
            traces.append(RunTrace(name, SweepCurves(lines_of, is_log, ends), colour, name, shown))
        return traces


def _place(level: float, *, is_log: bool) -> float:
    return math.log10(level) if is_log else level


class MultiplesView(View):
    """One small chart per run.

    Attributes:
        chart: the chart.
        figure: shows them.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.chart = Choice(tr("C&hart"))
        self.chart.offer([(chart.id, chart.title) for chart in CHARTS.values()])
        self.figure = FigureView(theme)
        self._words = plain_label()
        row = control_row(self)
        labelled(row, tr("C&hart"), self.chart)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        row.addWidget(self._words)
        row.addStretch(1)
        self.chart.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def refresh(self) -> None:
        """Read missing data in the background, then paint."""
        self.stop()
        content, chart = self.content, self.chart.choice
        data = [trace.data for trace in content.first_traces[0]]

        def read() -> None:
            for each in data:
                if isinstance(each, RunData):
                    prefetch(each, (chart,), len(data))

        self._words.setText(NOT_YET)
        self._op = BackgroundOp(read, lambda _none: self._show(content, chart), self._fail).start()

    def _show(self, content: Content, chart: str) -> None:
        traces, which = content.first_traces
        self._words.setText(which)
        self.figure.show_figure(SmallMultiples(CHARTS[chart], traces, content.focus))

    def _fail(self, error: FootingError) -> None:
        self._words.setText(one_line(error.message))


OWN: Final = ""
"""Choice of the suitable figure of each phase: TPS, or the 99th percentile at a target rate."""


def make_phases(content: Content, name: str = OWN) -> PanelFigure | None:
    """Return a table for each phase, with every configuration that has the figure; None if there are none.

    Args:
        content: with the comparison.
        name: of the figure; `OWN` for the suitable one of each phase.
    """
    if not content.phases:
        return None
    panels = tuple(_panel(content, phase, name or phase.figure) for phase in content.phases)
    note = tr("whiskers: 95 % CI; each phase has its own axis, from zero")
    return PanelFigure(tr("Each phase separately"), titled(tr("configuration")), panels, note)


def _panel(content: Content, phase: ComparedPhase, name: str) -> Panel:
    names = [row.group.name for row in phase.rows]
    short = dict(zip(names, short_names(names), strict=True))
    what = ", ".join(filter(None, (figure_label(name), better_words(name))))
    bars = {(short[row.group.name], what): bar_of(content, row.group, name) for row in phase.having}
    heading = ": ".join(filter(None, (phase.label, phase.transactions)))
    return Panel(heading, tuple(row for row, _ in bars), (what,), bars)


class PhasesView(View):
    """One figure per phase.

    Attributes:
        what: figure.
        figure: shows the bars.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.what = Choice(tr("&Figure"))
        self.figure = FigureView(theme)
        row = control_row(self)
        labelled(row, tr("&Figure"), self.what)
        row.addStretch(1)
        self.what.chosen.connect(self.refresh)
        self.rows.addWidget(self.figure, 1)

    @override
    def refresh(self) -> None:
        known = {
            name for phase in self.content.phases for name in known_figures([row.group for row in phase.rows])
        }
        offered = [name for name in PHASE_FIGURES if name in known]
        own = (OWN, tr("TPS, or p99 with a target rate"))
        self.what.offer([own, *figure_entries(offered)], OWN)
        self.figure.show_figure(make_phases(self.content, self.what.choice))


_HEADING_EMS: Final = 20
_WIDEST_EMS: Final = 34
_NUMBER: Final = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


class _Table(QTableWidget):
    """A table that copies its selection as CSV with Ctrl+C."""

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text_of_selection())
        else:
            super().keyPressEvent(event)

    def text_of_selection(self) -> str:
        """Return the selected cells, or all without a selection."""
        chosen = self.selectedRanges()
        rows = range(self.rowCount())
        columns = range(self.columnCount())
        if chosen:
            rows = range(min(each.topRow() for each in chosen), 1 + max(each.bottomRow() for each in chosen))
            columns = range(
                min(each.leftColumn() for each in chosen), 1 + max(each.rightColumn() for each in chosen)
            )
        header = self.model()
        across = Qt.Orientation.Horizontal
        headings = [str(header.headerData(column, across)) for column in columns]
        return table_text([headings, *([self._text(row, column) for column in columns] for row in rows)])

    def _text(self, row: int, column: int) -> str:
        item = self.item(row, column)
        return "" if item is None else item.text()


class _Headings(QHeaderView):
    """Headings that wrap: columns are as wide as their numbers need."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)

    @override
    def sectionSizeFromContents(self, logicalIndex: int) -> QSize:
        size = super().sectionSizeFromContents(logicalIndex)
        metrics, words = self.fontMetrics(), str(self.model().headerData(logicalIndex, self.orientation()))
        most = _HEADING_EMS * metrics.averageCharWidth()
        around = size - metrics.size(0, words)
        room = QRect(0, 0, max([most, *map(metrics.horizontalAdvance, words.split())]), size.height())
        lines = metrics.boundingRect(room, self.defaultAlignment(), words)
        return QSize(min(size.width(), lines.width() + around.width()), lines.height() + around.height())


class _Cell(QTableWidgetItem):
    """A cell sorted by its leading number, else by its text; empty ones last."""

    @property
    def key(self) -> tuple[bool, float, str]:
        """The sort key."""
        found = _NUMBER.match(self.text())
        number = float(found[0].replace(",", "")) if found else math.inf
        return not self.text(), number, self.text()

    @override
    def __lt__(self, other: object) -> bool:
        return isinstance(other, _Cell) and self.key < other.key


class TableView(View):
    """All numbers; a heading sorts by its column, the third click restores the original order.

    Attributes:
        table: the cells.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.table = _Table(0, 0)
        self.table.setHorizontalHeader(_Headings())
        self.table.horizontalHeader().setSectionsClickable(True)
        self.table.setAccessibleName(tr("Verdicts and costs"))
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setAlternatingRowColors(True)
        self.table.setTabKeyNavigation(False)
        self.table.setWordWrap(False)
        self.table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.table.horizontalHeader().sectionClicked.connect(self._on_heading)
        self._sorted_by: tuple[int, Qt.SortOrder] | None = None
        self.rows.addWidget(self.table, 1)

    def _on_heading(self, column: int) -> None:
        """Sort ascending, then descending, then not at all."""
        up, down = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
        chosen = {(column, up): down, (column, down): None}
        order = chosen.get(self._sorted_by, up) if self._sorted_by is not None else up
        header = self.table.horizontalHeader()
        header.setSortIndicatorShown(order is not None)
        if order is None:
            self.refresh()
            return
        self._sorted_by = column, order
        header.setSortIndicator(column, order)
        self.table.sortItems(column, order)
        self.table.clearSelection()

    @override
    def refresh(self) -> None:
        comparison = self.content.comparison
        if comparison is None:
            return
        self._sorted_by = None
        self.table.horizontalHeader().setSortIndicatorShown(False)
        figures = compare_figures(comparison, (*LATENCIES, *EVENNESS, *COSTS, *LOADING))
        columns = _columns(comparison, figures)
        names = {each.figure.name: figure_label(each.figure.name) for each in figures}
        self.table.clear()
        self.table.setColumnCount(len(columns))
        self.table.setRowCount(len(comparison.rows))
        self.table.setHorizontalHeaderLabels([column.heading for column in columns])
        for number, column in enumerate(columns):
            heading = self.table.horizontalHeaderItem(number)
            if heading is not None:
                heading.setToolTip(tooltip(names.get(column.id, ""), meaning_of(column.id)))
            for place, group in enumerate(comparison.groups):
                item = _item(column, place)
                if column.id == ComparisonColumn.CONFIGURATION:
                    item.setIcon(_swatch(self.theme, self.content.group_colour(group), group.warning))
                self.table.setItem(place, number, item)
        self.table.resizeColumnsToContents()
        most = _WIDEST_EMS * self.table.fontMetrics().averageCharWidth()
        for number in range(len(columns) - 1):  # the last has sentences
            self.table.setColumnWidth(number, min(self.table.columnWidth(number), most))
        self.table.resizeRowsToContents()


_VERDICT: Final[Column[ComparisonRow]] = Column(
    "verdict", tr("Verdict"), lambda row: row.verdict, CellKind.WORDS
)


def _columns(comparison: RunComparison, figures: Sequence[FigureComparison]) -> tuple[Column[int], ...]:
    """Return the columns of the table; a row is the index of a configuration."""
    fitting = columns_for(COMPARISON_COLUMNS, comparison.rows)
    known = (each for each in fitting if not each.figure)
    return (
        *(column.of(comparison.rows.__getitem__) for column in known),
        *(
            Column(each.figure.name, figure_heading(each.figure.name), partial(_figure_cell, each))
            for each in figures
        ),
        _VERDICT.of(comparison.rows.__getitem__),  # last: long sentences would push the figures out of sight
    )


def _figure_cell(found: FigureComparison, place: int) -> str:
    """Return a mean with its difference and interval, if any."""
    mean = format_mean(found, place)
    comparison = found.comparisons[place]
    if comparison is None or comparison.interval is None:
        return mean
    return f"{mean}  {format_difference(comparison)} ({format_interval(comparison)})"


def _item(column: Column[int], place: int) -> QTableWidgetItem:
    item = _Cell(column.cell(place))
    item.setToolTip(tooltip(item.text()))  # of long words the column shows the beginning
    is_left = column.alignment is Alignment.LEFT
    side = Qt.AlignmentFlag.AlignLeft if is_left else Qt.AlignmentFlag.AlignRight
    item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
    return item


def _swatch(theme: Theme, number: int, warning: str) -> QIcon:
    picture = QPixmap(14, 14)
    picture.fill(Qt.GlobalColor.transparent)
    with painting(picture) as painter:
        put_body(painter, theme, QRectF(1, 1, 12, 12), number, warning)
    return QIcon(picture)


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """A view of runs.

    Attributes:
        id: stable name.
        title: of its tab.
        make: the factory.
        has: whether a comparison has data for it.
        has_charts: whether it shows the series of runs.
    """

    id: str
    title: str
    make: Callable[[Theme], View]
    has: Callable[[Content], bool] = lambda _content: True
    has_charts: bool = False


def _has_latencies(content: Content) -> bool:
    groups = () if content.comparison is None else content.comparison.groups
    return "latency_p99_ms" in known_figures(groups)


VIEWS: Final = (
    ViewSpec("result", tr("Result"), ResultView),
    ViewSpec("over-time", tr("Over time"), OverTimeView, has_charts=True),
    ViewSpec("multiples", tr("Side by side"), MultiplesView, lambda it: len(it.runs) > 1, has_charts=True),
    ViewSpec("distribution", tr("Latencies"), DistributionView, _has_latencies),
    ViewSpec("phases", titled(tr("phases")), PhasesView, lambda it: bool(it.phases)),
    ViewSpec("sweep", tr("Sweep"), SweepView, lambda it: any(each.is_swept for each in it.dimensions)),
    ViewSpec("table", tr("Table"), TableView),
)


class ViewHolder(QStackedWidget):
    """A view, or the reason why it is unavailable; the view is created when first needed."""

    def __init__(self, spec: ViewSpec, theme: Theme, made: Callable[[View], None]) -> None:
        super().__init__()
        self.spec = spec
        self._theme, self._made = theme, made
        self.empty = EmptyState(theme, "chart-line")
        self.empty.set_texts(spec.title, "")
        self.addWidget(self.empty)
        self.view: View | None = None
        self._stale = True

    def set_stale(self) -> None:
        """Mark the content as outdated."""
        self._stale = True

    def show_content(self, content: Content) -> None:
        """Show the content now."""
        if self.view is None:
            self.view = self.spec.make(self._theme)
            self.addWidget(self.view)
            self._made(self.view)
        why = content.why_empty or (NOT_YET if self.spec.has_charts and not content.has_series else "")
        self.empty.set_texts(self.spec.title, why)
        self.setCurrentWidget(self.empty if why else self.view)
        if not why and self._stale:
            self._stale = False
            try:
                self.view.set_content(content)
            except FootingError as error:  # a run was deleted since its facts were read
                self._stale = True
                self.empty.set_texts(self.spec.title, one_line(f"{error.message} {error.hint}"))
                self.setCurrentWidget(self.empty)
