"""Recognise formats on a disk by their magic: names and places as in libblkid (util-linux 2.41).

For naming only: a disk is blank if its bytes are zero, so a format that is missing here is refused as unknown
data. Memory-safe on purpose: root reads foreign disks with this and not with libblkid (CVE-2026-13595).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.storage.inspect.snapshot import Signature

_SECTOR: Final = 512
_KIB: Final = 1024
_PAGES: Final = (4096, 8192, 16384, 65536)
_UBERBLOCK: Final = (b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c")  # 64 bits, either order


@dataclass(frozen=True, slots=True)
class Magic:
    """Bytes that identify a format.

    Attributes:
        name: blkid's name.
        kind: ``filesystem``, ``table``, ``raid``, ``volume``, ``encryption``, ``swap`` or ``other``.
        offset: of the magic; negative from the end of the disk.
        magic: the bytes.
    """

    name: str
    kind: str
    offset: int
    magic: bytes


def _of(name: str, kind: str, magic: bytes, *offsets: int) -> tuple[Magic, ...]:
    return tuple(Magic(name, kind, offset, magic) for offset in offsets)


def _at_page_end(name: str, magic: bytes) -> tuple[Magic, ...]:
    return _of(name, "swap", magic, *(page - 10 for page in _PAGES))


MAGICS: Final[tuple[Magic, ...]] = (
    *_of("ext", "filesystem", b"\x53\xef", 0x438),
    *_of("xfs", "filesystem", b"XFSB", 0),
    *_of("xfs_external_log", "filesystem", b"\xfe\xed\xba\xbe", 0),
    *_of("btrfs", "filesystem", b"_BHRfS_M", 0x10040),
    *_of("f2fs", "filesystem", b"\x10\x20\xf5\xf2", 0x400),
    *_of("bcachefs", "filesystem", bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef"), 4096 + 24),
    *_of("ntfs", "filesystem", b"NTFS    ", 3),
    *_of("exfat", "filesystem", b"EXFAT   ", 3),
    *_of("vfat", "filesystem", b"FAT12   ", 0x36),
    *_of("vfat", "filesystem", b"FAT16   ", 0x36),
    *_of("vfat", "filesystem", b"FAT32   ", 0x52),
    *_of("reiserfs", "filesystem", b"ReIsEr", 0x10034, 0x2034),
    *_of("reiser4", "filesystem", b"ReIsEr4", 0x10000),
    *_of("jfs", "filesystem", b"JFS1", 0x8000),
    *_of("nilfs2", "filesystem", b"\x34\x34", 0x406),
    *_of("ocfs2", "filesystem", b"OCFSV2", 0x400, 0x800, 0x1000, 0x2000),
    *_of("gfs2", "filesystem", b"\x01\x16\x19\x70", 0x10000),
    *_of("hfs", "filesystem", b"BD", 0x400),
    *_of("hfsplus", "filesystem", b"H+", 0x400),
    *_of("hfsplus", "filesystem", b"HX", 0x400),
    *_of("apfs", "filesystem", b"NXSB", 32),
    *_of("minix", "filesystem", b"\x7f\x13", 0x410),
    *_of("minix", "filesystem", b"\x8f\x13", 0x410),
    *_of("minix", "filesystem", b"\x68\x24", 0x410),
    *_of("minix", "filesystem", b"\x78\x24", 0x410),
    *_of("minix", "filesystem", b"\x5a\x4d", 0x418),
    *_of("ufs", "filesystem", b"\x19\x01\x54\x19", 8 * _KIB + 0x55C, 64 * _KIB + 0x55C),
    *_of("ufs", "filesystem", b"\x54\x19\x01\x00", 8 * _KIB + 0x55C),
    *_of("vxfs", "filesystem", b"\xf5\xfc\x01\xa5", 0x400),
    *_of("befs", "filesystem", b"1SFB", 0x220),
    *_of("squashfs", "filesystem", b"hsqs", 0),
    *_of("erofs", "filesystem", b"\xe2\xe1\xf5\xe0", 0x400),
    *_of("cramfs", "filesystem", b"\x45\x3d\xcd\x28", 0),
    *_of("romfs", "filesystem", b"-rom1fs-", 0),
    *_of("zonefs", "filesystem", b"SFOZ", 0),
    *_of("iso9660", "filesystem", b"CD001", 0x8001),
    *_of("udf", "filesystem", b"BEA01", 0x8001),
    *_of("udf", "filesystem", b"NSR02", 0x8801, 0x9001),
    *_of("udf", "filesystem", b"NSR03", 0x8801, 0x9001),
    *_of("gpt", "table", b"EFI PART", 512, 4096, -512, -4096),
    *_of("dos", "table", b"\x55\xaa", 510),
    *_of("sun", "table", b"\xda\xbe", 508),
    *_of("sgi", "table", b"\x0b\xe5\xa9\x41", 0),
    *_of("mac", "table", b"ER\x02\x00", 0),
    *_of("bsd", "table", b"\x57\x45\x56\x82", 64, 512),
    *_of("aix", "table", b"\xc9\xc2\xd4\xc1", 0),
    *_of("LVM2_member", "volume", b"LABELONE", 0, 512, 1024, 1536),
    *_of("LVM1_member", "volume", b"HM\x01\x00", 0),
    *_of("stratis", "volume", b"!Stra0tis\x86\xff\x02^\x41rh", 0x210),
    *_of("vdo", "volume", b"dmvdo001", 0),
    *_of("oracleasm", "volume", b"ORCLDISK", 32),
    *_of("ceph_bluestore", "volume", b"bluestore block device", 0),
    *_of("VMFS", "volume", b"\x5e\xf1\xab\x2f", 0x200000),
    *_of("VMFS_volume_member", "volume", b"\x0d\xd0\x01\xc0", 0x100000),
    *_of("DM_snapshot_cow", "volume", b"SnAp", 0),
    *_of("DM_integrity", "volume", b"integrt\0", 0),
    *_of("DM_verity_hash", "volume", b"verity\0\0", 0),
    *_of("bcache", "volume", bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"), 4096 + 24),
    *_of("drbd", "volume", b"\x83\x74\x02\x6b", -4096 + 0x3C),
    *_of("drbdmanage_control_volume", "volume", b"$DRBDmgr=q", 0),
    *_of("linux_raid_member", "raid", b"\xfc\x4e\x2b\xa9", 0, 4096),
    *_of("isw_raid_member", "raid", b"Intel Raid ISM Cfg Sig. ", -1024),
    *_of("ddf_raid_member", "raid", b"\xde\x11\xde\x11", -512, -257 * 512),
    *_of("ddf_raid_member", "raid", b"\x11\xde\x11\xde", -512, -257 * 512),
    *_of(
        "promise_fasttrack_raid_member",
        "raid",
        b"Promise Technology, Inc.",
        *(-n * 512 for n in (63, 255, 399)),
    ),
    *_of("nvidia_raid_member", "raid", b"NVIDIA  ", -1024),
    *_of("lsi_mega_raid_member", "raid", b"$XIDE$", -512),
    *_of("adaptec_raid_member", "raid", b"DPTM", -512),
    *_of("jmicron_raid_member", "raid", b"JM", -512),
    *_of("hpt37x_raid_member", "raid", b"\xf0\x16\x78\x5a", 9 * 512 + 32),
    *_of("hpt37x_raid_member", "raid", b"\xfd\x16\x78\x5a", 9 * 512 + 32),
    *_of("hpt45x_raid_member", "raid", b"\xf3\x16\x78\x5a", -11 * 512 + 32),
    *_of("crypto_LUKS", "encryption", b"LUKS\xba\xbe", 0),
    *_of("crypto_LUKS", "encryption", b"SKUL\xba\xbe", *(kib * _KIB for kib in (16, 32, 64, 128, 256, 512))),
    *_of("BitLocker", "encryption", b"-FVE-FS-", 3),
    *_at_page_end("swap", b"SWAPSPACE2"),
    *_at_page_end("swap", b"SWAP-SPACE"),
    *_at_page_end("swsuspend", b"S1SUSPEND\0"),
    *_at_page_end("swsuspend", b"S2SUSPEND\0"),
    *_at_page_end("swsuspend", b"ULSUSPEND\0"),
    *_at_page_end("swsuspend", b"LINHIB0001"),
)
"""All known magics."""


def recognise(head: bytes, tail: bytes, size_bytes: int) -> tuple[Signature, ...]:
    """Return the formats found at both ends of a disk, each name once, in the order of the disk.

    Args:
        head: first bytes of the disk.
        tail: last bytes of the disk.
        size_bytes: of the whole disk.
    """
    found = [*_by_magic(head, tail, size_bytes), *_raid(tail, size_bytes), *_zfs(head, tail, size_bytes)]
    names = {signature.name for signature in found}
    if names & {"vfat", "ntfs", "exfat", "BitLocker", "gpt"}:  # their first sector ends like a DOS table
        found = [signature for signature in found if signature.name != "dos"]
    first: dict[str, Signature] = {}
    for signature in sorted(found, key=lambda each: each.offset):
        first.setdefault(signature.name, signature)
    return tuple(first.values())


def _by_magic(head: bytes, tail: bytes, size_bytes: int) -> Iterator[Signature]:
    for magic in MAGICS:
        data, offset = (head, magic.offset) if magic.offset >= 0 else (tail, len(tail) + magic.offset)
        if offset >= 0 and data.startswith(magic.magic, offset):
            name = _ext_name(head) if magic.name == "ext" else magic.name
            yield Signature(name, magic.kind, magic.offset % size_bytes)


def _ext_name(head: bytes) -> str:
    """Distinguish ext2, ext3, ext4 and an external journal by their features (e2fsprogs, ext2_fs.h)."""
    compatible, incompatible, read_only = struct.unpack_from("<III", head, 0x45C)
    if incompatible & 0x8:
        return "jbd"
    if incompatible & ~0x16 or read_only & ~0x7:
        return "ext4"
    return "ext3" if compatible & 0x4 else "ext2"


def _raid(tail: bytes, size_bytes: int) -> Iterator[Signature]:
    """Find md superblocks at the end: 1.0 is 8 to 12 KiB before it, 0.90 in the last 128 KiB."""
    start = size_bytes - len(tail)
    sectors = size_bytes // _SECTOR
    for offset in (((sectors - 16) & ~7) * _SECTOR, ((sectors & ~127) - 128) * _SECTOR):
        magics = (b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc")
        if offset >= start and tail.startswith(magics, offset - start):
            yield Signature("linux_raid_member", "raid", offset)


def _zfs(head: bytes, tail: bytes, size_bytes: int) -> Iterator[Signature]:
    """Find an uberblock in one of the four labels, two at each end (OpenZFS, vdev_label.c).

    An uberblock array fills the second half of a label of 256 KiB; the magic is in the byte order of the
    machine that wrote it. The remains after ``zpool labelclear`` would also be found as data.
    """
    label = 256 * _KIB
    places = [(head, 0, 0), (head, label, 0)]
    start = size_bytes - len(tail)
    aligned = size_bytes // label * label
    places += [(tail, aligned - 2 * label - start, start), (tail, aligned - label - start, start)]
    for data, at, base in places:
        for offset in range(at + label // 2, at + label, _KIB):
            if offset >= 0 and data.startswith(_UBERBLOCK, offset):
                yield Signature("zfs_member", "volume", base + offset)
                return
