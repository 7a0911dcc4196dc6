"""ext3: the format of 2001, mounted by the ext4 driver, which refuses ext4's own options for it (tested)."""

from __future__ import annotations

from typing import Final

from app.domain.formats import common, ext4
from app.domain.formats.common import (
    ATIME,
    BARRIER,
    DISCARD,
    LAZYTIME,
    MD_LEVELS,
)
from app.domain.options.format_spec import (
    FormatSpec,
)
from app.domain.options.raid import Assembler
from app.domain.units import MIB

EXT3: Final = FormatSpec(
    id="ext3",
    label="ext3",
    mkfs="mkfs.ext3",
    minimum_bytes=16 * MIB,
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=(
        ATIME,
        BARRIER,
        ext4.DATA,
        ext4.COMMIT,
        DISCARD,
        LAZYTIME,
        ext4.MAX_BATCH_TIME,
        ext4.MIN_BATCH_TIME,
        ext4.BLOCK_SIZE,
        ext4.STRIDE,
        ext4.STRIPE_WIDTH,
        ext4.RESERVED_PERCENT,
        ext4.JOURNAL_BYTES,
        common.MKFS_DISCARD,
    ),
    always=common.ALWAYS,
    mkfs_arguments=common.mkfs_arguments,
    superblock=common.SUPERBLOCK,
    readers=common.READERS,
    expected=common.expected,
)
