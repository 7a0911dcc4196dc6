"""ext3: the format of 2001, mounted by the ext4 driver, which refuses ext4's own options for it (tested)."""

from __future__ import annotations

from typing import Final

from app.domain.filesystems import common, ext4
from app.domain.filesystems.common import (
    ATIME,
    BARRIER,
    DISCARD,
    LAZYTIME,
    MD_LEVELS,
    NOATIME,
    SOURCE_2016,
    defaults,
)
from app.domain.options.filesystem_spec import (
    FilesystemPreset,
    FilesystemSpec,
    PresetValue,
    Program,
    UnsupportedOption,
)
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import MIB

_NOT_EXT3: Final = tr(
    "ext3 has no such thing: with it the filesystem would be ext4, and the kernel refuses it."
)
_SOURCE: Final = "mke2fs(8) -t; tested (“Mount option(s) incompatible with ext3”)"

EXT3: Final = FilesystemSpec(
    id="ext3",
    label="ext3",
    good_for=tr("To compare with old servers and benchmarks; nothing new should be put on it."),
    mkfs="mkfs.ext3",
    programs=(Program("mkfs.ext3", "e2fsprogs", common.E2FSPROGS), common.DUMPE2FS),
    kernel_modules=("ext4",),
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
    presets=(
        defaults("mke2fs.conf; ext4.rst; Vondra 2016"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "manual 28.3; 2011; Vondra 2016",
            (
                NOATIME,
                PresetValue(
                    "barrier", True, tr("stated: commits survive a power cut"), "manual 28.1; ext4.rst"
                ),
            ),
        ),
        FilesystemPreset("2016", tr("FOSDEM 2016: defaults"), SOURCE_2016),
    ),
    lacks=tuple(
        UnsupportedOption(option, _NOT_EXT3, _SOURCE)
        for option in (
            "journal",
            "bigalloc",
            "cluster_bytes",
            "fast_commit",
            "delalloc",
            "dioread_nolock",
            "journal_async_commit",
        )
    ),
    mkfs_arguments=common.mkfs_arguments,
    superblock=common.SUPERBLOCK,
    readers=common.READERS,
    expected=common.expected,
    kernel_threads=ext4.EXT4.kernel_threads,
)
