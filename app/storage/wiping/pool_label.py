"""The four labels of a disk in a pool: where they lie, and whether one is whole and names a pool.

Sources: OpenZFS vdev_impl.h (vdev_label_t), vdev_label.c (vdev_label_offset), zio.h (zio_eck_t) and
zio_checksum.c: what ZFS writes into a label ends with a SHA-256 over itself and the offset where it lies.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

from app.domain.options.on_disk import Area
from app.domain.units import KIB

LABEL_BYTES: Final = 256 * KIB
BLANK_BYTES: Final = 8 * KIB
"""At the beginning of a label, which ZFS leaves to others (vl_pad1)."""
_PHYSICAL_AT: Final = 16 * KIB
_RING_AT: Final = 128 * KIB
_UBERBLOCK_SIZES: Final = (1 * KIB, 2 * KIB, 4 * KIB, 8 * KIB)
"""They are as large as a sector of the pool, within these bounds (VDEV_UBERBLOCK_SHIFT)."""
_UBERBLOCK_MAGIC: Final = 0x00BAB10C
_CHECKSUM_MAGIC: Final = 0x0210DA7AB10C7A11
_CHECKSUM_BYTES: Final = 32


def label_areas(size_bytes: int) -> tuple[Area, ...]:
    """Return where a vdev of ZFS of this size has its four labels."""
    aligned = size_bytes // LABEL_BYTES * LABEL_BYTES
    starts = (0, LABEL_BYTES, aligned - 2 * LABEL_BYTES, aligned - LABEL_BYTES)
    return tuple(Area(start, LABEL_BYTES) for start in starts)


def names_pool(label: bytes, offset: int, name: str, guid: str) -> bool:
    """Return whether a label is as ZFS wrote it, and names a pool.

    What somebody wrote over a part of it makes a checksum wrong, or is an uberblock without one.

    Args:
        label: all 256 KiB of it.
        offset: where it lies on the vdev.
        name: of the pool.
        guid: of the pool, decimal; anything else where it is not known.
    """
    physical = label[_PHYSICAL_AT:_RING_AT]
    has_guid = not guid.isdigit() or int(guid).to_bytes(8, "big") in physical  # XDR is big-endian
    return (
        name.encode() in physical
        and has_guid
        and _is_summed(physical, offset + _PHYSICAL_AT)
        and _is_summed(label[BLANK_BYTES:_PHYSICAL_AT], offset + BLANK_BYTES)
        and all(_is_uberblock(label, offset, at) for at in _uberblocks(label))
    )


def _uberblocks(label: bytes) -> tuple[int, ...]:
    """Return where in a label an uberblock begins, whoever wrote it."""
    at = range(_RING_AT, len(label), _UBERBLOCK_SIZES[0])
    magics = {_UBERBLOCK_MAGIC.to_bytes(8, "little"), _UBERBLOCK_MAGIC.to_bytes(8, "big")}
    return tuple(each for each in at if label[each : each + 8] in magics)


def _is_uberblock(label: bytes, offset: int, at: int) -> bool:
    sizes = (size for size in _UBERBLOCK_SIZES if (at - _RING_AT) % size == 0)
    return any(_is_summed(label[at : at + size], offset + at) for size in sizes)


def _is_summed(block: bytes, offset: int) -> bool:
    """Return whether a block ends with its own checksum, in the byte order of this machine."""
    content, checksum = block[:-_CHECKSUM_BYTES], block[-_CHECKSUM_BYTES:]
    if struct.unpack("=Q", content[-8:]) != (_CHECKSUM_MAGIC,):
        return False
    digest = hashlib.sha256(content + struct.pack("=4Q", offset, 0, 0, 0)).digest()
    return checksum == struct.pack("=4Q", *struct.unpack(">4Q", digest))
