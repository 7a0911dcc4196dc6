"""Root's records about disks as files: one for each disk, named after its key, owned by root.

What a record says is its module's own (`app.storage.spare.release_ledger`, `app.storage.inspect.full_read`).
A file that cannot be understood counts for nothing, which is stricter, and is named; root's service sets it
aside at its start.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.messages.message import say
from app.storage.inspect.snapshot import DuplicateMarks, Reading, SourceKnowledge
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
