"""Find missing system libraries of Qt, and explain them.

PySide6 from PyPI contains Qt but not the libraries that Qt needs for drawing. They are looked up through the
dynamic linker, as Qt does, without loading Qt.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.domain.errors import UsageError
from app.domain.text import tr

QT: Final = (
    "libglib-2.0.so.0",
    "libEGL.so.1",
    "libGL.so.1",
    "libxkbcommon.so.0",
    "libfontconfig.so.1",
    "libdbus-1.so.3",
)
"""Libraries of Qt itself; packaging/system.sh also has them, except GLib, a dependency of PyGObject."""

SCREEN: Final = {
    "xcb": (
        "libxkbcommon-x11.so.0",
        "libxcb-cursor.so.0",
        "libxcb-icccm.so.4",
        "libxcb-image.so.0",
        "libxcb-keysyms.so.1",
        "libxcb-randr.so.0",
        "libxcb-render-util.so.0",
        "libxcb-shape.so.0",
        "libxcb-xkb.so.1",
        "libX11-xcb.so.1",
    ),
    "wayland": ("libwayland-client.so.0", "libwayland-cursor.so.0"),
}
"""Further libraries for windows, by platform; packaging/system.sh has those of both."""

WINDOW_PACKAGES: Final = ("PySide6", "pyqtgraph")
REPORT_PACKAGES: Final = ("PySide6", "pypdf")

_WINDOW: Final = tr("Needed for the window and not installed: {names}.")
_REPORT: Final = tr("Needed for reports and pictures and not installed: {names}.")
_INSTALLS: Final = tr("`packaging/run` installs what pgFooting needs.")
_WITHOUT_WINDOW: Final = tr(
    "`pgfooting run quick` measures without a window, in two minutes; `pgfooting --help` lists all commands."
)
_NO_NEED: Final = tr("CSV and JSON exports work without these libraries.")

_MISSING: Final = re.compile(r"(?P<soname>[\w.+-]+\.so[\w.]*): cannot open shared object file")
"""Message of the dynamic linker (glibc, elf/dl-load.c)."""


def soname_in(words: str) -> str:
    """Return the library that the dynamic linker did not find; empty for any other message."""
    found = _MISSING.search(words)
    return found["soname"] if found else ""


def missing_library(file: Path | str) -> str:
    """Return the first missing shared library of one; empty if none is missing."""
    try:
        ctypes.CDLL(str(file))
    except OSError as error:
        return soname_in(str(error))
    return ""


def missing_libraries(first: str = "", platform: str = "") -> tuple[str, ...]:
    """Return all libraries that Qt lacks, so that they can be installed at once.

    Args:
        first: one that the linker has already reported; empty for none.
        platform: of the window, a key of SCREEN; empty without a window.
    """
    asked = (*QT, *SCREEN.get(platform, ()))
    return tuple(dict.fromkeys(filter(None, [first, *map(missing_library, asked)])))


def check_window_packages() -> None:
    """Check that the window's Python packages are installed.

    Raises:
        UsageError: one is missing.
    """
    _check_packages(WINDOW_PACKAGES, _WINDOW, window_hint())


def check_report_packages() -> None:
    """Check that the Python packages for reports and pictures are installed.

    Raises:
        UsageError: one is missing.
    """
    _check_packages(REPORT_PACKAGES, _REPORT, report_hint())


def _check_packages(names: tuple[str, ...], sentence: str, hint: str) -> None:
    if missing := [name for name in names if importlib.util.find_spec(name) is None]:
        raise _not_installed(missing, sentence, hint)


def _not_installed(names: Sequence[str], sentence: str, hint: str) -> UsageError:
    return UsageError(sentence.format(names=", ".join(names)), hint=hint)


def window_hint() -> str:
    """Return what to do if the window cannot be started."""
    return f"{_INSTALLS} {_WITHOUT_WINDOW}"


def report_hint() -> str:
    """Return what to do if reports and pictures cannot be painted."""
    return f"{_INSTALLS} {_NO_NEED}"


def window_error(soname: str, platform: str = "") -> UsageError:
    """Return the error for a window without a system library; see `missing_libraries`."""
    return _not_installed(missing_libraries(soname, platform), _WINDOW, _WITHOUT_WINDOW)


def report_error(soname: str) -> UsageError:
    """Return the error for reports and pictures without a system library."""
    return _not_installed(missing_libraries(soname), _REPORT, _NO_NEED)
