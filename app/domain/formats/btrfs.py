"""btrfs: options, presets, fixed arguments, conflict rules, and how its superblock and profiles are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from app.domain.formats.common import (
    ATIME,
    BARRIER,
    FILE_EXTEND_METHOD,
    FULL_PAGE_WRITES,
    LAZYTIME,
    LSATTR,
    MD_LEVELS,
    NODEV,
    NOSUID,
    WAL_INIT_ZERO,
    WAL_RECYCLE,
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
    ExpectedToken,
    Integer,
    OptionValue,
    ReadbackProgram,
    ReadbackToken,
    ReadFrom,
    ShownBy,
    Spelling,
    Toggle,
    words,
)
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import ArrayLayout, Assembler, Level
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB
from app.domain.versions import KERNEL, Component, Requirement


def parse_dump_super(text: str) -> Iterator[str]:
    """Yield the tokens of ``btrfs inspect-internal dump-super -f``.

    ``key=value`` with the first word of the value (``nodesize=16384``), ``csum_type=NAME`` with the name in
    brackets, and the names of flags alone (``NO_HOLES``).
    """
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 2 and not line.startswith((" ", "\t")):
            value = fields[2].strip("()") if fields[0] == "csum_type" and len(fields) > 2 else fields[1]
            yield f"{fields[0]}={value}"
        else:
            yield from re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", line)


def parse_df(text: str) -> Iterator[str]:
    """Yield ``kind=profile`` of ``btrfs filesystem df``; one of several profiles as ``Data=raid5+single``.

    Profiles are in lower case as mkfs.btrfs takes them.
    """
    found: dict[str, set[str]] = {}
    for kind, profile in re.findall(r"^(\w+), (\w+):", text, re.MULTILINE):
        found.setdefault(kind, set()).add(profile.lower())
    for kind, names in found.items():
        yield f"{kind}={'+'.join(sorted(names))}"


_DUMP_SUPER: Final = ("btrfs", "inspect-internal", "dump-super", "-f")
_DF: Final = ("btrfs", "filesystem", "df", "--raw")

READERS: Final = (
    ReadbackProgram(ShownBy.SUPERBLOCK, _DUMP_SUPER, parse_dump_super),
    ReadbackProgram(ShownBy.ALLOCATION, _DF, parse_df, ReadFrom.FOLDER),
    LSATTR,
)


COMPRESSING: Final = ("compress", "compress_force")


def is_compressing(it: Choices) -> bool:
    """Return whether an option turns compression on."""
    return any(it.options.get(option, "off") != "off" for option in COMPRESSING)


REFUSALS: Final[tuple[ConflictRule[Choices], ...]] = (
    ConflictRule(
        "C03",
        Action.REFUSE,
        COMPRESSING,
        lambda it: not it.writes_whole_pages() and is_compressing(it),
        tr("Without copy on write nothing is compressed: the kernel would silently drop one of the two."),
        "btrfs(5); tested (the last one wins)",
    ),
    ConflictRule(
        "C05",
        Action.REFUSE,
        COMPRESSING,
        lambda it: it.value("datasum") is False and is_compressing(it),
        tr("btrfs compresses only what has checksums."),
        "btrfs(5)",
    ),
    ConflictRule(
        "C06",
        Action.REFUSE,
        ("datasum",),
        lambda it: it.options.get("datasum") is True and it.value("datacow") is False,
        tr("Checksums need copy on write: the kernel would silently turn one of the two back."),
        "btrfs(5); tested (the last one wins)",
    ),
    ConflictRule(
        "C35",
        Action.REFUSE,
        ("compress_force", "compress"),
        lambda it: all(it.options.get(option, "off") != "off" for option in COMPRESSING),
        tr("Only one kind of compression can be on: the last one would win."),
        "btrfs(5)",
    ),
    ConflictRule(
        "C36",
        Action.REFUSE,
        ("mirror_copies",),
        lambda it: (
            it.options.get("mirror_copies", "2") != "2"
            and it.level is not None
            and it.level is not Level.MIRROR
        ),
        tr("Only a mirror has a number of copies."),
        "mkfs.btrfs(8), PROFILES",
    ),
)


BTRFS_PROGS: Final = Component("btrfs-progs")
_MKFS: Final = "mkfs.btrfs(8)"
_KERNEL_5_5: Final = (Requirement(KERNEL, (5, 5)),)
_FAST_ZSTD: Final = (Requirement(KERNEL, (6, 15)),)

DATACOW: Final = OptionSpec(
    id="datacow",
    label=tr("Copy on write"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr("Off: tables are overwritten in place, without checksums and without compression."),
    source="btrfs(5); 2011; Vondra 2016; tested",
    spelling=words("datacow", "nodatacow"),
    shown=words(None, "nodatacow"),
    on_files=words(None, "C"),
    risks=((False, (Safety.NO_CHECKSUMS, Safety.TORN_PAGES)),),
)

DATASUM: Final = OptionSpec(
    id="datasum",
    label=tr("Checksums of data"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr("Off: no checksum is computed and stored for each block that PostgreSQL writes."),
    source="btrfs(5); tested",
    spelling=words("datasum", "nodatasum"),
    shown=words(None, "nodatasum"),
    risks=((False, (Safety.NO_CHECKSUMS,)),),
)

_COMPRESSIONS: Final = (
    ChoiceValue("off", tr("nothing is compressed")),
    ChoiceValue("lzo", tr("fast, little saved")),
    *(
        ChoiceValue(
            f"zstd:{level}",
            tr("zstd, level {level}: a higher one saves more, takes more CPU").format(level=level),
        )
        for level in range(1, 16)
    ),
    *(
        ChoiceValue(
            f"zstd:-{level}",
            tr("zstd, level -{level}: faster than level 1, saves less").format(level=level),
            since=_FAST_ZSTD,
        )
        for level in range(1, 16)
    ),
    *(
        ChoiceValue(f"zlib:{level}", tr("zlib, level {level}: slower than zstd").format(level=level))
        for level in range(1, 10)
    ),
)

COMPRESS: Final = OptionSpec(
    id="compress",
    label=tr("Compression"),
    stage=Stage.MOUNT,
    kind=Choice(_COMPRESSIONS),
    default="off",
    effect=tr("Fewer bytes to the disk for more CPU; a file whose first blocks do not shrink is left alone."),
    source="btrfs(5); Vondra 2016; tested",
    tried=("off", "lzo", "zstd:1", "zstd:3"),
    spelling=Spelling("compress={value}", (("off", None),)),
)

COMPRESS_FORCE: Final = OptionSpec(
    id="compress_force",
    label=tr("Compression, always tried"),
    stage=Stage.MOUNT,
    kind=Choice(_COMPRESSIONS),
    default="off",
    effect=tr("As compression, but tried again for every write, whatever earlier blocks of the file gave."),
    source="btrfs(5); tested",
    spelling=Spelling("compress-force={value}", (("off", None),)),
)

SSD: Final = OptionSpec(
    id="ssd",
    label=tr("Allocation for SSDs"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("ssd", tr("looks for larger free areas")),
            ChoiceValue("nossd", tr("as for disks that turn")),
            ChoiceValue("ssd_spread", tr("only wholly free areas")),
        )
    ),
    default=None,
    effect=tr(
        "How space is looked for; chosen from what the disk says of itself, little effect since Linux 4.14."
    ),
    source="btrfs(5); Vondra 2016; Vondra 2022; tested",
    word="ssd, nossd",
    spelling=Spelling("{value}"),
)

DISCARD: Final = OptionSpec(
    id="discard",
    label=tr("Discard while running"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("async", tr("collected and sent in the background")),
            ChoiceValue("sync", tr("at each commit of the filesystem, which waits for it")),
            ChoiceValue("off", tr("never: for runs that can be repeated")),
        )
    ),
    default=None,
    effect=tr("Copy on write frees blocks all the time: when the SSD is told of it changes its latency."),
    source="btrfs(5) (async where the disk can since Linux 6.2); Vondra 2016; tested",
    spelling=Spelling("discard={value}", (("off", "nodiscard"),)),
    shown=Spelling("discard={value}", (("off", None), ("sync", "discard"))),
    since=(Requirement(KERNEL, (5, 6)),),
)

COMMIT: Final = OptionSpec(
    id="commit",
    label=tr("Commit interval"),
    stage=Stage.MOUNT,
    kind=Integer(1, 300, unit="s"),
    default=30,
    effect=tr(
        "How long changes may wait before a full commit of the filesystem, which shows as a dip of TPS."
    ),
    source="btrfs(5); tested",
    shown=Spelling("commit={value}", ((30, None),)),
)

FLUSHONCOMMIT: Final = OptionSpec(
    id="flushoncommit",
    label=tr("Data with each commit"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr(
        "A commit of the filesystem first writes all data: longer dips, and what is on disk fits together."
    ),
    source="btrfs(5); tested",
    spelling=words("flushoncommit", "noflushoncommit"),
    shown=words("flushoncommit", None),
)

TREELOG: Final = OptionSpec(
    id="treelog",
    label=tr("Log for fsync"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Off: each commit of PostgreSQL waits for a full commit of the filesystem, which is very slow."
    ),
    source="btrfs(5); tested",
    spelling=words("treelog", "notreelog"),
    shown=words(None, "notreelog"),
)

AUTODEFRAG: Final = OptionSpec(
    id="autodefrag",
    label=tr("Automatic defragmentation"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Rewrites what small writes scattered; “not well suited for large database workloads”."),
    source="btrfs(5); tested",
    spelling=words("autodefrag", "noautodefrag"),
    shown=words("autodefrag", None),
)

THREAD_POOL: Final = OptionSpec(
    id="thread_pool",
    label=tr("Worker threads"),
    stage=Stage.MOUNT,
    kind=Integer(1, 1024),
    default=None,
    effect=tr("How many kernel threads compress and compute checksums: min(CPUs + 2, 8) by itself."),
    source="btrfs(5); tested (not shown where it is the default)",
    unseen=tr("the kernel does not show it where it is the number that it chose itself"),
)

MAX_INLINE: Final = OptionSpec(
    id="max_inline",
    label=tr("Small files in metadata"),
    stage=Stage.MOUNT,
    kind=Integer(0, 4 * KIB, unit="B"),
    default=2048,
    effect=tr("Files up to this size live in metadata; PostgreSQL has few so small, none that matters."),
    source="btrfs(5); tested",
    shown=Spelling("max_inline={value}", ((2048, None),)),
)

MIRROR_COPIES: Final = OptionSpec(
    id="mirror_copies",
    label=tr("Copies of a mirror"),
    stage=Stage.MKFS,
    kind=Choice(
        (
            ChoiceValue("2", tr("two copies, whatever the number of disks")),
            ChoiceValue("3", tr("three copies: survives two disks"), since=_KERNEL_5_5),
            ChoiceValue("4", tr("four copies: survives three disks"), since=_KERNEL_5_5),
        )
    ),
    default="2",
    effect=tr("On how many disks each block is written: more copies write more and hold less."),
    source=f"{_MKFS}, PROFILES; tested",
    spelling=Spelling(),  # said by `profiles`, and shown by `btrfs filesystem df`
    word="-d raid1c3, raid1c4",
)

METADATA_PROFILE: Final = OptionSpec(
    id="metadata_profile",
    label=tr("Profile of metadata"),
    stage=Stage.MKFS,
    kind=Choice(
        (
            ChoiceValue("single", tr("one copy")),
            ChoiceValue("dup", tr("two copies on the same disk")),
            ChoiceValue("raid0", tr("one copy, spread")),
            ChoiceValue("raid1", tr("two copies on two disks")),
            ChoiceValue("raid1c3", tr("three copies on three disks"), since=_KERNEL_5_5),
            ChoiceValue("raid1c4", tr("four copies on four disks"), since=_KERNEL_5_5),
            ChoiceValue("raid10", tr("two copies, spread")),
        )
    ),
    default=None,
    effect=tr("How often each change of metadata is written; every commit of PostgreSQL changes metadata."),
    source=f"{_MKFS}, PROFILES; tested",
    spelling=Spelling(),  # said by `profiles`, and shown by `btrfs filesystem df`
    word="-m",
    risks=(("single", (Safety.LESS_REDUNDANCY,)), ("raid0", (Safety.LESS_REDUNDANCY,))),
)

CHECKSUM: Final = OptionSpec(
    id="checksum",
    label=tr("Kind of checksum"),
    stage=Stage.MKFS,
    kind=Choice(
        (
            ChoiceValue("crc32c", tr("computed by the CPU's own instruction")),
            ChoiceValue("xxhash", tr("fast without that instruction")),
            ChoiceValue("sha256", tr("cryptographic, slow without CPU support")),
            ChoiceValue("blake2", tr("cryptographic, faster than sha256 in software")),
        )
    ),
    default="crc32c",
    effect=tr("CPU for each block read and written."),
    source=f"{_MKFS}; tested",
    spelling=Spelling("{value}"),
    word="--csum",
    flag="--csum",
    shown=Spelling(
        "csum_type={value}",
        (("xxhash", "csum_type=xxhash64"), ("blake2", "csum_type=blake2|csum_type=blake2b")),
    ),
    since=(*_KERNEL_5_5, Requirement(BTRFS_PROGS, (5, 5))),
)

NODESIZE: Final = OptionSpec(
    id="nodesize",
    label=tr("Size of metadata blocks"),
    stage=Stage.MKFS,
    kind=Integer(4 * KIB, 64 * KIB, power_of_two=True, unit="B"),
    default=16 * KIB,
    effect=tr("Smaller ones lock and write less for each change, larger ones make shallower trees."),
    source=f"{_MKFS}; tested",
    spelling=Spelling("{value}"),
    flag="-n",
    shown=Spelling("nodesize={value}"),
)

NOCOW_ATTRIBUTE: Final = OptionSpec(
    id="nocow_attribute",
    label=tr("No copy on write in PGDATA"),
    stage=Stage.ATTRIBUTE,
    kind=Toggle(),
    default=False,
    effect=tr(
        "As copy on write off, but for the data directory only (chattr +C), the rest keeps its checksums."
    ),
    source="btrfs(5); chattr(1); tested",
    spelling=words("+C", None),
    shown=words("C", None),
    on_files=words("C", None),
    risks=((True, (Safety.NO_CHECKSUMS, Safety.TORN_PAGES)),),
)


def profiles(made: ArrayLayout, chosen: Mapping[str, OptionValue]) -> tuple[str, str]:
    """Return the profiles of data and metadata; mkfs.btrfs(8) recommends to give both always.

    Args:
        made: layout of the level by btrfs.
        chosen: options; more copies of a mirror's data mean as many of its metadata.
    """
    data, metadata = made.name, made.metadata
    if made.level is Level.MIRROR and chosen.get("mirror_copies", "2") != "2":
        data = metadata = f"raid1c{chosen['mirror_copies']}"
    return data, str(chosen.get("metadata_profile", metadata))


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkfs.btrfs(8)."""
    data, metadata = profiles(made.layout, made.options)
    others = (pair for pair in made.written if pair[0] not in {"", "-d", "-m"})
    return (("--quiet", ""), ("-U", made.uuid), ("-d", data), ("-m", metadata), *others)


