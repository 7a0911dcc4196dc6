"""Options, words and sources that several filesystems share.

Includes the filesystems of e2fsprogs (mke2fs, superblock, dumpe2fs) and server settings that depend on the
filesystem, because copy on write changes their safety and speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.domain.options.format_spec import (
    Area,
    Arguments,
    Creation,
    FixedArgument,
    StripeGeometry,
    SuperblockPlace,
)
from app.domain.options.kinds import (
    Choice,
    ExpectedToken,
    FormatOption,
    Integer,
    ReadbackProgram,
    ReadbackToken,
    ReadFrom,
    ShownBy,
    Spelling,
    Stage,
    Toggle,
    words,
)
from app.domain.options.raid import Level
from app.domain.text import KIB

MD_LEVELS: Final = (Level.SINGLE, Level.STRIPE, Level.MIRROR, Level.RAID10, Level.RAID5, Level.RAID6)
"""Levels of a filesystem that leaves its disks to md."""

ATIME: Final = FormatOption(
    "atime",
    Stage.MOUNT,
    Choice(("relatime", "noatime", "strictatime")),
    default="relatime",
    spelling=Spelling("{value}"),
    shown=Spelling("{value}", (("strictatime", None),)),
)


def switch(option_id: str, *, default: bool | None) -> FormatOption:
    """Return a mount option ``name`` and ``noname``; the kernel shows only the one that is not its default.

    Args:
        option_id: the name.
        default: of the kernel; None if that depends on the machine: then the kernel shows ``name`` only.
    """
    off = f"no{option_id}"
    shown = words(None, off) if default else words(option_id, None)
    return FormatOption(option_id, Stage.MOUNT, Toggle(), default, words(option_id, off), shown=shown)


LAZYTIME: Final = switch("lazytime", default=False)
DISCARD: Final = switch("discard", default=False)
BARRIER: Final = switch("barrier", default=True)


def mkfs_discard(flag: str, on: str | None, off: str | None) -> FormatOption:
    """Return the option whether the mkfs program discards the whole device first; it cannot be verified.

    Args:
        flag: flag of the program.
        on: item that discards; None for no argument.
        off: item that does not.
    """
    return FormatOption(
        "mkfs_discard", Stage.MKFS, Toggle(), default=True, spelling=words(on, off), flag=flag
    )


BLOCK_SIZES: Final = Integer(KIB, 64 * KIB, power_of_two=True, unit="B")

NODEV: Final = FixedArgument(Stage.MOUNT, "", "nodev", ReadbackToken(("nodev",)))
NOSUID: Final = FixedArgument(Stage.MOUNT, "", "nosuid", ReadbackToken(("nosuid",)))

LSATTR: Final = ReadbackProgram(
    ShownBy.ATTRIBUTES,
    ("lsattr", "-d"),
    lambda text: text.split(" ", 1)[0].replace("-", ""),
    ReadFrom.FOLDER,
)
"""Attributes of the mount point: one letter each, before the first space."""


LAZY_INIT: Final = (
    FixedArgument(Stage.MKFS, "-E", "lazy_itable_init=0"),
    FixedArgument(Stage.MKFS, "-E", "lazy_journal_init=0"),
)
REMOUNT_READ_ONLY: Final = FixedArgument(
    Stage.MOUNT, "", "errors=remount-ro", ReadbackToken(("errors=remount-ro",))
)
ALWAYS: Final = (*LAZY_INIT, NODEV, NOSUID, REMOUNT_READ_ONLY)

MKFS_DISCARD: Final = mkfs_discard("-E", "discard", "nodiscard")

SUPERBLOCK: Final = SuperblockPlace(Area(1024, 1024), Area(1024, 1024), 1024 + 0x68)
"""e2fsprogs, ext2_fs.h: struct ext2_super_block."""


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mke2fs(8), which creates all ext filesystems."""
    pairs = (("-q", ""), ("-U", made.uuid), *made.written)
    if not made.sets("-b"):
        pairs += (("-b", str(made.block_bytes)),)
    if made.geometry:
        stride, width = _in_blocks(made.geometry, made.block_bytes)
        pairs += (("-E", f"stride={stride}"), ("-E", f"stripe_width={width}"))
    return pairs


def expected(made: Creation) -> tuple[ExpectedToken, ...]:
    """Return the lines of ``dumpe2fs -h`` that show the alignment."""
    if not made.geometry:
        return ()
    stride, width = _in_blocks(made.geometry, made.block_bytes)
    lines = ReadbackToken((f"RAID stride: {stride}", f"RAID stripe width: {width}"))
    return (ExpectedToken("alignment", ShownBy.SUPERBLOCK, lines),)


def _in_blocks(geometry: StripeGeometry, block_bytes: int) -> tuple[int, int]:
    stride = geometry.chunk_bytes // block_bytes
    return stride, stride * geometry.data_disks


def parse_dumpe2fs(text: str) -> Iterator[str]:
    """Yield the tokens of ``dumpe2fs -h``.

    Features (each word of ``Filesystem features:``) one by one, other lines as ``Key: value`` with single
    spaces (``Block size: 4096``).
    """
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if key == "Filesystem features":
            yield from value.split()
        elif colon:
            yield f"{key}: {' '.join(value.split())}"


READERS: Final = (ReadbackProgram(ShownBy.SUPERBLOCK, ("dumpe2fs", "-h"), parse_dumpe2fs),)


FULL_PAGE_WRITES: Final = FormatOption(
    "full_page_writes",
    Stage.SERVER,
    Toggle(),
    default=True,
    spelling=words("full_page_writes=on", "full_page_writes=off"),
)

WAL_INIT_ZERO: Final = FormatOption(
    "wal_init_zero",
    Stage.SERVER,
    Toggle(),
    default=True,
    spelling=words("wal_init_zero=on", "wal_init_zero=off"),
)

FILE_EXTEND_METHOD: Final = FormatOption(
    "file_extend_method", Stage.SERVER, Choice(("posix_fallocate", "write_zeros")), default="posix_fallocate"
)

WAL_RECYCLE: Final = FormatOption(
    "wal_recycle", Stage.SERVER, Toggle(), default=True, spelling=words("wal_recycle=on", "wal_recycle=off")
)
