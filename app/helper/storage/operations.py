"""What is done with storage while it is used: caches dropped, blocks trimmed, disks asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity
from app.storage.inspect.sources import SourceFolders
from app.storage.layout.steps import LONG_S, QUICK_S
from app.storage.spare.health import read_values
from app.storage.system.programs import run_program

_DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
_ALL_CACHES: Final = "3\n"
"""Page cache, dentries and inodes: Linux Documentation/admin-guide/sysctl/vm.rst."""
_TRIMMED: Final = re.compile(r"\(([0-9]+) bytes\)")


def drop_caches(folders: Sequence[str]) -> None:
    """Write what is dirty of the storage, then drop all clean caches of the machine.

    Not sync(2), which waits for every filesystem, also one of a server that is gone.

    Raises:
        MethodError: Unavailable.
    """
    ended = run_program(("sync", "--file-system", *folders), timeout_s=QUICK_S)
    if ended.exit_code != 0:
        raise MethodError("Failed")
    try:
        _DROP_CACHES.write_text(_ALL_CACHES, encoding="ascii")
    except OSError:
        raise MethodError("Unavailable", "read-only") from None


def trim(folders: Iterable[str], is_cancelled: Callable[[], bool]) -> int:
    """Tell the disks which blocks are unused; return how many bytes.

    A program of its own does it (fstrim(8)), because only its end interrupts the kernel's work.

    Raises:
        MethodError: Unavailable: no filesystem of the storage can.
        CancelledError: it was interrupted.
    """
    told: list[int] = []
    for folder in folders:
        ended = run_program(("fstrim", "--verbose", folder), timeout_s=LONG_S, is_cancelled=is_cancelled)
        found = _TRIMMED.search(ended.stdout)
        if ended.exit_code == 0 and found:
            told.append(int(found[1]))
    if not told:
        raise MethodError("Unavailable", "no-discard")
    return sum(told)


def health(
    disks: Iterable[tuple[str, DiskIdentity]], places: SourceFolders
) -> list[tuple[str, dict[str, str]]]:
    """Return what disks, by node, say of themselves: device number and values."""
    return [
        (disk.device_number, read_values(places, Path(node).name, disk.device_number)) for node, disk in disks
    ]
