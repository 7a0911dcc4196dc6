"""The server side of D-Bus: one object, one main loop, replies that may come later than the next call.

Gio instead of pydbus' `publish`, which lets others take over the name, blocks every caller while one method
runs, lets callers set attributes, and sends them the texts of exceptions (measured with pydbus 0.6.0). GDBus
checks types of arguments against the interface's XML before anything here runs.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Final, Protocol

from app.dbus.gate import MOST_BYTES, Gate
from app.domain.messages.message import WireVariant

# Import Gio and GLib on first use: most commands do not need them, and the import takes time.


def load_gio() -> tuple[ModuleType, ModuleType]:
    """Return the modules Gio and GLib.

    Raises:
        ImportError: PyGObject is not installed.
    """
    with warnings.catch_warnings():
        # WORKAROUND(PyGObject 3.42): its importer has no exec_module, of which Python 3.11 warns
        warnings.simplefilter("ignore", ImportWarning)
        from gi.repository import Gio, GLib  # noqa: PLC0415
    return Gio, GLib


def drop_forgotten_reference(answered: Any) -> None:  # noqa: ANN401 - PyGObject has no types
    """Free a method invocation that was answered; call it when nothing else refers to it.

    WORKAROUND(PyGObject before 3.50): the invocation passed to a method has a reference that is never
    released, so every call's message stays in memory and any client could fill it (measured with 3.42.2: 172
    MB after 6,000 calls). Without that second reference, nothing is done.
    """
    if answered.__grefcount__ == 2:
        library = ctypes.CDLL("libgobject-2.0.so.0")
        library.g_object_unref(ctypes.c_void_p(hash(answered)))  # the hash of a wrapper is its address


_BUS: Final = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_BUS_TIMEOUT_MS: Final = 10_000
_PRIMARY_OWNER: Final = 1
_LEAVE_S: Final = 5.0
_DO_NOT_QUEUE: Final = 4
"""Flag of RequestName (D-Bus specification, Message Bus Messages): allow no replacement, make none."""

_log = logging.getLogger(__name__)


class BusError(Exception):
    """The bus cannot be reached, or another process owns the name.

    Attributes:
        reason: for the log.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class MethodError(Exception):
    """An error of the interface, sent as the answer to a call.

    Attributes:
        code: last part of the error's name, such as ``NotAuthorized``.
        text: values that the caller may know, never the text of an exception or a file.
    """

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Call:
    """One method call.

    Attributes:
        sender: the caller's unique name, set by the bus.
        method: its name.
        content: the arguments as received, a GLib.Variant of the method's type.
        interactive: whether the caller allows a question to its user (ALLOW_INTERACTIVE_AUTHORIZATION).
    """

    sender: str
    method: str
    content: Any
    interactive: bool

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments, unpacked on each access: 80 ms for 128 KiB of small pieces (PyGObject 3.42)."""
        return tuple(self.content.unpack())


class Reply:
    """The one reply to a call; may be given later. A second one is logged and ignored."""

    def __init__(
        self,
        invocation: Any,  # noqa: ANN401 - Gio has no types
        glib: ModuleType,
        signature: str,
        refused: Callable[[MethodError], None],
    ) -> None:
        self._invocation = invocation
        self._glib = glib
        self._signature = signature
        self._refused = refused
        self._method = invocation.get_method_name()

    @property
    def is_open(self) -> bool:
        """Whether no reply was given yet."""
        return self._invocation is not None

    def give(self, *values: object) -> None:
        """Reply with the values of the method's out arguments."""
        invocation = self._take()
        if invocation is not None:
            invocation.return_value(variant_of(self._glib, self._signature, values))

    def refuse(self, refusal: MethodError) -> None:
        """Reply with an error."""
        invocation = self._take()
        if invocation is not None:
            self._refused(refusal)
            text = sendable(refusal.text or refusal.code)
            invocation.return_dbus_error(f"{invocation.get_interface_name()}.Error.{refusal.code}", text)

    def settle(self, action: Callable[[], None]) -> None:
        """Run, in the main loop, an action that replies now or later; its exception becomes the reply."""
        try:
            action()
        except MethodError as refusal:
            self.refuse(refusal)
        # SECURITY: the border of D-Bus: what went wrong is for the log, never for the caller.
        except Exception:  # noqa: BLE001
            _log.exception("%s failed", self._method)
            if self.is_open:
                self.refuse(MethodError("Failed"))

    def _take(self) -> Any:  # noqa: ANN401 - Gio has no types
        invocation, self._invocation = self._invocation, None
        if invocation is None:
            _log.error("a call was answered twice")
        else:
            self._glib.idle_add(drop_forgotten_reference, invocation)
        return invocation


