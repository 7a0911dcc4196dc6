"""Keeping a service small that lives long and serves whoever asks.

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
    """Have freed memory go back to the system; call it before GLib is loaded and before threads are started.

    One arena for all threads, because what one thread frees of another's stays in pieces; large blocks are
    mapped each on its own, however large the largest was; GLib keeps no memory of its own.
    """
    os.environ["G_SLICE"] = "always-malloc"
    with suppress(AttributeError):  # another library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)


def give_back_memory() -> None:
    """Return to the system what is free in pieces."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
