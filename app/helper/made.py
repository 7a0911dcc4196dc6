"""What is made of one plan, from its first step to its last reverse step; what a dead helper left of it."""

from __future__ import annotations

import logging
import pwd
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.domain.disk import Kept
from app.domain.errors import FootingError, StorageError
from app.domain.text import tr
from app.helper import audit
from app.helper.control_groups import ControlGroup
from app.helper.devices import find_again
from app.helper.handover import Process, end_users, hand_over
from app.helper.journal import Entry, Journal, Writer
from app.helper.places import PRIVATE, RUN, make_private_folder
from app.helper.plans import Layout
from app.helper.teller import Listener, note_step
from app.storage.commands import MOUNT_NAMES
from app.storage.execution import Execution, Hooks
from app.storage.spare import SpareDisks
from app.storage.steps import Step, undo_of

_log = logging.getLogger(__name__)


class Made:
    """Storage of one layout: being made, ready, or being unmade.

    Attributes:
        layout: what was authorised.
        user: to whom it is handed.
        group: control group of what runs on it.
    """

    def __init__(self, layout: Layout, user: int, journal: Journal, listener: Listener, hooks: Hooks) -> None:
        """Nothing is made yet; `hooks` gets the journal of this layout."""
        self.layout = layout
        self.user = user
        self.group = ControlGroup(layout.id.hex[:16], user)
        self._is_gone = False
        self._writer = Writer(journal, Entry(layout.id, user, layout.plan, layout.devices))
        self._steps = layout.steps()
        hooks = replace(hooks, journal=self._begin, fact=self._writer.fact, done=listener.executed)
        self._execution = Execution(layout.disks(), hooks)

    @property
    def folders(self) -> tuple[str, ...]:
        """Where filesystems of the disks are mounted."""
        return tuple(str(path) for path in self._mount_points() if path.name != PRIVATE)

    def places(self) -> tuple[str, str, str]:
        """Return the folders of storage, WAL (empty where it has none of its own) and private things."""
        storage, wal = (f"{self.layout.folder}/{name}" for name in MOUNT_NAMES.values())
        return storage, wal if self.layout.plan.wal else "", f"{self.layout.folder}/{PRIVATE}"

    def make(self) -> None:
        """Make it and hand it to its user; what fails is undone.

        Raises:
            FootingError: it could not be made, or not be unmade.
            OSError: the journal could not be written, or it could not be handed over.
        """
        make_private_folder(RUN, 0o711)
        try:
            self._execution.make(self._steps)
            entry = pwd.getpwuid(self.user)
            for path in self._mount_points():
                hand_over(str(path), entry.pw_uid, entry.pw_gid)
        except Exception:  # it has undone itself; the journal forgets only what was seen to be gone
            self.unmake()
            raise

    def unmake(self, spared: Process | None = None) -> None:
        """End what runs on it, apart from one process, and unmake it; may be repeated.

        Raises:
            FootingError: something is still there; the journal keeps it.
        """
        begun = self._steps[: self._writer.entry.begun]
        _unmake(self._execution, begun, self.layout.folder, self.group, spared)
        self._writer.journal.remove(self.layout.id)
        self._is_gone = True

    def _begin(self, step: Step, _undo: tuple[Step, ...]) -> None:
        for number, each in enumerate(self._steps, 1):
            if each is step:  # else it undoes one of them, which is in the journal already
                self._writer.begin(number)

    def _mount_points(self) -> list[Path]:
        return [path for path in _mount_points(self.layout.folder) if path.exists()]

    def left(self) -> tuple[Kept, ...]:
        """Return what is still there, by the journal: mount points, else the disks; empty for nothing."""
        if not self._writer.entry.begun or self._is_gone:
            return ()
        with suppress(OSError):
            return tuple(Kept(str(path)) for path in sorted(Path(self.layout.folder).iterdir()))
        return tuple(Kept(node, disk.serial) for node, disk in self.layout.disks().items())


def _mount_points(folder: str) -> list[Path]:
    return [Path(folder, name) for name in (PRIVATE, *MOUNT_NAMES.values())]


def _unmake(
    execution: Execution,
    steps: tuple[Step, ...],
    folder: str,
    group: ControlGroup,
    spared: Process | None = None,
) -> None:
    """End what runs on the storage, and unmake it.

    Raises:
        FootingError: something could not be unmade; the hint names the processes that work on it.
    """
    users = end_users([str(place) for place in _mount_points(folder)], group.user, spared)
    ended = group.end()
    who = ", ".join(f"{pid} ({_name_of(pid)})" for pid in users)
    if who:
        audit.note("processes work on the storage and were not ended: %s", who)
    try:
        execution.unmake(undo_of(steps))
    except FootingError as err:
        if who:
            err.hint = f"{err.hint} {tr('These processes work on it: {who}.').format(who=who)}".strip()
        raise
    if not ended:
        raise StorageError(f"{group.name}: processes of the control group could not be ended.")


def _name_of(pid: int) -> str:
    with suppress(OSError):
        name = Path("/proc", str(pid), "comm").read_text(encoding="utf-8", errors="replace")
        return "".join(filter(str.isprintable, name))
    return "?"


def recover(journal: Journal, disks: SpareDisks) -> list[str]:
    """Unmake what sessions left that did not end properly: at the start of the helper, and at boot.

    Acts only where the identifiers that the journal holds are found again on the disks: every step asks.

    Returns:
        What could not be unmade, in words; empty where nothing is left.
    """
    entries, bad = journal.entries()
    left = [f"{path}: not understood" for path in bad]
    for entry in entries:
        audit.note("recovering %s of user %d", entry.session, entry.user)
        try:
            _recover(entry, journal, disks)
        except Exception as err:  # noqa: BLE001 - one entry must not keep the others, or the service, from working
            _log.error("%s is not unmade: %r", entry.session, str(err))
            left.append(f"session {entry.session}: {err}")
    return left


def _recover(entry: Entry, journal: Journal, disks: SpareDisks) -> None:
    """Unmake what is left of one layout.

    Raises:
        FootingError, OSError: some of it is still there; the journal keeps it.
    """
    devices, chosen = find_again(entry, disks)
    layout = Layout(entry.session, entry.plan, devices)
    steps = layout.steps()[: entry.begun]
    fact = Writer(journal, entry).fact
    release = partial(disks.release, written_ends=layout.written_ends())
    hooks = Hooks(disks.identify, disks.refusals, release=release, fact=fact, done=note_step)
    execution = Execution(chosen, hooks, dict(entry.facts), patience_s=5)
    group = ControlGroup(entry.session.hex[:16], entry.user)
    _unmake(execution, steps, layout.folder, group)
    journal.remove(entry.session)
