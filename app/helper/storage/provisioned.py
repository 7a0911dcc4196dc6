"""The storage of one plan, from its first step to its last reverse step."""

from __future__ import annotations

import pwd
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from app.dbus.service import MethodError
from app.domain.disk import UnreleasedItem
from app.domain.errors import FootingError, StorageError
from app.domain.maintenance import Maintenance
from app.domain.messages.message import joined, say
from app.domain.storage_plan.plan import Role
from app.helper.base import audit
from app.helper.base.audit import PRIVATE, RUN, make_private_folder
from app.helper.storage.control_groups import ControlGroup
from app.helper.storage.journal import BEGAN, Journal, JournalEntry, Writer
from app.helper.storage.maintenance import MaintenanceThread, OnEnd, commands_for, commands_left
from app.helper.storage.ownership import Process, end_users, give_folder, who_holds
from app.helper.storage.pending_plans import PlannedLayout
from app.helper.storage.signals import SessionListener
from app.storage.execution import Execution, Hooks
from app.storage.layout.commands import MOUNT_NAMES
from app.storage.layout.steps import Step, undo_of
from app.storage.system import state


class ProvisionedStorage:
    """Storage of one layout: being made, ready, or being unmade.

    Attributes:
        layout: the authorised plan.
        user: that gets it.
        group: control group of the processes on it.
    """

    def __init__(
        self, layout: PlannedLayout, user: int, journal: Journal, listener: SessionListener, hooks: Hooks
    ) -> None:
        """Prepare without making anything; `hooks` gets the journal of this layout."""
        self.layout = layout
        self.user = user
        self.group = ControlGroup(layout.id.hex[:16], user)
        self._is_gone = False
        facts = {BEGAN: f"{time.time():.0f}"}
        entry = JournalEntry(layout.id, user, layout.plan, layout.devices, 0, facts, state.boot_id())
        self._writer = Writer(journal, entry)
        self._steps = layout.steps()
        hooks = replace(hooks, journal=self._begin, facts=self._writer.facts, done=listener.executed)
        self._execution = Execution(layout.disks(), hooks)
        self._listener = listener
        self._maintenance: MaintenanceThread | None = None

    @property
    def folders(self) -> tuple[str, ...]:
        """Mount points of the disks' filesystems."""
        return tuple(str(path) for path in self._mount_points() if path.name != PRIVATE)

    def places(self) -> tuple[str, dict[str, str], str]:
        """Return the folders of storage, of roles with their own disks, and of private files."""
        folders = {role: f"{self.layout.folder}/{MOUNT_NAMES[role]}" for role in self.layout.plan.by_role}
        storage = folders.pop(Role.DATA)
        further = {role.value: folder for role, folder in folders.items()}
        return storage, further, f"{self.layout.folder}/{PRIVATE}"

    def make(self) -> None:
        """Make it and hand it to its user; a failure is undone.

        Raises:
            FootingError: it could not be made, or not be unmade.
            OSError: the journal could not be written, or it could not be handed over.
        """
        make_private_folder(RUN, 0o711)
        try:
            self._execution.make(self._steps)
            entry = pwd.getpwuid(self.user)
            for path in self._mount_points():
                give_folder(str(path), entry.pw_uid, entry.pw_gid)
        except Exception:  # it has undone itself; the journal forgets only what is confirmed gone
            self.unmake()
            raise

    def unmake(self, spared: Process | None = None) -> None:
        """End the processes on it, except one, and unmake it; may be repeated.

        Raises:
            FootingError: something still exists; the journal keeps it.
        """
        self._end_maintenance()
        undo = undo_of(self._steps[: self._writer.entry.begun])
        try:
            unmake(self._execution, undo, self.layout.folder, self.group, spared)
        except FootingError:
            disks, kept = self.layout.disks(), self._execution.kept
            self._writer.keep({disks[node].key(): err.message for node, err in kept.items()})
            raise
        self._writer.journal.remove(self.layout.id)
        self._is_gone = True

    def maintain(self, kind: Maintenance, done: OnEnd, is_cancelled: Callable[[], bool]) -> None:
        """Begin a maintenance in a separate thread.

        Args:
            kind: of the registry.
            done: called in that thread at the end.
            is_cancelled: polled often; ends it.

        Raises:
            MethodError: Busy: another one is running; Unavailable: none of its filesystems supports it.
        """
        if self._maintenance is not None and self._maintenance.is_under_way:
            raise MethodError("Busy", "maintained")
        commands = commands_for(kind, self.layout, self._steps)
        if not commands:
            raise MethodError("Unavailable", "no-maintenance")
        left = commands_left(self._execution.facts, self.layout, self._steps)
        thread = MaintenanceThread(commands, self._execution, self._listener, done, is_cancelled, left)
        self._maintenance = thread
        thread.start()

    def call_off_maintenance(self) -> None:
        """Make the running maintenance end; returns at once."""
        if self._maintenance is not None:
            self._maintenance.call_off()

    def _end_maintenance(self) -> None:
        """End the running maintenance.

        Raises:
            StorageError: it does not end; nothing is unmade below it.
        """
        if self._maintenance is not None and not self._maintenance.end():
            raise StorageError(say("maintenance-not-ended", name=self._maintenance.name))

    def _begin(self, step: Step, _undo: tuple[Step, ...]) -> None:
        for number, each in enumerate(self._steps, 1):
            if each is step:  # an undo step is in the journal already
                self._writer.begin(number)

    def _mount_points(self) -> list[Path]:
        return [path for path in _mount_points(self.layout.folder) if path.exists()]

    def left(self) -> tuple[UnreleasedItem, ...]:
        """Return the remaining items, from the journal: mount points, and disks with the reason."""
        entry = self._writer.entry
        if not entry.begun or self._is_gone:
            return ()
        found: list[UnreleasedItem] = []
        with suppress(OSError):
            found += [UnreleasedItem(str(path)) for path in sorted(Path(self.layout.folder).iterdir())]
        for node, disk in self.layout.disks().items():
            if entry.holds(disk):
                err = self._execution.kept.get(node)
                found.append(
                    UnreleasedItem(node, disk.serial, err.message if err else "", err.hint if err else "")
                )
        return tuple(found)


def _mount_points(folder: str) -> list[Path]:
    return [Path(folder, name) for name in (PRIVATE, *MOUNT_NAMES.values())]


def unmake(
    execution: Execution,
    undo: tuple[Step, ...],
    folder: str,
    group: ControlGroup,
    spared: Process | None = None,
) -> None:
    """End the processes on the storage, and unmake it.

    Args:
        execution: of it.
        undo: its steps, in order.
        folder: of the session.
        group: of its processes.
        spared: a process that is not ended.

    Raises:
        FootingError: something could not be unmade; the hint names the processes that work on it.
    """
    folders = [str(place) for place in _mount_points(folder)]
    end_users(folders, group.user, spared)
    ended = group.end()
    try:
        execution.unmake(undo)
    except FootingError as err:
        if who := who_holds(folders, group.user, f"{err.message} {err.hint}"):
            audit.note("%s", who)
            err.hint = joined(" ", (err.hint, who))
        raise
    if not ended:
        raise StorageError(say("group-not-ended", group=group.name))
