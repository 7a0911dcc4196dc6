"""Inspect the content of a disk left by a session, for the user's decision whether to release it.

Reads only. Sources of superblocks: Linux fs/ext4/ext4.h (ext4_super_block), fs/xfs/libxfs/xfs_format.h
(xfs_dsb), fs/btrfs (btrfs_super_block), md_p.h (mdp_superblock_1).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.units import KIB
from app.storage.layout.conditions import SessionPartition, SignatureIs
from app.storage.layout.steps import ends_fact, look_fact, table_fact
from app.storage.system.device import OpenDevice, reading
from app.storage.system.digests import content_digest, ends_digest, table_digest
from app.storage.system.state import MD_MAGIC
from app.storage.wiping.found import FoundSignature, Run, is_of_session, look, resolved


@dataclass(frozen=True, slots=True)
class FilesystemUse:
    """Use of a filesystem, from its superblock.

    Attributes:
        size_bytes: of the filesystem.
        used_bytes: of it.
        mounted_at: folder of its last mount; empty if the format does not record it.
        mounted_s: time of its last mount or write, seconds since 1970; 0 if the format does not record it.
    """

    size_bytes: int
    used_bytes: int
    mounted_at: str = ""
    mounted_s: int = 0


@dataclass(frozen=True, slots=True)
class OfferedDisk:
    """Content of a disk left by a session.

    Attributes:
        is_our_table: whether partition table and copy are, byte for byte, as root made them; or are wiped,
            and both ends of the disk are as root left them.
        is_our_content: whether the partition contains only this session's signatures, used or not, or none at
            all. It may have got a label.
        is_as_left: whether the compared bytes of the content are as the session saw them last.
        on_disk: signatures of the disk itself, including a partition table.
        inside: signatures in the place of our partition.
        held: signatures of the content of an array of which the partition is a member, if its start is on
            this disk: on each disk of a mirror, on one of a stripe.
        use: from the superblock in the partition or array; None for other formats.
        digest: of all inspected bytes: equal means that none of them has changed.
    """

    is_our_table: bool
    is_our_content: bool
    is_as_left: bool
    on_disk: tuple[FoundSignature, ...]
    inside: tuple[FoundSignature, ...]
    held: tuple[FoundSignature, ...]
    use: FilesystemUse | None
    digest: str

    @property
    def is_ours(self) -> bool:
        """Return whether the user may have it wiped: all other content is theirs to take away."""
        return self.is_our_table and self.is_our_content


def look_at(
    partition: SessionPartition, ours: SignatureIs, facts: Mapping[str, str], run: Run
) -> OfferedDisk:
    """Return the content of a disk left by a session; does not check who uses it.

    Args:
        partition: that the session made on it (`app.storage.layout.partitions.members_of`).
        ours: signature that the session made in it.
        facts: of the journal's entry.
        run: runs a program that only reads.

    Raises:
        StorageError: libblkid cannot be asked.
        OSError: it is absent, or cannot be read.
    """
    with reading(partition.disk) as disk:
        return look_through(disk, partition, ours, facts, run)


def look_through(
    disk: OpenDevice, partition: SessionPartition, ours: SignatureIs, facts: Mapping[str, str], run: Run
) -> OfferedDisk:
    """Do the same through a disk that is open already.

    Raises:
        StorageError, OSError: as `look_at`.
    """
    on_disk = look(disk, None, run, may_be_partial=False)
    table = table_digest(disk)
    inside: tuple[FoundSignature, ...] = ()
    held: tuple[FoundSignature, ...] = ()
    content, more, use, signature = "", "", None, resolved(ours, facts)
    if partition.start_bytes + partition.size_bytes <= disk.size_bytes:
        part = disk.part(partition.node, partition.start_bytes, partition.size_bytes)
        inside = look(part, signature, run, may_be_partial=True)
        content, use = content_digest(part), use_of(part)
        if (data := data_of(part)) is not None:
            held = look(data, None, run, may_be_partial=False)
            more, use = content_digest(data), use_of(data)
    ends = facts.get(ends_fact(partition.table_place))
    is_our_table = table == facts.get(table_fact(partition.table_place)) or ends == ends_digest(disk)
    return OfferedDisk(
        is_our_table,
        is_our_table and all(is_of_session(each, signature) for each in inside),
        is_our_table and content == facts.get(look_fact(partition.place)),
        on_disk,
        inside,
        held,
        use,
        hashlib.sha256(f"{table} {content} {more}".encode()).hexdigest(),
    )


def data_of(part: OpenDevice) -> OpenDevice | None:
    """Return the data area of a member of an array (metadata 1.2); None for any other content.

    Raises:
        OSError: it cannot be read.
    """
    block = part.read(4 * KIB, 256)
    if len(block) < 256 or struct.unpack_from("<I", block) != (MD_MAGIC,):
        return None
    start, size = (512 * sectors for sectors in struct.unpack_from("<QQ", block, 128))
    if not 0 < start < start + size <= part.size_bytes:
        return None
    return part.part(part.node, part.start + start, size)


def use_of(part: OpenDevice) -> FilesystemUse | None:
    """Return the use recorded in a superblock of ext, XFS or btrfs; None for any other content.

    Raises:
        OSError: it cannot be read.
    """
    return _use_of(part.read(0, 68 * KIB))


def _use_of(head: bytes) -> FilesystemUse | None:
    if len(head) < 68 * KIB:
        return None
    for parse in (_ext, _xfs, _btrfs):
        if (found := parse(head)) is not None:
            return found
    return None


def _ext(head: bytes) -> FilesystemUse | None:
    block = head[1 * KIB : 2 * KIB]
    if block[56:58] != b"\x53\xef":
        return None
    (blocks,), (free,), (log,) = (struct.unpack_from("<I", block, at) for at in (4, 12, 24))
    mounted_s, written_s = struct.unpack_from("<II", block, 44)
    if struct.unpack_from("<I", block, 96)[0] & 0x80:  # 64bit
        blocks |= struct.unpack_from("<I", block, 0x150)[0] << 32
        free |= struct.unpack_from("<I", block, 0x158)[0] << 32
    return _use(KIB << min(log, 6), blocks, free, _text(block[136:200]), max(mounted_s, written_s))


def _xfs(head: bytes) -> FilesystemUse | None:
    if head[:4] != b"XFSB":
        return None
    (size,), (blocks,), (free,) = (
        struct.unpack_from(form, head, at) for form, at in ((">I", 4), (">Q", 8), (">Q", 144))
    )
    return _use(size, blocks, free)


def _btrfs(head: bytes) -> FilesystemUse | None:
    block = head[64 * KIB :]
    if block[64:72] != b"_BHRfS_M":
        return None
    total, used = struct.unpack_from("<QQ", block, 112)
    return FilesystemUse(total, min(used, total))


def _use(block: int, blocks: int, free: int, mounted_at: str = "", mounted_s: int = 0) -> FilesystemUse:
    return FilesystemUse(block * blocks, block * max(blocks - free, 0), mounted_at, mounted_s)


def _text(field: bytes) -> str:
    text = field.partition(b"\0")[0].decode("utf-8", errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)
