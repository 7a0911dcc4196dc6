"""Maintenance of a session's storage: one root program at a time, in a thread, parallel to all else.

Its name is in the journal before it begins and until the kernel's work for it has ended, so that unmaking
after a crash ends it first (`app.storage.layout.commands_maintenance`).
"""

from __future__ import annotations

import logging
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from app.dbus.service import MethodError
from app.domain.errors import FootingError
from app.domain.maintenance import MAINTENANCE, DoneBy, Maintenance, maintenance
from app.domain.messages.message import say
from app.domain.step_progress import Operation, StepProgress
from app.helper.storage.pending_plans import PlannedLayout
from app.helper.storage.signals import SessionListener
from app.storage.execution import Execution, StepResult
from app.storage.layout.commands import MOUNT_NAMES
from app.storage.layout.commands_maintenance import (
    MaintenanceCommand,
    following,
    fraction_of,
    maintenance_command,
    snapshot_name,
)
from app.storage.layout.conditions import MountIs
from app.storage.layout.names import Names
from app.storage.layout.steps import QUICK_S, Command, Step
from app.storage.system.programs import CompletedProgram, InterruptedProgramError, run_program
from app.storage.system.time_limits import WITHOUT_END_S

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
