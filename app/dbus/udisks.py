"""Mirror the objects of UDisks2: fetch them once, then follow its signals.

Subscribe first and call GetManagedObjects after that, so that no change is missed. Properties that a signal
invalidates without a value are fetched again. For display only: root decides by its own inspection.
Source: org.freedesktop.UDisks2.xml; D-Bus specification, ObjectManager and Properties.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from app.dbus.bus_thread import BusThread, open_system_bus
from app.dbus.service import load_gio
from app.domain.disk_answers import DriveWear
from app.domain.text import tr

SERVICE: Final = "org.freedesktop.UDisks2"
TIMEOUT_S: Final = 2.0
_ROOT: Final = "/org/freedesktop/UDisks2"
_MANAGER: Final = "org.freedesktop.DBus.ObjectManager"
_PROPERTIES: Final = "org.freedesktop.DBus.Properties"
_BUS: Final = "org.freedesktop.DBus"
_CONTROLLER: Final = f"{SERVICE}.NVMe.Controller"

Objects = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Object path -> interface -> property -> value, variants unpacked."""

_log = logging.getLogger(__name__)


class UdisksUnavailable(Exception):  # noqa: N818 - a state of the machine, not an error of the program
    """UDisks2 does not answer; disks are shown from sysfs alone.

    Attributes:
        reason: a sentence for users.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def fetch_objects(timeout_s: float = TIMEOUT_S, *, activate: bool = False) -> Objects:
    """Return all objects of UDisks2, within about three times `timeout_s`.

    Args:
        timeout_s: for the connection and for each call.
        activate: whether the bus may start the service.

    Raises:
        UdisksUnavailable: no PyGObject or pydbus, no bus, no UDisks2, or no answer in time.
    """
    bus = _connect(timeout_s)
    try:
        return _objects(bus, timeout_s, activate=activate)
    finally:
        bus.con.close(None, None)


def _connect(timeout_s: float) -> Any:  # noqa: ANN401 - pydbus has no types
    try:
        gio, glib = load_gio()
        from pydbus.bus import Bus  # noqa: PLC0415 - takes time, and is not everywhere
    except ImportError as err:
        raise UdisksUnavailable(
            tr("{program} is not installed").format(program="PyGObject, pydbus (python3-pydbus)")
        ) from err
    try:
        return Bus(open_system_bus(gio, timeout_s))
    except glib.Error as err:
        raise UdisksUnavailable(tr("no system bus: {error}").format(error=err.message)) from err


def _objects(bus: Any, timeout_s: float, *, activate: bool) -> dict[str, dict[str, dict[str, Any]]]:  # noqa: ANN401
    _, glib = load_gio()
    try:
        if not activate and not bus.get(_BUS, timeout=timeout_s).NameHasOwner(SERVICE, timeout=timeout_s):
            raise UdisksUnavailable(tr("UDisks2 is not running"))
        manager = bus.get(SERVICE, _ROOT, timeout=timeout_s)[_MANAGER]
        found: dict[str, dict[str, dict[str, Any]]] = manager.GetManagedObjects(timeout=timeout_s)
    # pydbus: KeyError and AttributeError for an object or method that introspection does not show
    except (glib.Error, KeyError, AttributeError, TypeError) as err:
        raise UdisksUnavailable(
            tr("UDisks2 does not answer: {error}").format(error=getattr(err, "message", err))
        ) from err
    return found


def fetch_wear(timeout_s: float = TIMEOUT_S) -> dict[str, DriveWear]:
    """Return the wear of NVMe drives by device number; other drives do not report it.

    UDisks2 refreshes the values itself, about every ten minutes; reading them needs no rights and wakes no
    drive.

    Raises:
        UdisksUnavailable: as `fetch_objects`.
    """
    bus = _connect(timeout_s)
    try:
        objects = _objects(bus, timeout_s, activate=False)
        found: dict[str, DriveWear] = {}
        for interfaces in objects.values():
            block = interfaces.get(f"{SERVICE}.Block", {})
            path = str(block.get("Drive", "/"))
            if _CONTROLLER in objects.get(path, {}) and f"{SERVICE}.Partition" not in interfaces:
                wear = _wear(bus, path, timeout_s)
                if wear is not None:
                    device = int(block.get("DeviceNumber", 0))
                    found[f"{os.major(device)}:{os.minor(device)}"] = wear
        return found
    finally:
        bus.con.close(None, None)


def _wear(bus: Any, path: str, timeout_s: float) -> DriveWear | None:  # noqa: ANN401
    _, glib = load_gio()
    try:
        controller = bus.get(SERVICE, path, timeout=timeout_s)[_CONTROLLER]
        smart = controller.SmartGetAttributes({}, timeout=timeout_s)
        return DriveWear(int(smart["total_data_written"]), int(smart["percent_used"]))
    except (glib.Error, KeyError, AttributeError, TypeError, ValueError):
        return None  # an old UDisks2, or a drive that has not been asked yet


class UdisksFollower:
    """Follow UDisks2 in a thread until `stop`, across restarts of the service.

    `on_change` is called in that thread with the mirror after every change, and with None while UDisks2 does
    not answer; it must return quickly.
    """

    def __init__(self, on_change: Callable[[Objects | None], None], timeout_s: float = TIMEOUT_S) -> None:
        self._on_change = on_change
        self._timeout_s = timeout_s
        self._objects: dict[str, dict[str, dict[str, Any]]] | None = None
        self._bus: Any = None
        self._thread: BusThread | None = None
        self.reason = ""

    def start(self) -> None:
        """Start to follow; returns at once.

        Raises:
            UdisksUnavailable: PyGObject is not installed.
        """
        try:
            self._thread = BusThread("udisks")
        except ImportError as err:
            raise UdisksUnavailable(
                tr("{program} is not installed").format(program="PyGObject (python3-gi)")
            ) from err
        self._thread.submit(self._begin)

    def stop(self) -> None:
        """Stop; `on_change` is not called afterwards."""
        self._on_change = lambda _: None
        if self._thread is not None:
            self._thread.submit(self._close)
            self._thread.stop()

    def _close(self) -> None:
        if self._bus is not None:
            self._bus.con.close(None, None)

    def _begin(self) -> None:
        try:
            self._bus = _connect(self._timeout_s)
            self._subscribe()
        except UdisksUnavailable as err:
            self.reason = err.reason
            self._on_change(None)
        else:
            self._fetch(activate=True)

    def _subscribe(self) -> None:
        listen = self._bus.subscribe
        listen(sender=SERVICE, iface=_MANAGER, signal="InterfacesAdded", signal_fired=self._added)
        listen(sender=SERVICE, iface=_MANAGER, signal="InterfacesRemoved", signal_fired=self._removed)
        listen(sender=SERVICE, iface=_PROPERTIES, signal="PropertiesChanged", signal_fired=self._changed)
        listen(sender=_BUS, iface=_BUS, signal="NameOwnerChanged", arg0=SERVICE, signal_fired=self._owner)

    def _fetch(self, *, activate: bool = False) -> None:
        try:
            self._objects = _objects(self._bus, self._timeout_s, activate=activate)
            self.reason = ""
        except UdisksUnavailable as err:
            self._objects, self.reason = None, err.reason
        self._report()

    def _report(self) -> None:
        try:
            self._on_change(deepcopy(self._objects))
        except Exception:  # noqa: BLE001 - a border: one listener's mistake does not end following
            _log.exception("following UDisks2")

    def _added(self, _sender: str, _path: str, _iface: str, _signal: str, values: tuple[Any, ...]) -> None:
        if self._objects is not None:
            path, interfaces = values
            self._objects.setdefault(path, {}).update(interfaces)
            self._report()

    def _removed(self, _sender: str, _path: str, _iface: str, _signal: str, values: tuple[Any, ...]) -> None:
        if self._objects is not None:
            path, interfaces = values
            known = self._objects.get(path, {})
            for interface in interfaces:
                known.pop(interface, None)
            if not known:
                self._objects.pop(path, None)
            self._report()

    def _changed(self, _sender: str, path: str, _iface: str, _signal: str, values: tuple[Any, ...]) -> None:
        if self._objects is not None:
            interface, changed, invalidated = values
            known = self._objects.setdefault(path, {}).setdefault(interface, {})
            known.update(changed)
            if invalidated:
                self._fetch()
            else:
                self._report()

    def _owner(self, _sender: str, _path: str, _iface: str, _signal: str, values: tuple[Any, ...]) -> None:
        _, _, owner = values
        if owner:
            self._fetch()
        else:
            self._objects, self.reason = None, tr("UDisks2 is not running")
            self._report()
