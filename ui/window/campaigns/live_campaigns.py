"""Which campaigns of this user run now, and how far: looked up in the background every second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.domain.errors import FootingError
from ui.background import BackgroundOp

if TYPE_CHECKING:
    from app.live.campaign_status import CampaignStatus, CampaignWatch

_EVERY_MS: Final = 1_000


class LiveCampaigns(QObject):
    """Follows the running campaigns, whoever started them.

    Attributes:
        statuses: what was seen last, the oldest campaign first.
        has_looked: whether it has told of what it saw first.

    Signals:
        changed: other statuses; a tuple of `CampaignStatus`.
        ended: folder of a campaign that ran and does not any more.
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
        """Look no more."""
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
