"""Starts the runner of a campaign as a process of its own and tells when it has begun, or why it has not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.domain.errors import FootingError
from ui.background import BackgroundOp
from ui.window.commands.deferred import launch

if TYPE_CHECKING:
    from app.domain.campaign.configuration import Campaign
    from app.execution.launch import LaunchedCampaign

_POLL_MS: Final = 100
_REAP_MS: Final = 2_000


class CampaignStarter(QObject):
    """One campaign at a time; the runner does not need this object once it runs.

    Signals:
        started: folder of the campaign, in which its first run has begun.
        asking: what somebody is asked before it begins, a sentence.
        failed: a sentence and what to do.
        run_failed: folder of the campaign, and why a run in it failed, as the runner says it.
    """

    started = Signal(Path)
    asking = Signal(str)
    failed = Signal(str, str)
    run_failed = Signal(Path, str)

    def __init__(self, library: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._told = self._asked = ""
        self._launched: LaunchedCampaign | None = None
        self._op: BackgroundOp[LaunchedCampaign] | None = None
        self._timer = QTimer(self, interval=_POLL_MS)
        self._timer.timeout.connect(self._poll)

    @property
    def starting(self) -> bool:
        """Whether a runner was started that has not begun its first run."""
        return self._launched is not None and self._timer.interval() == _POLL_MS

    def start(self, campaign: Campaign) -> None:
        """Start a runner."""
        library = self._library
        self._op = BackgroundOp(lambda: launch(campaign, library), self._take, self._fail).start()

    def stop(self) -> None:
        """Tell nothing any more; a runner that was started goes on."""
        self._timer.stop()
        if self._op is not None:
            self._op.cancel()

    def _take(self, launched: LaunchedCampaign) -> None:
        self._launched = launched
        self._told = self._asked = ""
        self._timer.start(_POLL_MS)

    def _fail(self, error: FootingError) -> None:
        self._timer.stop()
        self._launched = None
        self.failed.emit(error.message, error.hint)

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
        if folder is not None and was_starting:
            self._timer.start(_REAP_MS)  # from now on only so that the ended runner leaves no zombie
            self.started.emit(folder)
        if folder is not None and launched.problem != self._told:
            self._told = launched.problem
            self.run_failed.emit(folder, launched.problem)
        if launched.exit_status is not None:
            self._timer.stop()
            self._launched = None
