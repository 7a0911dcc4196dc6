"""What services of the tests have in common: one object, one interface, one name on a bus."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gi.repository import Gio, GLib  # noqa: TID251 - this is the service, not the program


def print_line(text: str) -> None:
    """Print a line that the test reads."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def serve(bus: object, name: str, xml: str, on_call: Callable[[Any, Any], None]) -> None:
    """Take a name on a bus, print "ready", and answer until the name is lost.

    Args:
        bus: `Gio.BusType.SYSTEM` or `SESSION`.
        name: of the service; its object has the same, as a path.
        xml: of its interface.
        on_call: gets the parameters of each call, and what answers it.
    """
    loop = GLib.MainLoop()
    connection = Gio.bus_get_sync(bus, None)
    interface = Gio.DBusNodeInfo.new_for_xml(xml).interfaces[0]
    path = "/" + name.replace(".", "/")
    connection.register_object(path, interface, lambda *called: on_call(called[5], called[6]), None, None)
    Gio.bus_own_name_on_connection(
        connection,
        name,
        Gio.BusNameOwnerFlags.NONE,
        lambda *_arguments: print_line("ready"),
        lambda *_arguments: loop.quit(),
    )
    loop.run()
