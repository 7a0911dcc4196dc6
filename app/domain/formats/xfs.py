"""XFS: options, presets, fixed arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.domain.formats.common import (
    ATIME,
    BARRIER,
    DISCARD,
    LAZYTIME,
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
    StripeGeometry,
    SuperblockPlace,
)
from app.domain.options.kinds import (
    Choice,
    ChoiceValue,
    ExpectedToken,
    Integer,
    ReadbackProgram,
    ReadbackToken,
    ReadFrom,
    ShownBy,
    Spelling,
    Toggle,
    words,
)
from app.domain.options.option import OptionSpec, Stage
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB
from app.domain.versions import KERNEL, Requirement

_MKFS: Final = "mkfs.xfs(8)"

XFS_BARRIER: Final = replace(
    BARRIER,
    source="xfs.rst, “Removed Mount Options”; 2011 (227 against 2439 tps); Vondra 2016; tested (refused)",
    spelling=words(None, "nobarrier"),  # the kernel of today knows neither word
    removed=(Requirement(KERNEL, (4, 19)),),
)

LOGBUFS: Final = OptionSpec(
    id="logbufs",
    label=tr("Log buffers"),
    stage=Stage.MOUNT,
    kind=Integer(2, 8),
    default=8,
    effect=tr(
        "How many pieces of the metadata log can be on their way at once; fewer throttle parallel fsyncs."
    ),
    source="xfs.rst; tested",
)

LOGBSIZE: Final = OptionSpec(
    id="logbsize",
    label=tr("Size of a log buffer"),
    stage=Stage.MOUNT,
    kind=Integer(16 * KIB, 256 * KIB, power_of_two=True, unit="B"),
    default=None,
    effect=tr("Larger buffers write the metadata log in fewer, larger pieces when many files change."),
    source="xfs.rst; tested (the kernel shows KiB, and refuses less than the log's stripe unit)",
    spelling=Spelling("logbsize={value}k", divisor=KIB),
)

ALLOCSIZE: Final = OptionSpec(
    id="allocsize",
    label=tr("Preallocation"),
    stage=Stage.MOUNT,
    kind=Integer(64 * KIB, GIB, power_of_two=True, unit="B"),
    default=None,
    effect=tr("Room taken beyond the end of a file that grows; a fixed size turns the growing one off."),
    source="xfs.rst; tested (rounded down to a power of two without a word)",
    spelling=Spelling("allocsize={value}k", divisor=KIB),
)

LARGEIO: Final = OptionSpec(
    id="largeio",
    label=tr("Large preferred I/O"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Programs are told the stripe width as the best size of I/O; PostgreSQL does not ask."),
    source="xfs.rst; tested",
    spelling=words("largeio", "nolargeio"),
    shown=words("largeio", None),
)

SWALLOC: Final = OptionSpec(
    id="swalloc",
    label=tr("Align to the stripe width"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr(
        "Files that grow by more than a stripe start at one: whole stripes are written on parity RAID."
    ),
    source="xfs.rst; tested",
    spelling=words("swalloc", None),  # the kernel knows no word for off
)

WSYNC: Final = OptionSpec(
    id="wsync",
    label=tr("Synchronous metadata"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Every change of a directory waits for the disk: slower creation of WAL segments and tables."),
    source="xfs.rst; tested",
    spelling=words("wsync", None),
)

QUOTA: Final = OptionSpec(
    id="quota",
    label=tr("Quotas"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("noquota", tr("nothing is counted")),
            ChoiceValue(
                "uquota", tr("space is counted for each user: a little metadata for each allocation")
            ),
        )
    ),
    default="noquota",
    effect=tr("Counting the space of users, which PostgreSQL does not need."),
    source="xfs.rst; 2011 (noquota); tested",
    spelling=Spelling("{value}"),
    shown=Spelling("{value}", (("uquota", "usrquota"),)),
)

BLOCK_SIZE: Final = OptionSpec(
    id="block_size",
    label=tr("Block size"),
    stage=Stage.MKFS,
    kind=Integer(KIB, 64 * KIB, power_of_two=True, unit="B"),
    default=4 * KIB,
    effect=tr("Unit of allocation; larger than the machine's memory page only on newer kernels."),
    source=f"{_MKFS}; tested",
    spelling=Spelling("size={value}"),
    flag="-b",
    shown=Spelling("data.bsize={value}"),
)

SU: Final = OptionSpec(
    id="su",
    label=tr("Stripe unit"),
    stage=Stage.MKFS,
    kind=Integer(4 * KIB, 64 * MIB, multiple_of=4 * KIB, unit="B"),
    default=None,
    effect=tr("Chunk of a RAID controller, so that allocations spread over its disks; set by itself on md."),
    source=f"{_MKFS}; Vondra 2022; tested",
    flag="-d",  # xfs_info shows it in blocks: the alignment check of the read back compares it
)

SW: Final = OptionSpec(
    id="sw",
    label=tr("Stripe width"),
    stage=Stage.MKFS,
    kind=Integer(1, 255, unit=tr("disks")),
    default=None,
    effect=tr("Over how many disks that hold data a full stripe of the RAID controller lies."),
    source=f"{_MKFS}; Vondra 2022; tested",
    flag="-d",
)

AGCOUNT: Final = OptionSpec(
    id="agcount",
    label=tr("Allocation groups"),
    stage=Stage.MKFS,
    kind=Integer(2, 4096),
    default=None,
    effect=tr("In how many places at once space can be given out: matters when many tables grow together."),
    source=f"{_MKFS}; tested",
    flag="-d",
    shown=Spelling("meta-data.agcount={value}"),
)

REFLINK: Final = OptionSpec(
    id="reflink",
    label=tr("Shared extents"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=True,
    effect=tr("Allows copies that share data; off saves counting references at each allocation."),
    source=f"{_MKFS}; tested",
    spelling=words("reflink=1", "reflink=0"),
    flag="-m",
    shown=words("meta-data.reflink=1", "meta-data.reflink=0"),
)

RMAPBT: Final = OptionSpec(
    id="rmapbt",
    label=tr("Reverse mapping"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=None,
    effect=tr("Keeps for each extent who owns it, for repairs: more metadata for each allocation."),
    source=f"{_MKFS} (off in xfsprogs 6.1, on in 6.13); tested",
    spelling=words("rmapbt=1", "rmapbt=0"),
    flag="-m",
    shown=words("meta-data.rmapbt=1", "meta-data.rmapbt=0"),
)

FINOBT: Final = OptionSpec(
    id="finobt",
    label=tr("Index of free inodes"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=True,
    effect=tr("Finds room for a new file at once, at the price of a little more metadata."),
    source=f"{_MKFS}; tested",
    spelling=words("finobt=1", "finobt=0"),
    flag="-m",
    shown=words("meta-data.finobt=1", "meta-data.finobt=0"),
)

LOG_BYTES: Final = OptionSpec(
    id="log_bytes",
    label=tr("Size of the metadata log"),
    stage=Stage.MKFS,
    kind=Integer(64 * MIB, 2048 * MIB - 64 * KIB, multiple_of=64 * KIB, unit="B"),
    default=None,
    effect=tr("A larger log is emptied less often under a load that changes much metadata."),
    source=_MKFS,
    spelling=Spelling("size={value}"),
    flag="-l",  # xfs_info shows it in blocks
    unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
)

LOG_SU: Final = OptionSpec(
    id="log_su",
    label=tr("Stripe unit of the metadata log"),
    stage=Stage.MKFS,
    kind=Integer(4 * KIB, 256 * KIB, multiple_of=4 * KIB, unit="B"),
    default=None,
    effect=tr("Log writes are padded to it, so that each fsync of metadata writes whole chunks."),
    source=f"{_MKFS}; xfs_mkfs.c (at most 256 KiB)",
    spelling=Spelling("su={value}"),
    flag="-l",
    unseen=tr("the mkfs program fits it to the stripes below"),
)


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkfs.xfs(8)."""
    pairs = (("-q", ""), ("-m", f"uuid={made.uuid}"), *made.written)
    if not made.says("-b"):
        pairs += (("-b", f"size={made.block_bytes}"),)
    if made.geometry and "su" not in made.options:  # in bytes, and in disks
        pairs += (("-d", f"su={made.geometry.chunk_bytes}"), ("-d", f"sw={made.geometry.data_disks}"))
    return pairs


