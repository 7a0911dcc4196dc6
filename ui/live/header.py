"""The header of the live page: the run, its phases, the campaign's progress, Stop, and its dialog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.analysis.labels import DISK_MARKS, mark_words
from app.domain.run import Phase, RunState
from app.domain.text import format_duration, format_size, tr, trn
from app.execution.control import Request
from app.live.campaign_follower import CampaignStatus, LiveState
from app.live.snapshot import RunSnapshot, planned_seconds_of
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.series import RunData
from ui.live.words import PHASE_NAMES, campaign_words, clock_words, disk_words, quiet_words
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme, painting
from ui.widgets.layouts import fill
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ElidedLabel, plain_label, show_tip, tint, wrapped_label

_RECENT_S: Final = 3.0
"""Seconds; older samples are obsolete: such series are stored only while there is activity."""


def run_problem(run: RunSnapshot) -> str:
    """Return the problems of a run in sentences; empty if there are none."""
    if run.state is RunState.FAILED:
        return tr("This run failed. {reason}").format(reason=run.problem).strip()
    if run.state is RunState.INCOMPLETE:
        return run.problem or tr("This run is incomplete: its runner died.")
    if run.state is RunState.STOPPED:
        return tr("This run was stopped early. Its data is kept but not used in verdicts.")
    if run.problem:
        return run.problem
    return quiet_words(run.quiet_s) if run.quiet_s else ""


def array_words(data: RunData) -> list[str]:
    """Return the current problems of the arrays below the run, a sentence each."""
    sentences = []
    for metric, array in data.series_keys():
        if metric not in {"array.missing_members", "array.sync_remaining"}:
            continue
        t_s, values = data.series(metric, array)
        if not len(values) or not values[-1] or t_s[-1] < data.end_s - _RECENT_S:
            continue
        if metric == "array.missing_members":
            sentence = tr("The array {array} is degraded: it runs without {count} of its disks.")
            sentences.append(sentence.format(array=array, count=int(values[-1])))
        else:
            sentence = tr("The array {array} is synchronising during the measurement; {left} remain.")
            sentences.append(sentence.format(array=array, left=format_size(float(values[-1]))))
    return sentences


def banner_text(watched: LiveState) -> str:
    """Return all problems of the watched campaign or run."""
    sentences = [] if watched.run is None else [run_problem(watched.run), *array_words(watched.run.data)]
    if watched.problem:
        sentences.append(watched.problem)
    if watched.status is not None:
        sentences += watched.status.disks.kept if watched.status.disks is not None else ()
        shown = None if watched.run is None else watched.run.data.path
        sentences += [
            f"{run.name}: {run.problem}"
            for run in watched.status.runs
            if run.problem and run.path != shown and run.state in {RunState.FAILED, RunState.INCOMPLETE}
        ]
    return "\n".join(dict.fromkeys(filter(None, sentences)))


def join_problems(seen: str, said: str) -> str:
    """Return the problems from the files and from the runner, without repetition."""
    first = said.partition(". ")[0].rstrip(".")
    return "\n".join(part for part in (seen, "" if first in seen else said) if part)


class Banner(QFrame):
    """Hidden while there are no problems.

    Attributes:
        words: the shown text.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFrameShape(QFrame.Shape.Box)
        self.setAutoFillBackground(True)
        self.words = wrapped_label(parent=self, selectable=True)
        fill(QHBoxLayout(self), (self.words, 1), margins=(MEDIUM, SMALL))
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self.hide()

    def _apply_theme(self) -> None:
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.WindowText, self._theme.warning)
        palette.setColor(QPalette.ColorRole.Window, self._theme.background)
        self.setPalette(palette)

    def show_sentences(self, sentences: str) -> None:
        """Show sentences, or hide."""
        if sentences != self.words.text():
            self.words.setText(sentences)
            self.words.setAccessibleName(tr("Warning: {text}").format(text=sentences) if sentences else "")
        self.setVisible(bool(sentences))


def warning_words(data: RunData) -> list[str]:
    """Return the marks of a run that must not be overlooked, in words."""
    return [f"⚠ {mark_words(kind).upper()}" for kind in (NOT_DURABLE, UNSAFE) if kind in data.marks]


