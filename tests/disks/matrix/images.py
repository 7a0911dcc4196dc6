"""Foreign filesystems and containers, made once by the tools that people use, and copied as dd does.

Where the kernel has no driver for a format (md, ZFS), its superblock is written as the format says.
"""

from __future__ import annotations

import shutil
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.text import KIB
from tests.disks.matrix.disks import contents, run

Pieces = tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that can be made in a file.

    Attributes:
        name: as libblkid calls it.
        program: that makes it; empty where its bytes are written.
        make: brings a file of its full size into that format.
        words: one of which must be said where it is found; the name without them.
    """

    name: str
    program: str
    make: Callable[[Path], object]
    words: tuple[str, ...] = ()


def _by(name: str, *argv: str, words: tuple[str, ...] = ()) -> Format:
    return Format(name, argv[0], lambda file: run(*argv, str(file)), words)


def _luks(version: str) -> Callable[[Path], object]:
    def make(file: Path) -> None:
        key = file.with_suffix(".key")
        key.write_bytes(b"x" * 64)
        options = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode")
        run("cryptsetup", "luksFormat", "--type", version, *options, str(file), str(key))

    return make


def _on_loop(*commands: tuple[str, ...]) -> Callable[[Path], object]:
    """For tools that take block devices only; ``{}`` is the device."""

    def make(file: Path) -> None:
        node = run("losetup", "--find", "--show", str(file))
        try:
            for argv in commands:
                run(*(word.replace("{}", node) for word in argv))
        finally:
            run("losetup", "--detach", node)

    return make


_LVM: Final = ("--config", "devices { use_devicesfile=0 } global { locking_type=0 }", "--yes")


def _tree(file: Path) -> Path:
    folder = file.with_suffix(".tree")
    folder.mkdir(exist_ok=True)
    (folder / "file").write_text("precious")
    return folder


def _iso(file: Path) -> None:
    run("genisoimage", "-quiet", "-o", str(file), str(_tree(file)))


def _squashfs(file: Path) -> None:
    run("mksquashfs", str(_tree(file)), str(file), "-quiet", "-no-progress", "-noappend")


def _md_090(file: Path) -> None:
    """Superblock 0.90 in the last 64 KiB that are aligned so (md_p.h, mdp_superblock_t)."""
    words = [0] * 1024
    words[0], words[1], words[2] = 0xA92B4EFC, 0, 90
    words[5], words[7], words[8], words[9] = 0x11111111, 1, file.stat().st_size // KIB - 128, 2
    words[10], words[13], words[14], words[15] = 2, 0x22222222, 0x33333333, 0x44444444
    words[38] = sum(words) & 0xFFFFFFFF  # sb_csum, read by nobody who only recognises it
    data = struct.pack("<1024I", *words)
    _put(file, (file.stat().st_size & ~(64 * KIB - 1)) - 64 * KIB, data)


def _md_1(version: str) -> Callable[[Path], object]:
    def make(file: Path) -> None:
        """Superblock 1.x: 1.0 near the end, 1.1 at the start, 1.2 at 4 KiB (md_p.h, mdp_superblock_1)."""
        size = file.stat().st_size
        place = {"1.0": ((size >> 9) - 16 & ~7) << 9, "1.1": 0, "1.2": 4096}[version]
        block = bytearray(256 + 4)
        struct.pack_into("<IIII16s32s", block, 0, 0xA92B4EFC, 1, 0, 0, uuid.uuid4().bytes, b"other:precious")
        struct.pack_into("<QIIQ", block, 72, 0, 1, 0, (size >> 9) - 2048)
        struct.pack_into("<I", block, 92, 2)
        struct.pack_into("<QQ", block, 128, 2048, (size >> 9) - 2048)
        struct.pack_into("<Q", block, 144, place >> 9)
        struct.pack_into("<I", block, 220, 1)
        struct.pack_into("<I", block, 216, _md_sum(block))
        _put(file, place, bytes(block))

    return make


def _md_sum(block: bytes | bytearray) -> int:
    """Return the checksum of a superblock 1.x with one role (md.c, calc_sb_1_csum)."""
    total: int = sum(struct.unpack_from("<64I", block)) + struct.unpack_from("<H", block, 256)[0]
    return (total & 0xFFFFFFFF) + (total >> 32)


_ZFS_LABEL: Final = 256 * KIB


def _zfs(file: Path) -> None:
    """Four labels with uberblocks (on-disk format, 1.2 and 1.3); nothing of the pool itself."""
    size = file.stat().st_size & ~(_ZFS_LABEL - 1)
    uberblocks = b"".join(
        struct.pack("<QQQQQ", 0x00BAB10C, 5000, number, 7, 1_700_000_000).ljust(1 * KIB, b"\0")
        for number in range(1, 65)
    )
    label = bytes(8 * KIB) + bytes(120 * KIB) + uberblocks
    for place in (0, _ZFS_LABEL, size - 2 * _ZFS_LABEL, size - _ZFS_LABEL):
        _put(file, place, label.ljust(_ZFS_LABEL, b"\0"))


def _gpt_inside(file: Path) -> None:
    """A partition table inside of the partition, as a virtual machine's disk has one."""
    run("sfdisk", "--quiet", str(file), text="label: gpt\nsize=64MiB\n")


