"""Answer the draft's questions in the background, shortly after the last change."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.domain.errors import FootingError
from app.domain.problem import Problem
from app.draft.draft import CampaignDraft
from app.draft.fields.environment import DraftEnvironment, look_for_helper, read_environment
from app.draft.fields.state import Step
from app.draft.machine_answers import MachineAnswer, MachineQuestion, answer
from ui.background import BackgroundOp

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
