"""Report the events of a session to its owner and the system's log; called from the session's thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from app.dbus.service import MethodError
from app.domain.disk import UnreleasedItem, unreleased_to_wire
from app.domain.errors import FootingError
from app.domain.messages.message import message_to_wire
from app.domain.step_progress import StepProgress, progress_to_wire
from app.helper.base import audit
from app.storage.execution import StepResult

_MOST_OUTPUT: Final = 16_000
_NO_EXIT_CODE: Final = -1000


class SessionListener(Protocol):
    """Listener for the events of a session, in the session's thread."""

    def claimed(self) -> None:
        """All disks are locked."""

    def refused(self, refusal: MethodError) -> None:
        """The disks are not available; the session is over."""

    def progressed(self, progress: StepProgress) -> None:
        """A step began or advanced."""

    def executed(self, done: StepResult) -> None:
        """A step has ended, including one with a failed program."""

    def ready(self, storage: str, further: Mapping[str, str], private: str) -> None:
        """The storage belongs to the user now; `further` are folders on separate disks, by role."""

    def unmade(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        """Everything is unmade, except `left`."""

    def ended(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        """The session is over; `left` names the remaining items."""


def note_step(done: StepResult) -> None:
    """Log the end of a step."""
    how = "done" if done.exit_code is None else done.exit_code
    audit.note("%s: %s in %.3f s", done.text, done.skipped or how, done.seconds)


class SignalSender:
    """Send signals through the main loop.

    Attributes:
        emit: called in any thread with the name of a signal and its values without the session.
    """

    def __init__(
        self,
        emit: Callable[..., None],
        claimed: Callable[[], None],
        refused: Callable[[MethodError], None],
        ended: Callable[[], None],
    ) -> None:
        self.emit = emit
        self.claimed = claimed
        self.refused = refused
        self._ended = ended

    def progressed(self, progress: StepProgress) -> None:
        """Report the progress."""
        self.emit("Progress", *progress_to_wire(progress))

    def executed(self, done: StepResult) -> None:
        """Report and log the end of a step; a skipped one is only logged."""
        note_step(done)
        if not done.skipped:
            code = _NO_EXIT_CODE if done.exit_code is None else done.exit_code
            self.emit("Executed", done.text, code, done.seconds, done.output[:_MOST_OUTPUT])

    def ready(self, storage: str, further: Mapping[str, str], private: str) -> None:
        """Report the folders of the storage."""
        audit.note("ready: %s", storage)
        self.emit("Ready", storage, dict(further), private)

    def unmade(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        """Report that everything is unmade, or the remaining items."""
        self._over("Unmade", error, left)

    def ended(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        """Report the end of the session."""
        self._over("Ended", error, left)
        self._ended()

    def _over(self, signal: str, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        wires = [unreleased_to_wire(each) for each in left]
        if error is None:
            audit.note("%s as asked", signal.lower())
            self.emit(signal, "", *map(message_to_wire, ("", "")), wires)
        else:
            audit.note("%s with an error: %s; left: %s", signal.lower(), error.message, list(left))
            self.emit(signal, error.code, *map(message_to_wire, (error.message, error.hint)), wires)
