"""Answers the calls of the interface: decides who may, asks polkit, begins the session, ends when idle."""

from __future__ import annotations

import logging
import pwd
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from app import VERSION
from app.dbus.memory import give_back_memory, resident_bytes
from app.dbus.polkit import Question, Verdict
from app.dbus.service import Answer, BusService, Call, Refusal
from app.dbus.worker import Then, Worker
from app.helper import audit
from app.helper.describing import described
from app.helper.handover import Process
from app.helper.inspection import inspected
from app.helper.journal import Journal
from app.helper.methods import Access, method
from app.helper.places import INTERFACE
from app.helper.plans import Described, PlanBook
from app.helper.requests import REQUESTS
from app.helper.session import Session
from app.helper.teller import Teller
from app.storage.spare import SpareDisks

NAME: Final = "org.pgfooting.Helper1"
PATH: Final = "/org/pgfooting/Helper1"
INTERFACE_NUMBER: Final = 3
IDLE_S: Final = 60.0
GROWN_S: Final = 5.0
"""Idle time of a helper that has grown: GDBus keeps a buffer as long as the longest message that it ever got,
which anybody may send (gdbusprivate.c, read_buffer; the bus takes 32 MiB)."""
MOST_GROWN_BYTES: Final = 8 * 1024**2
_MOST_INSPECTED: Final = 64
_MOST_QUESTIONS: Final = 32
_MOST_NOTED: Final = 200
_MESSAGE: Final = "Authentication is required to erase $(disks) and to run PostgreSQL there"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Owned:
    """The session and whose it is.

    Attributes:
        handle: names it on the bus; nobody can guess it.
        owner: unique bus name of its one caller.
        session: itself.
    """

    handle: str
    owner: str
    session: Session

    def is_meant(self, call: Call) -> bool:
        """Whether a call comes from the owner and names the session."""
        right = secrets.compare_digest(str(call.arguments[0]).encode(), self.handle.encode())
        return right and call.sender == self.owner


