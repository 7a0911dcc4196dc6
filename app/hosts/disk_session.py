"""The disks of a campaign: one authentication, several plans, one of them made at a time.

Waiting handles the helper's signals one after the other; between them the caller's `watch` is called, so that
the run file is still written and a stop is noticed.

`recover` starts the helper again, to release disks that a lost one has left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from app.dbus.helper_client import HelperClient, HelperSession, HelperSignal
from app.dbus.helper_errors import HelperBusyError, HelperLostError, expired, lost
from app.domain.disk import DiskIdentity, UnreleasedItem, unreleased_from_wire
from app.domain.disk_answers import RootAnswer, grouped_reasons, unreleased_words
from app.domain.errors import FootingError, StorageError, restore_error
from app.domain.messages.message import message_from_wire
from app.domain.step_progress import StepProgress, progress_from_wire
from app.domain.storage_plan.plan import Role, StoragePlan
from app.domain.text import tr
from app.hosts.server_under_test import Watch, watch_nothing
from app.storage.inspect.snapshot import Policy
from app.storage.spare.disks import list_disks

_SETTLE_S: Final = 5.0
"""How long udev may take to reread disks whose partitions were just removed."""
_RECOVERY_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class UnmakeOutcome:
    """Outcome of unmaking.

    Attributes:
        error: None for none.
        left: items that could not be released; they stay in the helper's journal.
    """

    error: FootingError | None
    left: tuple[UnreleasedItem, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything not released with its reason, a sentence each; empty if all is free."""
        error = "" if self.error is None else f"{self.error.message} {self.error.hint}".strip()
        is_reported = any(each.reason for each in self.left)
        return (*(() if is_reported or not error else (error,)), *map(unreleased_words, self.left))


def recover(disks: Sequence[DiskIdentity], *, interactive: bool = False) -> UnmakeOutcome:
    """Start the helper, which first unmakes the leftovers of another one; return what it could not release.

    Args:
        disks: to be released.
        interactive: whether the user may be asked for a password. Not at the end of a campaign: if inspecting
            disks needs one, only facts visible to all users are returned.
    """
    try:
        client = HelperClient.open()
    except FootingError:
        message = tr("The helper could not be restarted.")
        hint = tr(
            "An administrator can find the reason: journalctl -u pgfooting-helper, and sudo "
            "packaging/helper status"
        )
        still = tuple(UnreleasedItem(each.name, each.serial) for each in _still_seen(disks))
        return UnmakeOutcome(StorageError(message, hint=hint), still)
    try:
        return UnmakeOutcome(None, _settled(client, disks, interactive=interactive))
    except FootingError:
        return UnmakeOutcome(None, tuple(_still_seen(disks)))
    finally:
        client.close()


def ask_root(disks: Sequence[DiskIdentity]) -> Mapping[str, RootAnswer]:
    """Return root's answers about disks, by device number; empty if it needs a password.

    Root first tries to unmake pgFooting's leftovers on them.
    """
    try:
        client = HelperClient.open()
    except FootingError:
        return {}
    try:
        return client.inspect(disks, interactive=False)
    except FootingError:
        return {}
    finally:
        client.close()


def _settled(
    client: HelperClient, disks: Sequence[DiskIdentity], *, interactive: bool
) -> tuple[UnreleasedItem, ...]:
    """Return the disks that root does not call spare, once udev has noticed the removals.

    Raises:
        FootingError: as `_not_spare`.
    """
    deadline_s = time.monotonic() + _SETTLE_S
    while (
        left := tuple(_not_spare(client, disks, interactive=interactive))
    ) and time.monotonic() < deadline_s:
        time.sleep(_RECOVERY_LOOK_S)
    return left


def _not_spare(
    client: HelperClient, disks: Sequence[DiskIdentity], *, interactive: bool
) -> Iterator[UnreleasedItem]:
    """Yield the disks that root does not call spare.

    Raises:
        FootingError: root does not answer, or only with a password.
    """
    names = _names(disks)
    answers = client.inspect(disks, interactive=interactive)
    for disk in disks:
        answer = answers.get(disk.device_number)
        if answer is None or answer.is_spare:
            continue
        grouped = list(grouped_reasons(answer.refusals))
        reason = " ".join(f"{message} {evidence}".strip() for _, message, evidence, _ in grouped)
        remedy = " ".join(dict.fromkeys(each for *_, remedies in grouped for each in remedies))
        yield UnreleasedItem(names[disk.device_number], disk.serial, reason, remedy)


