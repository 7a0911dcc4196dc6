"""Answer the calls of the interface: check access, ask polkit, begin the session, end when idle."""

from __future__ import annotations

import math
import pwd
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from typing import Any, Final

from app import VERSION
from app.dbus.polkit import Authorization, Caller, Callers, OpenQuestions, QuestionLimit
from app.dbus.service import BusService, Call, MethodError, Reply, give_back_memory
from app.dbus.worker import Then, Worker
from app.domain.storage_plan.plan import StoragePlan
from app.domain.storage_plan.reader import MOST_PLANS, PlanError, identity_from_wire, plan_from_wire
from app.helper.base import audit
from app.helper.base.audit import INTERFACE
from app.helper.session.inspection import (
    Progress,
    check_kept,
    inspect_kept,
    inspected,
    read_whole,
    release_kept,
)
from app.helper.session.session import REQUESTS, Lifetime, LifetimeAction, RateLimit, Session, expired
from app.helper.storage.devices import find_device
from app.helper.storage.leftovers import Leftovers
from app.helper.storage.ownership import Process
from app.helper.storage.pending_plans import DescribedPlans, PendingPlans, describe_plans
from app.helper.storage.signals import SignalSender
from app.storage.spare.spare import SpareDisks

# The polkit action of each method: default is refusal, and a test walks the interface.
#
# A method that is not listed here is refused for every caller.


class Access(StrEnum):
    """The callers that a method accepts.

    ANYONE: it reveals only what all users may read, and changes nothing. INSPECT, ERASE: callers that polkit
    authorises for it. OWNER: the one caller that owns the session, which polkit authorised at its start; the
    first argument is the session.
    """

    ANYONE = ""
    INSPECT = "org.pgfooting.helper.inspect"
    ERASE = "org.pgfooting.helper.erase"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the interface.

    Attributes:
        name: as in interface.xml.
        access: accepted callers.
        renews: whether it shows that the owner uses the session (`app.helper.session.session`).
        every_s: shortest time between two calls, across all sessions.
    """

    name: str
    access: Access
    renews: bool = False
    every_s: float = 0.0


METHODS: Final = (
    Method("Version", Access.ANYONE),
    Method("Inspect", Access.INSPECT),
    Method("Read", Access.INSPECT),
    Method("InspectKept", Access.INSPECT),
    Method("Describe", Access.ANYONE),
    Method("ReleaseKept", Access.ERASE),
    Method("Execute", Access.ERASE),
    Method("Make", Access.OWNER, renews=True),
    Method("Renew", Access.OWNER, renews=True),
    Method("Unmake", Access.OWNER),
    Method("Release", Access.OWNER),
    Method("Limit", Access.OWNER),
    Method("Adopt", Access.OWNER),
    Method("DropCaches", Access.OWNER, every_s=10.0),
    Method("Maintain", Access.OWNER),
    Method("EndMaintenance", Access.OWNER),
    Method("Health", Access.OWNER),
    Method("KernelLog", Access.OWNER),
)


def method(name: str) -> Method | None:
    """Return a method, or None if there is none."""
    return next((each for each in METHODS if each.name == name), None)


# Answer Describe for any caller: the one question of a campaign is whether its disks may be erased.
#
# SECURITY: the caller is not authorised. A disk's identity is read from sysfs and udev's database, which all
# users may read; no disk is opened.


_MOST_TEXT: Final = 16_000
_MOST_PROBLEMS: Final = 100
"""Further plans are not checked then: a problem with an option costs a sixth of a millisecond."""


def described(call: Call, user: int, disks: SpareDisks) -> tuple[DescribedPlans, list[tuple[str, ...]]]:
    """Return the description for a caller, and the lines of each plan.

    Raises:
        MethodError: BadPlan, DiskRefused.
    """
    (wires,) = call.arguments
    if not 1 <= len(wires) <= MOST_PLANS:
        raise MethodError("BadPlan", f"plans: 1 to {MOST_PLANS}")
    plans: list[StoragePlan] = []
    problems: list[str] = []
    for number, wire in enumerate(wires):
        if len(problems) >= _MOST_PROBLEMS:
            break
        try:
            plans.append(plan_from_wire(*wire))
        except PlanError as err:
            problems += [f"plans[{number}].{each.path}" for each in err.problems]
    if problems:
        raise MethodError("BadPlan", "\n".join(problems)[:_MOST_TEXT])
    find = cache(partial(find_device, disks))  # plans share disks: each is inspected once
    found = [(plan, {disk.key(): find(disk) for _, disk in plan.members()}) for plan in plans]
    return describe_plans(call.sender, user, found)


NAME: Final = "org.pgfooting.Helper1"
PATH: Final = "/org/pgfooting/Helper1"
INTERFACE_NUMBER: Final = 7
IDLE_S: Final = 60.0
STOP_S: Final = 90.0
"""How long the helper continues to unmake after it was asked to end; anything that hangs is left."""
LOOK_S: Final = 5.0
_MOST_INSPECTED: Final = 64
_MOST_NOTED: Final = 200
_ERASE: Final = "Authentication is required to erase $(disks) and to run PostgreSQL there"
_RELEASE: Final = "Authentication is required to release $(disks) and to wipe what pgFooting left there"

OVERTAKEN: Final = "overtaken"
"""Another caller's question was answered first."""
_WORKERS: Final = ("Describe", "Inspect", "Read", "ReleaseKept")
_PLACES: Final[Mapping[str, QuestionLimit]] = {
    Access.INSPECT: QuestionLimit(4, 32, MethodError("TooMany")),
    Access.ERASE: QuestionLimit(1, 8, MethodError("Busy", "asked")),
}


