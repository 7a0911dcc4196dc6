"""Identify callers, and ask polkit about them without blocking: a dialog may stay open for minutes.

The subject is always the caller's unique bus name (``system-bus-name``): a process id could belong to another
process by the time polkit looks (CVE-2013-4288). Every answer but a clear yes is a no. The number of open
questions per user is limited, so that one user's dialogs cannot block another's.
Source: polkit(8), org.freedesktop.PolicyKit1.Authority.
"""

from __future__ import annotations

import pwd
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

from app.dbus.service import ROOT, BusService, Call, MethodError, Reply, has_room, load_gio

# Identify callers: ask the bus once per connection, then look up the account.
#
# dbus-daemon rejects a connection with a uid that has no account; other buses accept it. A user with
# thousands of subordinate uids (subuid(5)) could then exceed the limits per user thousands of times.


MOST_WAITING: Final = 32
"""Maximum number of calls from one connection that wait until the caller is identified."""
NO_ACCOUNT: Final = "no-account"


@dataclass(frozen=True, slots=True)
class Caller:
    """A connection to the bus.

    Attributes:
        name: its unique name.
        user: uid of the connecting process, at connection time.
        process: pid of that process; 0 if the bus does not report it.
    """

    name: str
    user: int
    process: int


Then = Callable[[Caller], None]
"""Answers a call or raises a `MethodError`; called in the main loop."""


