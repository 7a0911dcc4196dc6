"""A file to read, on disk or inside an archive, without reading more of it than its ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

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
    """

    disk: Path
    inner: str
    size: int
    head: bytes
    tail: bytes

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

    def member(self, disk: Path, inner: str) -> ForeignFile:
        """Return what was fed as a member."""
        return ForeignFile(disk, inner, self.size, self.head, self._tail)


def file_member(path: Path) -> ForeignFile:
    """Return a file on disk.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(END_BYTES)
        size = file.seek(0, 2)
        file.seek(max(0, size - END_BYTES))
        return ForeignFile(path, "", size, head, file.read(END_BYTES))
