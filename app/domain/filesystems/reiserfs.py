"""ReiserFS (format 3.6): part of Linux from 2.4.1 to 6.12, measured in 2016.

Sources in addition to those of `app.domain.filesystems.common`: reiserfsprogs 3.6.27, mkreiserfs(8); Linux
6.1, fs/reiserfs/super.c (reiserfs_parse_options, reiserfs_show_options) and reiserfs.h (struct
reiserfs_super_block).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.domain.filesystems import ext4
from app.domain.filesystems.common import (
    ATIME,
    BARRIER,
    MD_LEVELS,
    NO_BARRIER,
    NOATIME,
    NODEV,
    NOSUID,
    SOURCE_2016,
    defaults,
)
from app.domain.options.filesystem_spec import (
    Area,
    Arguments,
    Creation,
    FilesystemPreset,
    FilesystemSpec,
    KernelRemedy,
    KernelThreads,
    PresetValue,
    Program,
    SuperblockPlace,
    UnsupportedOption,
)
from app.domain.options.kinds import Choice, ChoiceValue, Spelling, words
from app.domain.options.option import OptionSpec, Stage
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import KIB, MIB

_SUPER: Final = "fs/reiserfs/super.c"

REISERFS_BARRIER: Final = replace(
    BARRIER,
    source=f"{_SUPER}; Vondra 2016",
    spelling=words("barrier=flush", "barrier=none"),
    shown=words(None, "barrier=none"),
)

DATA: Final = replace(
    ext4.DATA,
    kind=Choice(
        (
            ChoiceValue("ordered", tr("data is written before the metadata that names it")),
            ChoiceValue("writeback", tr("no order: files can show what lay on the disk before a crash")),
            ChoiceValue("journal", tr("all data is written twice")),
        )
    ),
    source=_SUPER,
)

COMMIT: Final = replace(
    ext4.COMMIT, default=30, source=_SUPER, shown=Spelling("commit={value}", ((30, None),))
)

TAILS: Final = OptionSpec(
    id="tails",
    label=tr("Ends of files"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("small", tr("small files lie in the tree")),
            ChoiceValue("on", tr("the ends of all small and medium files lie in the tree")),
            ChoiceValue("off", tr("every file has blocks of its own")),
        )
    ),
    default="small",
    effect=tr("Saves room and costs time where files end within a block; those of tables never do."),
    source=_SUPER,
    spelling=Spelling("tails={value}"),
    shown=Spelling("tails={value}", (("small", None), ("off", "notail"))),
)


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkreiserfs(8), which has none for stripes."""
    fixed = (("-q", ""), ("-b", str(made.block_bytes)), ("--format", "3.6"), ("-u", made.uuid))
    return (*fixed, *made.written)


REISERFS: Final = FilesystemSpec(
    id="reiserfs",
    label="ReiserFS",
    good_for=tr("To compare with benchmarks of its time; Linux has had it up to 6.12 only."),
    mkfs="mkfs.reiserfs",
    programs=(Program("mkfs.reiserfs", "reiserfsprogs"),),
    kernel_modules=("reiserfs",),
    minimum_bytes=40 * MIB,  # 32 MiB of it are the journal
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=(ATIME, REISERFS_BARRIER, DATA, COMMIT, TAILS),
    always=(NODEV, NOSUID),
    presets=(
        defaults(_SUPER),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "manual 28.1; 2011; Vondra 2016",
            (
                NOATIME,
                PresetValue("barrier", True, tr("stated: commits survive a power cut"), "manual 28.1"),
            ),
        ),
        FilesystemPreset("2016", tr("FOSDEM 2016: defaults"), SOURCE_2016),
        FilesystemPreset("2016-nobarrier", tr("FOSDEM 2016: nobarrier"), SOURCE_2016, (NO_BARRIER,)),
    ),
    lacks=(
        UnsupportedOption(
            "discard", tr("ReiserFS never tells an SSD what is free; fstrim cannot either."), _SUPER
        ),
        UnsupportedOption("block_size", tr("Blocks of ReiserFS have 4 KiB here."), "mkreiserfs(8)"),
    ),
    mkfs_arguments=mkfs_arguments,
    superblock=SuperblockPlace(Area(64 * KIB, 4 * KIB), Area(64 * KIB, 4 * KIB), 64 * KIB + 84),
    kernel_threads=KernelThreads("reiserfs", r"reiserfs"),
    kernel_remedy=KernelRemedy(
        tr("Linux has it no more since 6.13: start an older kernel."), from_version=(6, 13)
    ),
)
