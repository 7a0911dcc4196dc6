"""Who calls: asked of the bus once for each connection, and looked up among the accounts of the machine.

dbus-daemon lets nobody connect whose uid has no account, other buses do: whoever may choose among thousands
of uids (subuid(5)) would have as many times the places of one user.
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
"""Calls of one connection before it is known who it is."""
NO_ACCOUNT: Final = "no-account"


@dataclass(frozen=True, slots=True)
class Caller:
    """One connection to the bus.

    Attributes:
        name: its unique name.
        user: uid of the process that connected, when it did.
        process: number of that process; 0 where the bus does not say.
    """

    name: str
    user: int
    process: int


Then = Callable[[Caller], None]
"""Answers a call or raises a `MethodError`; called in the main loop."""


class Callers:
    """See the module; everything is called in the main loop."""

    def __init__(self, bus: BusService, left: Callable[[str], None]) -> None:
        """Nobody is known yet; `left` is told the name of each connection that leaves."""
        self._bus = bus
        self._left = left
        self._known: dict[str, Caller] = {}
        self._waiting: dict[str, list[tuple[Reply, Then]]] = {}
        self._lookups: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._look_up_all, name="accounts", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether a call waits because it is not known yet whose it is."""
        return bool(self._waiting)

    def has(self, name: str) -> bool:
        """Whether a connection that was met is still there."""
        return name in self._known

    def user_of(self, name: str) -> int | None:
        """Return the uid of a connection that was met and is still there."""
        return self._known[name].user if name in self._known else None

    def meet(self, call: Call, answer: Reply, then: Then) -> None:
        """Go on with a call as soon as it is known whose it is.

        Raises:
            MethodError: TooMany: too many calls of the connection wait for that; and what `then` raises.
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
