"""Digests of a disk's content, to compare a later state with an earlier one byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from app.domain.options.format_spec import Area
from app.domain.units import GIB, KIB, MIB
from app.storage.system.device import OpenDevice

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