def _still_seen(disks: Sequence[DiskIdentity]) -> Iterator[UnreleasedItem]:
    """Yield the disks with visible remains of pgFooting, without root."""
    wanted = {disk.device_number for disk in disks}
    for disk in list_disks(Policy(accept_loop_devices=True)).disks:
        if disk.identity.device_number in wanted and disk.is_left_over:
            reason = tr("Storage that pgFooting created is still on: {uses}.").format(
                uses=", ".join(disk.held_by) or disk.path
            )
            yield UnreleasedItem(disk.path, disk.identity.serial, reason)


def _names(disks: Sequence[DiskIdentity]) -> dict[str, str]:
    """Return nodes, by device number; the number itself for an absent disk."""
    here = {
        disk.identity.device_number: disk.path for disk in list_disks(Policy(accept_loop_devices=True)).disks
    }
    return {disk.device_number: here.get(disk.device_number, disk.device_number) for disk in disks}


SILENCE_S: Final = 3600.0
"""Longest time without a signal before the helper is given up: one step may format a slow disk."""
_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class ExecutedStep:
    """A step that root has executed.

    Attributes:
        text: a command, or words.
        exit_code: None if no program ran.
        started_s: `time.monotonic`.
        seconds: duration.
        output: of the program.
    """

    text: str
    exit_code: int | None
    started_s: float
    seconds: float
    output: str


class StepListener(Protocol):
    """Listener for the helper's steps."""

    def executed(self, step: ExecutedStep) -> None:
        """A step has ended."""

    def working(self, where: StepProgress) -> None:
        """A step has begun or advanced."""


@dataclass(frozen=True, slots=True)
class MountedFolders:
    """Mount points of storage.

    Attributes:
        storage: for the data directory.
        further: for roles with their own disks, by role.
        private: in memory: sockets, logs, scripts.
    """

    storage: str
    further: Mapping[Role, str]
    private: str


