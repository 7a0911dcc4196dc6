"""How much of a file really lies compressed on the disk: asked of the filesystem, without root.

FIEMAP (Linux, Documentation/filesystems/fiemap.rst) marks the extents that are stored encoded, which on
btrfs means compressed (fs/btrfs/extent_io.c); it says how long they are uncompressed, not what they take. ZFS
has no FIEMAP, but the blocks of stat(2) are those that it takes, compressed; on btrfs they are those of the
uncompressed data (fs/btrfs/inode.c). What shows the rest of btrfs, the ioctl that compsize uses, is root's.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FS_IOC_FIEMAP: Final = 0xC020660B
_HEADER: Final = struct.Struct("=QQIIII")
_EXTENT: Final = struct.Struct("=QQQQQIIII")
_SYNC: Final = 0x1
_LAST: Final = 0x1
_ENCODED: Final = 0x8
_EXTENTS_AT_ONCE: Final = 512
_STAT_BLOCK_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """What files take.

    Attributes:
        logical_bytes: as they are read.
        disk_bytes: blocks of stat(2); on btrfs those of the uncompressed data.
        encoded_bytes: of `logical_bytes`, in extents that are stored encoded; None where nothing tells.
        extents: in which they lie; None likewise.
    """

    logical_bytes: int
    disk_bytes: int
    encoded_bytes: int | None
    extents: int | None = None


def stored_bytes(paths: Iterable[Path]) -> StoredBytes:
    """Return what files take together.

    Raises:
        OSError: one cannot be read, or is no regular file.
    """
    logical = disk = 0
    mapped: Extents | None = Extents()
    for path in paths:
        # SECURITY: the runner may have other rights than whose files these are: no link is followed.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
            part = extents_of(file, found.st_size)
            os.fsync(file)
            found = os.fstat(file)
        finally:
            os.close(file)
        logical += found.st_size
        disk += found.st_blocks * _STAT_BLOCK_BYTES
        mapped = None if mapped is None or part is None else mapped.with_those_of(part)
    if mapped is None:
        return StoredBytes(logical, disk, None)
    return StoredBytes(logical, disk, mapped.encoded_bytes, mapped.count)


@dataclass(frozen=True, slots=True)
class Extents:
    """What FIEMAP tells of a file.

    Attributes:
        encoded_bytes: of the file, in extents that are stored encoded.
        count: of extents.
    """

    encoded_bytes: int = 0
    count: int = 0

    def with_those_of(self, other: Extents) -> Extents:
        """Return the extents of two files together."""
        return Extents(self.encoded_bytes + other.encoded_bytes, self.count + other.count)


def extents_of(file: int, size: int) -> Extents | None:
    """Return in which extents a file lies, and what of it is stored encoded; None where nothing tells.

    Raises:
        OSError: of another kind than a filesystem without FIEMAP.
    """
    start = total = count = 0
    while start < size:
        end = start
        room = array.array("B", bytes(_HEADER.size + _EXTENTS_AT_ONCE * _EXTENT.size))
        _HEADER.pack_into(room, 0, start, size - start, _SYNC, 0, _EXTENTS_AT_ONCE, 0)
        try:
            fcntl.ioctl(file, _FS_IOC_FIEMAP, room, True)  # noqa: FBT003 - the buffer is changed
        except OSError as error:
            if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY}:
                return None
            raise
        mapped = _HEADER.unpack_from(room, 0)[3]
        if not mapped:
            break
        for number in range(mapped):
            begin, _, length, _, _, flags, *_ = _EXTENT.unpack_from(
                room, _HEADER.size + number * _EXTENT.size
            )
            end = min(begin + length, size)
            count += begin >= start  # one that the last answer ended in is told again
            if flags & _ENCODED:
                total += max(0, end - max(begin, start))
            if flags & _LAST:
                return Extents(total, count)
        if end <= start:
            break
        start = end
    return Extents(total, count)
