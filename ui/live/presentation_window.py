"""Windows for projectors: large type, keyboard only; talk mode shows one chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QFont, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import number_text, tr
from app.live.campaign_follower import EarlierRun, LiveState
from app.live.race import steady_position, width_at
from app.live.snapshot import ReplaySource, RunSnapshot
from app.runfile.series import RunData
from ui.charts.data.curves import curve_samples
from ui.charts.data.registry import CHARTS, ChartSpec
from ui.charts.stack.stack import ChartStack
from ui.live.chart_feed import ChartFeed
from ui.live.header import warning_words
from ui.live.number_tiles import NUMBERS, NumberSpec, shown_numbers
from ui.live.words import NOTHING, PHASE_NAMES, clock_words, format_rate
from ui.style import qt_palette
from ui.theme import LARGE, MEDIUM, STRONGER, Scheme, Theme
from ui.widgets.layouts import fill
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ElidedLabel, plain_label, wrapped_label

# A window for projectors: large type, keyboard only, dark, light or projector colours.


SCHEMES: Final = (Scheme.LIGHT, Scheme.DARK, Scheme.PROJECTOR)
"""Schemes cycled by a key."""
STRONG_SCHEMES: Final = (Scheme.CONTRAST_LIGHT, Scheme.CONTRAST_DARK, Scheme.PROJECTOR)
"""The same with high contrast."""

_HINT_MS: Final = 8_000

Keys = Mapping[Qt.Key, Callable[[bool], None]]
"""Actions by key; the argument is whether Shift is held."""


class FullScreenWindow(QWidget):
    """A full-screen window; D changes the colours, H shows the keys, Esc and F11 close it.

    Attributes:
        theme: its own colours, independent of the program's.
        hint: the available keys; hides itself after a while.

    Signals:
        closed: it was closed.
    """

    closed = Signal()

    def __init__(self, scheme: Scheme, title: str, hint: str) -> None:
        super().__init__(None)
        set_reading_tab_order(self)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it contains only charts and numbers
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.theme = Theme(scheme, self, high_contrast=False)
        self._schemes = STRONG_SCHEMES if scheme in STRONGER.values() else SCHEMES
        self.hint: QLabel = wrapped_label(_unbroken(hint), self)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint_timer = QTimer(self, singleShot=True, interval=_HINT_MS)
        self._hint_timer.timeout.connect(self.hint.hide)
        self._hint_timer.start()
        self._keys: Keys = {}
        self.theme.changed.connect(self.apply_style)

    def listen(self, keys: Keys) -> None:
        """Add key actions to those that every such window has."""
        key = Qt.Key
        self._keys = {
            key.Key_D: lambda _: self.change_scheme(),
            key.Key_H: lambda _: self.hint.setVisible(self.hint.isHidden()),
            key.Key_Escape: lambda _: self._end(),
            key.Key_F11: lambda _: self._end(),
            **keys,
        }

    def change_scheme(self) -> None:
        """Switch to the next colours: light, dark, projector."""
        schemes = self._schemes
        shown = schemes.index(self.theme.scheme) if self.theme.scheme in schemes else -1
        self.theme.set_scheme(schemes[(shown + 1) % len(schemes)])

    def apply_style(self) -> None:
        """Adapt type and colours to the screen; called after either changes."""
        palette = QPalette(qt_palette(self.theme.palette))
        palette.setColor(QPalette.ColorRole.Window, self.theme.background)
        self.setPalette(palette)

    def points_of(self, pixels: float) -> float:
        """Return the type size in points for a height in pixels."""
        return pixels * 72.0 / max(1, self.logicalDpiY())

    def sized(self, points: float, *, bold: bool = False) -> QFont:
        """Return the font for numbers in a size."""
        font = self.theme.number_font(bold=bold)
        font.setPointSizeF(points)
        return font

    def _end(self) -> None:
        self.close()

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
        self.apply_style()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        super().closeEvent(event)


def _unbroken(hint: str) -> str:
    """Return a line of keys that wraps only between entries, which are separated by three spaces."""
    return "   ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in hint.split("   "))


NUMBER_POINTS: Final = 24.0
"""Least type size of numbers, in points; larger if the screen has room."""

MOST_LINES: Final = 5
"""Most lines that can be distinguished from a distance."""

_SHARE_OF_HEIGHT: Final = 0.075

KEYS: Final = tr("B restart   D light, dark, projector   H keys   Esc end")
HINT: Final = (
    tr("→ ← chart   Space pause   + − speed   C next checkpoint   Shift+C previous")  # noqa: RUF001
    + f"   {KEYS}"
)


class TalkWindow(FullScreenWindow):
    """One run, live or replayed.

    Keys: Right, Left, PageDown, PageUp chart; Space pause; + and - speed; C and Shift+C checkpoints; B start;
    and those of every such window.

    Attributes:
        charts: shows one chart.
        values: labels of the numbers by their id; a replay has none for unmeasured ones.
        so_far: results of earlier runs, until the next one has numbers.

    Signals:
        steered: the replay was changed and should be polled at once.
    """

    steered = Signal()

    def __init__(self, scheme: Scheme, source: ReplaySource | None) -> None:
        super().__init__(scheme, tr("pgFooting: talk mode"), HINT)
        self._source = source
        self._watched = LiveState()
        self._chart = next(iter(CHARTS))
        self.title = ElidedLabel(self, Qt.TextElideMode.ElideMiddle)
        self.phase = plain_label(parent=self)
        self._numbers = _measured(source)
        self.values = {spec.id: plain_label(NOTHING, self) for spec in self._numbers}
        self.names = {spec.id: plain_label(spec.short, self) for spec in self._numbers}
        self.so_far = ElidedLabel(self)
        self.so_far.hide()
        self.charts = ChartStack(self.theme, self)
        self.charts.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._feed = ChartFeed(self.charts)
        self._lay_out()
        self.listen(self._make_keys())
        self._show_chart()

    def _lay_out(self) -> None:
        top = fill(QHBoxLayout(), (self.title, 1), self.phase, spacing=LARGE)
        numbers = QGridLayout()
        numbers.setHorizontalSpacing(LARGE)
        for column, spec in enumerate(self._numbers):
            numbers.addWidget(self.values[spec.id], 0, column)
            numbers.addWidget(self.names[spec.id], 1, column)
            numbers.setColumnStretch(column, 1)
        fill(
            QVBoxLayout(self),
            top,
            numbers,
            self.so_far,
            (self.charts, 1),
            self.hint,
            spacing=MEDIUM,
            margins=(LARGE, LARGE, LARGE, MEDIUM),
        )

    def _make_keys(self) -> Keys:
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
        }

    # Appearance

    @override
    def apply_style(self) -> None:
        super().apply_style()
        points = max(NUMBER_POINTS, self.points_of(self.height() * _SHARE_OF_HEIGHT))
        for value in self.values.values():
            value.setFont(self.sized(points, bold=True))
        small = max(14.0, points * 0.42)
        for label in (*self.names.values(), self.phase, self.so_far):
            label.setFont(self.sized(small))
        self.title.setFont(self.sized(max(18.0, points * 0.6), bold=True))
        self.hint.setFont(self.sized(max(11.0, small * 0.75)))
        self.charts.set_thick(thick=True, scale=small / self.theme.font().pointSizeF())

    def _show_chart(self) -> None:
        chart = CHARTS[self._chart]
        main = sum(curve.main for curve in chart.curves)  # only these are drawn for earlier runs
        self._feed.most_earlier = max(0, MOST_LINES - len(chart.curves)) // max(1, main)
        self.charts.set_charts([chart.id])
        if self._watched.run is not None:
            self._feed.show(self._watched)

    def show_watched(self, watched: LiveState) -> None:
        """Show the current state."""
        self._watched = watched
        run = watched.run
        if run is None:
            return
        self.title.show_line("   ".join((run.data.name, *warning_words(run.data))))
        self.phase.setText(self._phase_words(run))
        numbers = shown_numbers(run)
        for spec in self._numbers:
            self.values[spec.id].setText(self._steady(spec, run) or spec.value(numbers))
        text = "" if run.finished or numbers.tps is not None else _so_far(watched.earlier)
        self.so_far.show_line(text)
        self.so_far.setVisible(bool(text))
        self._feed.show(watched)

    def _steady(self, spec: NumberSpec, run: RunSnapshot) -> str:
        """Return the mean of the part just played; empty if the newest second is shown.

        In a fast replay the number of a single second is arbitrary, and changes too often to be read.
        """
        source = self._source
        if source is None or source.speed <= 1 or spec.mean is None or run.finished:
            return ""
        t_s, values = spec.series(run.data)
        end_s = steady_position((run.data.last_ms - run.data.origin_ms) / 1000, source.speed)
        just = values[(t_s > end_s - width_at(source.speed)) & (t_s <= end_s) & np.isfinite(values)]
        return spec.mean(float(just.mean())) if len(just) else ""

    def _phase_words(self, run: RunSnapshot) -> str:
        parts = [PHASE_NAMES[run.phase], clock_words(run.phase_elapsed_s, run.phase_planned_s)]
        if run.finished:
            parts = [tr("run mean") if run.data.summary.get("tps") is not None else run.state.value]
        if self._source is not None:
            parts.append(f"{number_text(self._source.speed, 'g')} ×")  # noqa: RUF001 - a multiplication sign
            if self._source.paused:
                parts.append(tr("paused"))
        return "   ".join(parts)

    # Controls

    def next_chart(self, step: int) -> None:
        """Show the next chart, or the previous one."""
        shown = self._charts_with_samples()
        place = shown.index(self._chart) + step if self._chart in shown else 0
        self._chart = shown[place % len(shown)]
        self._show_chart()

    def _charts_with_samples(self) -> list[str]:
        """Return the charts with data, at least the first one."""
        runs = [each.data for each in self._watched.earlier]
        if self._source is not None:
            runs.append(self._source.data)
        elif self._watched.run is not None:
            runs.append(self._watched.run.data)
        found = [name for name, spec in CHARTS.items() if any(_has_samples(spec, data) for data in runs)]
        return found or [next(iter(CHARTS))]

    def toggle(self) -> None:
        """Pause or continue the replay; no effect on a live run."""
        source = self._source
        if source is not None:
            source.toggle()
            self._steered()

    def change_speed(self, steps: int) -> None:
        """Play faster or slower."""
        source = self._source
        if source is not None:
            source.step_speed(steps)
            self._steered()

    def jump_to_checkpoint(self, *, backwards: bool) -> None:
        """Jump to the next or the previous checkpoint."""
        if self._source is not None and self._source.jump_to_checkpoint(backwards=backwards):
            self._steered()

    def begin_again(self) -> None:
        """Restart from the beginning."""
        if self._source is not None:
            self._source.jump(self._source.begin_s)
            self._steered()

    def _steered(self) -> None:
        if self._watched.run is not None:
            self.phase.setText(self._phase_words(self._watched.run))
        self.steered.emit()


def _has_samples(spec: ChartSpec, data: RunData) -> bool:
    return any(len(curve_samples(data, curve)[0]) for curve in spec.curves)


def _measured(source: ReplaySource | None) -> tuple[NumberSpec, ...]:
    """Return the numbers that a replay has; all of them for a live run, which may still measure them."""
    if source is None:
        return NUMBERS
    return tuple(spec for spec in NUMBERS if len(spec.series(source.data)[0])) or NUMBERS[:1]


def _so_far(earlier: Sequence[EarlierRun]) -> str:
    """Return the mean TPS of each measured configuration; empty for none."""
    found: dict[str, list[float]] = {}
    for each in earlier:
        tps = each.data.summary.get("tps")
        if tps is not None:
            found.setdefault(each.status.configuration, []).append(tps)
    lines = [f"{name} {format_rate(sum(rates) / len(rates))}" for name, rates in found.items()]
    return tr("TPS so far: {configurations}").format(configurations=", ".join(lines)) if lines else ""
