"""Start runners and follow them; look up the running campaigns of this user every second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.domain.errors import FootingError
from app.domain.text import format_duration, tr, trn
from ui.background import BackgroundOp
from ui.theme import MEDIUM, SMALL
from ui.widgets.layouts import fill
from ui.widgets.texts import one_line, wrapped_label
from ui.window.commands.deferred import launch, launch_again, launch_going_on

if TYPE_CHECKING:
    from app.domain.campaign.configuration import Campaign
    from app.execution.launch import LaunchedCampaign
    from app.live.campaign_follower import CampaignStatus, CampaignWatch


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
        from app.live.campaign_follower import CampaignWatch  # noqa: PLC0415 - comes with the work

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
        words = trn("{done} of {total} run is done", "{done} of {total} runs are done", status.total).format(
            done=status.done, total=status.total
        )
        words = f"{name}: {words}"
    else:
        words = tr("run {number} of {total}").format(number=current.number, total=status.total)
        words = f"{name}: {words}, {one_line(current.name)}"
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
        self.stop_button = QPushButton(tr("&Stop …"), self)
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


# Start the runner of a campaign, and follow it while the window is open.


_POLL_MS: Final = 100
_REAP_MS: Final = 500


class CampaignStarter(QObject):
    """Starts one campaign at a time; the runner does not need this object once it runs.

    Attributes:
        name: of the last started campaign.
        waiting: the other campaign that the runner waits for, a sentence; empty for none.

    Signals:
        started: folder of the campaign; its first run has started.
        asking: a question to the user before the start, a sentence.
        waits: the other campaign that the runner waits for, a sentence; empty when the wait is over.
        failed: a sentence, a hint, and the exit status of the runner.
        run_failed: folder of the campaign, and the runner's reason why a run failed.
        ended: exit status of a runner whose campaign had started.
    """

    started = Signal(Path)
    asking = Signal(str)
    waits = Signal(str)
    failed = Signal(str, str, int)
    run_failed = Signal(Path, str)
    ended = Signal(int)

    def __init__(self, library: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._reported = self._asked = self.name = self.waiting = ""
        self._is_launching = False
        self._launched: LaunchedCampaign | None = None
        self._op: BackgroundOp[LaunchedCampaign] | None = None
        self._timer = QTimer(self, interval=_POLL_MS)
        self._timer.timeout.connect(self._poll)

    @property
    def starting(self) -> bool:
        """Whether a runner was started that has not begun its first run."""
        return self._launched is not None and self._timer.interval() == _POLL_MS

    @property
    def is_busy(self) -> bool:
        """Whether a runner of this object is alive or starting."""
        return self._is_launching or self._launched is not None

    def start(self, campaign: Campaign, load: Sequence[str], *, wait: bool = False) -> None:
        """Start a runner, which may load the named servers and wait for another campaign."""
        library = self._library
        self._launch(campaign.name, lambda: launch(campaign, library, load, wait=wait))

    def again(self, folder: Path, load: Sequence[str]) -> None:
        """Start a runner that repeats the campaign of a folder."""
        library = self._library
        self._launch(folder.name, lambda: launch_again(folder, library, load))

    def go_on(self, folder: Path, load: Sequence[str]) -> None:
        """Start a runner that resumes the campaign of a folder."""
        self._launch(folder.name, lambda: launch_going_on(folder, load))

    def _launch(self, name: str, start: Callable[[], LaunchedCampaign]) -> None:
        self.name = name
        self._is_launching = True
        self._op = BackgroundOp(start, self._take, self._fail).start()

    def stop_waiting(self) -> None:
        """End a runner that waits for another campaign."""
        if self._launched is not None and self.waiting:
            self._launched.stop()

    def stop(self) -> None:
        """Stop following; a started runner continues."""
        self._timer.stop()
        if self._op is not None:
            self._op.cancel()

    def _take(self, launched: LaunchedCampaign) -> None:
        self._is_launching = False
        self._launched = launched
        self._reported = self._asked = ""
        self._timer.start(_POLL_MS)

    def _fail(self, error: FootingError) -> None:
        self._timer.stop()
        self._is_launching = False
        self._launched = None
        self._report_waiting("")
        self.failed.emit(error.message, error.hint, getattr(error, "status", error.exit_status))

    def _report_waiting(self, sentence: str) -> None:
        if sentence != self.waiting:
            self.waiting = sentence
            self.waits.emit(sentence)

    def _poll(self) -> None:
        launched = self._launched
        if launched is None:
            return
        was_starting = self.starting
        try:
            folder = launched.poll()
        except FootingError as error:
            self._fail(error)
            return
        if folder is None and launched.asking != self._asked:
            self._asked = launched.asking
            self.asking.emit(launched.asking)
        self._report_waiting(launched.waiting if folder is None else "")
        if folder is not None and was_starting:
            self._timer.start(_REAP_MS)  # from now on only so that the ended runner leaves no zombie
            self.started.emit(folder)
        if folder is not None and launched.problem != self._reported:
            self._reported = launched.problem
            self.run_failed.emit(folder, launched.problem)
        if launched.exit_status is not None:
            self._timer.stop()
            self._launched = None
            self.ended.emit(launched.exit_status)
