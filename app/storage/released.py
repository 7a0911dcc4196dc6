"""Root's own record of the disks that pgFooting released: they may be used again with old data in them.

One file for each disk, named after its key and owned by root. It holds a digest of what was left at both ends
of the disk, so that a disk which somebody used meanwhile is not taken for ours.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from app.domain.disk import DiskIdentity
from app.storage.places import RELEASED_FOLDER, Places
from app.storage.snapshot import Reading, Released


def record_release(identity: DiskIdentity, digest: str, folder: Path = RELEASED_FOLDER) -> None:
    """Record that pgFooting used a disk and gave it back; complete on disk when this returns.

    Args:
        identity: which disk.
        digest: `Content.digest` of the disk as it is left.
        folder: where records are; another one only in tests.

    Raises:
        OSError: it cannot be written.
        ValueError: the disk has no identity, so that it could not be known again.
    """
    key = identity.key()
    if not key:
        raise ValueError(identity.device_number)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    entry = {
        "serial": identity.serial,
        "wwn": identity.wwn,
        "model": identity.model,
        "size_bytes": identity.size_bytes,
        "digest": digest,
        "released_s": time.time(),
    }
    path, new = _file(folder, key), folder / f".{os.getpid()}.new"
    with new.open("w", encoding="utf-8") as file:
        json.dump(entry, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync(folder)


def forget_release(identity: DiskIdentity, folder: Path = RELEASED_FOLDER) -> None:
    """Remove the record of a disk, as before it is used again; nothing where there is none.

    Raises:
        OSError: it cannot be removed.
    """
    path = _file(folder, identity.key())
    if path.exists():
        path.unlink()
        _sync(folder)


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_released(places: Places) -> Reading[tuple[Released, ...]]:
    """Return the recorded disks; absent where pgFooting never released one."""

    def entries() -> tuple[Released, ...]:
        return tuple(_parse(path) for path in sorted(places.released.iterdir()) if path.suffix == ".json")

    return places.attempt(places.released, entries)


def _parse(path: Path) -> Released:
    """Return one entry.

    Raises:
        OSError: the file cannot be read, or anyone but root and this user could have written it.
        ValueError: it is not what `record_release` writes.
    """
    if path.stat().st_uid not in {0, os.geteuid()} or path.is_symlink():
        raise PermissionError(1, "not root's", str(path))
    entry = json.loads(path.read_text(encoding="utf-8"))
    try:
        wwn = entry["wwn"]
        return Released(
            str(entry["serial"]),
            None if wwn is None else str(wwn),
            int(entry["size_bytes"]),
            str(entry["digest"]),
            float(entry["released_s"]),
        )
    except (KeyError, TypeError) as err:
        raise ValueError(f"{path}: {err!r}") from err
