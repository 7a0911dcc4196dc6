"""Copy a data directory as a stream of bytes, with the digest of that stream.

Files are read and written: never cloned, never by copy_file_range(2) or sendfile(2), which filesystems may
answer with shared extents (btrfs, XFS, ZFS block cloning). The first overwrite of every shared block would be
measured, and runs would share their blocks. Files are dropped from the page cache after reading: the template
takes no memory from the run.

Standard library only: `app.process.starter.as_account` calls this as the account that owns both folders.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.hosts.folders.descriptors import READ, empty_folder, opened, strictly

WAL: Final = "pg_wal"
"""Always a folder in a template; a link in a copy with the WAL on a separate filesystem."""
_LEFT_BY_SERVERS: Final = ("postmaster.opts", "postmaster.pid")
_PART_BYTES: Final = 1 << 20
_STRETCH_BYTES: Final = 32 << 20
"""Large enough that filesystems that allocate at writeback (ext4, XFS, btrfs) make long extents."""
_DEEPEST: Final = 16
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class DamagedTemplateError(Exception):
    """The template cannot be read, or has changed since it was made; the message says how."""


@dataclass(frozen=True, slots=True)
class TreeDigest:
    """Digest of a stream.

    Attributes:
        sha256: of names, kinds, sizes and contents in the order of the names, in hexadecimal.
        files: number of regular files.
        size_bytes: of them together.
    """

    sha256: str
    files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder; `size` is None for a folder."""

    path: str
    size: int | None

    @property
    def head(self) -> bytes:
        """Header of its content in the stream; different for any two listings."""
        name = os.fsencode(self.path)
        kind = "folder" if self.size is None else f"file {self.size}"
        return f"{kind} {len(name)} ".encode() + name


def digest_stopped(data_directory: str) -> TreeDigest:
    """Return the digest of a data directory without the files of its server, which name its place.

    Raises:
        DamagedTemplateError: it cannot be read, or contains links or devices.
    """
    for name in _LEFT_BY_SERVERS:
        Path(data_directory, name).unlink(missing_ok=True)
    return digest_tree(data_directory)


def digest_tree(source: str) -> TreeDigest:
    """Return the digest of a data directory that no server uses.

    Raises:
        DamagedTemplateError: it cannot be read, or contains links or devices.
    """
    with _opened(source) as reading:
        return _stream(reading, _list_source(reading), None)


def copy_tree(source: str, target: str, wal_directory: str = "") -> TreeDigest:
    """Copy a data directory; nothing of the copy is read again.

    Args:
        source: of a template; absolute, without links.
        target: an empty folder; its new content gets modes 0700 and 0600.
        wal_directory: for the WAL, is made and linked to; empty for a folder in `target`.

    Returns:
        The digest of the stream, for comparison with the template's.

    Raises:
        DamagedTemplateError: the template cannot be read.
        OSError: it cannot be written, for example because the disk is full.
    """
    with _opened(source) as reading, strictly(target) as parent, opened(".", READ, parent) as writing:
        entries = _list_source(reading)
        if wal_directory:
            Path(wal_directory).mkdir(mode=0o700)
            os.symlink(wal_directory, WAL, dir_fd=writing)
        for entry in entries:
            if entry.size is None and not (wal_directory and entry.path == WAL):
                os.mkdir(entry.path, 0o700, dir_fd=writing)
        return _stream(reading, entries, writing)


def timed_copy(source: str, target: str, wal_directory: str) -> tuple[TreeDigest, float]:
    """Return the digest of `copy_tree`, and the seconds that it took."""
    started_s = time.monotonic()
    return copy_tree(source, target, wal_directory), time.monotonic() - started_s


def publish(folder: str, made: str, name: str) -> None:
    """Give a template that is on disk its final name; atomic."""
    with strictly(folder) as parent, opened(".", READ, parent) as place:
        with opened(made, READ, place) as inner:
            os.fsync(inner)
        os.rename(made, name, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)


