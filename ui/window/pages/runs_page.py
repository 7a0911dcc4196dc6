"""Library, charts and facts side by side: the saved runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QSplitter, QStackedLayout, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.library.scan import ListedRun
from ui.charts.data.registry import DEFAULT_CHARTS
from ui.theme import Theme
from ui.widgets.fields import EmptyState
from ui.widgets.layouts import fill
from ui.widgets.texts import one_line
from ui.window.facts.panel import FactsPanel
from ui.window.library.model import MIME_TYPE, LibraryModel
from ui.window.library.panel import LibraryPanel
from ui.window.library.reader import LoadedRun, RunLoader

if TYPE_CHECKING:
    from app.analysis.facts import RunFacts
    from ui.charts.stack.legend_table import LegendTable
    from ui.charts.stack.stack import ChartStack


class ChartArea(QWidget):
    """The chart stack, created when first needed; before that a sentence.

    Signals:
        run_clicked: path of the run whose line was clicked.
        note_asked: path of a run, and the time in s to write a note about.
        dropped: paths of runs that were dragged here.
    """

    run_clicked = Signal(str)
    note_asked = Signal(str, float)
    dropped = Signal(list)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAcceptDrops(True)
        self.empty = EmptyState(theme, "chart-line", self)
        self.show_library_size(0)
        self._layout = QStackedLayout(self)
        self._layout.addWidget(self.empty)
        self.stack: ChartStack | None = None
        self.legend: LegendTable | None = None
        self._shown: QSplitter | None = None

    @property
    def chart_ids(self) -> tuple[str, ...]:
        """The charts that are shown; empty before there are any."""
        return self.stack.chart_ids if self.stack is not None else ()

    def show_runs(self, runs: Sequence[tuple[LoadedRun, int]], charts: tuple[str, ...]) -> None:
        """Show these runs with the numbers of their configurations."""
        if not runs and self.stack is None:
            return
        from ui.charts.data.registry import named_traces  # noqa: PLC0415 - see the module's docstring

        traces = named_traces(
            [(run.listed.entry.path, run.data, number) for run, number in runs if run.data is not None]
        )
        stack = self._make_stack(charts)
        stack.set_runs(traces)
        self._layout.setCurrentWidget(self._shown if traces and self._shown is not None else self.empty)

    def _make_stack(self, charts: tuple[str, ...]) -> ChartStack:
        if self.stack is None:
            from ui.charts.stack.legend_table import ChartsAndLegend, LegendTable  # noqa: PLC0415
            from ui.charts.stack.stack import ChartStack  # noqa: PLC0415 - see the module's docstring

            self.stack = ChartStack(self._theme, self)
            self.stack.setAccessibleName(tr("Charts of the ticked runs"))
            self.stack.set_charts(charts)
            self.stack.run_clicked.connect(self.run_clicked)
            self.stack.note_asked.connect(self.note_asked)
            self.stack.takes_notes = True
            self.legend = LegendTable(self.stack, self)
            self._shown = ChartsAndLegend(self.stack, self.legend)
            self._layout.addWidget(self._shown)
        return self.stack

    def show_library_size(self, runs: int, *, reading: bool = False) -> None:
        """Offer a way to charts, a benchmark or the newest runs, unless chosen runs are being read."""
        if reading:
            self.empty.set_texts(tr("Reading the runs …"), "")
        elif runs:
            sentence = tr("Tick runs in the library, double-click one, or drag them here.")
            self.empty.set_texts(tr("No run is shown."), sentence, tr("Show the ne&west campaign"))
        else:
            sentence = tr("Benchmarks are drawn here, second by second, and stay in the library.")
            self.empty.set_texts(tr("No runs yet"), sentence, tr("Start a &benchmark …"))

    def open_chooser(self, charts: tuple[str, ...]) -> None:
        """Let the user choose and order the charts and their lines; one such window at a time."""
        from ui.charts.stack.chart_window import open_chart_window  # noqa: PLC0415 - see the module's docstring

        open_chart_window(self._make_stack(charts))

    def set_focus(self, path: str) -> None:
        """Draw one run thick."""
        if self.stack is not None:
            self.stack.set_focus(path or None)

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(MIME_TYPE):
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        data = bytes(event.mimeData().data(MIME_TYPE).data())
        self.dropped.emit([path for path in data.decode().split("\0") if path])
        event.acceptProposedAction()


@dataclass(frozen=True, slots=True)
class RunsState:
    """State of this page that is remembered.

    Attributes:
        chosen: paths of the runs in the charts.
        charts: ids of the charts.
        sizes: of the three panels, as QSplitter stores them.
        library: whether the list is shown.
        facts: whether the facts are shown.
    """

    chosen: tuple[str, ...] = ()
    charts: tuple[str, ...] = DEFAULT_CHARTS
    sizes: QByteArray = field(default_factory=QByteArray)
    library: bool = True
    facts: bool = True


class RunsPage(QWidget):
    """Keeps library, charts and facts consistent.

    Attributes:
        model: the runs and which are chosen.

    Signals:
        focus_changed: path of the run in focus, empty for none.
        notified: a sentence for the user.
        benchmark_asked: the user wants a new benchmark because there is no run.
    """

    focus_changed = Signal(str)
    notified = Signal(str)
    benchmark_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._focus = ""
        self._sized = False
        self._charts_wanted: tuple[str, ...] = DEFAULT_CHARTS
        self._asked: tuple[str, ...] = ()
        self._still_asked: tuple[str, ...] = ()
        self._has_read_all = False
        self._folder_when_read = ""
        self._shown: list[tuple[RunFacts, int]] = []
        self._problems: list[str] = []
        self._facts_timer = QTimer(self, singleShot=True, interval=0)
        self.model = LibraryModel(self)
        self._numbering = self.model.numbering  # of before what is asked for came, little by little
        self.library = LibraryPanel(self.model, theme)
        self.charts = ChartArea(theme)
        self.facts = FactsPanel(theme)
        self._loader = RunLoader(self)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        for panel in (self.library, self.charts, self.facts):
            self.splitter.addWidget(panel)
        self.splitter.setStretchFactor(1, 1)
        fill(QVBoxLayout(self), self.splitter, margins=0)
        self._set_least_sizes()
        self.setFocusProxy(self.library.list)
        self.model.chosen_changed.connect(self._on_chosen_changed)
        self.library.focus_changed.connect(self._set_focus)
        self.charts.run_clicked.connect(self.library.focus_run)
        self.charts.dropped.connect(self._add)
        self.charts.empty.asked.connect(self._fill)
        self._loader.loaded.connect(self._show)
        self._facts_timer.timeout.connect(self._show_facts)

    def _set_least_sizes(self) -> None:
        em = self.fontMetrics().averageCharWidth()
        self.library.setMinimumWidth(em * 20)
        self.facts.setMinimumWidth(em * 20)
        self.charts.setMinimumWidth(em * 34)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._sized:
            self._sized = True
            em, width = self.fontMetrics().averageCharWidth(), self.width()
            library, facts = min(em * 75, round(width * 0.23)), min(em * 52, round(width * 0.25))
            self.splitter.setSizes([library, width - library - facts, facts])

    # The library

    @property
    def focus(self) -> str:
        """Path of the run in focus, empty for none."""
        return self._focus

    def show_runs(self, runs: Sequence[ListedRun], *, complete: bool) -> None:
        """List these runs; choose requested ones as soon as they are there."""
        self._has_read_all = complete
        before = self.model.chosen
        self.library.show_runs(runs, complete=complete)
        self.charts.show_library_size(self.model.runs, reading=bool(before))
        lost = [path for path in before if path not in self.model.chosen]
        if lost and complete:
            names = ", ".join(Path(path).name for path in lost)
            self.notified.emit(
                tr("Removed from the charts, because the file was deleted: {names}.").format(names=names)
            )
        if self._folder_when_read and complete:
            folder, self._folder_when_read = self._folder_when_read, ""
            self.choose(self.model.paths_in(folder))
        elif self._asked:
            self._choose_asked()
        elif any(run.entry.path in self.model.chosen for run in runs):
            self._load()

    @property
    def is_ready(self) -> bool:
        """Whether all requested runs have been read."""
        return self._has_read_all or not self._asked

    def choose_charts(self) -> None:
        """Let the user choose and order the charts."""
        self.charts.open_chooser(self._charts_wanted)

    def choose(self, paths: Iterable[str]) -> None:
        """Show exactly these runs, as soon as they are in the list."""
        self._asked, self._has_read_all = tuple(paths), False
        self._numbering = self.model.numbering
        self._choose_asked()

    def choose_campaign(self, path: str) -> None:
        """Show every run of this run's campaign; an empty path means the newest campaign."""
        folder = str(Path(path).parent)
        paths = self.model.newest_campaign() if not path else self.model.paths_in(folder)
        self.model.choose(paths)

    def _fill(self) -> None:
        """Run the action that the empty charts offer."""
        if self.model.runs:
            self.choose_campaign("")
        else:
            self.benchmark_asked.emit()

    def choose_folder(self, folder: str) -> None:
        """Show every run of a campaign folder once the library has been read completely."""
        self._folder_when_read = folder

    def _choose_asked(self) -> None:
        """Choose the requested runs that are there; the others when they appear."""
        asked = self._asked
        there = [path for path in asked if self.model.run(path) is not None]
        self._still_asked = asked if len(there) < len(asked) else ()
        if there:
            self.model.choose(there, self._numbering)
            if self._focus not in there:
                self.library.focus_run(there[0])
        self._asked, self._still_asked = self._still_asked, ()

    def _add(self, paths: list[str]) -> None:
        self.model.choose([*self.model.chosen, *paths])

    def _set_focus(self, path: str) -> None:
        self._focus = path
        self.charts.set_focus(path)
        self.facts.set_focus_run(path)
        self.focus_changed.emit(path)

    def focus_next_panel(self) -> None:
        """Move the focus to the next visible panel."""
        panels = [self.library.list, self.charts.stack, self.facts.text]
        there = [panel for panel in panels if panel is not None and panel.isVisible()]
        if there:
            having = [index for index, panel in enumerate(there) if _holds_focus(panel)]
            there[(having[0] + 1) % len(there) if having else 0].setFocus(Qt.FocusReason.TabFocusReason)

    # What is chosen

    def _on_chosen_changed(self) -> None:
        self._asked = self._still_asked  # of `_choose_asked`; nothing where somebody chose
        self._load()

    def _load(self) -> None:
        wanted = {path: run for path in self.model.chosen if (run := self.model.run(path)) is not None}
        self.charts.show_library_size(self.model.runs, reading=bool(wanted))
        lines = len(set(self.model.chosen.values()))
        self._loader.load(wanted, self.charts.chart_ids or self._charts_wanted, lines)

    def _show(self, loaded: dict[str, LoadedRun]) -> None:
        chosen = self.model.chosen
        shown = [(loaded[path], colour) for path, colour in chosen.items() if path in loaded]
        problems = [run.problem for run, _ in shown if run.problem]
        if problems:
            self.notified.emit(" ".join(map(one_line, problems)))
        good = [(run, colour) for run, colour in shown if run.data is not None and run.facts is not None]
        self.charts.show_runs(good, self._charts_wanted)
        self.charts.show_library_size(self.model.runs)
        self.charts.set_focus(self._focus)
        self._shown = [(run.facts, colour) for run, colour in good if run.facts is not None]
        self._problems = problems
        self._facts_timer.start()  # charts are painted first: the user waits for them

    def _show_facts(self) -> None:
        self.facts.show_runs(self._shown, " ".join(self._problems))

    # Remembering

    def state(self) -> RunsState:
        """Return the state to remember."""
        return RunsState(
            self._asked or tuple(self.model.chosen),
            self.charts.chart_ids or self._charts_wanted,
            self.splitter.saveState(),
            not self.library.isHidden(),
            not self.facts.isHidden(),
        )

    def restore(self, state: RunsState) -> None:
        """Restore a remembered state."""
        self._charts_wanted = state.charts
        self._sized = self.splitter.restoreState(state.sizes)
        self.library.setVisible(state.library)
        self.facts.setVisible(state.facts)
        if state.chosen:
            self.choose(state.chosen)

    def stop(self) -> None:
        """Stop loading."""
        self._loader.stop()


def _holds_focus(panel: QWidget) -> bool:
    having = QApplication.focusWidget()
    return having is not None and (having is panel or panel.isAncestorOf(having))
