"""A desktop's notification service on the bus of DBUS_SESSION_BUS_ADDRESS, which prints what it is told.

Argument: ``take`` takes notifications, ``refuse`` answers with an error, ``silent`` never answers. Prints
"ready", then a JSON line for each notification.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gi.repository import Gio, GLib  # noqa: TID251 - this is the service, not the program

XML = """
<node><interface name="org.freedesktop.Notifications"><method name="Notify">
  <arg direction="in" type="s"/><arg direction="in" type="u"/><arg direction="in" type="s"/>
  <arg direction="in" type="s"/><arg direction="in" type="s"/><arg direction="in" type="as"/>
  <arg direction="in" type="a{sv}"/><arg direction="in" type="i"/>
  <arg direction="out" type="u"/>
</method></interface></node>
"""


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(behaviour: str) -> None:
    loop = GLib.MainLoop()
    connection = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    kept: list[Any] = []

    def on_call(*arguments: Any) -> None:  # noqa: ANN401 - as Gio calls it
        parameters, invocation = arguments[5], arguments[6]
        tell(json.dumps(parameters.unpack()))
        if behaviour == "silent":
            kept.append(invocation)
        elif behaviour == "refuse":
            invocation.return_dbus_error("org.freedesktop.DBus.Error.LimitsExceeded", "too many")
        else:
            invocation.return_value(GLib.Variant("(u)", (7,)))

    interface = Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0]
    connection.register_object("/org/freedesktop/Notifications", interface, on_call, None, None)
    Gio.bus_own_name_on_connection(
        connection,
        "org.freedesktop.Notifications",
        Gio.BusNameOwnerFlags.NONE,
        lambda *_arguments: tell("ready"),
        lambda *_arguments: loop.quit(),
    )
    loop.run()


if __name__ == "__main__":
    main(sys.argv[1])
