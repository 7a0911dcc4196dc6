"""The header of the live page: the run, the campaign's progress, Stop, and a banner for problems."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from app.analysis.labels import DISK_MARKS, mark_words
from app.domain.run import RunState
from app.domain.text import tr, trn
from app.domain.units import format_size
from app.execution.control import Request
from app.live.campaign_follower import LiveState
from app.live.campaign_status import CampaignStatus
from app.live.snapshot import RunSnapshot
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.series import RunData
from ui.live.words import campaign_words, disk_words, quiet_words
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.layouts import fill
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
            sentence = tr("The array {array} is synchronising during the measurement; {left} are left.")
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
        super().__init__(tr("Aga&in"), parent)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        self.as_it_was = menu.addAction(tr("&As it was"))
        self.as_it_was.setToolTip(tr("Runs the same campaign from the start, in a new order"))
        self.with_changes = menu.addAction(tr("With &changes …"))
        self.with_changes.setToolTip(tr("Opens the wizard with this campaign's settings"))
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
        self.stop.setToolTip(tr("Asks what to keep"))
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
            "Measures what is missing: {count} of {total} run, in this campaign's folder and order.",
            "Measures what is missing: {count} of {total} runs, in this campaign's folder and order.",
            total,
        )
        show_tip(self.go_on, tip.format(count=missing, total=total))
        self.talk.setVisible(run is not None)
