"""The storage of one plan, from its first step to its last reverse step, with its maintenance in between."""

from __future__ import annotations

import logging
import pwd
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from app.dbus.service import MethodError
from app.domain.disk import UnreleasedItem
from app.domain.errors import FootingError, StorageError
from app.domain.maintenance import MAINTENANCE, DoneBy, Maintenance, maintenance
from app.domain.messages.message import joined, say
from app.domain.step_progress import Operation, StepProgress
from app.domain.storage_plan.plan import Role
from app.helper.base import audit
from app.helper.base.audit import PRIVATE, RUN, make_private_folder
from app.helper.storage.control_groups import ControlGroup
from app.helper.storage.journal import BEGAN, Journal, JournalEntry, Writer
from app.helper.storage.ownership import Process, end_users, give_folder, who_holds
from app.helper.storage.pending_plans import PlannedLayout
from app.helper.storage.signals import SessionListener
from app.storage.execution import Execution, Hooks, StepResult
from app.storage.layout.commands import MOUNT_NAMES
from app.storage.layout.commands_maintenance import (
    MaintenanceCommand,
    following,
    fraction_of,
    maintenance_command,
    snapshot_name,
)
from app.storage.layout.conditions import MountIs
from app.storage.layout.partitions import Names
from app.storage.layout.steps import QUICK_S, Command, Step, undo_of
from app.storage.system import state
from app.storage.system.programs import WITHOUT_END_S, CompletedProgram, InterruptedProgramError, run_program

# Maintenance of a session's storage: one root program at a time, in a thread, parallel to all else.
#
# Its name is in the journal before it begins and until the kernel's work for it has ended, so that unmaking
# after a crash ends it first (`app.storage.layout.commands_maintenance`).


OnEnd = Callable[[Any], None]
"""Called at the end with a `MaintenanceResult`, or a `MethodError`."""
MaintenanceResult = tuple[str, str, float]
"""Outcome (`DONE`, `ENDED`, `FAILED`), message of a failure, seconds."""

DONE: Final = "done"
ENDED: Final = "ended"
FAILED: Final = "failed"

STATUS_S: Final = 5.0
"""Interval of progress queries."""
LETTING_GO_S: Final = 60.0
"""How long a program may take to end after the kernel was asked to end its work."""
WAIT_S: Final = LETTING_GO_S + 2 * QUICK_S
"""How long unmaking waits for the whole maintenance."""

_log = logging.getLogger(__name__)


def root_maintenance(name: str) -> Maintenance:
    """Return root's maintenance with a name.

    Raises:
        MethodError: Unknown: there is none.
    """
    try:
        kind = maintenance(name)
    except KeyError:
        raise MethodError("Unknown") from None
    if kind.done_by is not DoneBy.ROOT:
        raise MethodError("Unknown")
    return kind


def commands_for(
    kind: Maintenance, layout: PlannedLayout, steps: Sequence[Step]
) -> tuple[MaintenanceCommand, ...]:
    """Return its commands for each filesystem of a layout that supports it; empty if none does."""
    mounts = {
        each.folder: each
        for step in steps
        if isinstance(step, Command)
        for each in step.after
        if isinstance(each, MountIs)
    }
    found = []
    for role, group in layout.plan.by_role.items():
        uuid = Names(layout.id).filesystem(role)
        snapshot = snapshot_name(secrets.token_hex(8))
        mounted = mounts[f"{layout.folder}/{MOUNT_NAMES[role]}"]
        found.append(maintenance_command(kind, group.filesystem, mounted, uuid, snapshot))
    return tuple(each for each in found if each is not None)


def commands_left(
    facts: Mapping[str, str], layout: PlannedLayout, steps: Sequence[Step]
) -> tuple[MaintenanceCommand, ...]:
    """Return the commands of an earlier maintenance that it could not end, from the journal."""
    of_root = [each for each in MAINTENANCE if each.done_by is DoneBy.ROOT]
    found = [each for kind in of_root for each in commands_for(kind, layout, steps)]
    return tuple(each for each in found if facts.get(each.fact) == each.name)


