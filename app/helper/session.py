"""One session: makes storage, hands it to its user, waits, and unmakes it, in a thread of its own.

The main loop goes on answering meanwhile. Everything is in the journal before it happens.
"""

from __future__ import annotations

import logging
import pwd
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from app.domain.errors import FootingError
from app.helper import audit
from app.helper.devices import find_again
from app.helper.handover import end_users, hand_over
from app.helper.journal import Entry, Journal, Writer
from app.helper.layout import layout_steps
from app.helper.places import PRIVATE, RUN, make_private_folder
from app.helper.plans import Described
from app.storage.commands import MOUNT_NAMES
from app.storage.execution import Done, Execution, Hooks, Progress, Report
from app.storage.names import Names
from app.storage.spare import SpareDisks
from app.storage.steps import Step, undo_of

_log = logging.getLogger(__name__)


class Listener(Protocol):
    """Told what happens, from the session's thread."""

    def progressed(self, progress: Progress) -> None:
        """A step began or goes on."""

    def executed(self, done: Done) -> None:
        """A step has ended."""

    def ready(self, folder: str, *, has_wal: bool) -> None:
        """The storage belongs to the user now."""

    def ended(self, error: FootingError | None, left: tuple[str, ...]) -> None:
        """It is over; `left` names what is still there."""


class Session:
    """Storage that is being made, is there, or is being unmade.

    Attributes:
        described: what was authorised.
        user: uid to whom it is handed.
    """

    def __init__(
        self, described: Described, user: int, disks: SpareDisks, journal: Journal, listener: Listener
    ) -> None:
        self.described = described
        self.user = user
        self._disks = disks
        entry = Entry(described.session, user, described.plan, described.devices)
        self._writer = Writer(journal, entry)
        self._listener = listener
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)

    def start(self) -> None:
        """Begin to make it."""
        self._thread.start()

    def release(self) -> None:
        """Stop making it, or unmake it; returns at once."""
        self._released.set()

    def join(self) -> None:
        """Wait until it is over."""
        self._thread.join()

    def _run(self) -> None:
        error: FootingError | None = None
        left: tuple[str, ...] = ()
        try:
            self._live()
        except FootingError as err:
            error = err
        except Exception:  # noqa: BLE001 - the border of this thread: the journal has what is left
            _log.exception("the session failed")
            error = FootingError("The helper made a mistake; its journal says more.")
        if error is not None and Path(self.described.folder).exists():
            left = leftovers(self.described.folder, error)
        self._listener.ended(error, left)

    def _live(self) -> None:
        """Make it, wait, unmake it.

        Raises:
            FootingError: it could not be made (and was undone), or not be unmade.
        """
        make_private_folder(RUN, 0o711)
        execution = Execution(self.described.disks(), self._hooks())
        try:
            self._tell(execution.make(self.described.steps))
        except Exception:  # it has undone itself; the journal forgets only what was seen to be gone
            self._unmake(execution)
            raise
        try:
            self._hand_over()
            self._listener.ready(self.described.folder, has_wal=self.described.plan.wal is not None)
            self._released.wait()
        finally:
            self._unmake(execution)

    def _hooks(self) -> Hooks:
        numbers = {id(step): number for number, step in enumerate(self.described.steps, 1)}

        def begin(step: Step, _undo: tuple[Step, ...]) -> None:
            if id(step) in numbers:  # else it undoes one of them, which is in the journal already
                self._writer.begin(numbers[id(step)])

        return Hooks(
            identify=self._disks.identify,
            refusals=self._disks.refusals,
            journal=begin,
            release=self._disks.release,
            fact=self._writer.fact,
            progress=self._listener.progressed,
            is_cancelled=self._released.is_set,
        )

    def _hand_over(self) -> None:
        entry = pwd.getpwuid(self.user)
        names = [PRIVATE, *(MOUNT_NAMES[role] for role in MOUNT_NAMES if self._has(MOUNT_NAMES[role]))]
        for name in names:
            hand_over(f"{self.described.folder}/{name}", entry.pw_uid, entry.pw_gid)

    def _has(self, name: str) -> bool:
        return Path(self.described.folder, name).exists()

    def _unmake(self, execution: Execution) -> None:
        begun = self.described.steps[: self._writer.entry.begun]
        unmake(execution, begun, self.described.folder, self.user, self._listener.executed)
        self._writer.journal.remove(self.described.session)

    def _tell(self, report: Report) -> None:
        for done in report.steps:
            self._listener.executed(done)


def unmake(
    execution: Execution, steps: tuple[Step, ...], folder: str, user: int, executed: Callable[[Done], None]
) -> None:
    """End what the user still runs on the storage, and unmake it.

    Raises:
        FootingError: something could not be unmade; the journal keeps it.
    """
    places = [f"{folder}/{name}" for name in (PRIVATE, *MOUNT_NAMES.values())]
    for pid in end_users([place for place in places if Path(place).exists()], user):
        audit.note("process %d works on the storage and was not ended", pid)
    for done in execution.unmake(undo_of(steps)).steps:
        executed(done)


def leftovers(folder: str, error: FootingError) -> tuple[str, ...]:
    """Return what is still there, in words."""
    with suppress(OSError):
        return tuple(sorted(str(path) for path in Path(folder).iterdir())) or (folder,)
    return (error.message,)


def recover(journal: Journal, disks: SpareDisks) -> list[str]:
    """Unmake what sessions left that did not end properly: at the start of the helper, and at boot.

    Acts only where the identifiers that the journal holds are found again on the disks: every step asks.

    Returns:
        What could not be unmade, in words; empty where nothing is left.
    """
    entries, bad = journal.entries()
    left = [f"{path}: not understood" for path in bad]
    for entry in entries:
        audit.note("recovering session %s of user %d", entry.session, entry.user)
        try:
            _recover(entry, journal, disks)
        except Exception as err:  # noqa: BLE001 - one entry must not keep the others, or the service, from working
            _log.error("session %s is not unmade: %r", entry.session, str(err))
            left.append(f"session {entry.session}: {err}")
    return left


def _recover(entry: Entry, journal: Journal, disks: SpareDisks) -> None:
    """Unmake one session.

    Raises:
        FootingError, OSError: some of it is still there; the journal keeps it.
    """
    devices, chosen = find_again(entry, disks)
    folder = str(RUN / entry.session.hex[:16])
    steps = layout_steps(entry.plan, devices, Names(entry.session), folder)[: entry.begun]
    hooks = Hooks(disks.identify, disks.refusals, release=disks.release, fact=Writer(journal, entry).fact)
    execution = Execution(chosen, hooks, dict(entry.facts))
    unmake(execution, steps, folder, entry.user, lambda done: audit.note("%s", done.text))
    journal.remove(entry.session)