def mark_text(data: RunData) -> tuple[str, str]:
    """Return the marks of a run, in words, and their reasons."""
    others = sorted(
        {kind for kind in data.marks if kind not in {UNSAFE, NOT_DURABLE}},
        key=lambda kind: (kind not in DISK_MARKS, kind),
    )
    words = warning_words(data)
    words += [f"⚠ {mark_words(kind)}" if kind in DISK_MARKS else mark_words(kind) for kind in others]
    return " · ".join(words), "\n".join(reason for _, reason in data.marks_with_reasons)


def missing_runs(status: CampaignStatus) -> int:
    """Return how many runs of a campaign are not done."""
    return sum(run.state is not RunState.DONE for run in status.runs)


class AgainButton(QPushButton):
    """Measure a campaign again.

    Attributes:
        as_it_was: unchanged, in a new order.
        with_changes: after editing it in the wizard.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Run aga&in"), parent)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        self.as_it_was = menu.addAction(tr("&As it was"))
        self.as_it_was.setToolTip(tr("Runs the same campaign from the start; a random order is drawn again"))
        self.with_changes = menu.addAction(tr("With &changes …"))
        self.setMenu(menu)


class Header(QWidget):
    """Two lines: the run with its marks, and the campaign.

    Attributes:
        run: name of the run.
        campaign: name and progress of the campaign.
        marks: of the run.
        stop: asks how to stop.
        talk: full screen for an audience.
        runs: shows the runs of an ended campaign.
        go_on: measures the missing runs of an ended campaign.
        again: measures an ended campaign again.
        disks: its disks; for an ended campaign, those that are free again.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        middle = Qt.TextElideMode.ElideMiddle  # the end tells names apart, or is the time left
        self.run, self.campaign, self.disks = (ElidedLabel(self, middle) for _ in range(3))
        self.marks = plain_label(parent=self)
        self.stop = QPushButton(tr("&Stop …"), self)
        self.talk = QPushButton(tr("T&alk mode"), self)
        self.runs = QPushButton(tr("S&how the runs"), self)
        self.go_on = QPushButton(tr("Re&sume"), self)
        self.again = AgainButton(self)
        self.talk.setToolTip(tr("Full screen with large type, for an audience (F11)"))
        first = fill(QHBoxLayout(), (self.run, 1), self.marks, spacing=MEDIUM)
        words = fill(QVBoxLayout(), first, self.campaign, self.disks, spacing=0)
        layout = fill(QHBoxLayout(self), (words, 1), spacing=SMALL, margins=0)
        self._of_the_end = (self.go_on, self.again, self.runs)
        for button in (*self._of_the_end, self.talk, self.stop):
            layout.addWidget(button)
        for button in self._of_the_end:
            button.hide()
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        self.run.setFont(self._theme.font(1.35, bold=True))
        tint(self.campaign, self._theme.muted)
        tint(self.disks, self._theme.muted)
        tint(self.marks, self._theme.warning)
        self.marks.setFont(self._theme.font(bold=True))

    def clear(self, name: str, words: str) -> None:
        """Show a campaign or run that is not read yet."""
        self.run.show_line(name)
        self.campaign.show_line(words)
        self.disks.show_line("")
        self.disks.hide()
        self.marks.clear()
        self.stop.hide()
        self.talk.hide()
        for button in self._of_the_end:
            button.hide()

    def show_watched(
        self, watched: LiveState, request: Request | None, *, replay: bool, whole: bool = False
    ) -> None:
        """Show the watched campaign or run.

        Args:
            watched: the current state.
            request: the requested way to stop, if any.
            replay: whether it is a replay.
            whole: whether to show the campaign instead of its last run.
        """
        status, run = watched.status, watched.run
        if run is not None and not whole:
            self.run.show_line(run.data.name)
            words, reasons = mark_text(run.data)
            self.marks.setText(words)
            show_tip(self.marks, *reasons.splitlines())
            self.marks.setAccessibleName(f"{words}. {reasons}" if words else "")
        elif status is not None:
            self.run.show_line(status.name)
            self.marks.clear()
        if status is not None:
            how_far = campaign_words(watched, request)
            self.campaign.show_line(f"{status.name}: {how_far}" if run is not None and not whole else how_far)
        elif run is not None:
            kind = tr("replay of a recorded run") if replay else tr("a single run")
            self.campaign.show_line(" · ".join(filter(None, [run.data.campaign, kind])))
        free = status.disks.free if status is not None and status.disks is not None else ""
        shown = free if run is None or whole else free or disk_words(run.data)
        self.disks.show_line(shown)
        self.disks.setVisible(bool(shown))
        self.stop.setVisible(status is not None and not watched.ended)
        has_ended = status is not None and watched.ended
        self.runs.setVisible(has_ended and run is not None)
        self.again.setVisible(has_ended)
        missing = 0 if status is None else missing_runs(status)
        self.go_on.setVisible(has_ended and missing > 0)
        total = 0 if status is None else status.total
        tip = trn(
            "Measures the missing {count} of {total} run, in this campaign's folder and order.",
            "Measures the missing {count} of {total} runs, in this campaign's folder and order.",
            total,
        )
        show_tip(self.go_on, tip.format(count=missing, total=total))
        self.talk.setVisible(run is not None)


