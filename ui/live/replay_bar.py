"""Controls of a replay: play and pause, position, speed, and checkpoints."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSlider, QWidget

from app.domain.text import number_text, titled, tr
from app.live.snapshot import SPEEDS, ReplaySource
from ui.icons import SMALL_ICON, set_icon
from ui.live.words import signed_clock
from ui.theme import SMALL, Theme
from ui.widgets.layouts import fill
from ui.widgets.texts import ElidedComboBox, plain_label

_STEPS_A_SECOND: Final = 10
_STEP_S: Final = 10.0


def speed_words(speed: float) -> str:
    """Return a speed as shown."""
    return f"{number_text(speed, 'g')} ×"  # noqa: RUF001 - a multiplication sign


class ReplayBar(QWidget):
    """Control one replay.

    Keys in the whole page: P pause, [ and ] speed, J and L 10 s, C and Shift+C checkpoints. The arrows, + and
    - belong to the charts, Space to the focused button.

    Attributes:
        source: the replay; None before there is one.

    Signals:
        steered: the replay was changed; the page polls at once.
    """

    steered = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # time runs to the right in every script
        self.source: ReplaySource | None = None
        self.play = QPushButton(tr("&Pause"), self)
        self.before = QPushButton(tr("C&heckpoint"), self)
        self.after = QPushButton(tr("Chec&kpoint"), self)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.clock = plain_label(parent=self)
        self.speed = ElidedComboBox(self)
        self._lay_out()
        self._name()
        self._theme = theme
        set_icon(self.play, "pause", theme)
        set_icon(self.before, "skip-back", theme)
        set_icon(self.after, "skip-forward", theme)
        self.clock.setFont(theme.number_font())
        theme.changed.connect(lambda: self.clock.setFont(theme.number_font()))
        self.play.clicked.connect(self.toggle)
        self.before.clicked.connect(lambda: self.jump_to_checkpoint(backwards=True))
        self.after.clicked.connect(lambda: self.jump_to_checkpoint(backwards=False))
        self.slider.actionTriggered.connect(lambda _action: self._on_slider())
        self.speed.activated.connect(lambda index: self.set_speed(float(self.speed.itemData(index))))
        self._add_keys()

    def _lay_out(self) -> None:
        layout = fill(QHBoxLayout(self), spacing=SMALL, margins=0)
        widest = self.fontMetrics().horizontalAdvance(tr("&Pause") + tr("&Play")) + SMALL_ICON
        self.play.setMinimumWidth(widest)
        left: tuple[QWidget, ...] = (self.play, self.before, self.after)
        right: tuple[QWidget, ...] = (self.clock, self.speed)
        for widget in left:
            layout.addWidget(widget)
        layout.addWidget(self.slider, 1)
        for widget in right:
            layout.addWidget(widget)

    def _name(self) -> None:
        self.slider.setAccessibleName(tr("Replay position"))
        self.clock.setAccessibleName(tr("Replay time"))
        self.before.setAccessibleName(tr("Previous checkpoint"))
        self.after.setAccessibleName(tr("Next checkpoint"))
        self.before.setToolTip(f"{self.before.accessibleName()} (Shift+C)")
        self.after.setToolTip(f"{self.after.accessibleName()} (C)")
        self.play.setToolTip(tr("Pause or continue (P); J and L jump by 10 s"))
        self.speed.setToolTip(tr("Recorded seconds per second ([ and ])"))
        self.speed.setAccessibleName(titled(tr("replay speed")))

    def _add_keys(self) -> None:
        keys = {
            "P": self.toggle,
            "]": lambda: self.step_speed(1),
            "[": lambda: self.step_speed(-1),
            "L": lambda: self.jump_by(_STEP_S),
            "J": lambda: self.jump_by(-_STEP_S),
            "C": lambda: self.jump_to_checkpoint(backwards=False),
            "Shift+C": lambda: self.jump_to_checkpoint(backwards=True),
        }
        for key, do in keys.items():
            owner = self.parentWidget() or self
            shortcut = QShortcut(QKeySequence(key), owner)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(do)
            self.destroyed.connect(shortcut.deleteLater)

    def steer(self, source: ReplaySource) -> None:
        """Control this replay from now on."""
        self.source = source
        self.slider.setRange(round(source.begin_s * _STEPS_A_SECOND), round(source.end_s * _STEPS_A_SECOND))
        self.slider.setSingleStep(round(_STEP_S * _STEPS_A_SECOND))
        self.slider.setPageStep(max(1, (self.slider.maximum() - self.slider.minimum()) // 10))
        has_any = bool(source.checkpoints_s)
        for button in (self.before, self.after):
            button.setEnabled(has_any)
        if not has_any:
            self.after.setToolTip(tr("No checkpoint happened in this run."))
        self.follow()

    def follow(self) -> None:
        """Show the position of the replay; called with every poll."""
        source = self.source
        if source is None:
            return
        position_s = source.position_s
        if not self.slider.isSliderDown():
            self.slider.setValue(round(position_s * _STEPS_A_SECOND))
        self.clock.setText(f"{signed_clock(position_s)} / {signed_clock(source.end_s)}")
        stands = source.paused or source.at_end
        self.play.setText(tr("&Play") if stands else tr("&Pause"))
        set_icon(self.play, "play" if stands else "pause", self._theme)
        self._show_speed(source.speed)

    def _show_speed(self, speed: float) -> None:
        index = self.speed.findData(speed)
        if index < 0 or self.speed.count() < len(SPEEDS):
            self.speed.clear()
            for each in sorted({*SPEEDS, speed}):
                self.speed.addItem(speed_words(each), each)
            index = self.speed.findData(speed)
        self.speed.setCurrentIndex(index)

    def toggle(self) -> None:
        """Pause or continue; at the end, restart."""
        if self.source is not None:
            if self.source.paused or self.source.at_end:
                self.source.resume()
            else:
                self.source.pause()
            self._steered()

    def set_speed(self, speed: float) -> None:
        """Set the speed."""
        if self.source is not None:
            self.source.set_speed(speed)
            self._steered()

    def step_speed(self, steps: int) -> None:
        """Change the speed by steps of the list."""
        if self.source is not None:
            nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self._speed_now()))
            self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])

    def _speed_now(self) -> float:
        return self.source.speed if self.source is not None else 1.0

    def jump_by(self, seconds: float) -> None:
        """Jump forwards or backwards."""
        if self.source is not None:
            self.source.jump(self.source.position_s + seconds)
            self._steered()

    def jump_to_checkpoint(self, *, backwards: bool) -> None:
        """Jump to the next or the previous checkpoint; without one, do nothing."""
        if self.source is not None and self.source.jump_to_checkpoint(backwards=backwards):
            self._steered()

    def _on_slider(self) -> None:
        if self.source is not None:
            self.source.jump(self.slider.sliderPosition() / _STEPS_A_SECOND)
            self._steered()

    def _steered(self) -> None:
        self.follow()
        self.steered.emit()
