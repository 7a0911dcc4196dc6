"""Check whether a service of the system bus exists, without starting it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.dbus.bus_thread import open_system_bus
from app.dbus.introspection import load_gio
from app.domain.text import tr

_TIMEOUT_S: Final = 2.0
_BUS: Final = "org.freedesktop.DBus"


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether a service is available.

    Attributes:
        there: it runs, or the bus can start it.
        reason: why the bus could not be asked, a sentence; empty if it could.
    """

    there: bool
    reason: str = ""


def service_presence(name: str, timeout_s: float = _TIMEOUT_S) -> Presence:
    """Return whether a service runs or can be started; never starts it, never raises.

    Args:
        name: well-known name, such as ``org.pgfooting.Helper1``.
        timeout_s: for the connection and for each call.
    """
    try:
        gio, glib = load_gio()
    except ImportError:
        return Presence(there=False, reason=tr("PyGObject (python3-gi) is not installed."))
    try:
        bus = open_system_bus(gio, timeout_s)
        try:
            return Presence(name in _names(bus, gio, glib, timeout_s))
        finally:
            bus.close_sync(None)
    except glib.Error as err:
        return Presence(there=False, reason=tr("There is no system bus ({error}).").format(error=err.message))


def _names(bus, gio, glib, timeout_s: float) -> set[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - PyGObject has no types
    """Return the names of services that run or can be started.

    Raises:
        GLib.Error: the bus does not answer.
    """
    found: set[str] = set()
    for method in ("ListNames", "ListActivatableNames"):
        reply = bus.call_sync(
            _BUS,
            "/org/freedesktop/DBus",
            _BUS,
            method,
            None,
            glib.VariantType("(as)"),
            gio.DBusCallFlags.NONE,
            int(timeout_s * 1000),
            None,
        )
        found.update(reply.unpack()[0])
    return found