# The phases of a run as a row of steps: done, current with its duration, and coming ones.


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
        return Step(name, tr("ended ({time})").format(time=format_duration(elapsed_s)), 1.0, current=True)
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
        self.setAccessibleName(tr("Run phases"))
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


# Ask how to stop a campaign: three choices, each with what it keeps. Never blocks.


@dataclass(frozen=True, slots=True)
class StopChoice:
    """A way to stop.

    Attributes:
        request: sent to the runner.
        text: of the button, with its mnemonic.
        meaning: the data that is kept.
    """

    request: Request
    text: str
    meaning: str


CHOICES: Final = (
    StopChoice(
        Request.FINISH,
        tr("&Finish this run"),
        tr("Completes this run and keeps it. The remaining runs are skipped."),
    ),
    StopChoice(
        Request.STOP,
        tr("Stop now and &keep"),
        tr("Keeps the data of this run, marked as stopped early. Verdicts do not use it."),
    ),
    StopChoice(
        Request.DISCARD,
        tr("Stop now and &discard"),
        tr("Removes the file of this run. Finished runs stay in the library."),
    ),
)


class StopDialog(QDialog):
    """The dialog; window modal, deleted when closed.

    Attributes:
        buttons: by request.

    Signals:
        chosen: a `Request`.
    """

    chosen = Signal(object)

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self.setWindowTitle(tr("Stop the campaign"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question = wrapped_label(tr("Stop the campaign: what should happen to the current run?"), self)
        question.setFont(theme.font(1.15, bold=True))
        campaign = ElidedLabel(self)
        campaign.show_line(name)
        rows = QGridLayout()
        rows.setHorizontalSpacing(MEDIUM)
        rows.setVerticalSpacing(MEDIUM)
        rows.setColumnStretch(1, 1)
        self.buttons: dict[Request, QPushButton] = {}
        for row, choice in enumerate(CHOICES):
            rows.addWidget(self._make_button(choice), row, 0)
            meaning = wrapped_label(choice.meaning, self)
            tint(meaning, theme.muted)
            rows.addWidget(meaning, row, 1)
        box = QDialogButtonBox(self)
        stay = box.addButton(tr("Continue measurin&g"), QDialogButtonBox.ButtonRole.RejectRole)
        stay.setDefault(True)
        box.rejected.connect(self.reject)
        layout = fill(
            QVBoxLayout(self), question, campaign, spacing=SMALL, margins=(LARGE, LARGE, LARGE, MEDIUM)
        )
        layout.addSpacing(SMALL)
        layout.addLayout(rows)
        layout.addStretch(1)
        layout.addSpacing(SMALL)
        layout.addWidget(box)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 96)
        stay.setFocus()

    def _make_button(self, choice: StopChoice) -> QPushButton:
        button = QPushButton(choice.text, self)
        button.setAutoDefault(False)
        button.setAccessibleDescription(choice.meaning)
        button.clicked.connect(lambda: self._choose(choice.request))
        self.buttons[choice.request] = button
        return button

    def _choose(self, request: Request) -> None:
        self.chosen.emit(request)
        self.accept()


def ask_how_to_stop(
    parent: QWidget, theme: Theme, name: str, chosen: Callable[[Request], None]
) -> StopDialog:
    """Ask which data of the current run to keep; nothing happens if the user cancels."""
    dialog = StopDialog(name, theme, parent)
    dialog.chosen.connect(chosen)
    dialog.open()
    return dialog
