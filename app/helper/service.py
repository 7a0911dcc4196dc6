"""Answers the calls of the interface: asks polkit, gives work to threads, tells the owner of the session."""

from __future__ import annotations

import logging
import pwd
import secrets
import threading
from collections.abc import Callable
from typing import Final

from app import VERSION
from app.dbus.polkit import Question, Verdict
from app.dbus.service import Answer, BusService, Call, Refusal
from app.domain.disk import Answer as DiskAnswer
from app.domain.errors import FootingError
from app.domain.plan_file import PlanError
from app.domain.plan_wire import identity_from_wire, plan_from_wire
from app.helper import audit
from app.helper.devices import find_devices, node_of
from app.helper.journal import Journal
from app.helper.methods import Access, method
from app.helper.places import INTERFACE, PRIVATE
from app.helper.plans import Described, PlanBook
from app.helper.session import Session
from app.storage.commands import MOUNT_NAMES
from app.storage.execution import Done, Progress
from app.storage.inspect import inspect_machine
from app.storage.rules import decide
from app.storage.spare import SpareDisks

NAME: Final = "org.pgfooting.Helper1"
PATH: Final = "/org/pgfooting/Helper1"
INTERFACE_NUMBER: Final = 1
IDLE_S: Final = 60.0
_MOST_INSPECTED: Final = 64
_MOST_OUTPUT: Final = 16_000
_NO_EXIT_CODE: Final = -1000
_MESSAGE: Final = "Authentication is required to erase $(disks) and to run PostgreSQL there"

_MOST_QUESTIONS: Final = 32
_log = logging.getLogger(__name__)

Then = Callable[[Call, Answer], None]


class Helper:
    """The service: at most one session, at most one open question, plans of callers that are still there."""

    def __init__(self, disks: SpareDisks, journal: Journal) -> None:
        self.bus = BusService(NAME, PATH, INTERFACE.read_text(encoding="utf-8"), self)
        self._disks = disks
        self._journal = journal
        self._plans = PlanBook()
        self._session: Session | None = None
        self._handle = ""
        self._owner = ""
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
            if self._session is not None:
                self._session.release()
                self._session.join()

    def __call__(self, call: Call, answer: Answer) -> None:
        """Check who may call the method, then do it."""
        self._rest()
        known = method(call.method)
        if known is None:
            raise Refusal("NotAuthorized", Verdict.DENIED)
        self._watch(call.sender)
        then: Then = getattr(self, f"_{known.name.lower()}")
        match known.access:
            case Access.ANYONE:
                then(call, answer)
            case Access.OWNER:
                if call.sender != self._owner or not self._is_handle(call.arguments[0]):
                    audit.note("refused: %s by %s: not its session", call.method, call.sender)
                    raise Refusal("Unknown")
                then(call, answer)
            case Access.INSPECT:
                self._authorise(call, answer, known.access, {}, then)
            case Access.ERASE:
                then(call, answer)  # asks itself, with the disks of the plan

    def _is_handle(self, text: str) -> bool:
        return bool(self._handle) and secrets.compare_digest(text.encode(), self._handle.encode())

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
            if verdict is not Verdict.AUTHORIZED:
                audit.note("refused: %s by %s: %s", call.method, call.sender, verdict)
                answer.refuse(Refusal("NotAuthorized", verdict))
                return
            self._answer(call, answer, then)

        question = Question(self.bus.connection, decided)
        self._questions += 1
        if action == Access.ERASE:
            self._erasing = (call.sender, question)
        question.ask(call.sender, action, details, interactive=call.interactive)

    def _answer(self, call: Call, answer: Answer, then: Then) -> None:
        try:
            then(call, answer)
        except Refusal as refusal:
            answer.refuse(refusal)

    def _watch(self, sender: str) -> None:
        if sender not in self._watched:
            self._watched[sender] = self.bus.watch(sender, lambda: self._vanished(sender))

    def _vanished(self, sender: str) -> None:
        self._watched.pop(sender, None)
        self._plans.forget(sender)
        if self._erasing is not None and self._erasing[0] == sender:
            self._erasing[1].cancel()
        if sender == self._owner and self._session is not None:
            audit.note("owner %s is gone: releasing", sender)
            self._session.release()
        self._rest()

    # --- methods

    def _version(self, _call: Call, answer: Answer) -> None:
        answer.give(VERSION, INTERFACE_NUMBER, self._disks.policy.accept_loop_devices)

    def _inspect(self, call: Call, answer: Answer) -> None:
        (wires,) = call.arguments
        if len(wires) > _MOST_INSPECTED:
            raise Refusal("TooMany")
        self._in_thread(answer, lambda: ([self._inspected(wire) for wire in wires],))

    def _inspected(self, wire: tuple[str, str, str, int, str, int]) -> tuple[object, ...]:
        chosen = identity_from_wire(wire)
        try:
            name = node_of(chosen.device_number).rpartition("/")[2]
            snapshot = inspect_machine(self._disks.policy, self._disks.places, only=frozenset({name}))
            decision = decide(snapshot, name, self._disks.policy, chosen=chosen)
        except (OSError, KeyError):
            reason = ("D15", "It is not here any more.", "", "")
            return chosen.device_number, DiskAnswer.NOT_SPARE.value, [reason]
        reasons = [(each.rule, each.message, each.evidence, each.remedy) for each in decision.refusals]
        reasons += [(each.rule, each.message, each.evidence, each.remedy) for each in decision.questions]
        spare = decision.answer is DiskAnswer.SPARE
        return chosen.device_number, (DiskAnswer.SPARE if spare else DiskAnswer.NOT_SPARE).value, reasons

    def _describe(self, call: Call, answer: Answer) -> None:
        try:
            plan = plan_from_wire(*call.arguments)
        except PlanError as err:
            problems = "\n".join(f"{each.field}: {each.message}" for each in err.problems)
            raise Refusal("BadPlan", problems[:_MOST_OUTPUT]) from None
        described = self._plans.add(call.sender, plan, find_devices(plan, self._disks))
        answer.give(described.id, list(described.text), described.digest)

    def _execute(self, call: Call, answer: Answer) -> None:
        plan_id, digest, user = call.arguments
        if self._session is not None or self._erasing is not None:
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
            self._check_user(uid, user)
            if self._session is not None or self._erasing is not None:
                raise Refusal("Busy")
            begin: Then = lambda *_: self._begin(call, answer, described, user)  # noqa: E731
            self._authorise(call, answer, Access.ERASE, details, begin)

        self.bus.ask_user(call.sender, asked)

    @staticmethod
    def _check_user(caller: int | None, user: int) -> None:
        """Storage goes to the caller; root, who must not run PostgreSQL, names somebody else."""
        try:
            pwd.getpwuid(user)
        except KeyError:
            raise Refusal("BadUser") from None
        if caller is None or user == 0 or (caller not in {0, user}):
            raise Refusal("BadUser")

    def _begin(self, call: Call, answer: Answer, described: Described, user: int) -> None:
        if self._session is not None:
            raise Refusal("Busy")
        self._handle = secrets.token_hex(16)
        self._owner = call.sender
        teller = _Teller(self, call.sender, self._handle)
        self._session = Session(described, user, self._disks, self._journal, teller)
        audit.note("session %s of user %d: %s", described.session, user, described.disk_names())
        answer.give(self._handle)
        self._session.start()

    def _release(self, _call: Call, answer: Answer) -> None:
        assert self._session is not None  # noqa: S101 - the handle is only set with it
        self._session.release()
        answer.give()

    def session_ended(self) -> None:
        """The session's thread is done."""
        if self._session is not None:
            self._session.join()
        self._session, self._handle, self._owner = None, "", ""
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
        waiting = self._session is not None or self._questions > 0
        if waiting or any(self._plans.has(sender) for sender in self._watched):
            self._rest()
        else:
            self._call_off_exit = lambda: None
            self.bus.stop()


