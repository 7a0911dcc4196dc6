"""Run pydbus calls in one thread with its own GMainContext; check whether a service of the bus exists.

pydbus calls block, and its signals are delivered in the GMainContext that was the thread's default when they
were subscribed to. A private context makes both independent of Qt's event loop and of other users of GLib.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, TypeVar

from app.dbus.service import load_gio
from app.domain.text import tr

T = TypeVar("T")
_STOP_S: Final = 2.0


class BusThread:
    """Run functions one after the other, in the daemon thread that also receives the signals."""

    def __init__(self, name: str) -> None:
        """Start the thread.

        Raises:
            ImportError: PyGObject is not installed.
        """
        _, self._glib = load_gio()
        self._context = self._glib.MainContext.new()
        self._loop = self._glib.MainLoop.new(self._context, False)  # noqa: FBT003 - GLib's own
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._context.push_thread_default()
        self._loop.run()
        self._context.pop_thread_default()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run a function in the thread; the future carries its result or exception."""
        future: Future[T] = Future()

        def call(*_: Any) -> bool:  # noqa: ANN401 - GLib's user data
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as err:  # noqa: BLE001 - the future carries it to who asked
                    future.set_exception(err)
            return False  # once

        source = self._glib.idle_source_new()
        source.set_callback(call)
        source.attach(self._context)
        return future

    def later(self, delay_s: float, function: Callable[[], None]) -> None:
        """Run a function in the thread after a delay."""
        source = self._glib.timeout_source_new(int(delay_s * 1000))

        def call(*_: Any) -> bool:  # noqa: ANN401 - GLib's user data
            function()
            return False

        source.set_callback(call)
        source.attach(self._context)

    def stop(self) -> None:
        """End the thread. If a call hangs, the thread ends with the process."""
        self.submit(self._loop.quit)
        if threading.current_thread() is not self._thread:
            self._thread.join(_STOP_S)


# Open a private connection to a bus within a time limit.


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
        timer.join()  # a cancelled thread may still be there for a moment


# Check whether a service of the system bus exists, without starting it.


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
        return Presence(
            there=False,
            reason=tr("{program} is not installed").format(program="PyGObject (python3-gi)") + ".",
        )
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