def expected(made: Creation) -> tuple[ExpectedToken, ...]:
    """Return the tokens of ``xfs_info`` that show the alignment, in blocks of the filesystem."""
    geometry = made.geometry
    if "su" in made.options and "sw" in made.options:
        geometry = StripeGeometry(int(made.options["su"]), int(made.options["sw"]))
    if not geometry:
        return ()
    unit = geometry.chunk_bytes // made.block_bytes
    shown = ReadbackToken((f"data.sunit={unit}", f"data.swidth={unit * geometry.data_disks}"))
    return (ExpectedToken("alignment", ShownBy.SUPERBLOCK, shown),)


def parse_xfs_info(text: str) -> Iterator[str]:
    """Yield ``section.key=value`` of ``xfs_info``: ``meta-data.reflink=1``, ``log.lazy-count=1``.

    The section is the word before the first ``=`` of a line (``meta-data``, ``data``, ``naming``, ``log``,
    ``realtime``); a line that begins without one continues the section above.
    """
    section = ""
    for line in text.splitlines():
        section = (re.match(r"([a-z-]+)", line) or [section])[0]
        for key, value in re.findall(r"([a-z0-9-]+)\s*=(\S+)", line.partition("=")[2] if line else ""):
            yield f"{section}.{key}={value.rstrip(',')}"


