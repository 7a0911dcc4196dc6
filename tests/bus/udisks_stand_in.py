"""A service process that takes UDisks2's name on the test's bus, for what the real one does rarely.

Argument: ``answer`` or ``silent`` (GetManagedObjects is never answered). It prints "ready" and obeys lines on
its standard input: ``add PATH``, ``remove PATH``, ``change PATH NAME VALUE``, ``invalidate PATH NAME VALUE``
(the new value is told only when it is asked for). The real UDisks2 is tested in namespaces and on the rig.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from gi.repository import Gio, GLib  # noqa: TID251 - this is the service, not the program

ROOT = "/org/freedesktop/UDisks2"
BLOCK = "org.freedesktop.UDisks2.Block"
MANAGER = "org.freedesktop.DBus.ObjectManager"
PROPERTIES = "org.freedesktop.DBus.Properties"
CONTROLLER = "org.freedesktop.UDisks2.NVMe.Controller"
PARTITION = "org.freedesktop.UDisks2.Partition"
WEAR_XML = f"""
<node><interface name="{CONTROLLER}">
  <method name="SmartGetAttributes">
    <arg name="options" direction="in" type="a{{sv}}"/><arg name="attributes" direction="out" type="a{{sv}}"/>
  </method>
</interface></node>
"""
XML = f"""
<node><interface name="{MANAGER}">
  <method name="GetManagedObjects"><arg direction="out" type="a{{oa{{sa{{sv}}}}}}"/></method>
  <signal name="InterfacesAdded"><arg type="o"/><arg type="a{{sa{{sv}}}}"/></signal>
  <signal name="InterfacesRemoved"><arg type="o"/><arg type="as"/></signal>
</interface></node>
"""


class StandIn:
    """The objects and what is told of them."""

    def __init__(self, behaviour: str) -> None:
        self._silent = behaviour == "silent"
        self._kept: list[Any] = []
        self.objects: dict[str, dict[str, dict[str, GLib.Variant]]] = {}
        self._add(f"{ROOT}/block_devices/sdb")
        self._connection = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
        interface = Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0]
        self._connection.register_object(ROOT, interface, self._call, None, None)
        self._add_nvme()

    def _add(self, path: str) -> dict[str, dict[str, GLib.Variant]]:
        self.objects[path] = {
            BLOCK: {"Device": GLib.Variant("ay", path.encode() + b"\0"), "IdType": GLib.Variant("s", "")}
        }
        return self.objects[path]

    def _add_nvme(self) -> None:
        """Add a drive that tells its wear, with its disk and a partition of it."""
        drive = f"{ROOT}/drives/NVMe"
        self.objects[drive] = {CONTROLLER: {}}
        disk: dict[str, dict[str, GLib.Variant]] = {}
        for name, minor, more in (("nvme0n1", 0, disk), ("nvme0n1p1", 1, {PARTITION: {}})):
            block = {
                "Drive": GLib.Variant("o", drive),
                "DeviceNumber": GLib.Variant("t", 259 << 8 | minor),
            }
            self.objects[f"{ROOT}/block_devices/{name}"] = {BLOCK: block, **more}
        interface = Gio.DBusNodeInfo.new_for_xml(WEAR_XML).interfaces[0]
        self._connection.register_object(drive, interface, self._read_wear, None, None)

    def _read_wear(self, *arguments: Any) -> None:  # noqa: ANN401 - as Gio calls it
        values = {
            "total_data_written": GLib.Variant("t", 12 * 10**12),
            "percent_used": GLib.Variant("y", 4),
        }
        arguments[6].return_value(GLib.Variant("(a{sv})", (values,)))

    def _call(self, *arguments: Any) -> None:  # noqa: ANN401 - as Gio calls it
        invocation = arguments[6]
        if self._silent:
            self._kept.append(invocation)
        else:
            invocation.return_value(GLib.Variant("(a{oa{sa{sv}}})", (self.objects,)))

    def _emit(self, path: str, interface: str, signal: str, values: GLib.Variant) -> None:
        self._connection.emit_signal(None, path, interface, signal, values)

    def obey(self, line: str) -> bool:
        """Do what a line says."""
        verb, path, *rest = line.split()
        if verb == "add":
            added = GLib.Variant("(oa{sa{sv}})", (path, self._add(path)))
            self._emit(ROOT, MANAGER, "InterfacesAdded", added)
        elif verb == "remove":
            del self.objects[path]
            self._emit(ROOT, MANAGER, "InterfacesRemoved", GLib.Variant("(oas)", (path, [BLOCK])))
        else:
            name, value = rest
            self.objects[path][BLOCK][name] = GLib.Variant("s", value)
            changed = {name: GLib.Variant("s", value)} if verb == "change" else {}
            gone = [] if verb == "change" else [name]
            self._emit(
                path, PROPERTIES, "PropertiesChanged", GLib.Variant("(sa{sv}as)", (BLOCK, changed, gone))
            )
        return False


def main(behaviour: str) -> None:
    loop = GLib.MainLoop()
    service = StandIn(behaviour)

    def listen() -> None:
        for line in sys.stdin:
            GLib.idle_add(service.obey, line)
        GLib.idle_add(loop.quit)

    def ready(*_: object) -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    Gio.bus_own_name(
        Gio.BusType.SYSTEM, "org.freedesktop.UDisks2", Gio.BusNameOwnerFlags.NONE, None, ready, None
    )
    threading.Thread(target=listen, daemon=True).start()
    loop.run()


if __name__ == "__main__":
    main(sys.argv[1])
