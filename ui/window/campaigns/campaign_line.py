"""The line at the bottom that tells of a running campaign, wherever one is in the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.domain.text import tr
from app.domain.units import format_duration
from ui.theme import MEDIUM, SMALL
from ui.widgets.formatting import one_line
from ui.widgets.plain_label import plain_label

if TYPE_CHECKING:
    from app.live.campaign_status import CampaignStatus


def describe_status(status: CampaignStatus) -> str:
    """Return how far a campaign is, as a line."""
    name = one_line(status.name)
    current = status.current
    if current is None:
        words = tr("{name}: {done} of {total} runs done").format(
            name=name, done=status.done, total=status.total
        )
    else:
        words = tr("{name}: run {number} of {total}, {run}").format(
            name=name, number=current.number, total=status.total, run=one_line(current.name)
        )
    if status.left_s is not None and status.left_s > 0:
        words += " · " + tr("about {time} left").format(time=format_duration(status.left_s))
    return words


class CampaignLine(QFrame):
    """Shown while a campaign runs.

    Signals:
        show_asked: folder of the campaign that shall be shown.
        stop_asked: folder of the campaign that shall be stopped.
    """

    show_asked = Signal(Path)
    stop_asked = Signal(Path)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder: Path | None = None
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.words = plain_label(parent=self)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setWordWrap(True)
        self.words.setAccessibleName(tr("Running campaign"))
        self.show_button = QPushButton(tr("Sho&w it"), self)
        self.stop_button = QPushButton(tr("S&top …"), self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.show_button)
        layout.addWidget(self.stop_button)
        self.show_button.clicked.connect(lambda: self._pass_on(self.show_asked))
        self.stop_button.clicked.connect(lambda: self._pass_on(self.stop_asked))
        self.hide()

    def _pass_on(self, signal: SignalInstance) -> None:
        if self._folder is not None:
            signal.emit(self._folder)

    @property
    def folder(self) -> Path | None:
        """The campaign that is told of; None where none runs."""
        return self._folder

    def tell(self, statuses: tuple[CampaignStatus, ...]) -> None:
        """Tell of the oldest of these; there is one at a time on a machine."""
        self._folder = statuses[0].folder if statuses else None
        self.words.setText(describe_status(statuses[0]) if statuses else "")
