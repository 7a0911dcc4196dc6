"""Keeps a draft informed about the disks of this machine: as everybody sees them, live, and as root does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from PySide6.QtCore import QObject, Qt, Signal

from app.domain.disk import Disk, SpareAnswer
from app.domain.errors import FootingError
from app.draft.disks.table import InspectionResult
from app.draft.draft import CampaignDraft
from app.draft.root_answers import inspect_disks
from app.helper.base.audit import read_policy
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


class RootAnswers(QObject):
    """One question at a time.

    Signals:
        asking: whether an answer is awaited.
        progressed: which share of all disks that were asked about is looked at, 0 to 1.
        answered: the draft knows root's answers.
        failed: the helper could not be asked; carries the sentence.
        kept: key of a disk that was to be released, and that the helper's journal keeps: a person decides.
    """

    asking = Signal(bool)
    progressed = Signal(float)
    answered = Signal()
    failed = Signal(str)
    kept = Signal(str)

    def __init__(self, draft: CampaignDraft, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._op: BackgroundOp[Mapping[str, InspectionResult]] | None = None
        self._released = ""

    def ask(self) -> None:
        """Ask about every disk that looks spare; without effect while an answer is awaited."""
        self._ask([disk for disk in self._draft.storage.disks if disk.answer is SpareAnswer.LOOKS_SPARE])

    def ask_about(self, key: str) -> None:
        """Ask about one disk."""
        self._ask([disk for disk in self._draft.storage.disks if disk.identity.key() == key])

    def release(self, key: str) -> None:
        """Ask about one disk that pgFooting left something on: root first tries to give it back."""
        if self._op is None:
            self._released = key
            self.ask_about(key)

    def _ask(self, disks: list[Disk]) -> None:
        if self._op is None and disks:
            self._op = BackgroundOp(
                lambda: inspect_disks(disks, self.progressed.emit), self._take, self._fail
            ).start()
            self.asking.emit(True)  # noqa: FBT003 - Qt's signature

    def stop(self) -> None:
        """Want no answer any more."""
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def _take(self, told: Mapping[str, InspectionResult]) -> None:
        self._op = None
        self.asking.emit(False)  # noqa: FBT003
        self._draft.see_inspection(told)
        self.answered.emit()
        key, self._released = self._released, ""
        if key and any(each.is_journaled for each in told.values()):
            self.kept.emit(key)

    def _fail(self, error: FootingError) -> None:
        self._op, self._released = None, ""
        self.asking.emit(False)  # noqa: FBT003
        self.failed.emit(f"{error.message} {error.hint}".strip())
