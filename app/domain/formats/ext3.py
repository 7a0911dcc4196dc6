"""ext3: the format of 2001, mounted by the ext4 driver, which refuses ext4's own options for it (tested)."""

from __future__ import annotations

from typing import Final

from app.domain.formats import common
from app.domain.formats.common import MD_LEVELS
from app.domain.formats.ext4 import EXT4
from app.domain.options.format_spec import FormatSpec
from app.domain.options.raid import Assembler
from app.domain.units import MIB

_OPTIONS: Final = (
    "atime",
    "barrier",
    "data",
    "commit",
    "discard",
    "lazytime",
    "max_batch_time",
    "min_batch_time",
    "block_size",
    "stride",
    "stripe_width",
    "reserved_percent",
    "journal_bytes",
    "mkfs_discard",
)

EXT3: Final = FormatSpec(
    id="ext3",
    label="ext3",
    mkfs="mkfs.ext3",
    minimum_bytes=16 * MIB,
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=tuple(map(EXT4.option, _OPTIONS)),
    always=common.ALWAYS,
    mkfs_arguments=common.mkfs_arguments,
    superblock=common.SUPERBLOCK,
    readers=common.READERS,
    expected=common.expected,
)