class _Teller:
    """Sends what happens in a session to its owner; called from the session's thread."""

    def __init__(self, helper: Helper, owner: str, handle: str) -> None:
        self._helper = helper
        self._owner = owner
        self._handle = handle

    def _emit(self, signal: str, *values: object) -> None:
        bus = self._helper.bus
        bus.soon(lambda: bus.emit(self._owner, signal, self._handle, *values))

    def progressed(self, progress: Progress) -> None:
        """Tell where it is."""
        fraction = -1.0 if progress.fraction is None else progress.fraction
        self._emit("Progress", progress.number, progress.count, progress.text, fraction)

    def executed(self, done: Done) -> None:
        """Tell how a step ended, and log it."""
        code = _NO_EXIT_CODE if done.exit_code is None else done.exit_code
        audit.note("%s: %s in %.3f s", done.text, "done" if done.exit_code is None else code, done.seconds)
        self._emit("Executed", done.text, code, done.seconds, (done.skipped or done.output)[:_MOST_OUTPUT])

    def ready(self, folder: str, *, has_wal: bool) -> None:
        """Tell where the storage is."""
        storage, wal = (f"{folder}/{name}" for name in MOUNT_NAMES.values())
        self._emit("Ready", storage, wal if has_wal else "", f"{folder}/{PRIVATE}")

    def ended(self, error: FootingError | None, left: tuple[str, ...]) -> None:
        """Tell that it is over."""
        if error is None:
            audit.note("session released")
            self._emit("Ended", "", "", "", list(left))
        else:
            audit.note("session failed: %s; left: %s", error.message, left)
            self._emit("Ended", error.code, error.message, error.hint, list(left))
        self._helper.bus.soon(self._helper.session_ended)
