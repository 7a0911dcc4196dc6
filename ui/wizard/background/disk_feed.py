"""Keep a draft informed about this machine's disks, and answer its questions, in the background."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Qt, QTimer, Signal

from app import TOP
from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.errors import ExitStatus, FootingError, Problem
from app.domain.text import tr
from app.draft.disks.table import InspectionResult
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Step, look_for_helper, read_environment
from app.draft.machine_answers import MachineAnswer, MachineQuestion, answer, inspect_disks
from app.helper.base.audit import read_policy
from app.hosts.disk_watch import DiskWatch, OnChange
from app.storage.spare.disks import DiskChange, Listing
from ui.background import BackgroundOp


class Watch(Protocol):
    """A watcher of disks, such as `app.hosts.disk_watch.DiskWatch`."""

    def start(self) -> None:
        """Start watching; returns at once."""

    def stop(self) -> None:
        """Stop watching; may take a moment."""


MakeWatch = Callable[[OnChange], Watch]


def follow_disks(on_change: OnChange) -> Watch:
    """Return a watcher of this machine's disks; test devices count if an administrator allows them."""
    return DiskWatch(on_change, read_policy())


class DiskFeed(QObject):
    """Follow the disks from their first use until the window closes.

    Signals:
        changed: the draft has the current disks.
    """

    changed = Signal()
    _listed = Signal(object)

    def __init__(self, draft: CampaignDraft, make_watch: MakeWatch, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._make = make_watch
        self._watch: Watch | None = None
        self._listed.connect(self._on_listing, Qt.ConnectionType.QueuedConnection)

    def begin(self) -> None:
        """Start following the disks; no effect if started already."""
        if self._watch is None:
            self._watch = self._make(self._forward)
            self._watch.start()

    def stop(self) -> None:
        """Stop following them, in the background if it takes a moment; the draft's listing is dropped."""
        watch, self._watch = self._watch, None
        if watch is not None:
            self._draft.see_disks(None)
            BackgroundOp(watch.stop, _nothing, _ignore_failure).start()

    def _forward(self, listing: Listing, _changes: Sequence[DiskChange]) -> None:
        """Forward a listing; called in the watch's thread."""
        self._listed.emit(listing)

    def _on_listing(self, listing: Listing) -> None:
        if self._watch is not None:
            self._draft.see_disks(listing)
            self.changed.emit()


def _nothing(_result: None) -> None:
    """Ignore the end of the watch."""


def _ignore_failure(_error: FootingError) -> None:
    """Ignore a watch that cannot be ended: it ends with the program."""


class RootAnswers(QObject):
    """Query root, one question at a time.

    Signals:
        asking: whether an answer is pending.
        progressed: share of the queried disks that is done, 0 to 1.
        answered: the draft has root's answers.
        failed: the helper could not be asked; carries the sentence.
        kept: key of a disk to be released that the helper's journal keeps: the user decides.
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
        """Ask about every disk that looks spare; no effect while an answer is pending."""
        self._ask([disk for disk in self._draft.storage.disks if disk.answer is SpareAnswer.LOOKS_SPARE])

    def ask_about(self, key: str) -> None:
        """Ask about one disk."""
        self._ask([disk for disk in self._draft.storage.disks if disk.identity.key() == key])

    def release(self, key: str) -> None:
        """Ask about one disk with leftovers of pgFooting; root first tries to release it."""
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
        """Ignore pending answers."""
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def _take(self, results: Mapping[str, InspectionResult]) -> None:
        self._op = None
        self.asking.emit(False)  # noqa: FBT003
        self._draft.see_inspection(results)
        self.answered.emit()
        key, self._released = self._released, ""
        if key and any(each.is_journaled for each in results.values()):
            self.kept.emit(key)

    def _fail(self, error: FootingError) -> None:
        self._op, self._released = None, ""
        self.asking.emit(False)  # noqa: FBT003
        self.failed.emit(f"{error.message} {error.hint}".strip())


# Read every byte of one disk, with a process of the command line that may take hours.
#
# A process instead of a thread, because the window's garbage collection pauses while one of its threads works
# (`ui.background`), and root stops reading when the asking process leaves the bus, whatever happens to the
# window.


_END_MS: Final = 3000
_ANSWERED: Final = frozenset({int(ExitStatus.DONE), int(ExitStatus.REFUSED)})


class WholeRead(QObject):
    """At most one reading.

    Signals:
        progressed: key of the disk being read, and its progress as text; both empty at the end.
        ended: key of a disk that root has read completely.
        failed: it was not read; carries the sentence.
    """

    progressed = Signal(str, str)
    ended = Signal(str)
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._key = ""
        self._errors: list[str] = []
        self._process: QProcess | None = None

    def start(self, disk: Disk) -> None:
        """Start reading a disk; no effect during another reading."""
        if self._process is not None:
            return
        self._key, self._errors = disk.identity.key(), []
        process = self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        top = str(TOP)
        others = [part for part in environment.value("PYTHONPATH").split(os.pathsep) if part and part != top]
        environment.insert("PYTHONPATH", os.pathsep.join([top, *others]))
        process.setProcessEnvironment(environment)
        process.readyReadStandardError.connect(self._hear)
        process.finished.connect(self._end)
        process.errorOccurred.connect(self._fail)
        process.start(sys.executable, ["-P", "-m", "app", "disks", f"--read={self._key}", "--json"])
        self.progressed.emit(self._key, tr("asking root"))

    def stop(self) -> None:
        """Stop reading; the result is lost."""
        process, self._process = self._process, None
        if process is None:
            return
        process.blockSignals(True)  # noqa: FBT003 - Qt's signature
        process.terminate()
        if not process.waitForFinished(_END_MS):
            process.kill()
            process.waitForFinished(_END_MS)
        process.deleteLater()
        self.progressed.emit("", "")

    def _hear(self) -> None:
        if self._process is not None:
            text = bytes(self._process.readAllStandardError().data()).decode(errors="replace")
            self._errors += text.splitlines()
            if self._errors:
                self.progressed.emit(self._key, self._errors[-1])

    def _end(self, status: int, how: QProcess.ExitStatus) -> None:
        self._hear()
        process, self._process = self._process, None
        if process is None:
            return
        process.deleteLater()
        self.progressed.emit("", "")
        if how is QProcess.ExitStatus.NormalExit and status in _ANSWERED:
            self.ended.emit(self._key)
        else:
            self.failed.emit(
                " ".join(line.strip() for line in self._errors[-2:]) or tr("The disk read ended.")
            )

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._process = None
            self.progressed.emit("", "")
            self.failed.emit(tr("The disk read could not be started."))


# Answer the draft's questions in the background, shortly after the last change.


PATIENCE_MS: Final = 250
"""Delay after a key press, so that typing a path does not check every prefix of it."""


class BackgroundValidation(QObject):
    """Keeps a draft informed about this machine.

    Signals:
        answered: the draft has new answers.
        failed: the machine could not be inspected; carries the sentence.
    """

    answered = Signal()
    failed = Signal(str)

    def __init__(self, draft: CampaignDraft, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._step = Step.WHERE
        self._running: dict[MachineQuestion, BackgroundOp[MachineAnswer]] = {}
        self._looking: BackgroundOp[Problem | None] | None = None
        self._reading: BackgroundOp[DraftEnvironment] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask)

    def begin(self) -> None:
        """Inspect the machine, unless the draft has its environment already."""
        if self._draft.environment is None:
            self.look_again()
        else:
            self.ask_now(self._step)

    def look_again(self) -> None:
        """Inspect the machine again: installed programs, default folder, memory."""
        if self._reading is None:
            self._reading = BackgroundOp(read_environment, self._on_read, self._on_failed).start()

    def look_for_helper(self) -> None:
        """Check again for a missing root helper: it may have been installed since."""
        environment = self._draft.environment
        if environment is not None and environment.disks is not None and self._looking is None:
            self._looking = BackgroundOp(look_for_helper, self._on_looked, self._on_failed).start()

    def ask_now(self, step: Step) -> None:
        """Ask the questions of a step without waiting for further changes."""
        self._step = step
        self._timer.stop()
        self._ask()

    def ask_soon(self, step: Step) -> None:
        """Ask the questions of a step after a moment without changes."""
        self._step = step
        self._timer.start(PATIENCE_MS)

    def stop(self) -> None:
        """Ignore pending answers."""
        self._timer.stop()
        for running in self._running.values():
            running.cancel()
        self._running.clear()
        for op in (self._reading, self._looking):
            if op is not None:
                op.cancel()
        self._reading = self._looking = None

    def _ask(self) -> None:
        environment = self._draft.environment
        if environment is None:
            return
        wanted = self._draft.questions_for(self._step)
        if not wanted and not self._running:  # prefetch the next page's answers
            wanted = self._wanted_later()
        for question in wanted:
            if question not in self._running:
                op = BackgroundOp(
                    partial(answer, question, environment),
                    self._on_answer,
                    partial(self._on_unanswered, question),
                )
                self._running[question] = op.start()

    def _wanted_later(self) -> tuple[MachineQuestion, ...]:
        """Return the questions of the next pages except the last: the user may jump over them."""
        later = [step for step in self._draft.steps if step.value > self._step.value]
        for step in later[:-1] or later:
            wanted = self._draft.questions_for(step)
            if wanted:
                return wanted
        return ()

    def _on_answer(self, known: MachineAnswer) -> None:
        self._running.pop(known.question, None)
        self._draft.take(known)
        self.answered.emit()
        self._ask()

    def _on_unanswered(self, question: MachineQuestion, error: FootingError) -> None:
        """Report it; the question is asked again after the next change."""
        self._running.pop(question, None)
        self.failed.emit(f"{error.message} {error.hint}".strip())

    def _on_read(self, environment: DraftEnvironment) -> None:
        self._reading = None
        self._draft.environment = environment
        self._draft.forget_refusals()
        self.answered.emit()
        self._ask()

    def _on_looked(self, state: Problem | None) -> None:
        self._looking = None
        environment = self._draft.environment
        if environment is not None and state != environment.disks:
            self._draft.environment = replace(environment, disks=state)
            self._draft.forget_refusals()
            self.answered.emit()

    def _on_failed(self, error: FootingError) -> None:
        self._reading = self._looking = None
        self.failed.emit(f"{error.message} {error.hint}".strip())
