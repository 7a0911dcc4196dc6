"""The line that tells what is wrong with the run that is shown: in words, framed in the warning colour."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.domain.text import tr
from app.domain.units import format_size
from app.live.campaign_follower import LiveState
from app.live.snapshot import RunSnapshot
from app.runfile.series import RunData
from app.runfile.writer import RunState
from ui.live.words import quiet_words
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.plain_label import plain_label

_RECENT_S: Final = 3.0
"""What was sampled before is over: such series are only stored where something happens."""


def run_problem(run: RunSnapshot) -> str:
    """Return what is wrong with a run, in sentences; empty where nothing is."""
    if run.state is RunState.FAILED:
        return tr("This run failed. {reason}").format(reason=run.problem).strip()
    if run.state is RunState.INCOMPLETE:
        return run.problem or tr("This run is incomplete: its runner died.")
    if run.state is RunState.STOPPED:
        return tr("This run was stopped early. What it measured is kept; no verdict uses it.")
    if run.problem:
        return run.problem
    return quiet_words(run.quiet_s) if run.quiet_s else ""


def array_words(data: RunData) -> list[str]:
    """Return what is not as it should be with the arrays below the run now, a sentence each."""
    told = []
    for metric, array in data.series_keys():
        if metric not in {"array.missing_members", "array.sync_remaining"}:
            continue
        t_s, values = data.series(metric, array)
        if not len(values) or not values[-1] or t_s[-1] < data.end_s - _RECENT_S:
            continue
        if metric == "array.missing_members":
            sentence = tr("The array {array} runs without {count} of its disks: its figures are not its own.")
            told.append(sentence.format(array=array, count=int(values[-1])))
        else:
            sentence = tr("The array {array} synchronises while it is measured: {left} are left.")
            told.append(sentence.format(array=array, left=format_size(float(values[-1]))))
    return told


def banner_text(watched: LiveState) -> str:
    """Return everything that is wrong with what is watched."""
    told = [] if watched.run is None else [run_problem(watched.run), *array_words(watched.run.data)]
    if watched.problem:
        told.append(watched.problem)
    if watched.status is not None:
        told += watched.status.disks.kept if watched.status.disks is not None else ()
        shown = None if watched.run is None else watched.run.data.path
        told += [
            f"{run.name}: {run.problem}"
            for run in watched.status.runs
            if run.problem and run.path != shown and run.state in {RunState.FAILED, RunState.INCOMPLETE}
        ]
    return "\n".join(dict.fromkeys(filter(None, told)))


def join_problems(seen: str, said: str) -> str:
    """Return what the files show and what the runner said; the latter only where it says more."""
    first = said.partition(". ")[0].rstrip(".")
    return "\n".join(part for part in (seen, "" if first in seen else said) if part)


class Banner(QFrame):
    """Hidden as long as nothing is wrong.

    Attributes:
        words: what is told.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFrameShape(QFrame.Shape.Box)
        self.setAutoFillBackground(True)
        self.words = plain_label(parent=self)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        layout = QHBoxLayout(self)
        layout.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        layout.addWidget(self.words, 1)
        theme.changed.connect(self._dress)
        self._dress()
        self.hide()

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.WindowText, self._theme.warning)
        palette.setColor(QPalette.ColorRole.Window, self._theme.background)
        self.setPalette(palette)

    def tell(self, sentences: str) -> None:
        """Show these sentences, or nothing."""
        if sentences != self.words.text():
            self.words.setText(sentences)
            self.words.setAccessibleName(tr("Warning: {text}").format(text=sentences) if sentences else "")
        self.setVisible(bool(sentences))
