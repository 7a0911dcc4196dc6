"""Which action of polkit each method asks: default is refusal, and a test walks the interface.

A method that is not listed here is refused, whoever calls it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Access(StrEnum):
    """Who may call a method.

    ANYONE: it tells nothing that not everybody may read, and changes nothing. INSPECT, ERASE: whom polkit
    authorises for it. OWNER: the one caller whose session it is, which polkit authorised when it began; its
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
        access: who may call it.
        renews: whether it shows that the owner makes use of the session (`app.helper.session.lifetime`).
        every_s: how long after it was done it may be done again, by whichever session.
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
    """Return a method, or None where there is none."""
    return next((each for each in METHODS if each.name == name), None)
