"""Root's records about disks as files: one for each disk, named after its key, owned by root.

The content of a record is up to its module (`app.storage.spare.release_ledger`, and `FullRead` here). A file
that cannot be understood counts for nothing, which is stricter, and is named; root's service sets it aside at
its start.

Reading every byte is the only way to know that a disk is blank: samples between its ends can miss small or
sparse data. Its record is valid until the disk may have been written: until the kernel counts a write, the
disk reappears, or the machine restarts.
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
from app.storage.inspect.sampling import PieceReader, Progress
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
        ValueError: the disk has no identity, so that it could not be recognised again.
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
    """Return the records of a folder; absent if there is none. The reason names broken files."""
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
    """Rename broken records, so that they are kept; return their new names.

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
        OSError: the file cannot be read, or someone other than root and this user could have written it.
        ValueError, TypeError, KeyError, RecursionError, OverflowError: it is not in its module's format.
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
    """Parse the output of `marks_as_mapping`.

    Raises:
        KeyError, TypeError, ValueError: it has another format.
    """
    return DuplicateMarks(str(values["appearance"]), int(values["requests"]), int(values["written_bytes"]))


_LOWEST_PRIORITY: Final = 19


def read_every_byte(fd: int, size_bytes: int, progress: Progress) -> int | None:
    """Return the position of the first byte that is not zero; None if all are zeros.

    Runs at the lowest priority of this thread, from which the kernel derives that of its requests
    (block/ioprio.c, get_current_ioprio); then restores the thread's priority.

    Args:
        fd: the disk, open for reading past the page cache.
        size_bytes: of it.
        progress: called at each piece with the bytes read and the total; an exception ends the reading.

    Raises:
        OSError: it cannot be read to its end.
    """
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    with suppress(OSError):  # without the right to lower it, reads all the same
        os.setpriority(os.PRIO_PROCESS, thread, _LOWEST_PRIORITY)
    try:
        with PieceReader(fd) as reader:
            return reader.first_data(0, size_bytes, progress)
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, before)


def record_full_read(
    identity: DiskIdentity, marks: DuplicateMarks, first_data: int | None, folder: Path
) -> None:
    """Record the result of reading every byte of a disk; complete on disk when this returns.

    Args:
        identity: of the disk.
        marks: the same before the first byte was read and after the last one.
        first_data: result of `read_every_byte`.
        folder: `SourceFolders.read_whole`.

    Raises:
        OSError: it cannot be written.
        ValueError: the disk has no identity, so that it could not be recognised again.
    """
    values = {"marks": marks_as_mapping(marks), "first_data": first_data, "read_s": time.time()}
    write_record(folder, identity, values)


def read_whole(places: SourceFolders) -> Reading[tuple[FullRead, ...]]:
    """Return the disks that root read completely; absent if there never was one."""
    return read_records(places, places.read_whole, parse_full_read)


def parse_full_read(entry: Mapping[str, Any]) -> FullRead:
    """Parse the output of `record_full_read`.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: it has another format.
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