class Helper:
    """The service: at most one session, at most one open question, plans of callers that are still there."""

    def __init__(self, disks: SpareDisks, journal: Journal) -> None:
        self.bus = BusService(NAME, PATH, INTERFACE.read_text(encoding="utf-8"), self, _note_refusal)
        self._disks = disks
        self._journal = journal
        self._plans = PlanBook()
        self._owned: Owned | None = None
        self._erasing: tuple[str, Question] | None = None
        self._questions = 0
        self._workers = {name: Worker(self.bus, name) for name in ("Describe", "Inspect")}
        self._watched: dict[str, Callable[[], None]] = {}
        self._used_s = time.monotonic()
        self._began_bytes = 0

    def run(self) -> None:
        """Serve until nobody needs it for a while.

        Raises:
            BusError: the bus is gone, or another helper has the name.
        """
        try:
            self.bus.run(self._began)
        finally:
            if self._owned is not None:
                self._owned.session.release()
                self._owned.session.join()

    def __call__(self, call: Call, answer: Answer) -> None:
        """Check who may call the method, then do it; every refusal is logged."""
        self._rest()
        known = method(call.method)
        if known is None:
            raise Refusal("NotAuthorized", Verdict.DENIED)
        self._watch(call.sender)
        match known.access:
            case Access.ANYONE:
                {"Version": self._version, "Describe": self._describe}[call.method](call, answer)
            case Access.INSPECT:
                self._authorise(call, answer, known.access, {}, lambda: self._inspect(call, answer))
            case Access.ERASE:
                self._execute(call, answer)  # asks itself, with the disks of the plans
            case Access.OWNER:
                if self._owned is None or not self._owned.is_meant(call):
                    raise Refusal("Unknown")
                REQUESTS[call.method](self._owned.session, self._later(answer), *call.arguments[1:])

    def _later(self, answer: Answer) -> Callable[..., None]:
        """Return what answers a call from any thread: with values, or a refusal."""

        def give(*values: Any) -> None:  # noqa: ANN401
            match values:
                case (Refusal() as refusal,):
                    self.bus.soon(lambda: answer.refuse(refusal))
                case _:
                    self.bus.soon(lambda: answer.give(*values))

        return give

    # --- who may

    def _authorise(
        self, call: Call, answer: Answer, action: str, details: dict[str, str], then: Then
    ) -> None:
        if self._questions >= _MOST_QUESTIONS:
            raise Refusal("Busy")

        def decided(verdict: Verdict) -> None:
            self._questions -= 1
            if action == Access.ERASE:
                self._erasing = None
            answer.settle(then if verdict is Verdict.AUTHORIZED else partial(_deny, verdict))

        question = Question(self.bus.connection, decided)
        self._questions += 1
        if action == Access.ERASE:
            self._erasing = (call.sender, question)
        question.ask(call.sender, action, details, interactive=call.interactive)

    def _watch(self, sender: str) -> None:
        if sender not in self._watched:
            self._watched[sender] = self.bus.watch(sender, lambda: self._vanished(sender))

    def _vanished(self, sender: str) -> None:
        self._watched.pop(sender, None)
        for worker in self._workers.values():
            worker.forget(sender)
        self._plans.forget(sender)
        if self._erasing is not None and self._erasing[0] == sender:
            self._erasing[1].cancel()
        if self._owned is not None and self._owned.owner == sender:
            audit.note("owner %s is gone: releasing", sender)
            self._owned.session.owner = None
            self._owned.session.release()
        self._rest()

    # --- methods

    def _version(self, _call: Call, answer: Answer) -> None:
        answer.give(VERSION, INTERFACE_NUMBER, self._disks.policy.accept_loop_devices)

    def _inspect(self, call: Call, answer: Answer) -> None:
        if call.content.get_child_value(0).n_children() > _MOST_INSPECTED:
            raise Refusal("TooMany")

        def work(_user: int) -> Then:
            (wires,) = call.arguments
            found = [inspected(wire, self._disks) for wire in wires]
            return lambda: answer.give(found)

        self._workers["Inspect"].add(call, answer, work)

    def _describe(self, call: Call, answer: Answer) -> None:
        def work(user: int) -> Then:
            found, texts = described(call, user, self._disks)
            return lambda: keep(found, texts)

        def keep(found: Described, texts: list[tuple[str, ...]]) -> None:
            self._plans.keep(found)
            answer.give(found.id, [list(text) for text in texts], found.digest)

        self._workers["Describe"].add(call, answer, work, partial(self._plans.check, call.sender))

    def _execute(self, call: Call, answer: Answer) -> None:
        plan_id, digest, user = call.arguments
        if self._owned is not None or self._erasing is not None:
            raise Refusal("Busy")
        taken = self._plans.take(call.sender, plan_id, digest)
        details = {
            "disks": taken.disk_names(),
            "polkit.message": _MESSAGE,
            "polkit.gettext_domain": "pgfooting",
        }

        def ask(caller: Mapping[str, Any]) -> None:
            _check_user(caller.get("UnixUserID"), user)
            if self._owned is not None or self._erasing is not None:
                raise Refusal("Busy")
            owner = Process.of(caller.get("ProcessID", 0))
            begin = partial(self._begin, call, answer, taken, user, owner)
            self._authorise(call, answer, Access.ERASE, details, begin)

        self.bus.ask_credentials(call.sender, lambda caller: answer.settle(partial(ask, caller)))

    def _begin(self, call: Call, answer: Answer, taken: Described, user: int, owner: Process | None) -> None:
        """Begin the session; the call is answered when its disks are locked."""
        if self._owned is not None or call.sender not in self._watched:  # it may have left meanwhile
            raise Refusal("Busy")
        handle, give = secrets.token_hex(16), self._later(answer)

        def emit(signal: str, *values: object) -> None:
            self.bus.soon(lambda: self.bus.emit(call.sender, signal, handle, *values))

        def refused(refusal: Refusal) -> None:
            self.bus.soon(self._session_ended)
            give(refusal)

        teller = Teller(emit, lambda: give(handle), refused, lambda: self.bus.soon(self._session_ended))
        session = Session(taken, user, self._disks, self._journal, teller)
        session.owner = owner
        audit.note("session of %s, user %d: %s", call.sender, user, taken.disk_names())
        self._owned = Owned(handle, call.sender, session)
        session.start()

    def _session_ended(self) -> None:
        """The session's thread is done."""
        if self._owned is not None:
            self._owned.session.join()
        self._owned = None
        give_back_memory()
        self._rest()

    # --- rest

    def _began(self) -> None:
        give_back_memory()
        self._began_bytes = resident_bytes()
        self.bus.later(GROWN_S, self._end_if_idle)

    def _rest(self) -> None:
        """Begin to wait anew for somebody who wants something."""
        self._used_s = time.monotonic()

    def _end_if_idle(self) -> None:
        """End after a while in which nobody wanted anything."""
        busy = self._owned is not None or self._questions > 0
        busy = busy or any(worker.is_busy for worker in self._workers.values())
        if busy or any(self._plans.has(sender) for sender in self._watched):
            self._rest()
        has_grown = resident_bytes() > self._began_bytes + MOST_GROWN_BYTES
        if time.monotonic() - self._used_s >= (GROWN_S if has_grown else IDLE_S):
            self.bus.stop()
        else:
            self.bus.later(GROWN_S, self._end_if_idle)


def _deny(verdict: Verdict) -> None:
    raise Refusal("NotAuthorized", verdict)


def _note_refusal(call: Call, refusal: Refusal) -> None:
    words = refusal.text[:_MOST_NOTED]
    audit.note("refused: %s by %s: %s %s", call.method, call.sender, refusal.code, words)


def _check_user(caller: int | None, user: int) -> None:
    """Storage goes to the caller; root, who must not run PostgreSQL, names somebody else.

    Raises:
        Refusal: BadUser.
    """
    try:
        pwd.getpwuid(user)
    except KeyError:
        raise Refusal("BadUser") from None
    if caller is None or user == 0 or (caller not in {0, user}):
        raise Refusal("BadUser")
