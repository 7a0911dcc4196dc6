"""One session: locked disks, storage that is made of them and unmade again, in a separate thread.

The main loop continues to answer: it accepts or refuses a request at once, by the state, and queues the work
for the thread, which does one thing after the other. Everything is in the journal before it happens.

::

    CLAIMING -> IDLE -> MAKING -> READY -> UNMAKING -> IDLE          (Make, Unmake: any number of times)
                 ^ ________|  failed and undone    |
                                                   +-> STUCK -> UNMAKING     (something is left: try again,
                                                                              as Make does before it makes)
    any of them -> ENDING                                            (Release, or the owner has left)
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity, UnreleasedItem
from app.domain.errors import CancelledError, FootingError, StorageError
from app.domain.messages.message import error_text, message_to_wire, say
from app.helper.base import audit
from app.helper.storage.disk_locks import DiskLocks
from app.helper.storage.leftovers import Leftovers
from app.helper.storage.ownership import Process, who_hides
from app.helper.storage.pending_plans import DescribedPlans, PlannedLayout
from app.helper.storage.provisioned import MaintenanceResult, ProvisionedStorage, root_maintenance
from app.helper.storage.signals import SessionListener
from app.storage.execution import Hooks
from app.storage.inspect.sources import SourceFolders
from app.storage.layout.steps import QUICK_S
from app.storage.spare.content import read_values
from app.storage.system.programs import KernelLog, kernel_log, run_program
from app.storage.wiping.found import SavedSignatures

# Operations on storage in use: drop caches, query disks.


_DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
_ALL_CACHES: Final = "3\n"
"""Value for page cache, dentries and inodes: Linux Documentation/admin-guide/sysctl/vm.rst."""


def drop_caches(folders: Sequence[str]) -> None:
    """Write the storage's dirty pages, then drop all clean caches of the machine.

    Not sync(2), which waits for every filesystem, even for one of an unreachable server.

    Raises:
        MethodError: Failed, Unavailable.
    """
    ended = run_program(("sync", "--file-system", *folders), timeout_s=QUICK_S)
    if ended.exit_code != 0:
        raise MethodError("Failed")
    try:
        _DROP_CACHES.write_text(_ALL_CACHES, encoding="ascii")
    except OSError:
        raise MethodError("Unavailable", "read-only") from None


def health(
    disks: Iterable[tuple[str, DiskIdentity]], places: SourceFolders
) -> list[tuple[str, dict[str, str]]]:
    """Return the health of disks given by node: device number and values."""
    return [
        (disk.device_number, read_values(places, Path(node).name, disk.device_number)) for node, disk in disks
    ]


MOST_WAITING: Final = 16

_log = logging.getLogger(__name__)

Done = Callable[[Any], None]
"""Called in the session's thread with the result of a request, or a `MethodError`."""


class SessionState(Enum):
    """State of a session; see the module."""

    CLAIMING = auto()
    IDLE = auto()
    MAKING = auto()
    READY = auto()
    UNMAKING = auto()
    STUCK = auto()
    ENDING = auto()


