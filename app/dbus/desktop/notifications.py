"""Show a desktop notification: org.freedesktop.Notifications on the session bus.

Source: Desktop Notifications Specification 1.2 (specifications.freedesktop.org/notification-spec). Without a
bus, a notification service or PyGObject nothing is shown and no error is raised: the same message also
appears elsewhere.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

from app import APPLICATION_ID
from app.dbus.bus_thread import open_bus
from app.dbus.introspection import load_gio

TIMEOUT_S: Final = 2.0
LONGEST_TEXT: Final = 500
"""Maximum characters of a body, which includes names chosen by users."""

_NAME: Final = "org.freedesktop.Notifications"
_PATH: Final = "/org/freedesktop/Notifications"
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
            _NAME,
            _PATH,
            _NAME,
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
