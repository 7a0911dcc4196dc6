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
    switch,
)
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
    ExpectedToken,
    FormatOption,
    Integer,
    ReadbackProgram,
    ReadbackToken,
    ReadFrom,
    ShownBy,
    Spelling,
    Stage,
    Toggle,
    words,
)
from app.domain.options.raid import Assembler
from app.domain.options.refusals import Action, Choices, ConflictRule
from app.domain.text import GIB, KIB, MIB, tr


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkfs.xfs(8)."""
    pairs = (("-q", ""), ("-m", f"uuid={made.uuid}"), *made.written)
    if not made.sets("-b"):
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
        # the kernel of today knows neither word
        replace(BARRIER, spelling=words(None, "nobarrier")),
        DISCARD,
        LAZYTIME,
        FormatOption("logbufs", Stage.MOUNT, Integer(2, 8), default=8),
        FormatOption(
            "logbsize",
            Stage.MOUNT,
            Integer(16 * KIB, 256 * KIB, power_of_two=True, unit="B"),
            spelling=Spelling("logbsize={value}k", divisor=KIB),
        ),
        FormatOption(
            "allocsize",
            Stage.MOUNT,
            Integer(64 * KIB, GIB, power_of_two=True, unit="B"),
            spelling=Spelling("allocsize={value}k", divisor=KIB),
        ),
        # the kernel knows no word for off
        FormatOption("swalloc", Stage.MOUNT, Toggle(), default=False, spelling=words("swalloc", None)),
        switch("largeio", default=False),
        FormatOption("wsync", Stage.MOUNT, Toggle(), default=False, spelling=words("wsync", None)),
        FormatOption(
            "quota",
            Stage.MOUNT,
            Choice(("noquota", "uquota")),
            default="noquota",
            spelling=Spelling("{value}"),
            shown=Spelling("{value}", (("uquota", "usrquota"),)),
        ),
        FormatOption(
            "block_size",
            Stage.MKFS,
            Integer(KIB, 64 * KIB, power_of_two=True, unit="B"),
            default=4 * KIB,
            spelling=Spelling("size={value}"),
            flag="-b",
            shown=Spelling("data.bsize={value}"),
        ),
        # xfs_info shows it in blocks: the alignment check of the read back compares it
        FormatOption("su", Stage.MKFS, Integer(4 * KIB, 64 * MIB, multiple_of=4 * KIB, unit="B"), flag="-d"),
        FormatOption("sw", Stage.MKFS, Integer(1, 255, unit=tr("disks")), flag="-d"),
        FormatOption(
            "agcount", Stage.MKFS, Integer(2, 4096), flag="-d", shown=Spelling("meta-data.agcount={value}")
        ),
        FormatOption(
            "reflink",
            Stage.MKFS,
            Toggle(),
            default=True,
            spelling=words("reflink=1", "reflink=0"),
            flag="-m",
            shown=words("meta-data.reflink=1", "meta-data.reflink=0"),
        ),
        FormatOption(
            "rmapbt",
            Stage.MKFS,
            Toggle(),
            spelling=words("rmapbt=1", "rmapbt=0"),
            flag="-m",
            shown=words("meta-data.rmapbt=1", "meta-data.rmapbt=0"),
        ),
        FormatOption(
            "finobt",
            Stage.MKFS,
            Toggle(),
            default=True,
            spelling=words("finobt=1", "finobt=0"),
            flag="-m",
            shown=words("meta-data.finobt=1", "meta-data.finobt=0"),
        ),
        # xfs_info shows it in blocks
        FormatOption(
            "log_bytes",
            Stage.MKFS,
            Integer(64 * MIB, 2048 * MIB - 64 * KIB, multiple_of=64 * KIB, unit="B"),
            spelling=Spelling("size={value}"),
            flag="-l",
        ),
        FormatOption(
            "log_su",
            Stage.MKFS,
            Integer(4 * KIB, 256 * KIB, multiple_of=4 * KIB, unit="B"),
            spelling=Spelling("su={value}"),
            flag="-l",
        ),
        mkfs_discard("-K", None, ""),
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    # xfs_format.h: superblock, AGF, AGI and AGFL are a sector each, of at most 4 KiB.
    superblock=SuperblockPlace(Area(0, 512), Area(0, 16 * KIB), 32),
    readers=(ReadbackProgram(ShownBy.SUPERBLOCK, ("xfs_info",), parse_xfs_info, ReadFrom.FOLDER),),
    expected=expected,
    refusals=REFUSALS,
)