class Session:
    """See the module. Methods return at once; they are called in one thread, which is not the session's.

    Attributes:
        described: the authorised plans.
        user: uid that gets the storage.
        state: see `SessionState`.
        owner: process of the caller while it is on the bus; is spared when processes on the storage are
            ended.
    """

    def __init__(
        self, described: DescribedPlans, user: int, leftovers: Leftovers, listener: SessionListener
    ) -> None:
        self.described = described
        self.user = user
        self.state = SessionState.CLAIMING
        self.owner: Process | None = None
        self._disks = leftovers.disks
        self._journal = leftovers.journal
        self._leftovers = leftovers
        self._own = {layout.id for layout in described.layouts}
        leftovers.live.update(self._own)
        self._listener = listener
        self._claim = DiskLocks(described.disks(), leftovers)
        self._made: ProvisionedStorage | None = None
        self._aside: list[ProvisionedStorage] = []
        self._kernel = KernelLog(None)
        self._why: FootingError | None = None
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)

    def start(self) -> None:
        """Begin with locking the disks."""
        self._thread.start()

    def join(self, limit_s: float | None = None) -> bool:
        """Wait until it is over, or for a while; return whether it is."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    # --- requests

    def make(self, number: int) -> None:
        """Make one of the plans; remains of an earlier one are unmade before.

        Raises:
            MethodError: Busy, Unknown.
        """
        if number >= len(self.described.layouts):
            raise MethodError("Unknown")
        self._change({SessionState.IDLE, SessionState.STUCK}, SessionState.MAKING, MethodError("Busy"))
        self._cancelled.clear()
        self._work.put(lambda: self._make(number))

    def unmake(self) -> None:
        """Unmake the storage, or stop making it.

        Raises:
            MethodError: Busy, Unknown.
        """
        no = MethodError("Unknown" if self.state is SessionState.IDLE else "Busy")
        self._change({SessionState.MAKING, SessionState.READY, SessionState.STUCK}, SessionState.UNMAKING, no)
        self._cancelled.set()
        self._work.put(self._unmake)

    @property
    def is_working(self) -> bool:
        """Return whether the helper is at work for it, so that the owner can only wait."""
        return self.state in {
            SessionState.CLAIMING,
            SessionState.MAKING,
            SessionState.UNMAKING,
            SessionState.ENDING,
        }

    def check_goes_on(self) -> None:
        """Make sure that it is not ending.

        Raises:
            MethodError: Busy.
        """
        if self.state is SessionState.ENDING:
            raise MethodError("Busy")

    def release(self, why: FootingError | None = None) -> None:
        """Unmake everything and end; no effect if that has begun.

        Args:
            why: reported as the reason if nothing else goes wrong; None if it was requested.
        """
        with self._lock:
            if self.state is SessionState.ENDING:
                return
            self.state = SessionState.ENDING
            self._why = why
        self._cancelled.set()
        self._work.put(None)

    def limit(self, done: Done, memory_bytes: int) -> None:
        """Limit the memory of the processes on the storage."""
        self._use(done, lambda made: made.group.limit(memory_bytes))

    def adopt(self, done: Done, part: str, pid: int) -> None:
        """Move a process into the control group; the result is the group's folder."""

        def adopt(made: ProvisionedStorage) -> str:
            folder = made.group.adopt(part, pid)
            audit.note("process %d of user %d is now in %s", pid, self.user, folder)
            return folder

        self._use(done, adopt)

    def drop_caches(self, done: Done) -> None:
        """Drop the caches of the machine."""
        self._use(done, lambda made: drop_caches(made.folders))

    def maintain(self, done: Done, name: str) -> None:
        """Begin a maintenance of the storage by its name, in a separate thread; the result is how it ended.

        Raises:
            MethodError: Unknown: root has none with that name; Busy, TooMany.
        """
        kind = root_maintenance(name)

        def begin(made: ProvisionedStorage) -> None:
            made.maintain(kind, done, self._cancelled.is_set)

        self._use(lambda refused: None if refused is None else done(refused), begin)

    def end_maintenance(self, done: Done) -> None:
        """End the running maintenance, if any; its own answer reports the end."""
        self._use(done, lambda made: made.call_off_maintenance())

    def health(self, done: Done) -> None:
        """Ask all disks for their health; the result is that of `operations.health`."""
        self._ask(done, lambda: health(self.described.disks().items(), self._disks.places))

    def kernel_log(self, done: Done) -> None:
        """Return the kernel's messages about the disks since the last request, or since they were claimed."""
        names = [Path(node).name for node in self.described.disks()]
        self._ask(done, lambda: self._kernel.lines_about(names))

    # --- work

    def _change(self, allowed: set[SessionState], then: SessionState, no: MethodError) -> None:
        with self._lock:
            if self.state not in allowed:
                raise no
            self.state = then

    def _use(self, done: Done, action: Callable[[ProvisionedStorage], object]) -> None:
        if self.state is not SessionState.READY:
            raise MethodError("Unknown" if self.state is SessionState.IDLE else "Busy")

        def act() -> object:
            if self.state is not SessionState.READY or self._made is None:  # since the request
                raise MethodError("Busy")
            return action(self._made)

        self._ask(done, act)

    def _ask(self, done: Done, action: Callable[[], object]) -> None:
        if self.state is SessionState.ENDING:
            raise MethodError("Busy")
        if self._work.qsize() >= MOST_WAITING:
            raise MethodError("TooMany")

        def answer() -> None:
            try:
                done(action())
            except MethodError as refusal:
                done(refusal)
            except CancelledError:
                done(MethodError("Busy"))
            except Exception:  # noqa: BLE001 - the caller is answered whatever happened
                _log.exception("something that the owner asked for failed")
                done(MethodError("Failed"))

        self._work.put(answer)

    def _run(self) -> None:
        with kernel_log() as self._kernel:
            self._serve()

    def _serve(self) -> None:
        try:
            self._work_off()
        finally:
            self._leftovers.live.difference_update(self._own)  # anything still made of them now is left over

    def _work_off(self) -> None:
        try:
            self._claim.take()
        except MethodError as refusal:
            self._listener.refused(refusal)
            return
        except Exception:  # noqa: BLE001 - the border of this thread
            _log.exception("the disks could not be claimed")
            self._listener.refused(MethodError("Failed"))
            return
        with self._lock:
            self.state = SessionState.IDLE if self.state is SessionState.CLAIMING else self.state
        self._listener.claimed()
        mistake: FootingError | None = None
        while (work := self._work.get()) is not None:
            mistake = _error_of(work) or mistake
            if mistake is not None:
                self.release()  # nothing stays locked or made that no caller can end any more
        error, left = self._free_all()
        error = error or mistake or self._why
        self._claim.drop()
        self._listener.ended(error, left)

    def _free_all(self) -> tuple[FootingError | None, tuple[UnreleasedItem, ...]]:
        """Unmake the current storage and earlier remains; return an error and the items left."""
        error = self._free() if self._made else None
        left = self._made.left() if self._made else ()
        for made in self._aside:
            error = _error_of(partial(made.unmake, self.owner)) or error
            left += made.left()
        return error, left

    def _still_made_on(self, layout: PlannedLayout) -> FootingError | None:
        """Try again to unmake the remains of earlier plans; return why those on disks of this plan cannot be.

        The first of those becomes the current storage. Remains on other disks are kept aside, and do not
        block this plan.
        """
        waiting = [*self._aside, *([self._made] if self._made else [])]
        self._made, self._aside = None, []
        why: FootingError | None = None
        for made in waiting:
            error = _error_of(partial(made.unmake, self.owner))
            if error is None:
                continue
            if self._made is None and not made.layout.disks().keys().isdisjoint(layout.disks()):
                self._made, why = made, error
            else:
                self._aside.append(made)
        return why

    def _make(self, number: int) -> None:
        layout = self.described.layouts[number]
        if (left := self._still_made_on(layout)) is not None:
            self._report_unmade(left)  # SECURITY: what was made before is not ours to write over
            return
        audit.note("making %s for user %d", layout.id, self.user)
        hooks = Hooks(
            identify=self._disks.identify,
            refusals=self._leftovers.refusals,
            users=self._disks.users,
            save=SavedSignatures().save,
            hiding=who_hides,
            release=partial(self._disks.release, written_ends=layout.written_ends()),
            progress=self._listener.progressed,
            is_cancelled=self._cancelled.is_set,
            held=self._claim.held,
        )
        made = ProvisionedStorage(layout, self.user, self._journal, self._listener, hooks)
        error = _error_of(self._claim.release_for_programs) or _error_of(made.make)
        if error is None:
            self._made = made
            self._settle(SessionState.MAKING, SessionState.READY)
            self._listener.ready(*made.places())
        else:
            self._made = made if made.left() else None
            self._report_unmade(error)

    def _unmake(self) -> None:
        if self._made is not None:  # else making it was stopped, and reported
            self._report_unmade(self._free())

    def _free(self) -> FootingError | None:
        assert self._made is not None  # noqa: S101 - asked by both callers
        error = _error_of(partial(self._made.unmake, self.owner))
        if error is None:
            self._made = None
        return error

    def _report_unmade(self, error: FootingError | None) -> None:
        if self._made is None:
            self._claim.keep()
        self._settle(None, SessionState.STUCK if self._made else SessionState.IDLE)
        self._listener.unmade(error, self._made.left() if self._made else ())

    def _settle(self, before: SessionState | None, after: SessionState) -> None:
        """Change the state, if it is still as expected; an ending session stays so."""
        with self._lock:
            if self.state is not SessionState.ENDING and before in {None, self.state}:
                self.state = after


