"""What waits: interrupted campaigns, those that waited for their turn, and what was put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QWidget

from app.domain.text import tr
from ui.theme import MEDIUM
from ui.widgets.formatting import one_line
from ui.widgets.plain_label import plain_label
from ui.widgets.tips import show_tip

if TYPE_CHECKING:
    from app.execution.resume.unfinished import UnfinishedCampaign
    from app.live.queue import QueuedCampaign

MOST_SHOWN: Final = 3


class WaitingList(QFrame):
    """Hidden where nothing waits; of the campaigns the newest few are shown.

    Attributes:
        go_on: a button for each campaign that is shown, by its folder, or by its key where it waited for its
            turn; that of the draft under None.
        put_away: likewise.

    Signals:
        go_on_asked: folder of a campaign that shall go on.
        put_away_asked: folder of a campaign that shall not be offered any more.
        draft_asked: the draft shall be opened.
        draft_put_away: the draft shall not be offered any more.
        queued_asked: key of a campaign that waited for its turn, to be looked at and started.
        queued_put_away: key of one that shall not be measured.
    """

    go_on_asked = Signal(Path)
    put_away_asked = Signal(Path)
    draft_asked = Signal()
    draft_put_away = Signal()
    queued_asked = Signal(str)
    queued_put_away = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.go_on: dict[Path | str | None, QPushButton] = {}
        self.put_away: dict[Path | str | None, QPushButton] = {}
        self._found: Sequence[UnfinishedCampaign] = ()
        self._queued: Sequence[QueuedCampaign] = ()
        self._draft = ""
        self._layout = QGridLayout(self)
        self._layout.setHorizontalSpacing(MEDIUM)
        self._layout.setColumnStretch(0, 1)
        self.hide()

    def show_waiting(self, found: Sequence[UnfinishedCampaign]) -> None:
        """Show these campaigns, the newest first."""
        self._found = found[:MOST_SHOWN]
        self._show()

    def show_queued(self, found: Sequence[QueuedCampaign]) -> None:
        """Show the first of those that waited for their turn when the window was closed."""
        self._queued = found[:MOST_SHOWN]
        self._show()

    def show_draft(self, sentence: str) -> None:
        """Show that something was put together; nothing where the sentence is empty."""
        self._draft = sentence
        self._show()

    def _show(self) -> None:
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()  # at once: it is deleted when Qt comes to it
                widget.deleteLater()
        self.go_on, self.put_away = {}, {}
        for each in self._found:
            tip = tr("Its runs stay in the library; “Go on” in the menu there works all the same.")
            asked = (
                partial(_emit, self.go_on_asked, each.folder),
                partial(_emit, self.put_away_asked, each.folder),
            )
            self._add_row(each.folder, each.sentence, tr("&Go on"), tip, asked)
        for one in self._queued:
            sentence = tr("“{name}” waited for its turn when the window was closed.").format(name=one.name)
            asked = partial(self.queued_asked.emit, one.key), partial(self.queued_put_away.emit, one.key)
            word = tr("&Go on") if one.folder else tr("Look and start …")
            self._add_row(one.key, sentence, word, tr("It is not measured."), asked)
        if self._draft:
            deeds = self.draft_asked.emit, self.draft_put_away.emit
            self._add_row(None, self._draft, tr("Go on with &it …"), "", deeds)
        self.setVisible(bool(self.go_on))

    def _add_row(
        self,
        key: Path | str | None,
        sentence: str,
        word: str,
        tip: str,
        deeds: tuple[Callable[[], None], ...],
    ) -> None:
        row = len(self.go_on)
        words = plain_label(one_line(sentence), self)
        words.setWordWrap(True)
        go_on, away = QPushButton(word, self), QPushButton(tr("Not any more"), self)
        show_tip(away, tip)
        for button, deed in zip((go_on, away), deeds, strict=True):
            button.setAccessibleDescription(sentence)
            button.clicked.connect(lambda _checked=False, deed=deed: deed())
        for column, widget in enumerate((words, go_on, away)):
            self._layout.addWidget(widget, row, column)
        self.go_on[key], self.put_away[key] = go_on, away


def _emit(signal: SignalInstance, folder: Path) -> None:
    signal.emit(folder)
