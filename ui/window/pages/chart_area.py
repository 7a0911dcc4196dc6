"""Where the charts of saved runs stand.

The stack is made, and its library imported, when it is first needed: pyqtgraph takes a third
of a second, and the window is on the screen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QStackedLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from ui.theme import LARGE, Theme
from ui.widgets.plain_label import plain_label
from ui.window.library.model import MIME_TYPE
from ui.window.library.run_loader import LoadedRun

if TYPE_CHECKING:
    from ui.charts.stack.stack import ChartStack


class ChartArea(QWidget):
    """The chart stack, made when it is first needed; before that a sentence.

    Signals:
        run_clicked: path of the run whose line was clicked.
        dropped: paths of runs that were dragged here.
    """

    run_clicked = Signal(str)
    dropped = Signal(list)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAcceptDrops(True)
        self.empty = plain_label(
            tr("Tick runs in the library, or drag them here, to see their charts."), self
        )
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        self.empty.setMargin(LARGE)
        self._layout = QStackedLayout(self)
        self._layout.addWidget(self.empty)
        self.stack: ChartStack | None = None

    @property
    def chart_ids(self) -> tuple[str, ...]:
        """The charts that are shown; empty before there are any."""
        return self.stack.chart_ids if self.stack is not None else ()

    def show_runs(self, runs: Sequence[tuple[LoadedRun, int, str]], charts: tuple[str, ...]) -> None:
        """Show these runs with the numbers of their colours and their labels."""
        if not runs and self.stack is None:
            return
        from ui.charts.data.plotted_run import RunTrace  # noqa: PLC0415 - see the module's docstring

        traces = [
            RunTrace(run.listed.entry.path, run.data, colour, label)
            for run, colour, label in runs
            if run.data is not None
        ]
        stack = self._make_stack(charts)
        stack.set_runs(traces)
        self._layout.setCurrentWidget(stack if traces else self.empty)

    def _make_stack(self, charts: tuple[str, ...]) -> ChartStack:
        if self.stack is None:
            from ui.charts.stack.stack import ChartStack  # noqa: PLC0415 - see the module's docstring

            self.stack = ChartStack(self._theme, self)
            self.stack.setAccessibleName(tr("Charts of the chosen runs"))
            self.stack.set_charts(charts)
            self.stack.run_clicked.connect(self.run_clicked)
            self._layout.addWidget(self.stack)
        return self.stack

    def open_chooser(self, charts: tuple[str, ...]) -> None:
        """Let the user choose and order the charts, and the lines in them; one such window at a time."""
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