def _error_of(action: Callable[[], None]) -> FootingError | None:
    """Run an action; return its error."""
    try:
        action()
    except FootingError as err:
        return err
    except OSError as err:  # a full disk, a read-only folder: no mistake of ours
        _log.warning("%s", error_text(err))
        return StorageError(
            say("helper-refused-by-kernel", reason=error_text(err)), hint=say("helper-try-again")
        )
    except Exception:  # noqa: BLE001 - the border of the thread: the journal has what is left
        _log.exception("the session failed")
        return FootingError(say("helper-mistake"))
    return None


# Limit the lifetime of an unused session: one password is not for ever.
#
# The owner renews it by Make, and by Renew during longer measurements. While the helper itself is at work
# (making, unmaking) it does not age.


LIFETIME_S: Final = 12 * 3600.0
WARNING_S: Final = 3600.0
"""How long before its end the owner is warned."""


class SessionExpiredError(FootingError):
    """A session ended because it was not used."""

    code = "expired"


def expired() -> SessionExpiredError:
    """Return the reason for ending a session that is too old."""
    hours = f"{LIFETIME_S / 3600:g}"
    return SessionExpiredError(say("session-expired", hours=hours))


class LifetimeAction(Enum):
    """Next action on a session."""

    NOTHING = auto()
    WARN = auto()
    END = auto()


