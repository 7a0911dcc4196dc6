"""Places for the socket and the private folder of a run: short paths, in memory if possible."""

from __future__ import annotations

import os
import secrets
from typing import Final

from app.domain.units import MIB
from app.hosts.folders.targets import MEMORY_FOLDER, lies_in_memory

_LEAST_LOG_BYTES: Final = 32 * MIB
"""Logs are consumed while they grow, so little of them exists at a time; containers give /dev/shm 64 MiB."""

SOCKET_PLACES: Final = ("/tmp", "/var/tmp", MEMORY_FOLDER)  # noqa: S108 - random names, mode 0700
"""Possible parents of a socket folder, the best first; short: a socket's path has 107 bytes (unix(7))."""


def own_name() -> str:
    """Return an unpredictable name for a folder of ours."""
    return f"pgfooting-{secrets.token_hex(8)}"


def private_places() -> tuple[str, ...]:
    """Return the possible parents of a private folder, those in memory first."""
    places = (MEMORY_FOLDER, *SOCKET_PLACES[:-1])
    usable = [place for place in places if _free_bytes(place) >= _LEAST_LOG_BYTES]
    return tuple(sorted(map(os.path.realpath, usable), key=lambda place: not is_in_memory(place)))


def is_in_memory(place: str) -> bool:
    """Return whether a folder is in memory, so that writing there puts no load on a device."""
    return lies_in_memory(os.stat(place).st_dev)  # noqa: PTH116 - a string


def _free_bytes(place: str) -> int:
    try:
        volume = os.statvfs(place)
    except OSError:
        return 0
    return volume.f_bavail * volume.f_frsize
