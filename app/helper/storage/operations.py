"""Operations on storage in use: drop caches, query disks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity
from app.storage.inspect.sources import SourceFolders
from app.storage.layout.steps import QUICK_S
from app.storage.spare.health import read_values
from app.storage.system.programs import run_program

_DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
_ALL_CACHES: Final = "3\n"
"""Value for page cache, dentries and inodes: Linux Documentation/admin-guide/sysctl/vm.rst."""


def drop_caches(folders: Sequence[str]) -> None:
    """Write the storage's dirty pages, then drop all clean caches of the machine.

    Not sync(2), which waits for every filesystem, even for one of an unreachable server.

    Raises:
        MethodError: Failed, Unavailable.
    """
    ended = run_program(("sync", "--file-system", *folders), timeout_s=QUICK_S)
    if ended.exit_code != 0:
        raise MethodError("Failed")
    try:
        _DROP_CACHES.write_text(_ALL_CACHES, encoding="ascii")
    except OSError:
        raise MethodError("Unavailable", "read-only") from None


def health(
    disks: Iterable[tuple[str, DiskIdentity]], places: SourceFolders
) -> list[tuple[str, dict[str, str]]]:
    """Return the health of disks given by node: device number and values."""
    return [
        (disk.device_number, read_values(places, Path(node).name, disk.device_number)) for node, disk in disks
    ]
