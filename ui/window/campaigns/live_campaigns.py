"""Look up the running campaigns of this user and their progress in the background every second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.domain.errors import FootingError
from app.domain.text import tr, trn
from app.domain.units import format_duration
from ui.background import BackgroundOp
from ui.theme import MEDIUM, SMALL
from ui.widgets.formatting import one_line
from ui.widgets.layouts import fill
from ui.widgets.texts import wrapped_label

if TYPE_CHECKING:
    from app.live.campaign_status import CampaignStatus, CampaignWatch


_EVERY_MS: Final = 1_000


class LiveCampaigns(QObject):
    """Follows all running campaigns of this user.

    Attributes:
        statuses: latest ones, the oldest campaign first.
        has_looked: whether the first lookup was reported.

    Signals:
        changed: new statuses; a tuple of `CampaignStatus`.
        ended: folder of a campaign that is no longer running.
    """

    changed = Signal(tuple)
    ended = Signal(Path)

    def __init__(self, find: Callable[[], tuple[Path, ...]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.statuses: tuple[CampaignStatus, ...] = ()
        self.has_looked = False
        self._find = find
        self._watches: dict[Path, CampaignWatch] = {}
        self._op: BackgroundOp[tuple[CampaignStatus, ...]] | None = None
        self._stopped = False
        self._looking = False
        self._timer = QTimer(self, singleShot=True, interval=_EVERY_MS)
        self._timer.timeout.connect(self.look)

    def look(self) -> None:
        """Look now, and then every second."""
        if self._stopped or self._looking:
            return
        self._looking = True
        self._timer.stop()
        self._op = BackgroundOp(self._read, self._take, self._fail).start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopped = True
        self._timer.stop()
        if self._op is not None:
            self._op.cancel()

    def _read(self) -> tuple[CampaignStatus, ...]:
        """Return all statuses; runs in the background, one at a time."""
        from app.live.campaign_status import CampaignWatch  # noqa: PLC0415 - comes with the work

        found = []
        folders = self._find()
        for folder in folders:
            watch = self._watches.setdefault(folder, CampaignWatch(folder))
            try:
                status = watch.read()
            except FootingError:  # its folder was removed meanwhile
                continue
            if status.live:
                found.append(status)
        for gone in self._watches.keys() - set(folders):
            del self._watches[gone]
        return tuple(found)

    def _take(self, statuses: tuple[CampaignStatus, ...]) -> None:
        self._looking = False
        gone = {status.folder for status in self.statuses} - {status.folder for status in statuses}
        different = statuses != self.statuses
        self.statuses = statuses
        self._timer.start()
        if different:
            self.changed.emit(statuses)
        self.has_looked = True
        for folder in sorted(gone):
            self.ended.emit(folder)

    def _fail(self, _error: FootingError) -> None:
        self._take(())


# --- The line about a running campaign at the bottom of every page.


def describe_status(status: CampaignStatus) -> str:
    """Return the progress of a campaign in one line."""
    name = one_line(status.name)
    current = status.current
    if current is None:
        words = trn(
            "{name}: {done} of {total} run done", "{name}: {done} of {total} runs done", status.total
        ).format(name=name, done=status.done, total=status.total)
    else:
        words = tr("{name}: run {number} of {total}, {run}").format(
            name=name, number=current.number, total=status.total, run=one_line(current.name)
        )
    if status.left_s is not None and status.left_s > 0:
        words += " · " + tr("about {time} left").format(time=format_duration(status.left_s))
    return words


class CampaignLine(QFrame):
    """Shown while a campaign runs, or waits for one of another user.

    Signals:
        show_asked: folder of the campaign to show.
        stop_asked: the campaign is to be stopped.
    """

    show_asked = Signal(Path)
    stop_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder: Path | None = None
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.words = wrapped_label(parent=self)
        self.words.setAccessibleName(tr("Running campaign"))
        self.show_button = QPushButton(tr("Sho&w it"), self)
        self.stop_button = QPushButton(tr("S&top …"), self)
        fill(QHBoxLayout(self), (self.words, 1), self.show_button, self.stop_button, margins=(MEDIUM, SMALL))
        self.show_button.clicked.connect(lambda: self.show_asked.emit(self._folder))
        self.stop_button.clicked.connect(self.stop_asked)
        self.hide()

    @property
    def folder(self) -> Path | None:
        """Folder of the shown campaign; None if none runs."""
        return self._folder

    def show_campaigns(self, statuses: tuple[CampaignStatus, ...], waiting: str = "") -> None:
        """Show the waiting campaign, else the oldest of these; a machine runs one at a time."""
        self._folder = statuses[0].folder if statuses else None
        self.words.setText(waiting or (describe_status(statuses[0]) if statuses else ""))
        self.show_button.setVisible(bool(statuses))
