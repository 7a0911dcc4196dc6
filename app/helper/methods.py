"""The polkit action of each method: default is refusal, and a test walks the interface.

A method that is not listed here is refused for every caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Access(StrEnum):
    """The callers that a method accepts.

    ANYONE: it reveals only what all users may read, and changes nothing. INSPECT, ERASE: callers that polkit
    authorises for it. OWNER: the one caller that owns the session, which polkit authorised at its start; the
    first argument is the session.
    """

    ANYONE = ""
    INSPECT = "org.pgfooting.helper.inspect"
    ERASE = "org.pgfooting.helper.erase"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the interface.

    Attributes:
        name: as in interface.xml.
        access: accepted callers.
        renews: whether it shows that the owner uses the session (`app.helper.session.lifetime`).
        every_s: shortest time between two calls, across all sessions.
    """

    name: str
    access: Access
    renews: bool = False
    every_s: float = 0.0


METHODS: Final = (
    Method("Version", Access.ANYONE),
    Method("Inspect", Access.INSPECT),
    Method("Read", Access.INSPECT),
    Method("InspectKept", Access.INSPECT),
    Method("Describe", Access.ANYONE),
    Method("ReleaseKept", Access.ERASE),
    Method("Execute", Access.ERASE),
    Method("Make", Access.OWNER, renews=True),
    Method("Renew", Access.OWNER, renews=True),
    Method("Unmake", Access.OWNER),
    Method("Release", Access.OWNER),
    Method("Limit", Access.OWNER),
    Method("Adopt", Access.OWNER),
    Method("DropCaches", Access.OWNER, every_s=10.0),
    Method("Maintain", Access.OWNER),
    Method("EndMaintenance", Access.OWNER),
    Method("Health", Access.OWNER),
    Method("KernelLog", Access.OWNER),
)


def method(name: str) -> Method | None:
    """Return a method, or None if there is none."""
    return next((each for each in METHODS if each.name == name), None)