def empty_copy(target: str, wal_directory: str = "") -> None:
    """Remove the remains of a failed copy from its target, and the folder of the WAL.

    Raises:
        OSError: something cannot be removed.
    """
    with strictly(target) as parent, opened(".", READ, parent) as folder:
        empty_folder(folder)
    if wal_directory:
        with suppress(FileNotFoundError):
            with opened(wal_directory, READ) as folder:
                empty_folder(folder)
            Path(wal_directory).rmdir()


@contextmanager
def _opened(source: str) -> Iterator[int]:
    """Open the folder of a template for reading."""
    try:
        with strictly(source) as parent:
            descriptor = os.open(".", READ | os.O_CLOEXEC, dir_fd=parent)
    except OSError as err:
        raise DamagedTemplateError(f"{source}: {err.strerror}") from err
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _list_source(folder: int) -> tuple[_Entry, ...]:
    try:
        return tuple(_entries(folder, ""))
    except OSError as err:
        raise DamagedTemplateError(f"{err.filename}: {err.strerror}") from err
    except ValueError as err:
        raise DamagedTemplateError(str(err)) from err


def _entries(folder: int, below: str) -> Iterator[_Entry]:
    """Yield everything below a folder sorted by name, each folder before its content.

    Args:
        folder: at the top.
        below: path from there; empty for it.

    Raises:
        ValueError: something is neither file nor folder, or too deep.
        OSError: it cannot be read.
    """
    if below.count("/") > _DEEPEST:
        raise ValueError(f"{below}: nested too deep")
    with opened(below or ".", os.O_RDONLY | os.O_DIRECTORY, folder) as inner:
        names = sorted(os.listdir(inner), key=os.fsencode)  # noqa: PTH208 - a descriptor
    for name in names:
        path = f"{below}/{name}" if below else name
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            yield _Entry(path, None)
            yield from _entries(folder, path)
        elif stat.S_ISREG(found.st_mode):
            yield _Entry(path, found.st_size)
        else:
            raise ValueError(f"{path}: neither a file nor a folder")


def _stream(reading: int, entries: tuple[_Entry, ...], writing: int | None) -> TreeDigest:
    """Read the files of a listing, in its order, into a digest and, if given, into a target.

    Parts go into the digest in a separate thread while they are written and the next one is read: hashlib
    computes without the interpreter's lock, and takes about as long as reading and writing do.
    """
    digest = hashlib.sha256()
    files = size_bytes = 0
    with ThreadPoolExecutor(max_workers=1) as beside:
        last = beside.submit(digest.update, b"")
        for entry in entries:
            last.result()
            last = beside.submit(digest.update, entry.head)
            if entry.size is None:
                continue
            files += 1
            target = None if writing is None else os.open(entry.path, _NEW, 0o600, dir_fd=writing)
            try:
                done = 0
                for part in _parts(reading, entry.path):
                    last.result()  # at most one part waits for the digest
                    last = beside.submit(digest.update, part)
                    if target is not None:
                        _write(target, part, done)
                    done += len(part)
            finally:
                if target is not None:
                    os.close(target)
            if done != entry.size:
                raise DamagedTemplateError(f"{entry.path}: {done} bytes instead of {entry.size}")
            size_bytes += done
    return TreeDigest(digest.hexdigest(), files, size_bytes)


def _parts(folder: int, path: str) -> Iterator[bytes]:
    """Yield a file of the template part by part.

    Raises:
        DamagedTemplateError: it cannot be read.
    """
    try:
        with opened(path, _OLD, folder) as file:
            while part := os.read(file, _PART_BYTES):
                yield part
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as err:
        raise DamagedTemplateError(f"{path}: {err.strerror}") from err


def _write(file: int, content: bytes, before: int) -> None:
    """Write a part after the previous one, and start the writeback of each complete stretch.

    Otherwise the disk is idle until everything is forced to it at the end. posix_fadvise(2) starts the
    writeback and does not wait (mm/fadvise.c); pages that are not on disk yet stay in the page cache.
    """
    part = memoryview(content)
    end = before + len(part)
    while part:
        part = part[os.write(file, part) :]
    if end // _STRETCH_BYTES > before // _STRETCH_BYTES:
        begin = (before // _STRETCH_BYTES) * _STRETCH_BYTES
        os.posix_fadvise(file, begin, end - begin, os.POSIX_FADV_DONTNEED)
