"""f2fs: options, presets, fixed arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.domain.formats.common import (
    ATIME,
    BARRIER,
    DISCARD,
    MD_LEVELS,
    NODEV,
    NOSUID,
    mkfs_discard,
)
from app.domain.options.conflicts import Action, Choices, ConflictRule
from app.domain.options.format_spec import (
    Area,
    Arguments,
    Creation,
    FormatSpec,
    SuperblockPlace,
)
from app.domain.options.kinds import (
    Choice,
    ChoiceValue,
    Integer,
    ReadbackProgram,
    ShownBy,
    Spelling,
    Toggle,
    words,
)
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import KIB, MIB
from app.domain.versions import KERNEL, Requirement

_MKFS: Final = "mkfs.f2fs(8)"

FSYNC_MODE: Final = OptionSpec(
    id="fsync_mode",
    label=tr("Strictness of fsync"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("posix", tr("what POSIX asks for: less than other filesystems do")),
            ChoiceValue("strict", tr("as ext4, XFS and btrfs: the fair comparison")),
            ChoiceValue("nobarrier", tr("as posix, and the disk's write cache is not flushed")),
        )
    ),
    default="posix",
    effect=tr(
        "How much is on the disk when a commit of PostgreSQL returns; compare with others as strict only."
    ),
    source="f2fs.rst; tested",
    risks=(("nobarrier", (Safety.LOSES_COMMITS_WITHOUT_PLP,)),),
)

MODE: Final = OptionSpec(
    id="mode",
    label=tr("Writing mode"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("adaptive", tr("may overwrite in place where free segments are rare")),
            ChoiceValue("lfs", tr("always appends: no random writes, more cleaning")),
        )
    ),
    default="adaptive",
    effect=tr("Whether PostgreSQL's random writes become random writes of the disk."),
    source="f2fs.rst; tested",
)

BACKGROUND_GC: Final = OptionSpec(
    id="background_gc",
    label=tr("Cleaning in the background"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("on", tr("while the disk is idle")),
            ChoiceValue("off", tr("only when room runs out: put off beyond the end of the benchmark")),
            ChoiceValue("sync", tr("while idle, and waits for it")),
        )
    ),
    default="on",
    effect=tr("When segments with free blocks are cleaned, which competes with PostgreSQL for the disk."),
    source="f2fs.rst; tested",
    risks=(("off", (Safety.DISTORTS,)),),
)

GC_MERGE: Final = OptionSpec(
    id="gc_merge",
    label=tr("Merge waits for cleaning"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("One thread cleans for all backends that wait for room, which shortens stalls."),
    source="f2fs.rst; tested",
    spelling=words("gc_merge", "nogc_merge"),
    shown=words("gc_merge", None),
    since=(Requirement(KERNEL, (5, 13)),),
)

CHECKPOINT_MERGE: Final = OptionSpec(
    id="checkpoint_merge",
    label=tr("Merge filesystem checkpoints"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=None,  # on in Linux 6.1
    effect=tr("fsyncs that need a checkpoint of the filesystem share one, which shortens stalls."),
    source="f2fs.rst; tested",
    spelling=words("checkpoint_merge", "nocheckpoint_merge"),
    shown=words("checkpoint_merge", None),
    since=(Requirement(KERNEL, (5, 12)),),
)

FLUSH_MERGE: Final = OptionSpec(
    id="flush_merge",
    label=tr("Merge flushes"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=None,
    effect=tr("Flushes of concurrent commits become one: more TPS with many clients."),
    source="f2fs.rst; tested",
    spelling=words("flush_merge", "noflush_merge"),
    shown=words("flush_merge", None),
)

ATGC: Final = OptionSpec(
    id="atgc",
    label=tr("Cleaning by age"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Chooses what to clean by how long it has not changed: less copying of hot pages."),
    source="f2fs.rst; tested",
    spelling=words("atgc", None),  # the kernel knows no word for off
    since=(Requirement(KERNEL, (5, 10)),),
)

ALLOC_MODE: Final = OptionSpec(
    id="alloc_mode",
    label=tr("Allocation"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("default", tr("mostly new segments")),
            ChoiceValue("reuse", tr("segments that were used before, first")),
        )
    ),
    default=None,
    effect=tr("Where new versions of pages go; below about 16 GiB it is reuse, whatever is said."),
    source="f2fs.rst; tested (6.1 turns default into reuse on a small device without a word)",
)

ACTIVE_LOGS: Final = OptionSpec(
    id="active_logs",
    label=tr("Active logs"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("2", tr("data and metadata")),
            ChoiceValue("4", tr("hot and cold of each")),
            ChoiceValue("6", tr("hot, warm and cold of each")),
        )
    ),
    default="6",
    effect=tr("Into how many streams writes are sorted by how soon they will be replaced."),
    source="f2fs.rst; tested",
)

DISCARD_UNIT: Final = OptionSpec(
    id="discard_unit",
    label=tr("Unit of discards"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("block", tr("each block")),
            ChoiceValue("segment", tr("whole segments of 2 MiB only")),
            ChoiceValue("section", tr("whole sections only")),
        )
    ),
    default="block",
    effect=tr("Larger units tell the SSD less often, and later, what is free."),
    source="f2fs.rst; tested",
    since=(Requirement(KERNEL, (5, 15)),),
)

AGE_EXTENT_CACHE: Final = OptionSpec(
    id="age_extent_cache",
    label=tr("Cache of update frequency"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Remembers how often blocks change, so that hot and cold pages are kept apart."),
    source="f2fs.rst",
    spelling=words("age_extent_cache", None),
    since=(Requirement(KERNEL, (6, 2)),),
    untested=True,
)

ERRORS: Final = OptionSpec(
    id="errors",
    label=tr("After an I/O error"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("remount-ro", tr("read-only: the run ends")),
            ChoiceValue("continue", tr("goes on with what it has")),
        )
    ),
    default="continue",
    effect=tr("What happens when the disk fails: a run should end and not go on over it."),
    source="f2fs.rst",
    risks=(("continue", (Safety.DISTORTS,)),),
    since=(Requirement(KERNEL, (6, 5)),),
    untested=True,
)

MKFS_CHECKSUMS: Final = OptionSpec(
    id="metadata_checksums",
    label=tr("Checksums of metadata"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=False,
    effect=tr("Inodes and superblock get checksums; f2fs has none for data."),
    source=f"{_MKFS}; tested",
    spelling=words("extra_attr,inode_checksum,sb_checksum", None),
    word="-O inode_checksum",
    flag="-O",
    shown=words("inode_checksum", None),
)

OVERPROVISION: Final = OptionSpec(
    id="overprovision_percent",
    label=tr("Overprovisioning"),
    stage=Stage.MKFS,
    kind=Integer(1, 50, unit="%"),
    default=None,
    effect=tr("Room kept free for cleaning: more of it, fewer stalls on a full disk."),
    source=_MKFS,
    spelling=Spelling("{value}"),
    flag="-o",
    unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
)


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
        tr("The thread that cleans for others is the one of cleaning in the background, which is off."),
        "f2fs.rst; tested (accepted by Linux 6.1 without effect)",
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
        replace(
            BARRIER,
            source="f2fs.rst (order is kept); Vondra 2016; tested (6.1 refuses the word barrier)",
            spelling=words(None, "nobarrier"),
        ),
        FSYNC_MODE,
        replace(DISCARD, default=None, source="f2fs.rst (on where the disk can); Vondra 2016; tested"),
        DISCARD_UNIT,
        MODE,
        BACKGROUND_GC,
        GC_MERGE,
        CHECKPOINT_MERGE,
        FLUSH_MERGE,
        ATGC,
        ALLOC_MODE,
        ACTIVE_LOGS,
        AGE_EXTENT_CACHE,
        ERRORS,
        MKFS_CHECKSUMS,
        OVERPROVISION,
        mkfs_discard("-t", "1", "0", _MKFS),
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    # f2fs_fs.h: two superblocks, at 1 and 5 KiB; the UUID as in struct f2fs_super_block.
    superblock=SuperblockPlace(Area(1024, 7 * KIB), Area(1024, 7 * KIB), 1024 + 108),
    readers=(ReadbackProgram(ShownBy.SUPERBLOCK, ("dump.f2fs",), parse_dump_f2fs),),
    refusals=REFUSALS,
)
