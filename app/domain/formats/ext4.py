"""ext4, and ext3, which its driver mounts: options, presets, fixed arguments."""

from __future__ import annotations

from typing import Final

from app.domain.formats import common
from app.domain.formats.common import (
    ALWAYS,
    ATIME,
    BARRIER,
    BLOCK_SIZES,
    DISCARD,
    LAZYTIME,
    MD_LEVELS,
    MKFS_DISCARD,
    READERS,
    SUPERBLOCK,
    expected,
    mkfs_arguments,
    switch,
)
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import Choice, FormatOption, Integer, Spelling, Stage, Toggle, words
from app.domain.options.raid import Assembler
from app.domain.text import GIB, KIB, MIB

EXT4: Final = FormatSpec(
    id="ext4",
    label="ext4",
    mkfs="mkfs.ext4",
    minimum_bytes=16 * MIB,
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=(
        ATIME,
        BARRIER,
        # ordered is shown only where it was said
        FormatOption(
            "data",
            Stage.MOUNT,
            Choice(("ordered", "writeback", "journal")),
            default="ordered",
            shown=Spelling("data={value}", (("ordered", None),)),
        ),
        FormatOption(
            "commit",
            Stage.MOUNT,
            Integer(1, 3600, unit="s"),
            default=5,
            shown=Spelling("commit={value}", ((5, None),)),
        ),
        DISCARD,
        LAZYTIME,
        switch("delalloc", default=True),
        FormatOption(
            "dioread_nolock",
            Stage.MOUNT,
            Toggle(),
            default=True,
            spelling=words("dioread_nolock", "dioread_lock"),
            shown=words(None, "nodioread_nolock"),
        ),
        FormatOption(
            "max_batch_time",
            Stage.MOUNT,
            Integer(0, 1_000_000, unit="us"),
            default=15000,
            shown=Spelling("max_batch_time={value}", ((15000, None),)),
        ),
        FormatOption(
            "min_batch_time",
            Stage.MOUNT,
            Integer(0, 1_000_000, unit="us"),
            default=0,
            shown=Spelling("min_batch_time={value}", ((0, None),)),
        ),
        # the kernel knows no word for off
        FormatOption(
            "journal_async_commit",
            Stage.MOUNT,
            Toggle(),
            default=False,
            spelling=words("journal_async_commit", None),
        ),
        FormatOption("journal_ioprio", Stage.MOUNT, Integer(0, 7), default=3, shown=None),
        switch("auto_da_alloc", default=True),
        switch("block_validity", default=True),
        FormatOption("dax", Stage.MOUNT, Toggle(), default=False, spelling=words("dax=always", "dax=never")),
        FormatOption(
            "block_size",
            Stage.MKFS,
            BLOCK_SIZES,
            default=4 * KIB,
            spelling=Spelling("{value}"),
            flag="-b",
            shown=Spelling("Block size: {value}"),
        ),
        FormatOption(
            "stride",
            Stage.MKFS,
            Integer(1, 65536, unit="blocks"),
            flag="-E",
            shown=Spelling("RAID stride: {value}"),
        ),
        FormatOption(
            "stripe_width",
            Stage.MKFS,
            Integer(1, 1 << 20, unit="blocks"),
            flag="-E",
            shown=Spelling("RAID stripe width: {value}"),
        ),
        # dumpe2fs shows blocks, rounded, not per cent
        FormatOption(
            "reserved_percent",
            Stage.MKFS,
            Integer(0, 50, unit="%"),
            default=5,
            spelling=Spelling("{value}"),
            flag="-m",
        ),
        FormatOption(
            "journal",
            Stage.MKFS,
            Toggle(),
            default=True,
            spelling=words("has_journal", "^has_journal"),
            flag="-O",
            shown=words("has_journal", None),
        ),
        # dumpe2fs adds the fast-commit area to the size that it shows
        FormatOption(
            "journal_bytes",
            Stage.MKFS,
            Integer(4 * MIB, 32 * GIB, multiple_of=MIB, unit="B"),
            spelling=Spelling("size={value}", divisor=MIB),
            flag="-J",
        ),
        FormatOption(
            "fast_commit",
            Stage.MKFS,
            Toggle(),
            default=False,
            spelling=words("fast_commit", "^fast_commit"),
            flag="-O",
            shown=words("fast_commit", None),
        ),
        FormatOption(
            "bigalloc",
            Stage.MKFS,
            Toggle(),
            default=False,
            spelling=words("bigalloc", "^bigalloc"),
            flag="-O",
            shown=words("bigalloc", None),
        ),
        FormatOption(
            "cluster_bytes",
            Stage.MKFS,
            Integer(2 * KIB, 256 * MIB, power_of_two=True, unit="B"),
            default=64 * KIB,
            spelling=Spelling("{value}"),
            flag="-C",
            shown=Spelling("Cluster size: {value}"),
        ),
        MKFS_DISCARD,
    ),
    always=ALWAYS,
    mkfs_arguments=mkfs_arguments,
    superblock=SUPERBLOCK,
    readers=READERS,
    expected=expected,
)


# ext3: the format of 2001, mounted by the ext4 driver, which refuses ext4's own options for it (tested).


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
