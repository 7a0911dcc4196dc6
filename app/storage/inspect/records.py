"""Root's records about disks as files: one for each disk, named after its key, owned by root.

What a record says is its module's own (`app.storage.spare.release_ledger`, `app.storage.inspect.records`).
A file that cannot be understood counts for nothing, which is stricter, and is named; root's service sets it
aside at its start.

Reading every byte of one disk, and root's record of what came of it.

The only way to know that a disk is blank: places between its ends can miss what is small or sparse. The
record holds until the disk may have been written: until the kernel counts a write, the disk appears anew, or
the machine starts anew.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.messages.message import say
from app.storage.inspect.pieces import PieceReader, Tell
from app.storage.inspect.snapshot import DuplicateMarks, FullRead, Reading, SourceKnowledge
from app.storage.inspect.sources import SourceFolders

T = TypeVar("T")

_MOST_BYTES: Final = 8 * 1024**2
"""A release record of a disk with `MOST_PIECES` places has 1.2 MB."""
_BROKEN: Final = ".broken"


def write_record(folder: Path, identity: DiskIdentity, values: Mapping[str, object]) -> None:
    """Write the record of a disk; complete on disk when this returns.

    Raises:
        OSError: it cannot be written.
        ValueError: the disk has no identity, so that it could not be known again.
    """
    key = identity.key()
    if not key:
        raise ValueError(identity.device_number)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    of_disk = {
        "serial": identity.serial,
        "wwn": identity.wwn,
        "model": identity.model,
        "size_bytes": identity.size_bytes,
    }
    new = folder / f".{os.getpid()}.new"
    with new.open("w", encoding="utf-8") as file:
        json.dump({**of_disk, **values}, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / f"{key}.json")
    _sync(folder)


def read_records(
    places: SourceFolders, folder: Path, parse: Callable[[Mapping[str, Any]], T]
) -> Reading[tuple[T, ...]]:
    """Return the records of a folder; absent where there is none, and its reason names what is broken."""
    broken: list[str] = []

    def entries() -> tuple[T, ...]:
        found = []
        for path in _files(folder):
            try:
                found.append(_parsed(path, parse))
            except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError) as err:
                if isinstance(err, PermissionError) and not places.as_root:
                    raise
                broken.append(str(path))
        return tuple(found)

    reading = places.attempt(folder, entries)
    if not broken or reading.state is not SourceKnowledge.READ:
        return reading
    return replace(reading, reason=say("records-not-understood", files=", ".join(broken)))


def set_aside_broken(folder: Path, parse: Callable[[Mapping[str, Any]], object]) -> list[Path]:
    """Rename the records that cannot be understood, so that they are kept; return their new names.

    Raises:
        OSError: one cannot be renamed.
    """
    found = []
    for path in _files(folder) if folder.is_dir() else ():
        try:
            _parsed(path, parse)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
            found.append(path.rename(path.with_name(path.name + _BROKEN)))
    return found


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix == ".json"]


def _parsed(path: Path, parse: Callable[[Mapping[str, Any]], T]) -> T:
    """Return one record.

    Raises:
        OSError: the file cannot be read, or anyone but root and this user could have written it.
        ValueError, TypeError, KeyError, RecursionError, OverflowError: it is not what its module writes.
    """
    status = path.lstat()
    if status.st_uid not in {0, os.geteuid()} or path.is_symlink():
        raise PermissionError(1, "not root's", str(path))
    if status.st_size > _MOST_BYTES:
        raise ValueError(str(path))
    return parse(json.loads(path.read_text(encoding="utf-8")))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def marks_as_mapping(marks: DuplicateMarks) -> Mapping[str, object]:
    """Return marks as plain values."""
    return {
        "appearance": marks.appearance,
        "requests": marks.requests,
        "written_bytes": marks.written_bytes,
    }


def parse_marks(values: Mapping[str, Any]) -> DuplicateMarks:
    """Return the marks that `marks_as_mapping` wrote.

    Raises:
        KeyError, TypeError, ValueError: it did not.
    """
    return DuplicateMarks(str(values["appearance"]), int(values["requests"]), int(values["written_bytes"]))


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
