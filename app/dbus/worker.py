"""Works out answers in a thread, one call after the other, so that the main loop goes on meanwhile.

Who asks much waits for itself: a connection has one call in it, a user a few, and the one who has left none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Final

from app.dbus.service import Answer, BusService, Call, Refusal

MOST_OF_ONE_USER: Final = 4

Then = Callable[[], None]
"""Gives the answer, in the main loop; what it raises is answered instead."""
Work = Callable[[int], Then]
"""Finds out what to answer, in the thread, given the caller's uid; what it raises is answered instead."""


class Worker:
    """See the module; everything is called in the main loop."""

    def __init__(self, bus: BusService, name: str) -> None:
        """Start the thread."""
        self._bus = bus
        self._users: dict[str, int | None] = {}
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether a caller waits."""
        return bool(self._users)

    def forget(self, sender: str) -> None:
        """Begin nothing more for a caller that has left."""
        self._users.pop(sender, None)

    def add(
        self, call: Call, answer: Answer, work: Work, check: Callable[[int], None] = lambda _user: None
    ) -> None:
        """Have a call answered when its turn comes.

        Args:
            call: whose turn comes.
            answer: to it.
            work: what is done in the thread.
            check: raises a `Refusal` where it is not even to wait; given the caller's uid.

        Raises:
            Refusal: TooMany: a call of this connection waits already.
        """
        if call.sender in self._users:
            raise Refusal("TooMany")
        self._users[call.sender] = None

        def enqueue(user: int | None) -> None:
            try:
                known = self._checked(call.sender, user)
                check(known)
            except Refusal:
                self.forget(call.sender)
                raise
            self._users[call.sender] = known
            self._work.put(partial(self._answer, call, answer, partial(work, known)))

        self._bus.ask_user(call.sender, lambda user: answer.settle(partial(enqueue, user)))

    def _checked(self, sender: str, user: int | None) -> int:
        if user is None or sender not in self._users:
            raise Refusal("Unknown")
        if list(self._users.values()).count(user) >= MOST_OF_ONE_USER:
            raise Refusal("TooMany")
        return user

    def _run(self) -> None:
        while True:
            self._work.get()()

    def _answer(self, call: Call, answer: Answer, work: Callable[[], Then]) -> None:
        then: Then = partial(_fail, Refusal("Unknown"))
        if call.sender in self._users:
            try:
                then = work()
            except Exception as err:  # noqa: BLE001 - raised again in the main loop
                then = partial(_fail, err)

        def finish() -> None:
            is_here = call.sender in self._users
            self.forget(call.sender)
            answer.settle(then if is_here else partial(_fail, Refusal("Unknown")))

        self._bus.soon(finish)


def _fail(error: Exception) -> None:
    raise error
