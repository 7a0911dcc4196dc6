"""Charts below each other on one time axis, with a crosshair that reads every line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.runs.run_data import RunData
from ui.charts.registry import DEFAULT_CHARTS
from ui.charts.traces import RunTrace
from ui.theme import Theme


class ChartStack(QWidget):
    """Charts of saved runs and of one that lasts.

    Signals:
        hovered: time under the crosshair in s; NaN when the pointer has left.
        run_clicked: id of the run whose line was clicked.
        charts_changed: the user chose or reordered charts; ids.
    """

    hovered = Signal(float)
    run_clicked = Signal(str)
    charts_changed = Signal(list)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chart_ids: tuple[str, ...] = DEFAULT_CHARTS
        self._runs: tuple[RunTrace, ...] = ()
        self._live: RunData | None = None
        self._focus: str | None = None
        self._planned: tuple[float, float] | None = None

    @property
    def chart_ids(self) -> tuple[str, ...]:
        """The charts shown, top first."""
        return self._chart_ids

    def set_charts(self, ids: Iterable[str]) -> None:
        """Show these charts, top first; unknown ids are left out."""
        self._chart_ids = tuple(ids)

    def set_runs(self, runs: Sequence[RunTrace]) -> None:
        """Show these saved runs. Their series should be loaded before, see `prefetch`."""
        self._runs = tuple(runs)

    def set_focus(self, run_id: str | None) -> None:
        """Draw one run thick, with its seconds, checkpoints and stalls."""
        self._focus = run_id

    def set_live(self, data: RunData | None, colour_index: int = 0, label: str = "") -> None:
        """Show a run that lasts, or none; the planned range follows it unless it was set."""
        self._live, self._live_label = data, (colour_index, label)

    def update_live(self, data: RunData) -> None:
        """Show what came since; called once a second."""
        self._live = data

    def set_planned_range(self, start_s: float, end_s: float) -> None:
        """Show this time as the whole; what lies in the future is empty."""
        self._planned = (start_s, end_s)

    def set_thick(self, thick: bool, scale: float = 1.0) -> None:  # noqa: FBT001 - a property's setter
        """Use lines of 3 px and larger type, for a projector."""