@dataclass(slots=True)
class Lifetime:
    """Lifetime of a session; times are of the monotonic clock.

    Attributes:
        renewed_s: time of its last use.
        is_reported: whether the owner was warned since.
    """

    renewed_s: float
    is_reported: bool = False

    def renew(self, now_s: float) -> None:
        """Restart the lifetime."""
        self.renewed_s = now_s
        self.is_reported = False

    def left_s(self, now_s: float) -> float:
        """Return the seconds left."""
        return max(0.0, self.renewed_s + LIFETIME_S - now_s)

    def due(self, now_s: float) -> LifetimeAction:
        """Return the next action; the warning is returned once."""
        left_s = self.left_s(now_s)
        if left_s == 0:
            return LifetimeAction.END
        if left_s <= WARNING_S and not self.is_reported:
            self.is_reported = True
            return LifetimeAction.WARN
        return LifetimeAction.NOTHING


@dataclass(slots=True)
class RateLimit:
    """Limit the frequency of an action.

    Attributes:
        every_s: shortest time between two.
        done_s: time of the last one; None for never.
    """

    every_s: float
    done_s: float | None = None

    def wait_s(self, now_s: float) -> float:
        """Return the seconds to wait before the next one."""
        return 0.0 if self.done_s is None else max(0.0, self.done_s + self.every_s - now_s)


# Requests of a session's owner: each method of the interface, and its answer.


Give = Callable[..., None]
"""Answers with the values of the method's out arguments, or with a `MethodError`."""


def _made(session: Session, give: Give, number: int) -> None:
    session.make(number)
    give()


def _renewed(session: Session, give: Give) -> None:
    session.check_goes_on()
    give()


def _unmade(session: Session, give: Give) -> None:
    session.unmake()
    give()


def _released(session: Session, give: Give) -> None:
    session.release()
    give()


def _without_value(give: Give) -> Give:
    def done(result: object) -> None:
        if isinstance(result, MethodError):
            give(result)
        else:
            give()

    return done


def _limited(session: Session, give: Give, memory_bytes: int) -> None:
    session.limit(_without_value(give), memory_bytes)


def _caches_dropped(session: Session, give: Give) -> None:
    session.drop_caches(_without_value(give))


def _maintained(session: Session, give: Give, name: str) -> None:
    def ended(result: MaintenanceResult | MethodError) -> None:
        if isinstance(result, MethodError):
            give(result)
        else:
            how, message, seconds = result
            give(how, message_to_wire(message), seconds)

    session.maintain(ended, name)


def _maintenance_ended(session: Session, give: Give) -> None:
    session.end_maintenance(_without_value(give))


REQUESTS: Final[Mapping[str, Callable[..., Any]]] = {
    "Make": _made,
    "Renew": _renewed,
    "Unmake": _unmade,
    "Release": _released,
    "Limit": _limited,
    "Adopt": Session.adopt,
    "DropCaches": _caches_dropped,
    "Maintain": _maintained,
    "EndMaintenance": _maintenance_ended,
    "Health": Session.health,
    "KernelLog": Session.kernel_log,
}
