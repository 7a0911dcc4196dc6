"""A block device that no other program can claim while it is inspected and wiped, and digests of its content.

Read and written past the page cache, so that the bytes read are those on the disk: a direct read first writes
out the dirty pages of this device (mm/filemap.c, kiocb_write_and_wait). Sources: open(2), O_EXCL on block
devices; Linux include/uapi/linux/blkpg.h and fs.h.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import stat
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Final

from app.domain.errors import RefusedError
from app.domain.messages.message import say
from app.domain.options.format_spec import Area
from app.domain.text import GIB, KIB, MIB
from app.storage.system import state

CLAIMED_S: Final = 5.0
"""How long a device may be claimed by programs that only inspect it, as btrfs does with a new one."""
_AGAIN_S: Final = 0.1
_PIECE: Final = 1024**2
_BLKSSZGET: Final = 0x1268
_BLKGETSIZE64: Final = 0x80081272
_BLKPG: Final = 0x1269
_BLKPG_ADD_PARTITION: Final = 1
_BLKPG_DEL_PARTITION: Final = 2


_PARTITION: Final = struct.Struct("qqi64s64s4x")
"""struct blkpg_partition: start, length, number, two names."""
_ARGUMENT: Final = struct.Struct("iiiP")
"""struct blkpg_ioctl_arg: operation, flags, length and address of the data."""


class OpenDevice:
    """An open block device, or a part of one; use `exclusive`, or `reading` if nothing is written.

    Attributes:
        node: its name.
        block_bytes: logical block.
        size_bytes: of the device, or of the part.
        whole: name of the device of a part; else its own.
        start: of the part on that device, in bytes.
    """

    def __init__(self, fd: int, node: str) -> None:
        """Take over a descriptor that was opened with O_DIRECT."""
        self.node = self.whole = node
        self._fd, self.start = fd, 0
        self.block_bytes: int = struct.unpack("i", fcntl.ioctl(fd, _BLKSSZGET, bytes(4)))[0]
        self.size_bytes: int = struct.unpack("Q", fcntl.ioctl(fd, _BLKGETSIZE64, bytes(8)))[0]
        self._buffer = mmap.mmap(-1, _PIECE)  # aligned as O_DIRECT requires

    def part(self, node: str, start: int, size_bytes: int) -> OpenDevice:
        """Return a part of a disk under the name of the partition there; blocks fit into it."""
        part = copy(self)
        part.node, part.start, part.size_bytes = node, start, size_bytes
        return part

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes; fewer at the end of the device.

        Raises:
            OSError: it cannot be read.
        """
        offset, length = max(0, offset), min(length, self.size_bytes - max(0, offset))
        if length <= 0:
            return b""
        low = offset // self.block_bytes * self.block_bytes
        high = min(-(-(offset + length) // self.block_bytes) * self.block_bytes, self.size_bytes)
        found = bytearray()
        while low + len(found) < high:
            wanted = min(_PIECE, high - low - len(found))
            with memoryview(self._buffer) as view, view[:wanted] as part:
                count = os.preadv(self._fd, [part], self.start + low + len(found))
                if count <= 0:
                    raise OSError(errno.EIO, os.strerror(errno.EIO), self.node)
                found += part[:count]
        return bytes(found[offset - low : offset - low + length])

    def zero(self, offset: int, length: int) -> None:
        """Overwrite bytes with zeros; the rest of their blocks is rewritten unchanged.

        Raises:
            OSError: it cannot be read or written, or the bytes are not all inside this device or part.
        """
        if offset < 0 or offset + length > self.size_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.node)
        while length > 0:
            low = offset // self.block_bytes * self.block_bytes
            piece = min(length, _PIECE - (offset - low))
            high = -(-(offset + piece) // self.block_bytes) * self.block_bytes
            content = bytearray(self.read(low, high - low))
            content[offset - low : offset - low + piece] = bytes(piece)
            with memoryview(self._buffer) as view, view[: len(content)] as part:
                part[:] = content
                if os.pwritev(self._fd, [part], self.start + low) != len(content):
                    raise OSError(errno.EIO, os.strerror(errno.EIO), self.node)
            offset, length = offset + piece, length - piece

    def flush(self) -> None:
        """Wait until all written bytes are on the disk.

        Raises:
            OSError: writing failed.
        """
        os.fsync(self._fd)

    def forget_partition(self, number: int) -> bool:
        """Make the kernel forget a partition of this disk; return whether it has none of that number now.

        It refuses while the partition is open (block/partitions/core.c, bdev_del_partition).

        Raises:
            OSError: another error than that it is open.
        """
        found = self._partition(_BLKPG_DEL_PARTITION, number)
        if found not in {0, errno.EBUSY, errno.ENXIO}:
            raise OSError(found, os.strerror(found), self.node)
        return found != errno.EBUSY

    def add_partition(self, number: int, start: int, size_bytes: int) -> None:
        """Make the kernel know a partition of this disk again; an existing one stays as it is.

        Raises:
            OSError: the kernel does not accept it.
        """
        found = self._partition(_BLKPG_ADD_PARTITION, number, start, size_bytes)
        if found not in {0, errno.EBUSY}:
            raise OSError(found, os.strerror(found), self.node)

    def _partition(self, operation: int, number: int, start: int = 0, size_bytes: int = 0) -> int:
        """Ask the kernel to add or delete a partition; return its error, 0 for none."""
        data = ctypes.create_string_buffer(_PARTITION.pack(start, size_bytes, number, b"", b""))
        argument = _ARGUMENT.pack(operation, 0, _PARTITION.size, ctypes.addressof(data))
        try:
            fcntl.ioctl(self._fd, _BLKPG, argument)
        except OSError as err:
            return err.errno or errno.EIO
        return 0

    def close(self) -> None:
        """Release the device."""
        self._buffer.close()
        os.close(self._fd)


@contextmanager
def reading(node: str) -> Iterator[OpenDevice]:
    """Open a device to read its content, even if others use it.

    Raises:
        OSError: it cannot be opened, or is not a block device.
    """
    flags = os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    device = OpenDevice(os.open(node, flags), node)
    try:
        yield device
    finally:
        device.close()


@contextmanager
def exclusive(node: str, number: str, pause: Callable[[float], bool]) -> Iterator[OpenDevice]:
    """Claim a device for inspection and wiping.

    Args:
        node: of it.
        number: ``major:minor`` that it must have.
        pause: waits that many seconds; returns whether waiting may continue.

    Raises:
        RefusedError: it is another device, or the kernel does not give it exclusively.
        OSError: it cannot be opened.
    """
    device = OpenDevice(_opened(node, pause), node)
    try:
        found = os.fstat(device._fd)  # noqa: SLF001 - of this module
        if (
            not stat.S_ISBLK(found.st_mode)
            or f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}" != number
        ):
            raise RefusedError(say("node-other-number", node=node, number=number))
        yield device
    finally:
        device.close()


def _opened(node: str, pause: Callable[[float], bool]) -> int:
    deadline_s = time.monotonic() + CLAIMED_S
    while True:
        try:
            # SECURITY: without O_EXCL others could mount it between the look and the end of the wipe.
            flags = os.O_RDWR | os.O_EXCL | os.O_DIRECT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            return os.open(node, flags)
        except OSError as err:
            if err.errno != errno.EBUSY:
                raise
            if time.monotonic() >= deadline_s or not pause(_AGAIN_S):
                held_by = ", ".join(state.holders(node))
                raise RefusedError(
                    say("node-not-exclusive", node=node, by=f" ({held_by})" if held_by else "")
                ) from err


# Digests of a disk's content, to compare a later state with an earlier one byte for byte.


TABLE_BLOCKS: Final = 34
"""LBA 0 to 33: protective MBR, header and entries of a GPT; the copy is one block shorter (UEFI, 5.3)."""
HEAD_BYTES: Final = 8 * MIB
TAIL_BYTES: Final = MIB
"""Compared parts of a session's content: every superblock, and the bytes of each format that change whenever
it is mounted or written (ext: counts of mounts and blocks; XFS: counts and log position; btrfs: generation;
f2fs: both checkpoints; ZFS: uberblocks; md: events).
"""
EDGE_BYTES: Final = 16 * MIB
"""Length of both ends that is compared after a table was wiped and before the disk is released."""
_FAR: Final = (Area(64 * MIB, 4 * KIB), Area(256 * GIB, 4 * KIB))
"""Superblock copies of btrfs."""


def table_areas(device: OpenDevice) -> tuple[Area, Area]:
    """Return the areas of a disk's GPT and its copy."""
    block, size = device.block_bytes, device.size_bytes
    last = (TABLE_BLOCKS - 1) * block
    return Area(0, TABLE_BLOCKS * block), Area(size - last, last)


def table_digest(device: OpenDevice) -> str:
    """Return a digest of the partition table of a disk and of its copy, including unused bytes of both.

    Raises:
        OSError: it cannot be read.
    """
    return _digest(device, *table_areas(device))


def content_digest(device: OpenDevice) -> str:
    """Return a digest of the places of a partition or array that change whenever its format is used.

    Raises:
        OSError: it cannot be read.
    """
    return _digest(device, *_content_areas(device))


def equalise(device: OpenDevice) -> None:
    """Zero the places of an array that `content_digest` compares; returns when that is on the disks.

    On a mirror that was not synchronised, never written bytes differ between its disks, and the kernel reads
    from any of them.

    Raises:
        OSError: it cannot be written.
    """
    for area in _content_areas(device):
        if area.offset < device.size_bytes:
            device.zero(area.offset, min(area.length, device.size_bytes - area.offset))
    device.flush()


def _content_areas(device: OpenDevice) -> tuple[Area, ...]:
    tail = max(device.size_bytes - TAIL_BYTES, 0)
    return (Area(0, HEAD_BYTES), Area(tail, device.size_bytes - tail), *_FAR)


def ends_digest(device: OpenDevice, without: Sequence[Area] = ()) -> str:
    """Return a digest of both ends of a disk as they will be with some areas zeroed.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    length = min(EDGE_BYTES, device.size_bytes)
    for start in (0, device.size_bytes - length):
        content = bytearray(device.read(start, length))
        for area in without:
            low, high = max(area.offset - start, 0), min(area.offset + area.length - start, length)
            if low < high:
                content[low:high] = bytes(high - low)
        digest.update(content)
    return digest.hexdigest()


def _digest(device: OpenDevice, *areas: Area) -> str:
    total = hashlib.sha256(b"%d" % device.size_bytes)
    for area in areas:
        content = device.read(area.offset, area.length)
        total.update(b"%d %d:" % (area.offset, len(content)))
        total.update(content)
    return total.hexdigest()
