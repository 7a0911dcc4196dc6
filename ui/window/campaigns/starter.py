"""Start the runner of a campaign, and follow it while the window is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.domain.errors import FootingError
from ui.background import BackgroundOp
from ui.window.commands.deferred import launch, launch_again, launch_going_on

if TYPE_CHECKING:
    from app.domain.campaign.configuration import Campaign
    from app.execution.launch import LaunchedCampaign

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