@dataclass(frozen=True, slots=True)
class OwnedSession:
    """The session and its owner.

    Attributes:
        handle: its name on the bus; unguessable.
        owner: unique bus name of its one caller.
        session: itself.
        lifetime: its remaining time.
    """

    handle: str
    owner: str
    session: Session
    lifetime: Lifetime

    def is_meant(self, call: Call) -> bool:
        """Return whether a call comes from the owner and names the session."""
        right = secrets.compare_digest(str(call.arguments[0]).encode(), self.handle.encode())
        return right and call.sender == self.owner


class Helper:
    """The service: at most one session, a few open questions and plans of each connected user."""

    def __init__(self, leftovers: Leftovers) -> None:
        self.bus = BusService(NAME, PATH, INTERFACE.read_text(encoding="utf-8"), self, self._refused)
        self._disks = leftovers.disks
        self._leftovers = leftovers
        self._plans = PendingPlans()
        self._owned: OwnedSession | None = None
        self._callers = Callers(self.bus, self._left)
        self._questions = OpenQuestions(self.bus, _PLACES)
        self._workers = {name: Worker(self.bus, name) for name in _WORKERS}
        self._reads: dict[str, tuple[str, threading.Event]] = {}
        self._paces = {each.name: RateLimit(each.every_s) for each in METHODS if each.every_s > 0}
        self._noted = audit.RateLimitedLog()
        self._used_s = time.monotonic()

    def run(self) -> None:
        """Serve until the helper was idle for a while.

        Raises:
            BusError: the bus is gone, or another helper has the name.
        """
        try:
            self.bus.run(self._began)
        finally:
            deadline_s = time.monotonic() + STOP_S
            if self._owned is not None:
                self._owned.session.release()
                if not self._owned.session.join(STOP_S):
                    audit.note("the session of %s is not unmade: the journal keeps it", self._owned.owner)
            self._leftovers.wait(max(0.0, deadline_s - time.monotonic()))

    def __call__(self, call: Call, answer: Reply) -> None:
        """Identify the caller and check access, then serve the call; every refusal is logged."""
        self._rest()
        known = method(call.method)
        if known is None:
            raise MethodError("NotAuthorized", Authorization.DENIED)
        self._callers.meet(call, answer, partial(self._serve, call, answer, known.access))

    def _serve(self, call: Call, answer: Reply, access: Access, caller: Caller) -> None:
        match access:
            case Access.ANYONE:
                {"Version": self._version, "Describe": self._describe}[call.method](call, answer, caller)
            case Access.INSPECT:
                asked = {"Inspect": self._inspect, "Read": self._read, "InspectKept": self._inspectkept}
                then = partial(asked[call.method], call, answer, caller)
                self._authorise(call, answer, caller, access, {}, then)
            case Access.ERASE:  # they ask polkit themselves, with the disks
                asking = {"Execute": self._execute, "ReleaseKept": self._releasekept}
                asking[call.method](call, answer, caller)
            case Access.OWNER:
                if self._owned is None or not self._owned.is_meant(call):
                    raise MethodError("Unknown")
                self._request(self._owned, call, answer)

    def _request(self, owned: OwnedSession, call: Call, answer: Reply) -> None:
        now_s = time.monotonic()
        asked, pace = method(call.method), self._paces.get(call.method)
        if pace is not None and (wait_s := pace.wait_s(now_s)) > 0:
            raise MethodError("TooSoon", str(math.ceil(wait_s)))
        REQUESTS[call.method](owned.session, self._later(answer), *call.arguments[1:])
        if pace is not None:
            pace.done_s = now_s
        if asked is not None and asked.renews:
            owned.lifetime.renew(now_s)

    def _later(self, answer: Reply) -> Callable[..., None]:
        """Return a function that answers a call from any thread: with values, or a refusal."""

        def give(*values: Any) -> None:  # noqa: ANN401
            match values:
                case (MethodError() as refusal,):
                    self.bus.soon(lambda: answer.refuse(refusal))
                case _:
                    self.bus.soon(lambda: answer.give(*values))

        return give

    # --- access

    def _authorise(
        self,
        call: Call,
        answer: Reply,
        caller: Caller,
        action: Access,
        details: Mapping[str, str],
        then: Then,
    ) -> None:
        def decided(found: Authorization | MethodError) -> None:
            answer.settle(then if found is Authorization.AUTHORIZED else partial(_deny, found))

        self._questions.ask(caller, action, details, decided, interactive=call.interactive)

    def _left(self, sender: str) -> None:
        """Clean up after a connection that has left the bus."""
        for worker in self._workers.values():
            worker.forget(sender)
        self._call_off_reads(lambda name, _number: name == sender)
        self._plans.forget(sender)
        self._questions.forget(sender)
        if self._owned is not None and self._owned.owner == sender:
            audit.note("owner %s is gone: releasing", sender)
            self._owned.session.owner = None
            self._owned.session.release()
        self._rest()

    # --- methods

    def _version(self, _call: Call, answer: Reply, _caller: Caller) -> None:
        answer.give(VERSION, INTERFACE_NUMBER, self._disks.policy.accept_loop_devices)

    def _inspect(self, call: Call, answer: Reply, caller: Caller) -> None:
        if call.content.get_child_value(0).n_children() > _MOST_INSPECTED:
            raise MethodError("TooMany")

        def work() -> Then:
            (wires,) = call.arguments
            found = [inspected(wire, self._leftovers, self._looking(caller)) for wire in wires]
            return lambda: answer.give(found)

        self._workers["Inspect"].add(caller, answer, work)

    def _read(self, call: Call, answer: Reply, caller: Caller) -> None:
        (wire,) = call.arguments
        stop = threading.Event()

        def work() -> Then:
            found = read_whole(wire, self._leftovers, self._looking(caller), stop.is_set)
            return lambda: answer.give(found)

        self._workers["Read"].add(caller, answer, work)
        self._reads[caller.name] = (identity_from_wire(wire).device_number, stop)

    def _inspectkept(self, call: Call, answer: Reply, caller: Caller) -> None:
        (wire,) = call.arguments

        def work() -> Then:
            found = inspect_kept(wire, self._leftovers)
            return lambda: answer.give(*found)

        self._workers["Inspect"].add(caller, answer, work)

    def _releasekept(self, call: Call, answer: Reply, caller: Caller) -> None:
        wire, digest = call.arguments
        worker = self._workers["ReleaseKept"]

        def check() -> Then:
            details = _question(_RELEASE, check_kept(wire, self._leftovers))
            begin = partial(worker.add, caller, answer, release)
            return lambda: self._authorise(call, answer, caller, Access.ERASE, details, begin)

        def release() -> Then:
            found = release_kept(wire, digest, caller.user, self._leftovers)
            return lambda: answer.give(*found)

        worker.add(caller, answer, check)

    def _looking(self, caller: Caller) -> Progress:
        """Return a function that reports the progress on a disk to a caller; called in any thread."""

        def progress(number: str, done: int, whole: int) -> None:
            self.bus.soon(lambda: self.bus.emit(caller.name, "Looking", number, done, whole))

        return progress

    def _call_off_reads(self, is_meant: Callable[[str, str], bool]) -> None:
        """End the reading of disks: of a connection that has left, or that a session claims."""
        for name, (number, stop) in list(self._reads.items()):
            if is_meant(name, number):
                stop.set()
                del self._reads[name]

    def _describe(self, call: Call, answer: Reply, caller: Caller) -> None:
        def work() -> Then:
            found, texts = described(call, caller.user, self._disks)
            return lambda: keep(found, texts)

        def keep(found: DescribedPlans, texts: list[tuple[str, ...]]) -> None:
            self._plans.keep(found)
            answer.give(found.id, [list(text) for text in texts], found.digest)

        self._plans.check(caller.name, caller.user)
        self._workers["Describe"].add(caller, answer, work)

    def _execute(self, call: Call, answer: Reply, caller: Caller) -> None:
        plan_id, digest, user = call.arguments
        if self._owned is not None:
            raise MethodError("Busy")
        _check_user(caller.user, user)
        taken = self._plans.take(call.sender, plan_id, digest)
        details = _question(_ERASE, taken.disk_names())
        begin = partial(self._begin, call, answer, taken, user, Process.of(caller.process))
        self._authorise(call, answer, caller, Access.ERASE, details, begin)

    def _begin(
        self, call: Call, answer: Reply, taken: DescribedPlans, user: int, owner: Process | None
    ) -> None:
        """Begin the session; the call is answered when its disks are locked."""
        if self._owned is not None:
            raise MethodError("Busy", OVERTAKEN)
        if not self._callers.has(call.sender):
            raise MethodError("Unknown")
        self._questions.call_off(Access.ERASE, MethodError("Busy", OVERTAKEN))
        claimed = {disk.device_number for disk in taken.disks().values()}
        self._call_off_reads(lambda _name, number: number in claimed)
        handle, give = secrets.token_hex(16), self._later(answer)

        def emit(signal: str, *values: object) -> None:
            self.bus.soon(lambda: self.bus.emit(call.sender, signal, handle, *values))

        def refused(refusal: MethodError) -> None:
            self.bus.soon(self._session_ended)
            give(refusal)

        teller = SignalSender(emit, lambda: give(handle), refused, lambda: self.bus.soon(self._session_ended))
        session = Session(taken, user, self._leftovers, teller)
        session.owner = owner
        audit.note("session of %s, user %d: %s", call.sender, user, taken.disk_names())
        self._owned = OwnedSession(handle, call.sender, session, Lifetime(time.monotonic()))
        session.start()

    def _session_ended(self) -> None:
        """Clean up after the session's thread has ended."""
        if self._owned is not None:
            self._owned.session.join()
        self._owned = None
        give_back_memory()
        self._rest()

    # --- idle time and end

    def _began(self) -> None:
        """Begin with the leftovers, once the name is acquired: a disk that hangs delays no answer."""
        self._leftovers.begin()
        give_back_memory()
        self.bus.later(LOOK_S, self._look)

    def _rest(self) -> None:
        """Restart the idle time."""
        self._used_s = time.monotonic()

    def _look(self) -> None:
        """End the session after its lifetime, and the helper after its idle time."""
        now_s = time.monotonic()
        for (user, name), count in self._noted.over(now_s):
            audit.note("refused: %s by user %s %d times more", name, user, count)
        if self._owned is not None:
            self._look_at(self._owned, now_s)
        if self._is_idle():
            self.bus.when_quiet(self._end_if_still_idle)
        else:
            self.bus.later(LOOK_S, self._look)

    def _look_at(self, owned: OwnedSession, now_s: float) -> None:
        if owned.session.is_working:
            owned.lifetime.renew(now_s)
        match owned.lifetime.due(now_s):
            case LifetimeAction.WARN:
                left_s = owned.lifetime.left_s(now_s)
                audit.note("the session of %s ends in %.0f s unless it is used", owned.owner, left_s)
                self.bus.emit(owned.owner, "Expiring", owned.handle, int(left_s))
            case LifetimeAction.END:
                audit.note("the session of %s was not used: releasing", owned.owner)
                owned.session.release(expired())
            case LifetimeAction.NOTHING:
                pass

    def _end_if_still_idle(self) -> None:
        """End unless a call arrived during the check for quiet."""
        if self._is_idle():
            self.bus.stop()
        else:
            self.bus.later(LOOK_S, self._look)

    def _is_idle(self) -> bool:
        busy = self._owned is not None or self._questions.are_open or self._callers.is_busy
        busy = busy or self.bus.has_waiting or self._leftovers.is_at_work
        busy = busy or any(worker.is_busy for worker in self._workers.values())
        if busy or not self._plans.is_empty:
            self._rest()
        return time.monotonic() - self._used_s >= IDLE_S

    def _refused(self, call: Call, refusal: MethodError) -> None:
        """Log a refused call, refused on the bus or here, and restart the idle time."""
        self._rest()
        user = self._callers.user_of(call.sender)
        if self._noted.lets((user, call.method), time.monotonic()):
            words = refusal.text[:_MOST_NOTED]
            audit.note(
                "refused: %s by %s (user %s): %s %s", call.method, call.sender, user, refusal.code, words
            )


def _question(message: str, disks: str) -> Mapping[str, str]:
    """Return the details for polkit's question to the user."""
    return {"disks": disks, "polkit.message": message, "polkit.gettext_domain": "pgfooting"}


def _deny(why: Authorization | MethodError) -> None:
    raise why if isinstance(why, MethodError) else MethodError("NotAuthorized", why)


def _check_user(caller: int, user: int) -> None:
    """Check the user of the storage: the caller; root, who must not run PostgreSQL, names another user.

    Raises:
        MethodError: BadUser.
    """
    if user == 0 or caller not in {0, user}:
        raise MethodError("BadUser")
    try:
        pwd.getpwuid(user)
    except KeyError:
        raise MethodError("BadUser") from None
