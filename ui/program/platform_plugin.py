"""Whether Qt's plugin for a display can be loaded: where a library of the system is missing, Qt aborts.

Asked before Qt is loaded, through the dynamic linker, which is what Qt does a moment later.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from pathlib import Path
from typing import Final

from app.domain.errors import UsageError
from app.domain.text import tr

_MISSING: Final = re.compile(r"(?P<soname>[\w.+-]+\.so[\w.]*): cannot open shared object file")
"""What the dynamic linker says (glibc, elf/dl-load.c)."""

PLUGINS: Final = {"xcb": "libqxcb.so", "wayland": "libqwayland.so"}


def debian_package(soname: str) -> str:
    """Return the Debian package of a shared library by the rule of Debian's policy, section 8.1.

    The name of the library and its version, with a dash between where the name ends in a digit.
    """
    name, _, version = soname.lower().partition(".so.")
    dash = "-" if name[-1:].isdigit() else ""
    return f"{name}{dash}{version}".replace("_", "-")


def missing_library(plugin: Path) -> str:
    """Return the first shared library without which a plugin cannot be loaded; empty where none is missing.

    A plugin that is not there, as where Qt comes with the distribution, misses nothing: packages see to that.
    """
    if not plugin.is_file():
        return ""
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        return soname_in(str(error))
    return ""


def soname_in(words: str) -> str:
    """Return the library that the dynamic linker did not find; empty where it says something else."""
    found = _MISSING.search(words)
    return found["soname"] if found else ""


def plugin_path(platform: str) -> Path | None:
    """Return where PySide6 keeps the plugin of a platform; None where it cannot be known without Qt."""
    spec = importlib.util.find_spec("PySide6")
    if platform not in PLUGINS or spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0], "Qt", "plugins", "platforms", PLUGINS[platform])


def missing_library_error(soname: str) -> UsageError:
    """Return what to say where a library of the system is missing."""
    message = tr("The window needs the library {soname}, which is not installed on this system.")
    hint = tr(
        "Debian, Ubuntu: apt-get install {package}. `packaging/run` installs all that is missing; "
        "`pgfooting --help` lists the commands that need no window."
    )
    return UsageError(message.format(soname=soname), hint=hint.format(package=debian_package(soname)))


def check_plugin(platform: str) -> None:
    """Make sure that Qt can show windows on this platform, `xcb` or `wayland`.

    Raises:
        UsageError: a library of the system is missing.
    """
    path = plugin_path(platform)
    soname = missing_library(path) if path is not None else ""
    if soname:
        raise missing_library_error(soname)
