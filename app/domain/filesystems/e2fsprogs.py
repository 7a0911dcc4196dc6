"""What the filesystems of e2fsprogs share: how mke2fs makes them, where they sign, what dumpe2fs tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.domain.filesystems.common import NODEV, NOSUID, mkfs_discard
from app.domain.options.creation import Arguments, Creation, StripeGeometry
from app.domain.options.filesystem_spec import FixedArgument, Program
from app.domain.options.on_disk import Area, SuperblockPlace
from app.domain.options.option import Stage
from app.domain.options.tokens import ExpectedToken, ReadbackProgram, ReadbackToken, ShownBy
from app.domain.text import tr
from app.domain.versions import Component

E2FSPROGS: Final = Component("e2fsprogs")

LAZY_INIT: Final = (
    FixedArgument(
        Stage.MKFS,
        "-E",
        "lazy_itable_init=0",
        tr("else the kernel zeroes inode tables in the background while the benchmark runs"),
        "mke2fs(8)",
    ),
    FixedArgument(
        Stage.MKFS,
        "-E",
        "lazy_journal_init=0",
        tr("else a crash could replay what lay there before"),
        "mke2fs(8)",
    ),
)
REMOUNT_READ_ONLY: Final = FixedArgument(
    Stage.MOUNT,
    "",
    "errors=remount-ro",
    tr("an I/O error ends the run and is not written over"),
    "ext4.rst",
    ReadbackToken(("errors=remount-ro",)),
)
ALWAYS: Final = (*LAZY_INIT, NODEV, NOSUID, REMOUNT_READ_ONLY)

DUMPE2FS: Final = Program("dumpe2fs", "e2fsprogs")

MKFS_DISCARD: Final = mkfs_discard("-E", "discard", "nodiscard", "mke2fs(8)")

SUPERBLOCK: Final = SuperblockPlace(Area(1024, 1024), Area(1024, 1024), 1024 + 0x68)
"""e2fsprogs, ext2_fs.h: struct ext2_super_block."""


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mke2fs(8), which all ext filesystems are made by."""
    pairs = (("-q", ""), ("-U", made.uuid), *made.written)
    if not made.says("-b"):
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
