"""Import Gio and GLib on first use: most commands do not need them, and the import takes time."""

from __future__ import annotations

import ctypes
import warnings
from types import ModuleType
from typing import Any


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
