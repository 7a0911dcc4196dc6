"""Looks at a feed again and again, outside of the GUI thread, never two looks at once."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.domain.errors import FootingError
from app.live.campaign_follower import LiveSource, LiveState
from ui.background import BackgroundOp

LIVE_MS: Final = 1_000
"""A runner writes once a second; looking more often would only cost the machine under test."""

REPLAY_MS: Final = 100


class FeedPoller(QObject):
    """Polls one feed until it is stopped.

    Signals:
        watched: a `LiveState`.
        failed: a `FootingError`: nothing could be read; it goes on trying.
    """

    watched = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._feed: LiveSource | None = None
        self._op: BackgroundOp[LiveState] | None = None
        self._again = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.look)

    @property
    def is_running(self) -> bool:
        """Whether there will be another look."""
        return self._op is not None or self._timer.isActive()

    def start(self, feed: LiveSource, interval_ms: int) -> None:
        """Look at this feed from now on, the first time at once."""
        self.stop()
        self._feed = feed
        self._timer.setInterval(interval_ms)
        self.look()

    def stop(self) -> None:
        """Look no more; a look that is under way is forgotten."""
        self._timer.stop()
        self._again = False
        self._feed = None
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def look(self) -> None:
        """Look now, or as soon as the look that is under way has ended."""
        self._timer.stop()
        if self._feed is None:
            return
        if self._op is not None:
            self._again = True
            return
        self._op = BackgroundOp(self._feed.poll, self._take, self._fail).start()

    def rest(self) -> None:
        """Wait for the next call of `look`: nothing changes by itself."""
        self._timer.stop()

    def _take(self, watched: LiveState) -> None:
        self._ended_a_look()
        self.watched.emit(watched)

    def _fail(self, error: FootingError) -> None:
        self._ended_a_look()
        self.failed.emit(error)

    def _ended_a_look(self) -> None:
        self._op = None
        if self._again:
            self._again = False
            self.look()
        else:
            self._timer.start()
