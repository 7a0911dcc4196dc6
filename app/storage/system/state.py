"""What is true of disks, partitions, arrays, pools and mounts now: read from the kernel and from the disks.

Every function reads afresh; nothing is remembered. Sources: UEFI specification 2.10, 5.3 (GPT); Linux md,
drivers/md/md_p.h (superblock 1.2); proc(5) mountinfo; sysfs ABI.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.domain.errors import RefusedError
from app.domain.messages.message import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SYSFS: Final = Path("/sys")
PROC: Final = Path("/proc")

_GPT_SIGNATURE: Final = b"EFI PART"
_MD_MAGIC: Final = 0xA92B4EFC
_MD_OFFSET_BYTES: Final = 4096
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


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
        has_code: whether the first sector holds a boot loader, or more than the protective partition.
    """

    uuid: str
    partitions: tuple[GptPartition, ...]
    has_code: bool = False


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of mountinfo: mount id, folder, type, source, and both kinds of options together."""

    mount_id: int
    folder: str
    filesystem: str
    source: str
    options: tuple[str, ...]


def device_number(node: str) -> str:
    """Return ``major:minor`` of a block device.

    Raises:
        OSError: there is no such node.
        RefusedError: it is no block device.
    """
    found = Path(node).stat()
    if not stat.S_ISBLK(found.st_mode):
        raise RefusedError(say("no-block-device", node=node))
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"


def sysfs_folder(node: str) -> Path:
    """Return the folder of a block device below /sys/devices.

    Raises:
        OSError: there is no such device.
        RefusedError: the node is no block device.
    """
    return (SYSFS / "dev/block" / device_number(node)).resolve(strict=True)


def size_bytes(node: str) -> int:
    """Return the size of a block device; 0 where there is none of that name."""
    try:
        return int((sysfs_folder(node) / "size").read_text(encoding="ascii")) * 512
    except OSError:
        return 0


def read_table(node: str) -> PartitionTable | None:
    """Return the GPT of a disk, or None where there is none.

    Raises:
        OSError: the disk cannot be read.
    """
    folder = sysfs_folder(node)
    block = int((folder / "queue/logical_block_size").read_text(encoding="ascii"))
    with _reading(node) as fd:
        return table_of(fd, block)


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
    entries = read(start * block, min(count, 128) * entry_bytes)
    parts = [entries[at : at + entry_bytes] for at in range(0, len(entries), entry_bytes)]
    used = tuple(_partition(number, part, block) for number, part in enumerate(parts, 1) if any(part[:16]))
    return PartitionTable(str(uuid.UUID(bytes_le=header[56:72])), used, _has_code(read(0, 512)))


def _has_code(sector: bytes) -> bool:
    """Return whether a first sector is more than a protective one (UEFI specification, 5.2.3)."""
    return any(sector[:446]) or any(sector[462:510]) or (sector[450:451] not in {b"\xee", b"\0"})


def _partition(number: int, entry: bytes, block: int) -> GptPartition:
    kind, own = (str(uuid.UUID(bytes_le=entry[at : at + 16])) for at in (0, 16))
    first, last = struct.unpack_from("<QQ", entry, 32)
    name = entry[56:128].decode("utf-16-le", errors="replace").partition("\0")[0]
    return GptPartition(number, kind, own, name, first * block, (last + 1 - first) * block)


def array_uuid(node: str) -> str | None:
    """Return the UUID of the md array (metadata 1.2) of which a partition is a member, or None."""
    with suppress(OSError), _reading(node) as fd:
        found = os.pread(fd, 32, _MD_OFFSET_BYTES)
        if len(found) == 32 and struct.unpack_from("<I", found)[0] == _MD_MAGIC:
            return str(uuid.UUID(bytes=found[16:32]))
    return None


def holders(node: str) -> tuple[str, ...]:
    """Return the kernel names of what is made of a device (md, dm, bcache); none for one that is gone."""
    try:
        return tuple(sorted(entry.name for entry in (sysfs_folder(node) / "holders").iterdir()))
    except OSError:
        return ()


def array_on(members: Sequence[str]) -> str | None:
    """Return the node, such as ``/dev/md127``, of the array that holds one of the members, or None."""
    for member in members:
        for name in holders(member):
            if (SYSFS / "class/block" / name / "md").is_dir():
                return f"/dev/{name}"
    return None


def is_claimed(node: str) -> bool:
    """Return whether the kernel refuses an exclusive open: mounted, swap, member, vdev, held by others.

    Raises:
        OSError: it cannot be opened for another reason.
    """
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as err:
        if err.errno == errno.EBUSY:
            return True
        raise
    return False


def mounts_on(folder: str) -> tuple[MountEntry, ...]:
    """Return what is mounted on a folder in this mount namespace, the topmost last.

    Raises:
        OSError: mountinfo cannot be read.
    """
    text = (PROC / "self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return tuple(entry for entry in parse_mountinfo(text) if entry.folder == folder)


def pool_mounts(pool: str) -> tuple[MountEntry, ...]:
    """Return where datasets of a pool are mounted in this mount namespace.

    Raises:
        OSError: mountinfo cannot be read.
    """
    text = (PROC / "self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return tuple(
        entry
        for entry in parse_mountinfo(text)
        if entry.filesystem == "zfs" and entry.source.partition("/")[0] == pool
    )


def parse_mountinfo(text: str) -> Iterator[MountEntry]:
    """Yield the lines of /proc/self/mountinfo (proc(5)); those of another form are left out."""
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if len(before) >= 6 and len(after) >= 3 and before[0].isdecimal():
            options = (*before[5].split(","), *after[2].split(","))
            yield MountEntry(
                int(before[0]),
                _unescape(before[4]),
                after[0],
                _unescape(after[1]),
                tuple(map(_unescape, options)),
            )


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def partition_place(node: str) -> tuple[int, int]:
    """Return where the kernel has a partition: first byte, and size in bytes.

    Raises:
        OSError: there is no such partition.
    """
    folder = sysfs_folder(node)
    start, size = (int((folder / name).read_text(encoding="ascii")) * 512 for name in ("start", "size"))
    return start, size


def boot_id() -> str:
    """Return the identifier of this boot of the machine (random(4)); empty where it cannot be read."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def same_device(one: str, other: str) -> bool:
    """Return whether two nodes are one block device, or two names are the same."""
    if one == other:
        return True
    with suppress(OSError, RefusedError):
        return device_number(one) == device_number(other)
    return False


def btrfs_is_mounted(filesystem_uuid: str) -> bool:
    """Return whether the kernel has a mounted btrfs of this UUID."""
    return (SYSFS / "fs/btrfs" / filesystem_uuid).is_dir()


def pool_is_imported(pool: str) -> bool:
    """Return whether a pool of this name is imported (/proc/spl/kstat/zfs, one folder each)."""
    return (PROC / "spl/kstat/zfs" / pool).is_dir()


@contextmanager
def _reading(node: str) -> Iterator[int]:
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)
