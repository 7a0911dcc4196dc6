"""A service process that takes logind's name on the bus of DBUS_SYSTEM_BUS_ADDRESS.

Started by the tests. Argument: ``grant`` hands out a lock, ``refuse`` answers AccessDenied, ``silent``
never answers. Prints "ready", then "locked WHAT WHO WHY MODE", and "released" when the lock was closed.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from gi.repository import Gio, GLib  # noqa: TID251 - this is the service, not the program

from tests.bus.stand_in import print_line, serve

XML = """
<node><interface name="org.freedesktop.login1.Manager"><method name="Inhibit">
  <arg direction="in" type="s"/><arg direction="in" type="s"/>
  <arg direction="in" type="s"/><arg direction="in" type="s"/>
  <arg direction="out" type="h"/>
</method></interface></node>
"""


def main(behaviour: str) -> None:
    kept: list[Any] = []

    def on_released(descriptor: int, condition: object) -> bool:
        os.close(descriptor)
        print_line("released")
        return False

    def on_call(parameters: Any, invocation: Any) -> None:  # noqa: ANN401 - Gio's
        if behaviour == "silent":
            kept.append(invocation)
            print_line("asked")
            return
        if behaviour == "refuse":
            invocation.return_dbus_error("org.freedesktop.DBus.Error.AccessDenied", "Permission denied")
            return
        reading, writing = os.pipe()
        GLib.io_add_watch(reading, GLib.PRIORITY_DEFAULT, GLib.IO_HUP, on_released)
        descriptors = Gio.UnixFDList()
        handle = descriptors.append(writing)
        os.close(writing)
        reply = GLib.Variant("(h)", (handle,))
        invocation.return_value_with_unix_fd_list(reply, descriptors)
        print_line(" | ".join(("locked", *parameters.unpack())))

    serve(Gio.BusType.SYSTEM, "org.freedesktop.login1", XML, on_call)


if __name__ == "__main__":
    main(sys.argv[1])
