"""Talk mode: one chart on the full screen with numbers that the last row reads; steered by keys alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QFont, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.live.campaign_follower import LiveState
from app.live.replay import SPEEDS, ReplaySource
from app.live.snapshot import RunSnapshot
from ui.charts.data.registry import CHARTS
from ui.charts.stack.stack import ChartStack
from ui.live.chart_feed import ChartFeed
from ui.live.number_tiles import NUMBERS, shown_numbers
from ui.live.words import NOTHING, PHASE_NAMES, clock_words
from ui.style import qt_palette
from ui.theme import LARGE, MEDIUM, Scheme, Theme
from ui.widgets.elided import ElidedLabel
from ui.widgets.plain_label import plain_label

NUMBER_POINTS: Final = 24.0
"""Least size of numbers, in points; more where the screen has room."""

MOST_LINES: Final = 5
"""More lines than these nobody tells apart from afar."""

_SHARE_OF_HEIGHT: Final = 0.075
_HINT_MS: Final = 8_000

HINT: Final = tr(
    "→ ← chart   Space pause   + − speed   C next checkpoint   Shift+C the one before   "  # noqa: RUF001
    "B begin   D dark or light   H keys   Esc end"
)


class TalkWindow(QWidget):
    """A window of its own, meant for the full screen.

    Keys: Right, Left, PageDown, PageUp chart; Space pause; + and - speed; C and Shift+C checkpoints; B to the
    begin; D dark or light; H these keys; Esc and F11 end.

    Attributes:
        charts: shows one chart.
        values: labels of the numbers by their id.

    Signals:
        steered: the replay was changed: whoever polls it looks at once.
        closed: it was closed.
    """

    steered = Signal()
    closed = Signal()

    def __init__(self, scheme: Scheme, source: ReplaySource | None) -> None:
        super().__init__(None)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("pgFooting: talk mode"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._theme = Theme(scheme, self)
        self._source = source
        self._watched = LiveState()
        self._chart = 0
        self.title, self.phase = ElidedLabel(self), plain_label(parent=self)
        self.hint = plain_label(HINT, self)
        self.values = {spec.id: plain_label(NOTHING, self) for spec in NUMBERS}
        self.names = {spec.id: plain_label(spec.short, self) for spec in NUMBERS}
        self.charts = ChartStack(self._theme, self)
        self.charts.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._feed = ChartFeed(self.charts)
        self._lay_out()
        self._keys = self._make_keys()
        self._hint_timer = QTimer(self, singleShot=True, interval=_HINT_MS)
        self._hint_timer.timeout.connect(self.hint.hide)
        self._theme.changed.connect(self._dress)
        self._show_chart()
        self._hint_timer.start()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(LARGE)
        top.addWidget(self.title, 1)
        top.addWidget(self.phase)
        numbers = QGridLayout()
        numbers.setHorizontalSpacing(LARGE)
        for column, spec in enumerate(NUMBERS):
            numbers.addWidget(self.values[spec.id], 0, column)
            numbers.addWidget(self.names[spec.id], 1, column)
            numbers.setColumnStretch(column, 1)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(LARGE, LARGE, LARGE, MEDIUM)
        layout.setSpacing(MEDIUM)
        layout.addLayout(top)
        layout.addLayout(numbers)
        layout.addWidget(self.charts, 1)
        layout.addWidget(self.hint)

    def _make_keys(self) -> dict[Qt.Key, Callable[[bool], None]]:
        """Return what each key does; the argument is whether Shift is held."""
        key = Qt.Key
        return {
            key.Key_Right: lambda _: self.next_chart(1),
            key.Key_PageDown: lambda _: self.next_chart(1),
            key.Key_Left: lambda _: self.next_chart(-1),
            key.Key_PageUp: lambda _: self.next_chart(-1),
            key.Key_Space: lambda _: self.toggle(),
            key.Key_Plus: lambda _: self.change_speed(1),
            key.Key_Equal: lambda _: self.change_speed(1),
            key.Key_Minus: lambda _: self.change_speed(-1),
            key.Key_C: lambda shift: self.jump_to_checkpoint(backwards=shift),
            key.Key_B: lambda _: self.begin_again(),
            key.Key_D: lambda _: self.change_scheme(),
            key.Key_H: lambda _: self.hint.setVisible(self.hint.isHidden()),
            key.Key_Escape: lambda _: self._end(),
            key.Key_F11: lambda _: self._end(),
        }

    def _end(self) -> None:
        self.close()

    # Looks

    def _dress(self) -> None:
        """Fit type and colours to the screen."""
        self.setPalette(qt_palette(self._theme.palette))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Window, self._theme.background)
        self.setPalette(palette)
        points = max(NUMBER_POINTS, self._points_of(self.height() * _SHARE_OF_HEIGHT))
        for value in self.values.values():
            value.setFont(self._sized(points, bold=True))
        small = max(14.0, points * 0.42)
        for label in (*self.names.values(), self.phase):
            label.setFont(self._sized(small))
        self.title.setFont(self._sized(max(18.0, points * 0.6), bold=True))
        self.hint.setFont(self._sized(max(11.0, small * 0.75)))
        self.charts.set_thick(thick=True, scale=small / self._theme.font().pointSizeF())

    def _points_of(self, pixels: float) -> float:
        return pixels * 72.0 / max(1, self.logicalDpiY())

    def _sized(self, points: float, *, bold: bool = False) -> QFont:
        font = self._theme.number_font(bold=bold)
        font.setPointSizeF(points)
        return font

    def _show_chart(self) -> None:
        chart = list(CHARTS.values())[self._chart]
        main = sum(curve.main for curve in chart.curves)  # of earlier runs, only these are drawn
        self._feed.most_earlier = max(0, MOST_LINES - len(chart.curves)) // max(1, main)
        self.charts.set_charts([chart.id])
        if self._watched.run is not None:
            self._feed.show(self._watched)

    def show_watched(self, watched: LiveState) -> None:
        """Show what is watched."""
        self._watched = watched
        run = watched.run
        if run is None:
            return
        self.title.show_line(run.data.name)
        self.phase.setText(self._phase_words(run))
        numbers = shown_numbers(run)
        for spec in NUMBERS:
            self.values[spec.id].setText(spec.value(numbers))
        self._feed.show(watched)

    def _phase_words(self, run: RunSnapshot) -> str:
        parts = [PHASE_NAMES[run.phase], clock_words(run.phase_elapsed_s, run.phase_planned_s)]
        if run.finished:
            parts = [tr("mean of the run") if run.data.summary.get("tps") is not None else run.state.value]
        if self._source is not None:
            parts.append(f"{self._source.speed:g} ×")  # noqa: RUF001 - a multiplication sign
            if self._source.paused:
                parts.append(tr("paused"))
        return "   ".join(parts)

    # Steering

    def next_chart(self, step: int) -> None:
        """Show the next chart, or the one before."""
        self._chart = (self._chart + step) % len(CHARTS)
        self._show_chart()

    def toggle(self) -> None:
        """Let the replay stand still, or go on; a live run cannot."""
        source = self._source
        if source is not None:
            if source.paused or source.at_end:
                source.resume()
            else:
                source.pause()
            self._steered()

    def change_speed(self, steps: int) -> None:
        """Play faster or slower."""
        source = self._source
        if source is not None:
            nearest = min(range(len(SPEEDS)), key=lambda place: abs(SPEEDS[place] - source.speed))
            source.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])
            self._steered()

    def jump_to_checkpoint(self, *, backwards: bool) -> None:
        """Go to the next or the last checkpoint."""
        if self._source is not None and self._source.jump_to_checkpoint(backwards=backwards):
            self._steered()

    def begin_again(self) -> None:
        """Play from the begin."""
        if self._source is not None:
            self._source.jump(self._source.begin_s)
            self._steered()

    def change_scheme(self) -> None:
        """Change between dark and light, whatever the projector can show."""
        dark = self._theme.scheme is Scheme.DARK
        self._theme.set_scheme(Scheme.LIGHT if dark else Scheme.DARK)

    def _steered(self) -> None:
        if self._watched.run is not None:
            self.phase.setText(self._phase_words(self._watched.run))
        self.steered.emit()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        do = self._keys.get(Qt.Key(event.key()))
        if do is None:
            super().keyPressEvent(event)
            return
        do(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._dress()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        super().closeEvent(event)
