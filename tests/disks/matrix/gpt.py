"""A GPT as the tests read it, to see what root left and to know what happened to it.

Source: UEFI specification 2.10, 5.3. Nothing of root's own reads one: it compares bytes.
"""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.storage.system.state import sysfs_folder

_GPT_SIGNATURE: Final = b"EFI PART"


@dataclass(frozen=True, slots=True)
class GptPartition:
    """One partition of a GPT.

    Attributes:
        number: of its entry, from 1.
        type: identifier of its type.
        uuid: of it.
        name: of it; may be empty.
        start_bytes: where it begins.
        size_bytes: of it.
    """

    number: int
    type: str
    uuid: str
    name: str
    start_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """What a GPT says.

    Attributes:
        uuid: of the table.
        partitions: of it, in the order of their entries.
    """

    uuid: str
    partitions: tuple[GptPartition, ...]


def read_table(node: str) -> PartitionTable | None:
    """Return the GPT of a disk, or None where there is none.

    Raises:
        OSError: the disk cannot be read.
    """
    folder = sysfs_folder(node)
    block = int((folder / "queue/logical_block_size").read_text(encoding="ascii"))
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return table_of(fd, block)
    finally:
        os.close(fd)


def table_of(fd: int, block: int) -> PartitionTable | None:
    """Return the GPT of an open disk, or of an image of one, with this logical block size.

    Raises:
        OSError: it cannot be read.
    """
    return parse_table(lambda offset, length: os.pread(fd, length, offset), block)


def parse_table(
    read: Callable[[int, int], bytes], block: int, header_offset: int = 0
) -> PartitionTable | None:
    """Return the GPT of a disk, or None where there is none.

    Args:
        read: returns so many bytes from an offset, fewer where the disk ends.
        block: logical block.
        header_offset: of the header; 0 for the first one, in block 1.

    Raises:
        OSError: it cannot be read.
    """
    header = read(header_offset or block, 92)
    if len(header) < 92 or not header.startswith(_GPT_SIGNATURE):
        return None
    start, count, entry_bytes = struct.unpack_from("<QII", header, 72)
    if not 128 <= entry_bytes <= 4096 or count > 4096 or start * block >= 1 << 63:
        return None
    entries = read(start * block, count * entry_bytes)
    parts = [entries[at : at + entry_bytes] for at in range(0, len(entries), entry_bytes)]
    used = tuple(_partition(number, part, block) for number, part in enumerate(parts, 1) if any(part[:16]))
    return PartitionTable(str(uuid.UUID(bytes_le=header[56:72])), used)


def _partition(number: int, entry: bytes, block: int) -> GptPartition:
    kind, own = (str(uuid.UUID(bytes_le=entry[at : at + 16])) for at in (0, 16))
    first, last = struct.unpack_from("<QQ", entry, 32)
    name = entry[56:128].decode("utf-16-le", errors="replace").partition("\0")[0]
    return GptPartition(number, kind, own, name, first * block, (last + 1 - first) * block)
