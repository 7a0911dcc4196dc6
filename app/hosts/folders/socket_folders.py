"""Places for the socket and the private folder of a run: short paths, in memory if possible."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from typing import Final

from app.domain.units import MIB
from app.hosts.folders.targets import MEMORY_FOLDER, lies_in_memory
from app.process.starter import Account

LONGEST_SOCKET_PATH_BYTES: Final = 99
"""sun_path has 108 bytes with its end (unix(7)); some systems of clients have 104."""

_SOCKET_NAME: Final = ".s.PGSQL.65535"
_LEAST_LOG_BYTES: Final = 32 * MIB
"""Logs are consumed while they grow, so little of them exists at a time; containers give /dev/shm 64 MiB."""

_EVERYWHERE: Final = ("/tmp", "/var/tmp")  # noqa: S108 - what is made there has a random name and mode 0700


def own_name() -> str:
    """Return an unpredictable name for a folder of ours."""
    return f"pgfooting-{secrets.token_hex(8)}"


def socket_places(account: Account) -> tuple[str, ...]:
    """Return the possible parents of a socket folder, the best first."""
    longest = f"{own_name()}/{_SOCKET_NAME}"
    places = (*_runtime_folder(account), *_EVERYWHERE, MEMORY_FOLDER)
    return tuple(
        place for place in places if len(os.fsencode(f"{place}/{longest}")) <= LONGEST_SOCKET_PATH_BYTES
    )


def private_places(account: Account) -> tuple[str, ...]:
    """Return the possible parents of a private folder, those in memory first."""
    usable = [
        place
        for place in (MEMORY_FOLDER, *_runtime_folder(account), *_EVERYWHERE)
        if _free_bytes(place) >= _LEAST_LOG_BYTES
    ]
    return tuple(sorted(map(os.path.realpath, usable), key=lambda place: not is_in_memory(place)))


def is_in_memory(place: str) -> bool:
    """Return whether a folder is in memory, so that writing there puts no load on a device."""
    return lies_in_memory(os.stat(place).st_dev)  # noqa: PTH116 - a string


def _runtime_folder(account: Account) -> Iterator[str]:
    """Yield XDG_RUNTIME_DIR if it conforms to its specification and is the account's."""
    path = os.environ.get("XDG_RUNTIME_DIR", "")
    if not path.startswith("/") or not account.is_current:
        return
    path = os.path.realpath(path)
    try:
        found = os.stat(path)  # noqa: PTH116 - a string
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and not found.st_mode & 0o077:
        yield path


def _free_bytes(place: str) -> int:
    try:
        volume = os.statvfs(place)
    except OSError:
        return 0
    return volume.f_bavail * volume.f_frsize
