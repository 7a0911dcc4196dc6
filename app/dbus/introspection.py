"""Where Gio and GLib are imported: on first use, because it takes time that most commands need not pay."""

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
    """Free a method invocation that was answered; call it when nothing else holds it any more.

    WORKAROUND(PyGObject before 3.50): the invocation that a method is called with has a reference that nobody
    gives back, so that every call's message stays in memory: anyone could fill it (measured with 3.42.2:
    172 MB after 6,000 calls). Where there is no second reference, nothing is done.
    """
    if answered.__grefcount__ == 2:
        library = ctypes.CDLL("libgobject-2.0.so.0")
        library.g_object_unref(ctypes.c_void_p(hash(answered)))  # the hash of a wrapper is its address
