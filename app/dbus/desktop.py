"""Ask logind not to sleep during a measurement, and the desktop to show a notification at its end.

Source: org.freedesktop.login1(5), Inhibitor Locks (systemd.io/INHIBITOR_LOCKS). The lock lasts as long as the
returned file descriptor is open, so a process that dies leaves no lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import Any, Final, Self

from app import APPLICATION_ID
from app.dbus.bus_thread import open_bus, open_system_bus
from app.dbus.service import load_gio
from app.domain.text import tr

TIMEOUT_S: Final = 2.0
_NAME: Final = "org.freedesktop.login1"
_PATH: Final = "/org/freedesktop/login1"
_INTERFACE: Final = "org.freedesktop.login1.Manager"


class InhibitorUnavailable(Exception):  # noqa: N818 - a state of the machine, not an error of the program
    """logind cannot keep the machine awake.

    Attributes:
        reason: a sentence for users.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SleepInhibitor:
    """Keep the machine awake until `release`, the end of a ``with`` block, or the end of this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Let the machine sleep again; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def inhibit_sleep(why: str, timeout_s: float = TIMEOUT_S) -> SleepInhibitor:
    """Ask logind on the system bus to keep the machine awake; return within about twice `timeout_s`.

    Args:
        why: shown by ``systemd-inhibit --list``.
        timeout_s: for the connection, and again for the call.

    Raises:
        InhibitorUnavailable: no PyGObject, no D-Bus, no logind, or it refuses.
    """
    try:
        gio, glib = load_gio()
    except ImportError as err:
        raise InhibitorUnavailable(
            tr("sleep cannot be inhibited: {error}").format(
                error=tr("{program} is not installed").format(program="PyGObject (python3-gi)")
            )
        ) from err
    try:
        return SleepInhibitor(_inhibit(gio, glib, why, timeout_s))
    except glib.Error as err:
        raise InhibitorUnavailable(
            tr("sleep cannot be inhibited: {error}").format(error=_in_words(err.message))
        ) from err


_FROM_BUS: Final = re.compile(r"GDBus\.Error:(?P<name>[\w.]+): (?P<text>.*)", re.DOTALL)
"""Format in which GDBus writes an error of another process or the bus (g_dbus_error_encode_gerror)."""
_NO_SERVICE: Final = (
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
)


def _in_words(message: str) -> str:
    """Return the message of an error without the prefix of the bus."""
    found = _FROM_BUS.fullmatch(message)
    if found is None:
        return message
    return tr("there is no logind on this machine") if found["name"] in _NO_SERVICE else found["text"]


@contextmanager
def _private_connection(gio: ModuleType, timeout_s: float) -> Iterator[Any]:
    connection = open_system_bus(gio, timeout_s)
    try:
        yield connection
    finally:
        connection.close(None, None)


def _inhibit(gio: ModuleType, glib: ModuleType, why: str, timeout_s: float) -> int:
    """Call Inhibit and return the file descriptor that is the lock."""
    with _private_connection(gio, timeout_s) as connection:
        reply, descriptors = connection.call_with_unix_fd_list_sync(
            _NAME,
            _PATH,
            _INTERFACE,
            "Inhibit",
            glib.Variant("(ssss)", ("sleep:idle", "pgFooting", why, "block")),
            glib.VariantType("(h)"),
            gio.DBusCallFlags.NONE,
            int(timeout_s * 1000),
            None,
            None,
        )
    descriptor: int = descriptors.get(reply.unpack()[0])
    return descriptor


# Show a desktop notification: org.freedesktop.Notifications on the session bus.
#
# Source: Desktop Notifications Specification 1.2 (specifications.freedesktop.org/notification-spec). Without
# a bus, a notification service or PyGObject nothing is shown and no error is raised: the same message also
# appears elsewhere.


LONGEST_TEXT: Final = 500
"""Maximum characters of a body, which includes names chosen by users."""

_SERVICE: Final = "org.freedesktop.Notifications"
_OBJECT: Final = "/org/freedesktop/Notifications"
_AS_THE_DESKTOP_LIKES: Final = -1


def notify(summary: str, body: str, timeout_s: float = TIMEOUT_S) -> bool:
    """Show a notification; return within about twice `timeout_s`, even without an answer.

    Args:
        summary: one line.
        body: a sentence or two; plain text.
        timeout_s: for the connection, and again for the call.

    Returns:
        Whether a desktop service accepted it.
    """
    try:
        gio, glib = load_gio()
    except ImportError:
        return False
    try:
        connection = open_bus(gio, gio.BusType.SESSION, timeout_s)
    except glib.Error:
        return False
    try:
        hints = {
            "desktop-entry": glib.Variant("s", APPLICATION_ID),
            "category": glib.Variant("s", "transfer"),
        }
        values: tuple[object, ...] = (
            "pgFooting",
            0,
            APPLICATION_ID,
            summary[:LONGEST_TEXT],
            _plain(body, glib),
            [],
            hints,
            _AS_THE_DESKTOP_LIKES,
        )
        connection.call_sync(
            _SERVICE,
            _OBJECT,
            _SERVICE,
            "Notify",
            glib.Variant("(susssasa{sv}i)", values),
            glib.VariantType("(u)"),
            gio.DBusCallFlags.NONE,
            int(timeout_s * 1000),
            None,
        )
    except glib.Error:
        return False
    else:
        return True
    finally:
        connection.close(None, None)


def _plain(text: str, glib: ModuleType) -> str:
    """Escape markup: notification servers may interpret some HTML in a body."""
    return str(glib.markup_escape_text(text[:LONGEST_TEXT]))
