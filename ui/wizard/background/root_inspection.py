"""Asks root, through the helper, about disks that look spare; in the background, and only when asked to."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal

from app.domain.disk import Disk, SpareAnswer
from app.domain.errors import FootingError
from app.draft.disks.table import InspectionResult
from app.draft.draft import CampaignDraft
from app.draft.root_answers import inspect_disks
from ui.background import BackgroundOp


class RootAnswers(QObject):
    """One question at a time.

    Signals:
        asking: whether an answer is awaited.
        progressed: which share of all disks that were asked about is looked at, 0 to 1.
        answered: the draft knows root's answers.
        failed: the helper could not be asked; carries the sentence.
    """

    asking = Signal(bool)
    progressed = Signal(float)
    answered = Signal()
    failed = Signal(str)

    def __init__(self, draft: CampaignDraft, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._op: BackgroundOp[Mapping[str, InspectionResult]] | None = None

    def ask(self) -> None:
        """Ask about every disk that looks spare; without effect while an answer is awaited."""
        self._ask([disk for disk in self._draft.storage.disks if disk.answer is SpareAnswer.LOOKS_SPARE])

    def release(self, key: str) -> None:
        """Ask about one disk that pgFooting left something on: root first tries to give it back."""
        self._ask([disk for disk in self._draft.storage.disks if disk.identity.key() == key])

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

    def _fail(self, error: FootingError) -> None:
        self._op = None
        self.asking.emit(False)  # noqa: FBT003
        self.failed.emit(f"{error.message} {error.hint}".strip())
