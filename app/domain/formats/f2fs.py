"""f2fs: options, presets, fixed arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.domain.formats.common import ATIME, BARRIER, DISCARD, MD_LEVELS, NODEV, NOSUID, mkfs_discard, switch
from app.domain.options.format_spec import Area, Arguments, Creation, FormatSpec, SuperblockPlace
from app.domain.options.kinds import (
    Choice,
    FormatOption,
    Integer,
    ReadbackProgram,
    ShownBy,
    Spelling,
    Stage,
    Toggle,
    words,
)
from app.domain.options.raid import Assembler
from app.domain.options.refusals import Action, Choices, ConflictRule
from app.domain.text import KIB, MIB, tr


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkfs.f2fs(8), which has none for stripes."""
    return (("-q", ""), ("-U", made.uuid), *made.written)


def parse_dump_f2fs(text: str) -> Iterator[str]:
    """Yield the features of ``dump.f2fs``: each word of its feature line (``extra_attr``)."""
    for line in text.splitlines():
        if "superblock features" in line:
            yield from re.findall(r"[a-z_]+[a-z0-9_]*", line.rpartition(":")[2])


REFUSALS: Final[tuple[ConflictRule[Choices], ...]] = (
    ConflictRule(
        "C20",
        Action.REFUSE,
        ("gc_merge", "background_gc"),
        lambda it: it.value("gc_merge") is True and it.value("background_gc") == "off",
        tr("gc_merge starts the background garbage collection thread, so background_gc = off has no effect."),
        "fs/f2fs/super.c; tested (accepted by Linux 6.1 without effect)",
    ),
)

F2FS: Final = FormatSpec(
    id="f2fs",
    label="F2FS",
    mkfs="mkfs.f2fs",
    minimum_bytes=64 * MIB,
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=(
        ATIME,
        # 6.1 refuses the word barrier
        replace(BARRIER, spelling=words(None, "nobarrier")),
        FormatOption("fsync_mode", Stage.MOUNT, Choice(("posix", "strict", "nobarrier")), default="posix"),
        replace(DISCARD, default=None),  # on where the disk can
        FormatOption("discard_unit", Stage.MOUNT, Choice(("block", "segment", "section")), default="block"),
        FormatOption("mode", Stage.MOUNT, Choice(("adaptive", "lfs")), default="adaptive"),
        FormatOption("background_gc", Stage.MOUNT, Choice(("on", "off", "sync")), default="on"),
        switch("gc_merge", default=False),
        # on in Linux 6.1
        switch("checkpoint_merge", default=None),
        switch("flush_merge", default=None),
        # the kernel knows no word for off
        FormatOption("atgc", Stage.MOUNT, Toggle(), default=False, spelling=words("atgc", None)),
        FormatOption("alloc_mode", Stage.MOUNT, Choice(("default", "reuse"))),
        FormatOption("active_logs", Stage.MOUNT, Choice(("2", "4", "6")), default="6"),
        FormatOption(
            "age_extent_cache", Stage.MOUNT, Toggle(), default=False, spelling=words("age_extent_cache", None)
        ),
        FormatOption("errors", Stage.MOUNT, Choice(("remount-ro", "continue")), default="continue"),
        FormatOption(
            "metadata_checksums",
            Stage.MKFS,
            Toggle(),
            default=False,
            spelling=words("extra_attr,inode_checksum,sb_checksum", None),
            flag="-O",
            shown=words("inode_checksum", None),
        ),
        FormatOption(
            "overprovision_percent",
            Stage.MKFS,
            Integer(1, 50, unit="%"),
            spelling=Spelling("{value}"),
            flag="-o",
        ),
        mkfs_discard("-t", "1", "0"),
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    # f2fs_fs.h: two superblocks, at 1 and 5 KiB; the UUID as in struct f2fs_super_block.
    superblock=SuperblockPlace(Area(1024, 7 * KIB), Area(1024, 7 * KIB), 1024 + 108),
    readers=(ReadbackProgram(ShownBy.SUPERBLOCK, ("dump.f2fs",), parse_dump_f2fs),),
    refusals=REFUSALS,
)
