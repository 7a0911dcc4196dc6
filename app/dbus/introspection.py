"""Where Gio and GLib are imported: on first use, because it takes time that most commands need not pay."""

from __future__ import annotations

import warnings
from types import ModuleType


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