@dataclass(slots=True)
class DiskSession:
    """Locked disks and the storage made of them.

    Attributes:
        client: the connection.
        session: the helper's.
        texts: the helper's announced steps, by plan.
        test_devices: whether the helper accepts loop devices.
        is_lost: the helper has gone, and the session with it.
        left: items that could not be released when it was last unmade.
        failed: disks, by device number, that changed or failed during a run, and how.
    """

    client: HelperClient
    session: HelperSession
    texts: Mapping[StoragePlan, tuple[str, ...]]
    test_devices: bool
    is_lost: bool = field(default=False, init=False)
    left: tuple[UnreleasedItem, ...] = field(default=(), init=False)
    failed: dict[str, str] = field(default_factory=dict, init=False)
    _made: bool = field(default=False, init=False)
    _ended: UnmakeOutcome | None = field(default=None, init=False)

    @property
    def disks(self) -> tuple[DiskIdentity, ...]:
        """Every disk of the session, each once."""
        found = {disk.device_number: disk for plan in self.texts for _, disk in plan.members()}
        return tuple(found.values())

    @property
    def has_ended(self) -> bool:
        """Whether the disks were released, as far as possible."""
        return self._ended is not None

    def obstacle(self, plan: StoragePlan) -> str:
        """Return why a plan cannot be made any more in this session; empty if nothing is known."""
        if self.is_lost:
            return tr("The helper stopped, which ended the authorisation to use the disks.")
        failed = (self.failed.get(disk.device_number, "") for _, disk in plan.members())
        return next(filter(None, failed), "")

    def make(self, plan: StoragePlan, listener: StepListener, watch: Watch = watch_nothing) -> MountedFolders:
        """Make a plan and return its mount points.

        Raises:
            FootingError: it could not be made; a partial result is unmade.
        """
        before = self.left  # the helper first retries to unmake it, else makes nothing there
        while self.client.next_event(0) is not None:
            pass  # late signals about the plan before
        self._made = True
        try:
            self.session.make(list(self.texts).index(plan))
            ended = self._wait({"Ready", "Unmade", "Ended"}, listener, watch)
        except HelperBusyError as error:  # the session is ours: no other caller's work is in the way
            message = tr("The helper has not finished an earlier request of this campaign.")
            raise StorageError(message) from error
        except BaseException:
            self.unmake(listener)
            raise
        if ended.name == "Ready":
            storage, further, private = ended.values
            return MountedFolders(storage, {Role(name): path for name, path in further.items()}, private)
        remains = self._remains(ended)
        self._made = bool(remains.left)
        if remains.left and before:
            message = tr("The storage of the previous run still cannot be released.")
            raise StorageError(" ".join((message, *remains.sentences)))
        raise remains.error or lost()

    def unmake(self, listener: StepListener) -> UnmakeOutcome:
        """Unmake the storage, if any; never raises for failures of the helper."""
        if not self._made:
            return UnmakeOutcome(None, ())
        self._made = False
        try:
            self.session.unmake()
            ended = self._wait({"Unmade", "Ended"}, listener, watch_nothing)
        except FootingError as error:
            self.is_lost = self.is_lost or isinstance(error, HelperLostError)
            return UnmakeOutcome(error, ())
        return self._remains(ended)

    def release(self) -> UnmakeOutcome:
        """Release the disks; never raises for failures of the helper; returns the same when called again."""
        if self._ended is None:
            try:
                self.session.release()
                self._ended = self._remains(self._wait({"Ended"}, None, watch_nothing))
            except FootingError as error:
                self.is_lost = self.is_lost or isinstance(error, HelperLostError)
                self._ended = UnmakeOutcome(error, self.left)
        return self._ended

    def recover(self) -> UnmakeOutcome:
        """Start the helper again, which unmakes the lost one's leftovers; return those that it could not."""
        self._ended = recover(self.disks)
        self.left = self._ended.left
        return self._ended

    def _remains(self, ended: HelperSignal) -> UnmakeOutcome:
        *values, left = ended.values
        self.left = tuple(map(unreleased_from_wire, left))
        return UnmakeOutcome(_error_of(values), self.left)

    def check(self, listener: StepListener | None = None) -> None:
        """Return while the storage exists.

        Args:
            listener: gets root's steps during the run, of a maintenance.

        Raises:
            HelperLostError: the helper has gone, and the storage will.
            StorageError: the helper has unmade it.
        """
        event = self._next_event(0)
        while event is not None:
            if event.name in {"Unmade", "Ended"}:
                self._made = False
                raise self._remains(event).error or lost()
            if event.name == "Lost":
                self._made, self.is_lost = False, True
                raise lost()
            _report(event, listener)
            event = self._next_event(0)

    def _next_event(self, timeout_s: float) -> HelperSignal | None:
        """Return the next signal; renews a session that is about to expire: a measurement is running."""
        event = self.client.next_event(timeout_s)
        if event is not None and event.name == "Expiring":
            with suppress(FootingError):  # the next signal reports any error
                self.session.renew()
        return event

    def _wait(self, names: set[str], listener: StepListener | None, watch: Watch) -> HelperSignal:
        silent_since_s = time.monotonic()
        while time.monotonic() < silent_since_s + SILENCE_S:
            event = self._next_event(_LOOK_S)
            if event is None:
                watch()
                continue
            silent_since_s = event.received_s
            if event.name == "Lost":
                self.is_lost = True
                raise lost()
            if event.name in names:
                return event
            _report(event, listener)
        raise lost(tr("no answer for an hour"))


def _report(event: HelperSignal, listener: StepListener | None) -> None:
    """Report a step that has ended or advanced; signals of a newer helper are ignored."""
    if listener is not None and event.name == "Executed":
        text, code, seconds, output = event.values
        started_s = event.received_s - seconds
        exit_code = None if code == _NO_EXIT_CODE else code
        listener.executed(ExecutedStep(text, exit_code, started_s, seconds, output))
    elif listener is not None and event.name == "Progress":
        listener.working(progress_from_wire(event.values))


_NO_EXIT_CODE: Final = -1000
_EXPIRED: Final = "expired"


def _error_of(values: Sequence[Any]) -> FootingError | None:
    """Return the error in a signal's code, message and hint; None if the code is empty."""
    code, message, hint = values
    if not code:
        return None
    if code == _EXPIRED:
        return expired()
    return restore_error(code, message_from_wire(message), message_from_wire(hint))