class Handler(Protocol):
    """A function that answers calls, in the thread of the main loop."""

    def __call__(self, call: Call, answer: Reply) -> None:
        """Answer a call now or keep `answer` for later.

        Raises:
            MethodError: sent as the reply. Every other exception is logged and answered with ``Failed``.
        """


class BusService:
    """One object on the system bus, under one name that no other process can take over.

    Attributes:
        name: well-known bus name.
        path: of the object.
        connection: to the bus, for `app.dbus.polkit`.
    """

    def __init__(
        self,
        name: str,
        path: str,
        interface_xml: str,
        handler: Handler,
        refused: Callable[[Call, MethodError], None] = lambda _call, _refusal: None,
    ) -> None:
        """Prepare without connecting; `refused` is called with every refusal, in the main loop."""
        self.name = name
        self.path = path
        self._handler = handler
        self._refused = refused
        self._gio, self._glib = load_gio()
        self._interface = self._gio.DBusNodeInfo.new_for_xml(interface_xml).interfaces[0]
        self._loop = self._glib.MainLoop()
        self._lost = False
        self._watched: dict[str, Callable[[], None]] = {}
        self._gate: Gate | None = None
        self.connection: Any = None

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`, SIGTERM or SIGINT; call it from the main thread.

        Args:
            started: called when the name is ours.

        Raises:
            BusError: there is no bus, it went away, or the name is taken.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            self._glib.unix_signal_add(self._glib.PRIORITY_DEFAULT, number, self._loop.quit)
        try:
            self._connect()
            self._own_name()
        except self._glib.Error as err:
            raise BusError(err.message) from err
        except OSError as err:
            raise BusError(str(err)) from err
        started()
        try:
            self._loop.run()
            if self._lost:
                raise BusError("the bus has gone away")
        finally:
            self._leave()

    def _leave(self) -> None:
        """Leave the bus after all replies have been sent."""
        with suppress(self._glib.Error):
            self.connection.flush_sync(None)
            self.connection.close_sync(None)
        if self._gate is not None:
            self._gate.join(_LEAVE_S)

    def stop(self) -> None:
        """End `run`; may be called from a signal handler or another thread."""
        self._glib.idle_add(self._loop.quit)

    def soon(self, action: Callable[[], None]) -> None:
        """Run an action in the main loop; may be called from any thread."""
        self._glib.idle_add(self._once, action)

    def later(self, delay_s: float, action: Callable[[], None]) -> Callable[[], None]:
        """Run an action once after a delay; return a function that cancels it."""
        source = self._glib.timeout_source_new(round(delay_s * 1000))
        source.set_callback(lambda _data: self._once(action))
        source.attach(None)
        return source.destroy  # type: ignore[no-any-return]

    def emit(self, receiver: str, signal: str, *values: object) -> None:
        """Send a signal to one connection only; ignored if that has left."""
        signature = _signature(self._interface.lookup_signal(signal).args)
        content = variant_of(self._glib, signature, values)
        self.connection.emit_signal(receiver, self.path, self._interface.name, signal, content)

    def watch(self, sender: str, vanished: Callable[[], None]) -> None:
        """Call `vanished` once when a connection leaves the bus.

        For a connection that left before this call, a following `ask_credentials` returns nothing. One
        subscription covers all: the bus limits a connection to a few hundred, and any user may open as many
        connections.
        """
        self._watched[sender] = vanished

    def unwatch(self, sender: str) -> None:
        """Forget a connection that left before it was watched."""
        self._watched.pop(sender, None)

    @property
    def has_waiting(self) -> bool:
        """Whether there are unhandled calls."""
        return self._gate is not None and self._gate.has_waiting

    def _owner_changed(
        self,
        _c: object,
        _sender: str,
        _path: str,
        _interface: str,
        _signal: str,
        content: Any,  # noqa: ANN401
    ) -> None:
        name, _, owner = content.unpack()
        vanished = None if owner else self._watched.pop(name, None)
        if vanished is not None:
            self._once(vanished)

    def when_quiet(self, action: Callable[[], None]) -> None:
        """Run an action after all calls that are on the bus now have been handled."""
        self._ask_bus("NameHasOwner", self.name, lambda _there: self.soon(action))

    def ask_credentials(self, sender: str, done: Callable[[Mapping[str, Any]], None]) -> None:
        """Ask the bus for a connection's credentials (GetConnectionCredentials); empty if it has none.

        ``UnixUserID`` and ``ProcessID`` are those of the process that connected, at connection time.
        """
        self._ask_bus("GetConnectionCredentials", sender, lambda found: done(found or {}))

    def _ask_bus(self, method: str, name: str, done: Callable[[Any], None]) -> None:
        bus, path, interface = _BUS
        arguments = self._glib.Variant("(s)", (name,))

        def finish(connection: Any, result: Any) -> None:  # noqa: ANN401
            try:
                (value,) = connection.call_finish(result).unpack()
            except self._glib.Error:
                value = None
            self._once(lambda: done(value))

        flags = self._gio.DBusCallFlags.NO_AUTO_START
        self.connection.call(
            bus, path, interface, method, arguments, None, flags, _BUS_TIMEOUT_MS, None, finish
        )

    def _connect(self) -> None:
        """Connect privately: the shared connection would end the process when the bus goes away."""
        gio = self._gio
        address = gio.dbus_address_get_for_bus_sync(gio.BusType.SYSTEM, None)
        self._gate = Gate(_authenticated(gio, address), self.soon, self._interface.name)
        self._gate.refused = lambda sender, method: self._refused(
            Call(sender, method, None, interactive=False), MethodError("TooMany")
        )
        stream = gio.Socket.new_from_fd(self._gate.inner.detach()).connection_factory_create_connection()
        flags = gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        self.connection = gio.DBusConnection.new_sync(stream, None, flags, None, None)
        self.connection.connect("closed", self._closed)

    def _own_name(self) -> None:
        """Register the object before taking the name, so that the name never appears without the object."""
        self.connection.register_object(self.path, self._interface, self._called, None, None)
        bus, path, interface = _BUS
        self.connection.signal_subscribe(
            bus,
            interface,
            "NameOwnerChanged",
            path,
            None,
            self._gio.DBusSignalFlags.NONE,
            self._owner_changed,
        )
        arguments = self._glib.Variant("(su)", (self.name, _DO_NOT_QUEUE))
        flags = self._gio.DBusCallFlags.NONE
        (owned,) = self.connection.call_sync(
            bus, path, interface, "RequestName", arguments, None, flags, _BUS_TIMEOUT_MS, None
        ).unpack()
        if owned != _PRIMARY_OWNER:
            raise BusError(f"the name {self.name} is taken")

    def _closed(self, _connection: object, _by_remote: bool, _error: object) -> None:  # noqa: FBT001
        self._lost = True
        self._loop.quit()

    def _called(
        self,
        _connection: object,
        sender: str | None,
        _path: str,
        _interface: str,
        method: str,
        arguments: Any,  # noqa: ANN401
        invocation: Any,  # noqa: ANN401
    ) -> None:
        wanted = self._gio.DBusMessageFlags.ALLOW_INTERACTIVE_AUTHORIZATION
        interactive = bool(invocation.get_message().get_flags() & wanted)
        call = Call(sender or "", method, arguments, interactive)
        signature = _signature(self._interface.lookup_method(method).out_args)
        answer = Reply(invocation, self._glib, signature, partial(self._refused, call))
        if not sender or arguments.get_size() > MOST_BYTES:  # the gate lets none through
            answer.refuse(MethodError("TooMany" if sender else "NotAuthorized"))
        else:
            answer.settle(lambda: self._handler(call, answer))

    def _once(self, action: Callable[[], None]) -> bool:
        """Run an action of the main loop; an exception is logged and does not end the service."""
        try:
            action()
        except Exception:  # noqa: BLE001 - the service goes on
            _log.exception("an action of the main loop failed")
        return False


def _authenticated(gio: ModuleType, address: str) -> socket.socket:
    """Return a socket connected to the bus and authenticated.

    Raises:
        GLib.Error, OSError: it cannot be reached or refuses.
    """
    stream, _ = gio.dbus_address_get_stream_sync(address, None)
    bus = socket.socket(fileno=os.dup(stream.get_socket().get_fd()))
    stream.close(None)
    bus.settimeout(_BUS_TIMEOUT_MS / 1000)
    bus.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
    answer = b""
    while not answer.endswith(b"\r\n"):
        answer += bus.recv(1) or b"\r\n"
    if not answer.startswith(b"OK "):
        bus.close()
        raise PermissionError(errno.EACCES, "the bus does not let us in")
    bus.sendall(b"BEGIN\r\n")
    return bus


def _signature(arguments: Any) -> str:  # noqa: ANN401 - Gio has no types
    return f"({''.join(argument.signature for argument in arguments)})"


def variant_of(glib: ModuleType, signature: str, values: Any) -> Any:  # noqa: ANN401 - Gio has no types
    """Return values as a GLib.Variant; values inside a{sv} carry their type (`WireVariant`)."""
    return glib.Variant(signature, _typed(glib, sendable(values)))


def _typed(glib: ModuleType, value: Any) -> Any:  # noqa: ANN401 - whatever a method answers
    match value:
        case WireVariant(signature, content):
            return glib.Variant(signature, _typed(glib, content))
        case dict():
            return {key: _typed(glib, each) for key, each in value.items()}
        case list() | tuple():
            return type(value)(_typed(glib, each) for each in value)
        case _:
            return value


def sendable(value: Any) -> Any:  # noqa: ANN401 - whatever a method answers
    """Replace characters that D-Bus cannot carry: NUL and unpaired surrogates.

    Serial numbers and paths may contain any bytes.
    """
    match value:
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        case WireVariant(signature, content):
            return WireVariant(signature, sendable(content))
        case dict():
            return {sendable(key): sendable(each) for key, each in value.items()}
        case list() | tuple():
            return type(value)(sendable(each) for each in value)
        case _:
            return value


# Limit how much one user may ask for at a time, so that others still get answers.


ROOT = 0


def has_room(taken: Iterable[int], user: int, *, each: int, together: int) -> bool:
    """Return whether a user may have one more place.

    Args:
        taken: the uid of each taken place.
        user: uid that asks for another place.
        each: places of a user other than root.
        together: places of all users except root; root has as many of its own.
    """
    users = list(taken)
    if user == ROOT:
        return users.count(ROOT) < together
    return users.count(user) < each and len(users) - users.count(ROOT) < together


# Limit the memory of a long-running service.
#
# Sources: mallopt(3), malloc_trim(3); GLib, Running GLib Applications (G_SLICE, until 2.74); gdbusprivate.c.


_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE_BYTES: Final = 128 * 1024


def keep_small() -> None:
    """Return freed memory to the system; call it before GLib is loaded and before threads are started.

    One arena for all threads, because memory freed by another thread stays fragmented; large blocks are
    always mapped separately; GLib does not cache memory itself.
    """
    os.environ["G_SLICE"] = "always-malloc"
    with suppress(AttributeError):  # another library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)


def give_back_memory() -> None:
    """Return free heap memory to the system."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
