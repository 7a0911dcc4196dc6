"""Starting the runner of a campaign, and following it as long as the window is open.

Begins the campaigns that wait, one after the other, as long as the window is open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.domain.errors import FootingError
from app.domain.text import tr
from ui.background import BackgroundOp
from ui.widgets.formatting import one_line
from ui.window.commands.deferred import (
    keep_waiting,
    launch,
    launch_again,
    launch_going_on,
    launch_queued,
    read_queued,
    read_waiting,
    whether_goes_on,
)

if TYPE_CHECKING:
    from app.domain.campaign.configuration import Campaign
    from app.execution.launch import LaunchedCampaign
    from app.live.campaign_status import CampaignStatus
    from app.live.queue import CampaignQueue, QueuedCampaign


_POLL_MS: Final = 100
_REAP_MS: Final = 2_000


class CampaignStarter(QObject):
    """One campaign at a time; the runner does not need this object once it runs.

    Attributes:
        waiting: for which other campaign the runner waits, a sentence; empty where it waits for none.

    Signals:
        started: folder of the campaign, in which its first run has begun.
        asking: what somebody is asked before it begins, a sentence.
        waits: for which other campaign the runner waits, a sentence; empty once it does not any more.
        failed: a sentence, what to do, and the exit status of the runner.
        run_failed: folder of the campaign, and why a run in it failed, as the runner says it.
        ended: exit status of a runner whose campaign had begun.
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
        self._told = self._asked = self.waiting = ""
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
        """Whether a runner that this object started lives, or is being started."""
        return self._is_launching or self._launched is not None

    def start(self, campaign: Campaign, load: Sequence[str], *, wait: bool = False) -> None:
        """Start a runner; it may load the servers of others that are named, and wait for another campaign."""
        library = self._library
        self.launch(lambda: launch(campaign, library, load, wait=wait))

    def again(self, folder: Path, load: Sequence[str]) -> None:
        """Start a runner that measures the campaign of a folder anew."""
        library = self._library
        self.launch(lambda: launch_again(folder, library, load))

    def go_on(self, folder: Path, load: Sequence[str]) -> None:
        """Start a runner that measures what is missing of the campaign of a folder."""
        self.launch(lambda: launch_going_on(folder, load))

    def launch(self, start: Callable[[], LaunchedCampaign]) -> None:
        """Start a runner."""
        self._is_launching = True
        self._op = BackgroundOp(start, self._take, self._fail).start()

    def stop_waiting(self) -> None:
        """End a runner that waits for another campaign."""
        if self._launched is not None and self.waiting:
            self._launched.stop()

    def stop(self) -> None:
        """Tell nothing any more; a runner that was started goes on."""
        self._timer.stop()
        if self._op is not None:
            self._op.cancel()

    def _take(self, launched: LaunchedCampaign) -> None:
        self._is_launching = False
        self._launched = launched
        self._told = self._asked = ""
        self._timer.start(_POLL_MS)

    def _fail(self, error: FootingError) -> None:
        self._timer.stop()
        self._is_launching = False
        self._launched = None
        self._tell_waiting("")
        self.failed.emit(error.message, error.hint, getattr(error, "status", error.exit_status))

    def _tell_waiting(self, sentence: str) -> None:
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
        self._tell_waiting(launched.waiting if folder is None else "")
        if folder is not None and was_starting:
            self._timer.start(_REAP_MS)  # from now on only so that the ended runner leaves no zombie
            self.started.emit(folder)
        if folder is not None and launched.problem != self._told:
            self._told = launched.problem
            self.run_failed.emit(folder, launched.problem)
        if launched.exit_status is not None:
            self._timer.stop()
            self._launched = None
            self.ended.emit(launched.exit_status)


