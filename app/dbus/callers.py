"""Identify callers: ask the bus once per connection, then look up the account.

dbus-daemon rejects a connection with a uid that has no account; other buses accept it. A user with thousands
of subordinate uids (subuid(5)) could then exceed the limits per user thousands of times.
"""

from __future__ import annotations

import pwd
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

from app.dbus.limits import ROOT
from app.dbus.service import BusService, Call, MethodError, Reply

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
