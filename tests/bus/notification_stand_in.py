"""A desktop's notification service on the bus of DBUS_SESSION_BUS_ADDRESS, which prints what it is told.

Argument: ``take`` takes notifications, ``refuse`` answers with an error, ``silent`` never answers. Prints
"ready", then a JSON line for each notification.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gi.repository import Gio, GLib  # noqa: TID251 - this is the service, not the program

from tests.bus.stand_in import print_line, serve

XML = """
<node><interface name="org.freedesktop.Notifications"><method name="Notify">
  <arg direction="in" type="s"/><arg direction="in" type="u"/><arg direction="in" type="s"/>
  <arg direction="in" type="s"/><arg direction="in" type="s"/><arg direction="in" type="as"/>
  <arg direction="in" type="a{sv}"/><arg direction="in" type="i"/>
  <arg direction="out" type="u"/>
</method></interface></node>
"""


def main(behaviour: str) -> None:
    kept: list[Any] = []

    def on_call(parameters: Any, invocation: Any) -> None:  # noqa: ANN401 - Gio's
        print_line(json.dumps(parameters.unpack()))
        if behaviour == "silent":
            kept.append(invocation)
        elif behaviour == "refuse":
            invocation.return_dbus_error("org.freedesktop.DBus.Error.LimitsExceeded", "too many")
        else:
            invocation.return_value(GLib.Variant("(u)", (7,)))

    serve(Gio.BusType.SESSION, "org.freedesktop.Notifications", XML, on_call)


if __name__ == "__main__":
    main(sys.argv[1])
