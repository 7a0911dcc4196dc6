"""What the owner of a session may ask of it: each method of the interface, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from app.dbus.service import MethodError
from app.helper.session.session import Session

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


REQUESTS: Final[Mapping[str, Callable[..., Any]]] = {
    "Make": _made,
    "Renew": _renewed,
    "Unmake": _unmade,
    "Release": _released,
    "Limit": _limited,
    "Adopt": Session.adopt,
    "DropCaches": _caches_dropped,
    "Trim": Session.trim,
    "Health": Session.health,
    "KernelLog": Session.kernel_log,
}
