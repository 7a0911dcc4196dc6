"""Answers the calls of the interface: decides who may, asks polkit, begins the session, ends when idle."""

from __future__ import annotations

import logging
import pwd
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from app import VERSION
from app.dbus.polkit import Question, Verdict
from app.dbus.service import Answer, BusService, Call, Refusal
from app.domain.plan_file import PlanError
from app.domain.plan_wire import MOST_PLANS, plan_from_wire
from app.helper import audit
from app.helper.devices import find_devices
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
INTERFACE_NUMBER: Final = 2
IDLE_S: Final = 60.0
_MOST_INSPECTED: Final = 64
_MOST_TEXT: Final = 16_000
_MOST_QUESTIONS: Final = 32
_MESSAGE: Final = "Authentication is required to erase $(disks) and to run PostgreSQL there"

_log = logging.getLogger(__name__)

Then = Callable[[Call, Answer], None]


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
        self.bus = BusService(NAME, PATH, INTERFACE.read_text(encoding="utf-8"), self)
        self._disks = disks
        self._journal = journal
        self._plans = PlanBook()
        self._owned: Owned | None = None
        self._erasing: tuple[str, Question] | None = None
        self._questions = 0
        self._inspecting = threading.Lock()
        self._watched: dict[str, Callable[[], None]] = {}
        self._call_off_exit: Callable[[], None] = lambda: None

    def run(self) -> None:
        """Serve until nobody needs it for a while.

        Raises:
            BusError: the bus is gone, or another helper has the name.
        """
        try:
            self.bus.run(self._rest)
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
        try:
            self._dispatch(known.access, call, answer)
        except Refusal as refusal:
            audit.note("refused: %s by %s: %s", call.method, call.sender, refusal.code)
            raise

    def _dispatch(self, access: Access, call: Call, answer: Answer) -> None:
        match access:
            case Access.ANYONE:
                self._version(call, answer)
            case Access.INSPECT:
                then = {"Inspect": self._inspect, "Describe": self._describe}[call.method]
                self._authorise(call, answer, access, {}, then)
            case Access.ERASE:
                self._execute(call, answer)  # asks itself, with the disks of the plans
            case Access.OWNER:
                if self._owned is None or not self._owned.is_meant(call):
                    raise Refusal("Unknown")
                REQUESTS[call.method](self._owned.session, self._later(call, answer), *call.arguments[1:])

    def _later(self, call: Call, answer: Answer) -> Callable[..., None]:
        """Return what answers a call from any thread: with values, or a refusal."""

        def give(*values: Any) -> None:  # noqa: ANN401
            match values:
                case (Refusal() as refusal,):
                    audit.note("refused: %s by %s: %s", call.method, call.sender, refusal.code)
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
            self._answer(call, answer, then if verdict is Verdict.AUTHORIZED else _deny(verdict))

        question = Question(self.bus.connection, decided)
        self._questions += 1
        if action == Access.ERASE:
            self._erasing = (call.sender, question)
        question.ask(call.sender, action, details, interactive=call.interactive)

    @staticmethod
    def _answer(call: Call, answer: Answer, then: Then) -> None:
        """Go on with a call that waited; whatever happens, it is answered."""
        try:
            then(call, answer)
        except Refusal as refusal:
            audit.note("refused: %s by %s: %s %s", call.method, call.sender, refusal.code, refusal.text)
            answer.refuse(refusal)
        except Exception:  # noqa: BLE001 - the border of D-Bus, as in app.dbus.service
            _log.exception("%s failed", call.method)
            if answer.is_open:
                answer.refuse(Refusal("Failed"))

    def _watch(self, sender: str) -> None:
        if sender not in self._watched:
            self._watched[sender] = self.bus.watch(sender, lambda: self._vanished(sender))

    def _vanished(self, sender: str) -> None:
        self._watched.pop(sender, None)
        self._plans.forget(sender)
        if self._erasing is not None and self._erasing[0] == sender:
            self._erasing[1].cancel()
        if self._owned is not None and self._owned.owner == sender:
            audit.note("owner %s is gone: releasing", sender)
            self._owned.session.release()
        self._rest()

    # --- methods

    def _version(self, _call: Call, answer: Answer) -> None:
        answer.give(VERSION, INTERFACE_NUMBER, self._disks.policy.accept_loop_devices)

    def _inspect(self, call: Call, answer: Answer) -> None:
        (wires,) = call.arguments
        if len(wires) > _MOST_INSPECTED:
            raise Refusal("TooMany")
        self._in_thread(answer, lambda: ([inspected(wire, self._disks) for wire in wires],))

    def _describe(self, call: Call, answer: Answer) -> None:
        (wires,) = call.arguments
        if not 1 <= len(wires) <= MOST_PLANS:
            raise Refusal("BadPlan", f"plans: 1 to {MOST_PLANS}")
        plans, problems = [], []
        for number, wire in enumerate(wires):
            try:
                plans.append(plan_from_wire(*wire))
            except PlanError as err:
                problems += [f"plans[{number}].{each.field}: {each.message}" for each in err.problems]
        if problems:
            raise Refusal("BadPlan", "\n".join(problems)[:_MOST_TEXT])
        described, texts = self._plans.add(
            call.sender, [(plan, find_devices(plan, self._disks)) for plan in plans]
        )
        answer.give(described.id, [list(text) for text in texts], described.digest)

    def _execute(self, call: Call, answer: Answer) -> None:
        plan_id, digest, user = call.arguments
        if self._owned is not None or self._erasing is not None:
            raise Refusal("Busy")
        described = self._plans.take(call.sender, plan_id, digest)
        details = {
            "disks": described.disk_names(),
            "polkit.message": _MESSAGE,
            "polkit.gettext_domain": "pgfooting",
        }

        def asked(uid: int | None) -> None:
            self._answer(call, answer, lambda *_: ask(uid))

        def ask(uid: int | None) -> None:
            _check_user(uid, user)
            if self._owned is not None or self._erasing is not None:
                raise Refusal("Busy")
            begin: Then = lambda *_: self._begin(call, answer, described, user)  # noqa: E731
            self._authorise(call, answer, Access.ERASE, details, begin)

        self.bus.ask_user(call.sender, asked)

    def _begin(self, call: Call, answer: Answer, described: Described, user: int) -> None:
        """Begin the session; the call is answered when its disks are locked."""
        if self._owned is not None or call.sender not in self._watched:  # it may have left meanwhile
            raise Refusal("Busy")
        handle, give = secrets.token_hex(16), self._later(call, answer)

        def emit(signal: str, *values: object) -> None:
            self.bus.soon(lambda: self.bus.emit(call.sender, signal, handle, *values))

        def refused(refusal: Refusal) -> None:
            self.bus.soon(self._session_ended)
            give(refusal)

        teller = Teller(emit, lambda: give(handle), refused, lambda: self.bus.soon(self._session_ended))
        session = Session(described, user, self._disks, self._journal, teller)
        audit.note("session of %s, user %d: %s", call.sender, user, described.disk_names())
        self._owned = Owned(handle, call.sender, session)
        session.start()

    def _session_ended(self) -> None:
        """The session's thread is done."""
        if self._owned is not None:
            self._owned.session.join()
        self._owned = None
        self._rest()

    # --- work and rest

    def _in_thread(self, answer: Answer, work: Callable[[], tuple[object, ...]]) -> None:
        """Answer with what a thread finds out; one at a time, so that nobody keeps the disks busy."""
        if not self._inspecting.acquire(blocking=False):
            raise Refusal("Busy")

        def run() -> None:
            try:
                values = work()
                self.bus.soon(lambda: answer.give(*values))
            except Exception:  # noqa: BLE001 - the border of this thread
                _log.exception("an inspection failed")
                self.bus.soon(lambda: answer.refuse(Refusal("Failed")))
            finally:
                self._inspecting.release()

        threading.Thread(target=run, name="inspection", daemon=True).start()

    def _rest(self) -> None:
        """End after a while in which nobody wants anything."""
        self._call_off_exit()
        self._call_off_exit = self.bus.later(IDLE_S, self._end_if_idle)

    def _end_if_idle(self) -> None:
        waiting = self._owned is not None or self._questions > 0
        if waiting or any(self._plans.has(sender) for sender in self._watched):
            self._rest()
        else:
            self._call_off_exit = lambda: None
            self.bus.stop()


def _deny(verdict: Verdict) -> Then:
    def deny(_call: Call, _answer: Answer) -> None:
        raise Refusal("NotAuthorized", verdict)

    return deny


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