class Callers:
    """The connections that have called so far; call all methods in the main loop."""

    def __init__(self, bus: BusService, left: Callable[[str], None]) -> None:
        """Start without known callers; `left` is called with the name of each connection that leaves."""
        self._bus = bus
        self._left = left
        self._known: dict[str, Caller] = {}
        self._waiting: dict[str, list[tuple[Reply, Then]]] = {}
        self._lookups: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._look_up_all, name="accounts", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether a call waits until its caller is identified."""
        return bool(self._waiting)

    def has(self, name: str) -> bool:
        """Whether a known connection is still on the bus."""
        return name in self._known

    def user_of(self, name: str) -> int | None:
        """Return the uid of a known connection that is still on the bus."""
        return self._known[name].user if name in self._known else None

    def meet(self, call: Call, answer: Reply, then: Then) -> None:
        """Call `then` as soon as the caller is identified.

        Raises:
            MethodError: TooMany: too many calls of this connection are waiting. Errors of `then` are passed
                on.
        """
        name = call.sender
        if name in self._known:
            then(self._known[name])
        elif name not in self._waiting:
            self._waiting[name] = [(answer, then)]
            self._bus.watch(name, partial(self._vanished, name))
            self._bus.ask_credentials(name, partial(self._asked, name))
        elif len(self._waiting[name]) < MOST_WAITING:
            self._waiting[name].append((answer, then))
        else:
            raise MethodError("TooMany")

    def _asked(self, name: str, credentials: Mapping[str, Any]) -> None:
        user = credentials.get("UnixUserID")
        if user is None:
            self._bus.unwatch(name)
            self._decide(name, None)
            return
        caller = Caller(name, user, credentials.get("ProcessID", 0))
        if user == ROOT:
            self._decide(name, caller)
        else:  # in a thread: the accounts may be those of a server that does not answer
            self._lookups.put(partial(self._look_up, caller))

    def _look_up_all(self) -> None:
        while True:
            self._lookups.get()()

    def _look_up(self, caller: Caller) -> None:
        known = caller if _has_account(caller.user) else None
        self._bus.soon(lambda: self._decide(caller.name, known))

    def _decide(self, name: str, caller: Caller | None) -> None:
        waiting = self._waiting.pop(name, [])
        if caller is not None and waiting:  # else it has left
            self._known[name] = caller
        for answer, then in waiting:
            if caller is None:
                answer.refuse(MethodError("NotAuthorized", NO_ACCOUNT))
            else:
                answer.settle(partial(then, caller))

    def _vanished(self, name: str) -> None:
        self._known.pop(name, None)
        for answer, _ in self._waiting.pop(name, []):
            answer.refuse(MethodError("Unknown"))
        self._left(name)


def _has_account(user: int) -> bool:
    with suppress(KeyError, OSError):
        return bool(pwd.getpwuid(user))
    return False


DIALOG_TIMEOUT_S: Final = 300.0
"""Time limit for typing the password."""
_AUTHORITY: Final = (
    "org.freedesktop.PolicyKit1",
    "/org/freedesktop/PolicyKit1/Authority",
    "org.freedesktop.PolicyKit1.Authority",
)
_ALLOW_USER_INTERACTION: Final = 1
_CANCEL_TIMEOUT_MS: Final = 10_000


class Authorization(StrEnum):
    """polkit's answer; everything but AUTHORIZED means no.

    DENIED: not allowed, with any authentication. CHALLENGE: allowed after authentication, but no one could be
    asked (the caller forbade it, or there is no agent). DISMISSED: the person closed the dialog. FAILED: the
    authentication failed. TIMED_OUT: no answer in time. CANCELLED: by us. UNAVAILABLE: no polkit on this bus,
    or it does not know the action.
    """

    AUTHORIZED = "authorized"
    DENIED = "denied"
    CHALLENGE = "challenge"
    DISMISSED = "dismissed"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"


class AuthorizationRequest:
    """One question to polkit: first without a dialog, then with one if that can help and is allowed.

    Two steps, because the answer to the second alone does not distinguish a wrong password from a rule that
    says no.
    """

    def __init__(self, connection: Any, done: Callable[[Authorization], None]) -> None:  # noqa: ANN401 - Gio
        self._gio, self._glib = load_gio()
        self._connection = connection
        self._done: Callable[[Authorization], None] | None = done
        self._cookie = secrets.token_hex(16)

    def ask(
        self,
        sender: str,
        action: str,
        details: Mapping[str, str],
        *,
        interactive: bool,
        timeout_s: float = DIALOG_TIMEOUT_S,
    ) -> None:
        """Ask whether a caller may do something.

        Args:
            sender: unique bus name.
            action: id from the policy file.
            details: for the message and the rules; ``polkit.message`` names what will happen.
            interactive: whether a person may be asked.
            timeout_s: for each step; the dialog is closed then.
        """

        def first(verdict: Authorization) -> None:
            if verdict is Authorization.CHALLENGE and interactive:
                self._check(sender, action, details, timeout_s, second, flags=_ALLOW_USER_INTERACTION)
            else:
                self._answer(verdict)

        def second(verdict: Authorization) -> None:
            self._answer(Authorization.FAILED if verdict is Authorization.DENIED else verdict)

        self._check(sender, action, details, timeout_s, first, flags=0)

    def _check(
        self,
        sender: str,
        action: str,
        details: Mapping[str, str],
        timeout_s: float,
        done: Callable[[Authorization], None],
        *,
        flags: int,
    ) -> None:
        subject = ("system-bus-name", {"name": self._glib.Variant("s", sender)})
        content = (subject, action, dict(details), flags, self._cookie if flags else "")
        self._connection.call(
            *_AUTHORITY,
            "CheckAuthorization",
            self._glib.Variant("((sa{sv})sa{ss}us)", content),
            self._glib.VariantType("((bba{ss}))"),
            self._gio.DBusCallFlags.NONE,
            round(timeout_s * 1000),
            None,
            lambda connection, result: done(self._verdict(connection, result)) if self._done else None,
        )

    def cancel(self) -> None:
        """Close the dialog; ends in CANCELLED at once. No effect after the answer."""
        if self._done is not None:
            self._close_dialog()
            self._answer(Authorization.CANCELLED)

    def _verdict(self, connection: Any, result: Any) -> Authorization:  # noqa: ANN401
        try:
            ((authorized, challenge, details),) = connection.call_finish(result).unpack()
        except self._glib.Error as err:
            return self._verdict_of(err)
        return parse_answer(authorized, challenge, details)

    def _verdict_of(self, err: Any) -> Authorization:  # noqa: ANN401
        if err.matches(self._gio.io_error_quark(), self._gio.IOErrorEnum.TIMED_OUT):
            self._close_dialog()
            return Authorization.TIMED_OUT
        name = self._gio.DBusError.get_remote_error(err) or ""
        if name == "org.freedesktop.PolicyKit1.Error.Cancelled":
            return Authorization.CANCELLED
        if name == "org.freedesktop.PolicyKit1.Error.NotAuthorized":
            return Authorization.DENIED
        return Authorization.UNAVAILABLE

    def _close_dialog(self) -> None:
        arguments = self._glib.Variant("(s)", (self._cookie,))
        flags = self._gio.DBusCallFlags.NO_AUTO_START
        self._connection.call(
            *_AUTHORITY, "CancelCheckAuthorization", arguments, None, flags, _CANCEL_TIMEOUT_MS, None, None
        )

    def _answer(self, verdict: Authorization) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(verdict)


def parse_answer(authorized: object, challenge: object, details: Mapping[str, str]) -> Authorization:
    """Return the meaning of one answer of CheckAuthorization."""
    if authorized is True:
        return Authorization.AUTHORIZED
    if challenge is True:
        return Authorization.CHALLENGE
    return Authorization.DISMISSED if details.get("polkit.dismissed") else Authorization.DENIED


Decided = Callable[[Authorization | MethodError], None]
"""Called once in the main loop with polkit's answer, or the reason why the question was cancelled."""


