"""Work out answers in threads while the main loop continues.

A connection may have one call here, a user a few, of which one is worked on at a time. One user's calls never
wait for another's, however long those take.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from app.dbus.polkit import Caller
from app.dbus.service import BusService, MethodError, Reply, has_room

MOST_OF_ONE_USER: Final = 4
MOST: Final = 16
"""Calls of all users except root together, and so threads; root has as many of its own."""

Then = Callable[[], None]
"""Gives the reply, in the main loop; its exception becomes the reply."""
Work = Callable[[], Then]
"""Works out the reply, in a thread; its exception becomes the reply."""


class Worker:
    """Calls that are worked on in threads; call all methods in the main loop."""

    def __init__(self, bus: BusService, name: str) -> None:
        """Start empty; `name` is the name of the threads."""
        self._bus = bus
        self._name = name
        self._here: set[str] = set()
        self._lines: dict[int, deque[Callable[[], None]]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a caller waits, or a thread still works for one that has left."""
        return bool(self._lines)

    def forget(self, sender: str) -> None:
        """Start no more work for a caller that has left."""
        self._here.discard(sender)

    def add(self, caller: Caller, answer: Reply, work: Work) -> None:
        """Queue a call.

        Raises:
            MethodError: TooMany: a call of this connection waits already, or too many of this user or of all.
        """
        if caller.name in self._here:
            raise MethodError("TooMany")
        # SECURITY: what waits to be worked on counts, also of connections that have left: they would be a way
        # around the limits otherwise.
        taken = [user for user, line in self._lines.items() for _ in line]
        if not has_room(taken, caller.user, each=MOST_OF_ONE_USER, together=MOST):
            raise MethodError("TooMany")
        self._here.add(caller.name)
        line = self._lines.setdefault(caller.user, deque())
        line.append(partial(self._answer, caller, answer, work))
        if len(line) == 1:
            self._begin(line[0])

    def _begin(self, job: Callable[[], None]) -> None:
        threading.Thread(target=job, name=self._name, daemon=True).start()

    def _answer(self, caller: Caller, answer: Reply, work: Work) -> None:
        then: Then = partial(_fail, MethodError("Unknown"))
        if caller.name in self._here:
            try:
                then = work()
            except Exception as err:  # noqa: BLE001 - raised again in the main loop
                then = partial(_fail, err)

        def finish() -> None:
            line = self._lines[caller.user]
            line.popleft()
            if line:
                self._begin(line[0])
            else:
                del self._lines[caller.user]
            is_here = caller.name in self._here
            self.forget(caller.name)
            answer.settle(then if is_here else partial(_fail, MethodError("Unknown")))

        self._bus.soon(finish)


def _fail(error: Exception) -> None:
    raise error
