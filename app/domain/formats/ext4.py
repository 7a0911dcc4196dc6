"""ext4: options, presets, fixed arguments."""

from __future__ import annotations

from typing import Final

from app.domain.formats.common import (
    ALWAYS,
    ATIME,
    BARRIER,
    BLOCK_SIZES,
    DISCARD,
    E2FSPROGS,
    LAZYTIME,
    MD_LEVELS,
    MKFS_DISCARD,
    READERS,
    SUPERBLOCK,
    expected,
    mkfs_arguments,
)
from app.domain.options.format_spec import (
    FormatSpec,
)
from app.domain.options.kinds import Choice, ChoiceValue, Integer, Spelling, Toggle, words
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB
from app.domain.versions import KERNEL, Requirement

BLOCK_SIZE: Final = OptionSpec(
    id="block_size",
    label=tr("Block size"),
    stage=Stage.MKFS,
    kind=BLOCK_SIZES,
    default=4 * KIB,
    effect=tr("Unit of allocation; larger than the machine's memory page cannot be mounted."),
    source="mke2fs(8); tested",
    spelling=Spelling("{value}"),
    flag="-b",
    shown=Spelling("Block size: {value}"),
)

STRIDE: Final = OptionSpec(
    id="stride",
    label=tr("RAID stride"),
    stage=Stage.MKFS,
    kind=Integer(1, 65536, unit="blocks"),
    default=None,
    effect=tr(
        "Chunk of a RAID controller in blocks, so that metadata spreads over disks; set by itself on md."
    ),
    source="mke2fs(8); Vondra 2022; tested",
    flag="-E",
    shown=Spelling("RAID stride: {value}"),
)

STRIPE_WIDTH: Final = OptionSpec(
    id="stripe_width",
    label=tr("RAID stripe width"),
    stage=Stage.MKFS,
    kind=Integer(1, 1 << 20, unit="blocks"),
    default=None,
    effect=tr(
        "Full stripe of a RAID controller in blocks: allocations begin there, which spares parity reads."
    ),
    source="mke2fs(8); Vondra 2022; tested",
    flag="-E",
    shown=Spelling("RAID stripe width: {value}"),
)

RESERVED_PERCENT: Final = OptionSpec(
    id="reserved_percent",
    label=tr("Reserved for root"),
    stage=Stage.MKFS,
    kind=Integer(0, 50, unit="%"),
    default=5,
    effect=tr("Room that PostgreSQL cannot use; less of it leaves more for data."),
    source="mke2fs(8)",
    spelling=Spelling("{value}"),
    flag="-m",  # dumpe2fs shows blocks, rounded, not per cent
    unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
)