@dataclass(frozen=True, slots=True)
class QuestionLimit:
    """How many questions of one kind may be open.

    Attributes:
        each: of a user other than root.
        together: of all users except root; as many of root.
        refusal: the answer beyond these limits.
    """

    each: int
    together: int
    refusal: MethodError


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    caller: Caller
    action: str
    question: AuthorizationRequest
    decided: Decided


class OpenQuestions:
    """The open questions to polkit; call all methods in the main loop."""

    def __init__(self, bus: BusService, places: Mapping[str, QuestionLimit]) -> None:
        """Start without questions; `places` has the limit of every action."""
        self._bus = bus
        self._places: Final = places
        self._open: list[_Open] = []

    @property
    def are_open(self) -> bool:
        """Whether a question to polkit is open."""
        return bool(self._open)

    def ask(
        self, caller: Caller, action: str, details: Mapping[str, str], decided: Decided, *, interactive: bool
    ) -> None:
        """Ask polkit whether a caller may do something: first without a dialog, see `AuthorizationRequest`.

        Raises:
            MethodError: the limit of this action is reached.
        """
        places = self._places[action]
        users = [each.caller.user for each in self._open if each.action == action]
        if not has_room(users, caller.user, each=places.each, together=places.together):
            raise MethodError(places.refusal.code, places.refusal.text)

        def report(found: Authorization) -> None:
            if asked in self._open:  # else it was called off
                self._open.remove(asked)
                decided(found)

        asked = _Open(caller, action, AuthorizationRequest(self._bus.connection, report), decided)
        self._open.append(asked)
        asked.question.ask(caller.name, action, details, interactive=interactive)

    def forget(self, name: str) -> None:
        """Close the dialogs of a connection that has left."""
        self._close([each for each in self._open if each.caller.name == name], Authorization.CANCELLED)

    def call_off(self, action: str, why: MethodError) -> None:
        """Close all dialogs for an action, and give `why` as their answer."""
        self._close([each for each in self._open if each.action == action], why)

    def _close(self, closed: list[_Open], why: Authorization | MethodError) -> None:
        for each in closed:
            self._open.remove(each)
            each.question.cancel()
            self._bus.soon(partial(each.decided, why))