def expected(made: Creation) -> tuple[ExpectedToken, ...]:
    """Return the profiles that ``btrfs filesystem df`` must show."""
    kinds = zip(("Data", "Metadata"), profiles(made.layout, made.options), strict=True)
    return tuple(
        ExpectedToken(f"{kind.lower()} profile", ShownBy.ALLOCATION, ReadbackToken((f"{kind}={profile}",)))
        for kind, profile in kinds
    )


BTRFS: Final = FormatSpec(
    id="btrfs",
    label="btrfs",
    mkfs="mkfs.btrfs",
    minimum_bytes=128 * MIB,
    several=Assembler.BTRFS,
    levels=MD_LEVELS,
    options=(
        ATIME,
        replace(BARRIER, source="btrfs(5) (“most certainly … corrupted”); Vondra 2016; tested"),
        DATACOW,
        DATASUM,
        COMPRESS,
        COMPRESS_FORCE,
        SSD,
        DISCARD,
        LAZYTIME,
        COMMIT,
        FLUSHONCOMMIT,
        TREELOG,
        AUTODEFRAG,
        THREAD_POOL,
        MAX_INLINE,
        MIRROR_COPIES,
        METADATA_PROFILE,
        CHECKSUM,
        NODESIZE,
        mkfs_discard("-K", None, "", _MKFS),
        NOCOW_ATTRIBUTE,
        FILE_EXTEND_METHOD,
        FULL_PAGE_WRITES,
        WAL_INIT_ZERO,
        WAL_RECYCLE,
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    # ctree.h: struct btrfs_super_block, and its mirrors.
    superblock=SuperblockPlace(
        Area(64 * KIB, 4 * KIB),
        Area(64 * KIB, 4 * KIB),
        64 * KIB + 32,
        copies=(64 * MIB - 64 * KIB, 256 * GIB - 64 * KIB),
    ),
    readers=READERS,
    expected=expected,
    whole_pages=True,
    refusals=REFUSALS,
)
