"""Requests of a session's owner: each method of the interface, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from app.dbus.service import MethodError
from app.domain.messages.message import message_to_wire
from app.helper.session.session import Session
from app.helper.storage.maintenance import MaintenanceResult

Give = Callable[..., None]
"""Answers with the values of the method's out arguments, or with a `MethodError`."""


def _made(session: Session, give: Give, number: int) -> None:
    session.make(number)
    give()


def _renewed(session: Session, give: Give) -> None:
    session.check_goes_on()
    give()


def _unmade(session: Session, give: Give) -> None:
    session.unmake()
    give()


def _released(session: Session, give: Give) -> None:
    session.release()
    give()


def _without_value(give: Give) -> Give:
    def done(result: object) -> None:
        if isinstance(result, MethodError):
            give(result)
        else:
            give()

    return done


def _limited(session: Session, give: Give, memory_bytes: int) -> None:
    session.limit(_without_value(give), memory_bytes)


def _caches_dropped(session: Session, give: Give) -> None:
    session.drop_caches(_without_value(give))


def _maintained(session: Session, give: Give, name: str) -> None:
    def ended(result: MaintenanceResult | MethodError) -> None:
        if isinstance(result, MethodError):
            give(result)
        else:
            how, message, seconds = result
            give(how, message_to_wire(message), seconds)

    session.maintain(ended, name)


def _maintenance_ended(session: Session, give: Give) -> None:
    session.end_maintenance(_without_value(give))


REQUESTS: Final[Mapping[str, Callable[..., Any]]] = {
    "Make": _made,
    "Renew": _renewed,
    "Unmake": _unmade,
    "Release": _released,
    "Limit": _limited,
    "Adopt": Session.adopt,
    "DropCaches": _caches_dropped,
    "Maintain": _maintained,
    "EndMaintenance": _maintenance_ended,
    "Health": Session.health,
    "KernelLog": Session.kernel_log,
}
