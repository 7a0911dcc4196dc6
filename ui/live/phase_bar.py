"""The phases of a run as a row of steps: done, current with its duration, and coming ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.domain.run import Phase, RunState
from app.domain.text import tr
from app.domain.units import format_duration
from app.live.snapshot import RunSnapshot, planned_seconds_of
from app.runfile.series import RunData
from ui.live.words import PHASE_NAMES, clock_words
from ui.painting import painting
from ui.theme import SMALL, TINY, Theme
from ui.widgets.texts import show_tip

STEPS: Final = (
    (Phase.BASELINE, Phase.PREPARE, Phase.INITDB),
    (Phase.LOAD,),
    (Phase.SETTLE,),
    (Phase.WARM_UP,),
    (Phase.MEASURE, Phase.MAINTENANCE, Phase.PART),
    (Phase.COLLECT, Phase.TEARDOWN),
)
_WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0, 2.4, 1.0)


@dataclass(frozen=True, slots=True)
class Step:
    """A step as drawn.

    Attributes:
        name: of the phase.
        words: times, or why it is skipped.
        share: completed share, 0 to 1; None if it is current and its length unknown.
        current: whether it is in progress, or the run ended in it.
    """

    name: str
    words: str
    share: float | None
    current: bool


def usual_lengths(runs: Iterable[RunData]) -> dict[Phase, float]:
    """Return the average duration of each phase in these runs, in s."""
    lengths: dict[Phase, list[float]] = {}
    for data in runs:
        for times in data.phases:
            if times.ended_ms is not None:
                lengths.setdefault(times.phase, []).append((times.ended_ms - times.started_ms) / 1000)
    return {phase: sum(found) / len(found) for phase, found in lengths.items()}


def steps_of(run: RunSnapshot, usual: Mapping[Phase, float]) -> tuple[Step, ...]:
    """Return the current steps of a run."""
    place = next(number for number, phases in enumerate(STEPS) if run.phase in phases)
    steps = []
    for number, phases in enumerate(STEPS):
        name = PHASE_NAMES[phases[0]]
        begun = [each for each in run.data.phases if each.phase in phases]
        if number == place and not (run.finished and run.state is RunState.DONE):
            steps.append(_current(run, run.phase_label or name, usual))
        elif begun and number <= place:
            end_ms = max((each.ended_ms or each.started_ms) for each in begun)
            words = format_duration((end_ms - begun[0].started_ms) / 1000)
            steps.append(Step(name, words, 1.0, current=False))
        elif phases == (Phase.WARM_UP,) and planned_seconds_of(run.data, Phase.WARM_UP) == 0:
            steps.append(Step(name, tr("none"), 0.0, current=False))
        else:
            planned_s = planned_seconds_of(run.data, phases[0])
            words = format_duration(planned_s) if planned_s is not None and not run.finished else ""
            steps.append(Step(name, words, 0.0, current=False))
    return tuple(steps)


def _current(run: RunSnapshot, name: str, usual: Mapping[Phase, float]) -> Step:
    elapsed_s, planned_s = run.phase_elapsed_s, run.phase_planned_s
    if run.finished:
        return Step(name, tr("ended at {time}").format(time=format_duration(elapsed_s)), 1.0, current=True)
    if planned_s:
        share = min(1.0, elapsed_s / planned_s)
        return Step(name, clock_words(elapsed_s, planned_s), share, current=True)
    about_s = usual.get(run.phase)
    if about_s:
        words = tr("{elapsed} of about {usual}")
        sentence = words.format(elapsed=format_duration(elapsed_s), usual=format_duration(about_s))
        return Step(name, sentence, min(1.0, elapsed_s / about_s), current=True)
    return Step(name, format_duration(elapsed_s), None, current=True)


def remaining_words(run: RunSnapshot, usual: Mapping[Phase, float]) -> str:
    """Return the remaining time of the current phase, in words; empty if unknown."""
    if run.finished:
        return ""
    if run.phase_planned_s:
        left_s = run.phase_planned_s - run.phase_elapsed_s
        return tr("{time} left").format(time=format_duration(left_s)) if left_s > 0 else tr("about to end")
    about_s = usual.get(run.phase)
    if about_s and about_s > run.phase_elapsed_s:
        return tr("about {time} left").format(time=format_duration(about_s - run.phase_elapsed_s))
    return ""


class PhaseBar(QWidget):
    """Draw the steps; the current one is filled by its progress.

    Attributes:
        steps: the shown ones.
        remaining: remaining time of the phase, in words.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # time runs to the right in every script
        self._theme = theme
        self._failed = False
        self.steps: tuple[Step, ...] = ()
        self.remaining = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Phases of the run"))
        theme.changed.connect(self.update)

    def show_run(self, run: RunSnapshot, usual: Mapping[Phase, float]) -> None:
        """Show the progress of a run."""
        steps, remaining = steps_of(run, usual), remaining_words(run, usual)
        failed = run.state in {RunState.FAILED, RunState.INCOMPLETE}
        if (steps, remaining, failed) != (self.steps, self.remaining, self._failed):
            self.steps, self.remaining, self._failed = steps, remaining, failed
            current = next((step for step in steps if step.current), None)
            text = "" if current is None else f"{current.name}, {current.words}. {remaining}".strip()
            show_tip(self, text)
            self.update()

    def clear(self) -> None:
        """Show that nothing has started."""
        self.steps = tuple(Step(PHASE_NAMES[phases[0]], "", 0.0, current=False) for phases in STEPS)
        self.remaining, self._failed = "", False
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(600, 2 * self.fontMetrics().height() + 3 * TINY)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(300, self.sizeHint().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setLayoutDirection(self.layoutDirection())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            gap = float(TINY)
            unit = (self.width() - gap * (len(STEPS) - 1)) / sum(_WEIGHTS)
            x = 0.0
            for step, weight in zip(self.steps, _WEIGHTS, strict=False):
                box = QRectF(x + 0.5, 0.5, unit * weight - 1, self.height() - 1)
                self._draw(painter, box, step)
                x += unit * weight + gap

    def _draw(self, painter: QPainter, box: QRectF, step: Step) -> None:
        theme = self._theme
        outline = QPainterPath()
        outline.addRoundedRect(box, 3, 3)
        painter.fillPath(outline, theme.background)
        tone = theme.warning if step.current and self._failed else theme.colour("accent")
        filled = 1.0 if step.share is None else step.share
        if filled > 0:
            painter.save()
            painter.setClipRect(QRectF(box.left(), box.top(), box.width() * filled, box.height()))
            painter.fillPath(outline, theme.pale(tone, 0.3 if step.current else 0.12))
            painter.restore()
        painter.setPen(QPen(tone if step.current else theme.colour("frame"), 1.5 if step.current else 1))
        painter.drawPath(outline)
        inside = box.adjusted(SMALL, TINY, -SMALL, -TINY)
        half = inside.height() / 2
        done = step.share == 1.0 and not step.current
        name = f"✓ {step.name}" if done else step.name
        lines = ((name, 0.0, theme.text), (step.words, half, theme.muted))
        for text, top, colour in lines:
            line = QRectF(inside.left(), inside.top() + top, inside.width(), half)
            pending = not step.current and not done
            painter.setPen(theme.muted if pending else colour)
            painter.setFont(theme.font(bold=step.current and top == 0) if top == 0 else theme.number_font())
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(line.width()))
            painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
        if step.current and self.remaining:
            painter.setFont(theme.number_font())
            room = QRectF(inside.left(), inside.top(), inside.width(), half)
            used = painter.fontMetrics().horizontalAdvance(self.remaining)
            if used + theme_width(painter, name) + SMALL < inside.width():
                painter.setPen(theme.text)
                painter.drawText(
                    room, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), self.remaining
                )


def theme_width(painter: QPainter, text: str) -> float:
    """Return the width of a text in bold, slightly more than in the painter's font."""
    return painter.fontMetrics().horizontalAdvance(text) * 1.1