REFUSALS: Final[tuple[ConflictRule[Choices], ...]] = (
    ConflictRule(
        "C15",
        Action.REFUSE,
        ("su", "sw"),
        lambda it: len(it.chosen("su", "sw")) == 1,
        tr("Stripe unit and stripe width go together: mkfs.xfs takes neither alone."),
        "mkfs.xfs(8)",
    ),
    ConflictRule(
        "C17",
        Action.REFUSE,
        ("logbsize", "log_su"),
        lambda it: (
            len(it.chosen("logbsize", "log_su")) == 2 and bool(it.number("logbsize") % it.number("log_su"))
        ),
        tr("A log buffer has to be a multiple of the log's stripe unit: the kernel refuses smaller ones."),
        "xfs.rst; tested",
    ),
)

XFS: Final = FormatSpec(
    id="xfs",
    label="XFS",
    mkfs="mkfs.xfs",
    minimum_bytes=300 * MIB,
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=(
        ATIME,
        XFS_BARRIER,
        DISCARD,
        LAZYTIME,
        LOGBUFS,
        LOGBSIZE,
        ALLOCSIZE,
        SWALLOC,
        LARGEIO,
        WSYNC,
        QUOTA,
        BLOCK_SIZE,
        SU,
        SW,
        AGCOUNT,
        REFLINK,
        RMAPBT,
        FINOBT,
        LOG_BYTES,
        LOG_SU,
        mkfs_discard("-K", None, "", _MKFS),
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    # xfs_format.h: superblock, AGF, AGI and AGFL are a sector each, of at most 4 KiB.
    superblock=SuperblockPlace(Area(0, 512), Area(0, 16 * KIB), 32),
    readers=(ReadbackProgram(ShownBy.SUPERBLOCK, ("xfs_info",), parse_xfs_info, ReadFrom.FOLDER),),
    expected=expected,
    refusals=REFUSALS,
    large_blocks_since=Requirement(KERNEL, (6, 12)),
)