JOURNAL: Final = OptionSpec(
    id="journal",
    label=tr("Journal"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=True,
    effect=tr("Off: nothing is journalled at fsync, but a crash needs fsck and can lose files."),
    source="mke2fs(8); ext4(5); tested",
    spelling=words("has_journal", "^has_journal"),
    flag="-O",
    shown=words("has_journal", None),
    risks=((False, (Safety.LOSES_COMMITS,)),),
)

JOURNAL_BYTES: Final = OptionSpec(
    id="journal_bytes",
    label=tr("Journal size"),
    stage=Stage.MKFS,
    kind=Integer(4 * MIB, 32 * GIB, multiple_of=MIB, unit="B"),
    default=None,
    effect=tr("A larger journal is emptied less often under a load that changes much metadata."),
    source="mke2fs(8)",
    spelling=Spelling("size={value}", divisor=MIB),
    flag="-J",  # dumpe2fs adds the fast-commit area to the size that it shows
    unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
)

FAST_COMMIT: Final = OptionSpec(
    id="fast_commit",
    label=tr("Fast commits"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=False,
    effect=tr("fsync logs what changed and not whole blocks: fewer bytes for each commit of PostgreSQL."),
    source="ext4(5); tested",
    spelling=words("fast_commit", "^fast_commit"),
    flag="-O",
    shown=words("fast_commit", None),
    risks=((True, (Safety.EXPERIMENTAL,)),),
    since=(Requirement(KERNEL, (5, 10)), Requirement(E2FSPROGS, (1, 46))),
)

BIGALLOC: Final = OptionSpec(
    id="bigalloc",
    label=tr("Allocation in clusters"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=False,
    effect=tr("Space is given out in clusters of many blocks: fewer allocations while tables grow."),
    source="ext4(5) (“under development”); mke2fs(8); tested",
    spelling=words("bigalloc", "^bigalloc"),
    flag="-O",
    shown=words("bigalloc", None),
    risks=((True, (Safety.EXPERIMENTAL,)),),
)

CLUSTER_BYTES: Final = OptionSpec(
    id="cluster_bytes",
    label=tr("Cluster size"),
    stage=Stage.MKFS,
    kind=Integer(2 * KIB, 256 * MIB, power_of_two=True, unit="B"),
    default=64 * KIB,
    effect=tr("How much space is given out at once with clusters; small files fill a whole cluster."),
    source="mke2fs(8); tested",
    spelling=Spelling("{value}"),
    flag="-C",
    shown=Spelling("Cluster size: {value}"),
)

DATA: Final = OptionSpec(
    id="data",
    label=tr("Journal mode"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("ordered", tr("data is written before the metadata that names it")),
            ChoiceValue(
                "writeback", tr("no order: after a crash files can show what lay on the disk before")
            ),
            ChoiceValue("journal", tr("all data is written twice, and direct I/O is off")),
        )
    ),
    default="ordered",
    effect=tr("What passes through the filesystem's journal; PostgreSQL itself recovers from its own WAL."),
    source="ext4.rst; manual 28.3; 2011; tested",
    shown=Spelling("data={value}", (("ordered", None),)),  # ordered is shown only where it was said
    risks=(("writeback", (Safety.STALE_DATA,)),),
)

COMMIT: Final = OptionSpec(
    id="commit",
    label=tr("Journal commit interval"),
    stage=Stage.MOUNT,
    kind=Integer(1, 3600, unit="s"),
    default=5,
    effect=tr(
        "How long metadata may wait in memory; commits of PostgreSQL use fsync and do not wait for it."
    ),
    source="ext4.rst; 2011 (commit=999); tested",
    shown=Spelling("commit={value}", ((5, None),)),
)

DELALLOC: Final = OptionSpec(
    id="delalloc",
    label=tr("Delayed allocation"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Blocks are chosen when data is written out and not when PostgreSQL writes: longer runs of blocks."
    ),
    source="ext4.rst; tested",
    spelling=words("delalloc", "nodelalloc"),
    shown=words(None, "nodelalloc"),
)

DIOREAD_NOLOCK: Final = OptionSpec(
    id="dioread_nolock",
    label=tr("Reads without the inode lock"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr("Checkpoint writes into new blocks do not hold up readers of the same table."),
    source="Linux commit 244adf6426ee (default since 5.6; ext4.rst is older); tested",
    spelling=words("dioread_nolock", "dioread_lock"),
    shown=words(None, "nodioread_nolock"),
)

JOURNAL_ASYNC_COMMIT: Final = OptionSpec(
    id="journal_async_commit",
    label=tr("Journal commit without waiting"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("fsync saves one wait for the disk; refused by the kernel while data is ordered."),
    source="ext4.rst; ext4(5); tested",
    spelling=words("journal_async_commit", None),  # the kernel knows no word for off
    risks=((True, (Safety.EXPERIMENTAL,)),),
)

MAX_BATCH_TIME: Final = OptionSpec(
    id="max_batch_time",
    label=tr("Longest wait for other commits"),
    stage=Stage.MOUNT,
    kind=Integer(0, 1_000_000, unit="us"),
    default=15000,
    effect=tr("How long an fsync may wait so that others join it: changes TPS and latency with few clients."),
    source="ext4.rst; tested",
    shown=Spelling("max_batch_time={value}", ((15000, None),)),
)

MIN_BATCH_TIME: Final = OptionSpec(
    id="min_batch_time",
    label=tr("Shortest wait for other commits"),
    stage=Stage.MOUNT,
    kind=Integer(0, 1_000_000, unit="us"),
    default=0,
    effect=tr("Makes every fsync wait at least so long: more commits share a flush, each takes longer."),
    source="ext4.rst; tested",
    shown=Spelling("min_batch_time={value}", ((0, None),)),
)

JOURNAL_IOPRIO: Final = OptionSpec(
    id="journal_ioprio",
    label=tr("I/O priority of the journal"),
    stage=Stage.MOUNT,
    kind=Integer(0, 7),
    default=3,
    effect=tr(
        "Lower is more urgent; works only with I/O schedulers that know priorities (BFQ, mq-deadline)."
    ),
    source="ext4.rst; tested (never shown)",
    unseen=tr("the kernel does not show it among the mount options"),
)

AUTO_DA_ALLOC: Final = OptionSpec(
    id="auto_da_alloc",
    label=tr("Write out replaced files"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Files that replace others are written at once; PostgreSQL calls fsync itself and needs no such care."
    ),
    source="ext4.rst; tested",
    spelling=words("auto_da_alloc", "noauto_da_alloc"),
    shown=words(None, "noauto_da_alloc"),
)

BLOCK_VALIDITY: Final = OptionSpec(
    id="block_validity",
    label=tr("Check of block numbers"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Every block number is checked against the metadata's own blocks: a little CPU for each allocation."
    ),
    source="ext4.rst (on; the manual page ext4(5) says off); tested",
    spelling=words("block_validity", "noblock_validity"),
    shown=words(None, "noblock_validity"),
)

DAX: Final = OptionSpec(
    id="dax",
    label=tr("Direct access to persistent memory"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Past the page cache to persistent memory (pmem); every other disk is refused by the kernel."),
    source="ext4.rst; tested (refusal only)",
    spelling=words("dax=always", "dax=never"),
    since=(Requirement(KERNEL, (5, 8)),),
    untested=True,
)


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
        DATA,
        COMMIT,
        DISCARD,
        LAZYTIME,
        DELALLOC,
        DIOREAD_NOLOCK,
        MAX_BATCH_TIME,
        MIN_BATCH_TIME,
        JOURNAL_ASYNC_COMMIT,
        JOURNAL_IOPRIO,
        AUTO_DA_ALLOC,
        BLOCK_VALIDITY,
        DAX,
        BLOCK_SIZE,
        STRIDE,
        STRIPE_WIDTH,
        RESERVED_PERCENT,
        JOURNAL,
        JOURNAL_BYTES,
        FAST_COMMIT,
        BIGALLOC,
        CLUSTER_BYTES,
        MKFS_DISCARD,
    ),
    always=ALWAYS,
    mkfs_arguments=mkfs_arguments,
    superblock=SUPERBLOCK,
    readers=READERS,
    expected=expected,
)
