"""Keeps a draft informed about the disks of this machine, live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QObject, Qt, Signal

from app.domain.errors import FootingError
from app.draft.draft import CampaignDraft
from app.helper.base.configuration import read_policy
from app.hosts.disk_watch import DiskWatch, OnChange
from app.storage.spare.disks import DiskChange, Listing
from ui.background import BackgroundOp


class Watch(Protocol):
    """What follows the disks; `app.hosts.disk_watch.DiskWatch`."""

    def start(self) -> None:
        """Begin; returns at once."""

    def stop(self) -> None:
        """End; may take a moment."""


MakeWatch = Callable[[OnChange], Watch]


def follow_disks(on_change: OnChange) -> Watch:
    """Return what follows this machine's disks; test devices count where an administrator allows them."""
    return DiskWatch(on_change, read_policy())


class DiskFeed(QObject):
    """Follows the disks from when they are first needed until the window closes.

    Signals:
        changed: the draft knows the disks as they are now.
    """

    changed = Signal()
    _told = Signal(object)

    def __init__(self, draft: CampaignDraft, make_watch: MakeWatch, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._make = make_watch
        self._watch: Watch | None = None
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)

    def begin(self) -> None:
        """Follow the disks; without effect where they are followed already."""
        if self._watch is None:
            self._watch = self._make(self._tell)
            self._watch.start()

    def stop(self) -> None:
        """Follow them no more; what takes a moment is done in the background."""
        watch, self._watch = self._watch, None
        if watch is not None:
            BackgroundOp(watch.stop, _nothing, _not_told).start()

    def _tell(self, listing: Listing, _changes: Sequence[DiskChange]) -> None:
        """Called in the watch's thread."""
        self._told.emit(listing)

    def _on_told(self, listing: Listing) -> None:
        if self._watch is not None:
            self._draft.see_disks(listing)
            self.changed.emit()


def _nothing(_result: None) -> None:
    """The watch has ended."""


def _not_told(_error: FootingError) -> None:
    """A watch that cannot be ended dies with the program."""
