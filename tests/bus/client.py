"""A client on the bus for tests: private connections, calls with a time-out, signals that arrived."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from app.dbus.service import load_gio

LIMIT_MS = 60_000


class RemoteError(Exception):
    """What a service answered instead of a result."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


class Client:
    """One connection to the system bus."""

    def __init__(self, name: str, path: str, interface: str) -> None:
        self._gio, self._glib = load_gio()
        self._where = (name, path, interface)
        self.context = self._glib.MainContext.new()
        self.context.push_thread_default()
        try:
            address = self._gio.dbus_address_get_for_bus_sync(self._gio.BusType.SYSTEM, None)
            flags = self._gio.DBusConnectionFlags
            both = flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION
            self.connection = self._gio.DBusConnection.new_for_address_sync(address, both, None, None)
        finally:
            self.context.pop_thread_default()

    @property
    def unique_name(self) -> str:
        """What the bus calls this connection."""
        return str(self.connection.get_unique_name())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.connection.is_closed():
            self.connection.close_sync(None)
        # That it was closed is told in this context, which holds both, and an eventfd, until it has heard it.
        while self.context.iteration(False):  # noqa: FBT003
            pass

    def call(self, method: str, signature: str = "()", *values: object, interactive: bool = False) -> Any:  # noqa: ANN401
        """Call and wait for the answer.

        Raises:
            RemoteError: an error was answered.
        """
        return self.begin(method, signature, *values, interactive=interactive)()

    def begin(
        self, method: str, signature: str = "()", *values: object, interactive: bool = False
    ) -> Callable[[], Any]:
        """Call; the function that is returned waits for the answer."""
        return self.send(method, self._glib.Variant(signature, values), interactive=interactive)

    def send(self, method: str, content: Any, *, interactive: bool = False) -> Callable[[], Any]:  # noqa: ANN401
        """Call with arguments that are packed already; the function that is returned waits for the answer."""
        flag = self._gio.DBusCallFlags
        flags = flag.ALLOW_INTERACTIVE_AUTHORIZATION if interactive else flag.NONE
        results: list[Any] = []
        self.context.push_thread_default()
        try:
            self.connection.call(
                *self._where,
                method,
                content,
                None,
                flags,
                LIMIT_MS,
                None,
                lambda _c, result: results.append(result),
            )
        finally:
            self.context.pop_thread_default()

        def wait() -> Any:  # noqa: ANN401
            while not results:
                self.context.iteration(True)  # noqa: FBT003
            try:
                return self.connection.call_finish(results[0]).unpack()
            except self._glib.Error as err:
                name = self._gio.DBusError.get_remote_error(err) or "local"
                raise RemoteError(name, err.message.partition(": ")[2] or err.message) from err

        return wait

    def signals(self) -> list[tuple[str, Any]]:
        """Subscribe to all signals of the service; the list grows while calls are waited for."""
        found: list[tuple[str, Any]] = []

        def heard(_c: object, _s: str, _p: str, _i: str, signal: str, content: Any) -> None:  # noqa: ANN401
            found.append((signal, content.unpack()))

        self.context.push_thread_default()
        try:
            name, path, interface = self._where
            none = self._gio.DBusSignalFlags.NONE
            self.connection.signal_subscribe(name, interface, None, path, None, none, heard)
        finally:
            self.context.pop_thread_default()
        return found
