"""Open a private connection to a bus within a time limit."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any


def open_system_bus(gio: ModuleType, timeout_s: float) -> Any:  # noqa: ANN401 - PyGObject has no types
    """Connect to the system bus with `open_bus`; DBUS_SYSTEM_BUS_ADDRESS is respected."""
    return open_bus(gio, gio.BusType.SYSTEM, timeout_s)


def open_bus(gio: ModuleType, bus: object, timeout_s: float) -> Any:  # noqa: ANN401 - PyGObject has no types
    """Connect to a bus, a Gio.BusType; the caller closes the connection.

    Not `bus_get_sync`: its shared connection ends the whole process when the bus goes away
    (GDBusConnection:exit-on-close). A bus that accepts the connection but never answers times out.

    Raises:
        GLib.Error: there is no bus, or it does not answer in time.
    """
    cancellable = gio.Cancellable()
    timer = threading.Timer(timeout_s, cancellable.cancel)
    timer.daemon = True
    timer.start()
    try:
        address = gio.dbus_address_get_for_bus_sync(bus, cancellable)
        flags = gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        return gio.DBusConnection.new_for_address_sync(address, flags, None, cancellable)
    finally:
        timer.cancel()
        timer.join()  # a thread that was told to end may still be there for a moment