class QueueRunner(QObject):
    """Holds the list of those that wait; what was kept of an earlier window only waits for a person.

    Attributes:
        queue: the list.
        was_turn: the campaign that was begun last is one whose turn came: nobody has just asked for it.

    Signals:
        changed: the list, or what holds it, is another.
        told: a sentence that somebody should see.
        opened: key of a campaign of the list that a person wants to look at and start, and the campaign.
        go_on_wanted: folder of a campaign, taken out of the list, that shall go on.
    """

    changed = Signal()
    told = Signal(str)
    opened = Signal(str, object)
    go_on_wanted = Signal(Path)

    def __init__(self, starter: CampaignStarter, library: Path, parent: QObject | None = None) -> None:
        from app.live.queue import CampaignQueue  # noqa: PLC0415 - small, and comes with the window

        super().__init__(parent)
        self.queue: CampaignQueue = CampaignQueue()
        self._starter = starter
        self._library = library
        self._live: CampaignStatus | None = None
        self._begun = ""
        self.was_turn = False
        self._restored: BackgroundOp[tuple[QueuedCampaign, ...]] | None = None
        self._asking: BackgroundOp[bool] | None = None
        self._reading: BackgroundOp[Campaign] | None = None
        starter.ended.connect(self._on_ended)
        starter.failed.connect(self._on_not_begun)

    # --- what a person does

    @property
    def is_busy(self) -> bool:
        """Whether a campaign runs or begins: another has to wait."""
        return self._live is not None or self._starter.is_busy or self._asking is not None

    @property
    def running(self) -> str:
        """Name of the campaign that is measured now, or begins; empty for none."""
        return self._live.name if self._live is not None else self._begun if self._starter.is_busy else ""

    def add(self, each: QueuedCampaign) -> None:
        """Put a campaign at the end of the list, as a person asked."""
        try:
            self.queue.add(each)
        except FootingError as error:
            self.told.emit(error.message)
            return
        sentence = tr("“{name}” waits for its turn.").format(name=one_line(each.name))
        self.told.emit(sentence)
        self._tell()
        self._begin_next()

    def remove(self, key: str) -> None:
        """Take a campaign out of the list."""
        self.queue.remove(key)
        self._tell()

    def move(self, key: str, by: int) -> None:
        """Let a campaign begin earlier (-1) or later (+1)."""
        self.queue.move(key, by)
        self._tell()

    def go_on(self) -> None:
        """Let the next one begin although the one before was stopped."""
        self.queue.go_on()
        self._tell()
        self._begin_next()

    def open(self, key: str) -> None:
        """Open one that was kept: what a person confirmed then is asked anew."""
        found = next((each for each in self.queue.waiting if each.key == key), None)
        if found is None or self._reading is not None:
            return
        if found.folder:
            self.remove(key)
            self.go_on_wanted.emit(Path(found.folder))
            return

        def take(campaign: Campaign) -> None:
            self._reading = None
            self.opened.emit(key, campaign)

        def fail(error: FootingError) -> None:
            self._reading = None
            self.told.emit(f"{error.message} {error.hint}".strip())

        self._reading = BackgroundOp(lambda: read_queued(found), take, fail).start()

    # --- what happens

    def begin(self) -> None:
        """Look for what was kept of an earlier window."""

        def take(found: tuple[QueuedCampaign, ...]) -> None:
            self._restored = None
            if found:
                self.queue.offer(found)
                self.changed.emit()
                if len(found) == 1:
                    sentence = tr("“{name}” waited for its turn when the window was closed.")
                else:
                    sentence = tr("{count} campaigns waited for their turn when the window was closed.")
                sentence = sentence.format(name=one_line(found[0].name), count=len(found))
                self.told.emit(tr("{sentence} The start page offers them.").format(sentence=sentence))

        def fail(error: FootingError) -> None:
            self._restored = None
            self.told.emit(error.message)

        self._restored = BackgroundOp(read_waiting, take, fail).start()

    def take_live(self, statuses: tuple[CampaignStatus, ...]) -> None:
        """Take which campaigns of this user run now, whoever started them."""
        before, self._live = self._live, statuses[0] if statuses else None
        if before is not None and self._live is None and not self._starter.is_busy:
            self._ask_for_end(before)
        elif before is None or self._live is None:
            self.changed.emit()
            self._begin_next()

    def stop(self) -> None:
        """Begin nothing any more: the window closes."""
        self._starter.ended.disconnect(self._on_ended)
        self._starter.failed.disconnect(self._on_not_begun)
        self._live = None
        for work in (self._restored, self._asking, self._reading):
            if work is not None:
                work.cancel()
        self.queue.confirmed.clear()

    def _ask_for_end(self, before: CampaignStatus) -> None:
        """Find out how a campaign ended that this window did not start."""

        def take(goes_on: object) -> None:
            self._asking = None
            self._after(before.name, goes_on=goes_on is True)  # what nobody knows does not go on

        folder = before.folder
        self._asking = BackgroundOp(lambda: whether_goes_on(folder), take, take).start()

    def _on_ended(self, status: int) -> None:
        from app.live.queue import goes_on_after  # noqa: PLC0415 - as above

        self._after(self._begun, goes_on=goes_on_after(status))

    def _on_not_begun(self, _message: str, _hint: str, status: int) -> None:
        self._on_ended(status)

    def _after(self, name: str, *, goes_on: bool) -> None:
        self.queue.note_end(one_line(name), goes_on=goes_on)
        if self.queue.held:
            self.told.emit(self.queue.held)
        self.changed.emit()
        self._begin_next()

    def _begin_next(self) -> None:
        if self.is_busy:
            return
        item = self.queue.take()
        if item is None:
            return
        self._begun, self.was_turn = item.name, True
        self.told.emit(tr("Starting “{name}” …").format(name=one_line(item.name)))
        library = self._library
        self._starter.launch(lambda: launch_queued(item, library))
        self._tell()

    def note_start(self, name: str) -> None:
        """Take that a campaign begins that did not wait."""
        self._begun, self.was_turn = name, False
        self.changed.emit()

    def _tell(self) -> None:
        keep_waiting(tuple(self.queue.waiting))  # at once, and in order: a few kilobytes
        self.changed.emit()
