"""Limit the memory of a long-running service.

Sources: mallopt(3), malloc_trim(3); GLib, Running GLib Applications (G_SLICE, until 2.74); gdbusprivate.c.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Final

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
