"""A file to read, on disk or inside an archive, without reading more of it than its ends."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Final

from app.domain.text import tr

END_BYTES: Final = 32 * 1024
"""Kept of beginning and end: enough to tell what a file is, and every client's last line of a log."""
_SHORT_BYTES: Final = 1024
_PACKED: Final = (".gz", ".bz2")


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file that can be read.

    Attributes:
        disk: where it is; for a member of an archive the archive.
        inner: path inside the archive; empty for a file on disk.
        size: bytes, unpacked.
        head: its first 32 KiB.
        tail: its last 32 KiB.
        identity: (st_dev, st_ino) of the file on disk when its ends were read; None if it may be any.
    """

    disk: Path
    inner: str
    size: int
    head: bytes
    tail: bytes
    identity: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """Last part of its path, without the ending of a packed single file."""
        if self.inner:
            return PurePosixPath(self.inner).name
        return self.disk.stem if self.disk.suffix in _PACKED else self.disk.name

    @property
    def told(self) -> str:
        """How people are told which file it is."""
        return f"{self.disk}: {self.inner}" if self.inner else str(self.disk)

    def trimmed(self) -> ForeignFile:
        """Return the same with little of its ends, for files of which there are many."""
        return replace(self, head=self.head[:_SHORT_BYTES], tail=self.tail[-_SHORT_BYTES:])


class EndsReader:
    """Keeps beginning and end of what is fed through it."""

    def __init__(self) -> None:
        self.size = 0
        self.head = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""
        if len(self.head) < END_BYTES:
            self.head += chunk[: END_BYTES - len(self.head)]
        self._tail = (self._tail + chunk)[-END_BYTES:] if len(chunk) < END_BYTES else chunk[-END_BYTES:]
        self.size += len(chunk)

    def member(self, disk: Path, inner: str, identity: tuple[int, int] | None = None) -> ForeignFile:
        """Return what was fed as a member of the archive `disk`."""
        return ForeignFile(disk, inner, self.size, self.head, self._tail, identity)


@contextmanager
def open_regular(
    path: Path, identity: tuple[int, int] | None = None, folder: int | None = None
) -> Iterator[IO[bytes]]:
    """Open a regular file to read it; never a link, and without waiting for the other end of a FIFO.

    Args:
        path: of the file.
        identity: (st_dev, st_ino) that it must have; None for any.
        folder: descriptor of its folder, which then is not looked up by its path again.

    Raises:
        OSError: it cannot be read, is no regular file, or is another file than `identity`.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path.name if folder is not None else path, flags, dir_fd=folder)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or identity not in {None, (found.st_dev, found.st_ino)}:
            raise OSError(errno.ESTALE, tr("it was replaced while it was read"), str(path))
        yield file


def file_member(path: Path, folder: int | None = None) -> ForeignFile:
    """Return a file on disk; `folder` is the descriptor of its folder, None to go by its path.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    with open_regular(path, folder=folder) as file:
        found = os.fstat(file.fileno())
        head = file.read(END_BYTES)
        size = file.seek(0, 2)
        file.seek(max(0, size - END_BYTES))
        return ForeignFile(path, "", size, head, file.read(END_BYTES), (found.st_dev, found.st_ino))