class MaintenanceThread:
    """A running maintenance.

    Attributes:
        name: of it.
    """

    def __init__(
        self,
        commands: Sequence[MaintenanceCommand],
        execution: Execution,
        listener: SessionListener,
        done: OnEnd,
        is_cancelled: Callable[[], bool],
        left: Sequence[MaintenanceCommand] = (),
    ) -> None:
        """Prepare without starting; `execution` is the storage's, at rest; `left` is ended before."""
        self.name = commands[0].name
        self._commands = commands
        self._execution = execution
        self._listener = listener
        self._done = done
        self._is_cancelled = is_cancelled
        self._left = left
        self._called_off = threading.Event()
        self._knowing = threading.Lock()
        self._is_given_up = False
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        """Start it."""
        self._thread.start()

    @property
    def is_under_way(self) -> bool:
        """Return whether it is still running."""
        return self._thread.is_alive() and not self._is_over.is_set()

    def call_off(self) -> None:
        """Make it end; returns at once."""
        self._called_off.set()

    def end(self) -> bool:
        """Make it end, wait for it, and return whether it has."""
        self.call_off()
        self._thread.join(WAIT_S)
        with self._knowing:
            self._is_given_up = self.is_under_way
            return not self._is_given_up

    def _run(self) -> None:
        started_s = time.monotonic()
        answer: MaintenanceResult | MethodError
        try:
            how, said = self._all()
        except MethodError as refusal:
            answer = refusal
        except FootingError as err:
            answer = FAILED, err.message, time.monotonic() - started_s
        except Exception:  # noqa: BLE001 - the border of this thread
            _log.exception("maintenance failed")
            answer = MethodError("Failed")
        else:
            answer = how, said, time.monotonic() - started_s
        self._is_over.set()  # before the answer: its receiver may request the next one at once
        self._done(answer)

    def _all(self) -> tuple[str, str]:
        for command in self._left:
            # SECURITY: the name of the new one would overwrite its name in the journal.
            if not end_work(command) or not self._know(command, ""):
                raise MethodError("Busy", "maintained")
        for command in self._commands:
            if self._is_off():
                return ENDED, ""
            # SECURITY: it would run on another filesystem that others mounted there.
            if not self._execution.holds(command.mounted):
                raise MethodError("Unavailable", "not-mounted")
            how, said = self._one(command)
            if how != DONE:
                return how, said
        return DONE, ""

    def _one(self, command: MaintenanceCommand) -> tuple[str, str]:
        """Run it on one filesystem; return the outcome, and the message of a failure."""
        if not self._know(command, command.name):
            return ENDED, ""
        watch = _Watch(command, self._is_off, self._listener)
        ended, is_done = self._run_all(command, watch)
        if is_done or end_work(command):
            self._know(command, "")
        for path in command.leaves:
            Path(path).unlink(missing_ok=True)
        if is_done:
            return DONE, ""
        if watch.is_late:
            return FAILED, say("program-time-up", seconds=command.limit_s, said=ended.complaint())
        return (ENDED, "") if watch.is_ending else (FAILED, ended.complaint())

    def _know(self, command: MaintenanceCommand, name: str) -> bool:
        """Record the running maintenance in the journal; return whether this thread may still do that.

        SECURITY: once it was given up, others unmake the storage and update the journal; this thread's facts
        are old, and would bring back an entry that was removed.
        """
        with self._knowing:
            if not self._is_given_up:
                self._execution.know({command.fact: name})
            return not self._is_given_up

    def _run_all(self, command: MaintenanceCommand, watch: _Watch) -> tuple[CompletedProgram, bool]:
        """Run all programs of it; return the result of the last one, and whether all succeeded.

        With many matches, the list is longer than the kept part of an output: it is listed again until it
        shows nothing new.
        """
        tried: set[tuple[str, ...]] = set()
        while True:
            ended, is_done = self._run_one(command.argv, watch)
            new = [argv for argv in following(command, ended.stdout) if argv not in tried]
            if not is_done or not new:
                break
            tried.update(new)
            for argv in new:
                ended, is_done = self._run_one(argv, watch)
                if not is_done:
                    return ended, is_done
        if is_done and command.then:
            return self._run_one(command.then, watch)
        return ended, is_done

    def _run_one(self, argv: tuple[str, ...], watch: _Watch) -> tuple[CompletedProgram, bool]:
        """Run one program of it; return its result, and whether it succeeded."""
        is_killed = False
        try:
            ended = run_program(argv, timeout_s=WITHOUT_END_S, is_cancelled=watch)
        except InterruptedProgramError as err:
            ended, is_killed = err.ended, True
        said = f"{ended.stdout}{ended.stderr}"
        text = shlex.join(argv)
        self._listener.executed(StepResult(text, ended.exit_code, ended.seconds, ended.seconds, said))
        return ended, ended.exit_code == 0 and not is_killed

    def _is_off(self) -> bool:
        return self._called_off.is_set() or self._is_cancelled()


def end_work(command: MaintenanceCommand) -> bool:
    """End the kernel's work for it; return whether there is none any more."""
    if not command.end:
        return True
    ended = run_program(command.end, timeout_s=QUICK_S)
    return ended.exit_code == 0 or any(text in ended.stderr for text in command.nothing)


class _Watch:
    """Polled while a program runs: reports progress, and decides whether to end the program by force."""

    def __init__(
        self, command: MaintenanceCommand, is_off: Callable[[], bool], listener: SessionListener
    ) -> None:
        self._command = command
        self._is_off = is_off
        self._listener = listener
        self._began_s = self._looked_s = time.monotonic()
        self._ended_s = 0.0
        self.is_late = False
        """Whether it reached its time limit."""

    @property
    def is_ending(self) -> bool:
        """Return whether it was called off, or reached its time limit."""
        return self._ended_s > 0

    def __call__(self) -> bool:
        now_s = time.monotonic()
        if self.is_ending:
            return now_s > self._ended_s + LETTING_GO_S
        self.is_late = now_s > self._began_s + self._command.limit_s
        if self.is_late or self._is_off():
            self._ended_s = now_s
            end_work(self._command)
            return not self._command.end
        if self._command.status and now_s >= self._looked_s + STATUS_S:
            self._looked_s = now_s
            ended = run_program(self._command.status, timeout_s=QUICK_S)
            fraction = fraction_of(ended.stdout)
            text = shlex.join(self._command.argv)
            self._listener.progressed(StepProgress(Operation.MAINTAIN, 1, 1, text, fraction, None))
        return False


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
