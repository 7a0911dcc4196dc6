"""The open questions to polkit: few of each user, so that nobody's dialog keeps another from an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from app.dbus.callers import Caller
from app.dbus.limits import has_room
from app.dbus.polkit import Authorization, AuthorizationRequest
from app.dbus.service import BusService, MethodError

Decided = Callable[[Authorization | MethodError], None]
"""Told once what polkit said, or why it is not asked any more; called in the main loop."""


@dataclass(frozen=True, slots=True)
class QuestionLimit:
    """How many questions of one kind may be open.

    Attributes:
        each: of a user who is not root.
        together: of all users but root; as many of root.
        refusal: what somebody is answered for whom there is none.
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
    """See the module; everything is called in the main loop."""

    def __init__(self, bus: BusService, places: Mapping[str, QuestionLimit]) -> None:
        """Nothing is asked yet; `places` has every action that will be."""
        self._bus = bus
        self._places: Final = places
        self._open: list[_Open] = []

    @property
    def are_open(self) -> bool:
        """Whether polkit is being asked something."""
        return bool(self._open)

    def ask(
        self, caller: Caller, action: str, details: Mapping[str, str], decided: Decided, *, interactive: bool
    ) -> None:
        """Ask polkit whether a caller may do something: first nobody, then a person (`AuthorizationRequest`).

        Raises:
            MethodError: the places of this action are taken.
        """
        places = self._places[action]
        users = [each.caller.user for each in self._open if each.action == action]
        if not has_room(users, caller.user, each=places.each, together=places.together):
            raise MethodError(places.refusal.code, places.refusal.text)

        def tell(found: Authorization) -> None:
            if asked in self._open:  # else it was called off
                self._open.remove(asked)
                decided(found)

        asked = _Open(caller, action, AuthorizationRequest(self._bus.connection, tell), decided)
        self._open.append(asked)
        asked.question.ask(caller.name, action, details, interactive=interactive)

    def forget(self, name: str) -> None:
        """Close the dialogs of a connection that has left."""
        self._close([each for each in self._open if each.caller.name == name], Authorization.CANCELLED)

    def call_off(self, action: str, why: MethodError) -> None:
        """Close all dialogs for an action, and tell those who asked why."""
        self._close([each for each in self._open if each.action == action], why)

    def _close(self, closed: list[_Open], why: Authorization | MethodError) -> None:
        for each in closed:
            self._open.remove(each)
            each.question.cancel()
            self._bus.soon(partial(each.decided, why))
