"""Reading every byte of one disk, and root's record of what came of it.

The only way to know that a disk is blank: places between its ends can miss what is small or sparse. The
record holds until the disk may have been written: until the kernel counts a write, the disk appears anew, or
the machine starts anew.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from app.domain.disk import DiskIdentity
from app.storage.inspect.pieces import PieceReader, Tell
from app.storage.inspect.records import marks_as_mapping, parse_marks, read_records, write_record
from app.storage.inspect.snapshot import DuplicateMarks, FullRead, Reading
from app.storage.inspect.sources import SourceFolders

_LOWEST_PRIORITY: Final = 19


def read_every_byte(fd: int, size_bytes: int, tell: Tell) -> int | None:
    """Return where the first byte that is not zero lies; None for nothing but zeros.

    At the lowest priority of this thread, of which the kernel makes that of its requests as well
    (block/ioprio.c, get_current_ioprio); afterwards the thread has its own again.

    Args:
        fd: the disk, open for reading past the page cache.
        size_bytes: of it.
        tell: told how many bytes of how many are read, at each piece; what it raises ends the reading.

    Raises:
        OSError: it cannot be read to its end.
    """
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    with suppress(OSError):  # who may not give way reads all the same
        os.setpriority(os.PRIO_PROCESS, thread, _LOWEST_PRIORITY)
    try:
        with PieceReader(fd) as reader:
            return reader.first_data(0, size_bytes, tell)
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, before)


def record_full_read(
    identity: DiskIdentity, marks: DuplicateMarks, first_data: int | None, folder: Path
) -> None:
    """Record what a disk held when every byte was read; complete on disk when this returns.

    Args:
        identity: which disk.
        marks: the same before the first byte was read and after the last one.
        first_data: what `read_every_byte` returned.
        folder: `SourceFolders.read_whole`.

    Raises:
        OSError: it cannot be written.
        ValueError: the disk has no identity, so that it could not be known again.
    """
    values = {"marks": marks_as_mapping(marks), "first_data": first_data, "read_s": time.time()}
    write_record(folder, identity, values)


def read_whole(places: SourceFolders) -> Reading[tuple[FullRead, ...]]:
    """Return the disks of which every byte was read; absent where there never was one."""
    return read_records(places, places.read_whole, parse_full_read)


def parse_full_read(entry: Mapping[str, Any]) -> FullRead:
    """Return what `record_full_read` wrote.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: it did not write this.
    """
    wwn, first = entry["wwn"], entry["first_data"]
    return FullRead(
        str(entry["serial"]),
        None if wwn is None else str(wwn),
        int(entry["size_bytes"]),
        parse_marks(entry["marks"]),
        None if first is None else int(first),
        float(entry["read_s"]),
    )