def _put(file: Path, place: int, data: bytes) -> None:
    with file.open("r+b") as image:
        image.seek(place)
        image.write(data)


_MD: Final = ("linux_raid_member", "mdadm --stop")
"""Where udevd runs it assembles an array of what it finds: that is told then, and how it is stopped."""

FORMATS: Final[tuple[Format, ...]] = (
    _by("ext2", "mke2fs", "-q", "-F", "-t", "ext2", "-b", "4096"),
    _by("ext3", "mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096"),
    _by("ext4", "mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-L", "PRECIOUS"),
    _by("jbd", "mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "4096"),
    _by("xfs", "mkfs.xfs", "-q", "-L", "PRECIOUS"),
    _by("btrfs", "mkfs.btrfs", "--quiet", "--label", "PRECIOUS"),
    _by("vfat", "mkfs.vfat", "-n", "PRECIOUS"),
    _by("swap", "mkswap"),
    _by("minix", "mkfs.minix"),
    _by("bfs", "mkfs.bfs"),
    _by("f2fs", "mkfs.f2fs", "-q"),
    _by("exfat", "mkfs.exfat"),
    _by("ntfs", "mkfs.ntfs", "--quick", "--quiet", "--force"),
    _by("reiserfs", "mkreiserfs", "-q", "-f", "-f"),
    _by("jfs", "mkfs.jfs", "-q"),
    _by("nilfs2", "mkfs.nilfs2", "-q", "-f"),
    _by("udf", "mkudffs"),
    Format("iso9660", "genisoimage", _iso),
    Format("squashfs", "mksquashfs", _squashfs),
    Format("bcache", "make-bcache", _on_loop(("make-bcache", "-B", "{}"))),
    Format("LUKS1", "cryptsetup", _luks("luks1"), ("crypto_LUKS", "LUKS")),
    Format("LUKS2", "cryptsetup", _luks("luks2"), ("crypto_LUKS", "LUKS")),
    Format("LVM physical volume", "pvcreate", _on_loop(("pvcreate", *_LVM, "{}")), ("LVM2_member",)),
    Format(
        "LVM volume group",
        "vgcreate",
        _on_loop(("pvcreate", *_LVM, "{}"), ("vgcreate", *_LVM, "precious", "{}")),
        ("LVM2_member",),
    ),
    Format("md 0.90", "", _md_090, _MD),
    Format("md 1.0", "", _md_1("1.0"), _MD),
    Format("md 1.1", "", _md_1("1.1"), _MD),
    Format("md 1.2", "", _md_1("1.2"), _MD),
    Format("ZFS labels", "", _zfs, ("zfs_member",)),
    Format("GPT inside", "sfdisk", _gpt_inside, ("gpt", "dos", "PMBR")),
)


@dataclass(slots=True)
class Images:
    """Contents of formats, made when they are first wanted.

    Attributes:
        folder: for the files they are made in.
    """

    folder: Path
    _known: dict[tuple[str, int], Pieces] = field(default_factory=dict)

    def of(self, form: Format, size_bytes: int) -> Pieces:
        """Return what is not zero on a device of that size in that format."""
        key = (form.name, size_bytes)
        if key not in self._known:
            file = self.folder / f"{form.name} {size_bytes}"
            with file.open("wb") as made:
                made.truncate(size_bytes)
            form.make(file)
            self._known[key] = contents(file)
            file.unlink()
        return self._known[key]


def makeable(formats: tuple[Format, ...] = FORMATS) -> tuple[Format, ...]:
    """Return the formats whose programs are here."""
    return tuple(each for each in formats if not each.program or shutil.which(each.program))
