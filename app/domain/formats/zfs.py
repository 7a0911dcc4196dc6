"""ZFS: options of the pool and the dataset, presets, fixed arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.domain.formats.common import (
    FULL_PAGE_WRITES,
    MD_LEVELS,
    NODEV,
    NOSUID,
    WAL_INIT_ZERO,
    WAL_RECYCLE,
)
from app.domain.options.format_spec import (
    FixedArgument,
    FormatSpec,
)
from app.domain.options.kinds import (
    Choice,
    ChoiceValue,
    Integer,
    ReadbackProgram,
    ReadbackToken,
    ShownBy,
    Spelling,
    Toggle,
    words,
)
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import Assembler, Level
from app.domain.text import tr
from app.domain.units import KIB, MIB
from app.domain.versions import Component, Requirement

OPENZFS: Final = Component("OpenZFS")
_ZFS_2_1_11: Final = (Requirement(OPENZFS, (2, 1, 11)),)
_ZFS_2_2: Final = (Requirement(OPENZFS, (2, 2)),)
_ZFS_2_3: Final = (Requirement(OPENZFS, (2, 3)),)


def _always(stage: Stage, item: str, why: str) -> FixedArgument:
    source = "zpoolprops(7)" if stage is Stage.POOL else "zfsprops(7)"
    return FixedArgument(stage, "", item, why, source, ReadbackToken((item,)))


ALWAYS: Final = (
    _always(Stage.POOL, "cachefile=none", tr("nothing imports the pool by itself at the next boot")),
    _always(Stage.POOL, "failmode=continue", tr("a failed disk ends the run instead of hanging it")),
    _always(Stage.DATASET, "mountpoint=legacy", tr("mounted by us, like every other filesystem")),
    _always(Stage.DATASET, "canmount=noauto", tr("nothing mounts it by itself")),
    _always(Stage.DATASET, "setuid=off", tr("no program on it gains rights")),
    _always(Stage.DATASET, "devices=off", tr("device nodes on it mean nothing")),
    NODEV,
    NOSUID,
)


def _onoff(name: str) -> Spelling:
    return words(f"{name}=on", f"{name}=off")


ASHIFT: Final = OptionSpec(
    id="ashift",
    label=tr("Sector size (power of two)"),
    stage=Stage.POOL,
    kind=Integer(9, 16, also=(0,)),
    default=0,
    effect=tr("12 means 4 KiB sectors; smaller than the SSD's own pages makes it read before it writes."),
    source="zpoolprops(7); Vondra 2022; tested",
    tried=(12, 13),
)

AUTOTRIM: Final = OptionSpec(
    id="autotrim",
    label=tr("Discard while running"),
    stage=Stage.POOL,
    kind=Toggle(),
    default=False,
    effect=tr("Tells the SSD by and by which blocks are free, which costs latency while PostgreSQL runs."),
    source="zpoolprops(7); tested",
    spelling=_onoff("autotrim"),
)

RECORDSIZE: Final = OptionSpec(
    id="recordsize",
    label=tr("Record size"),
    stage=Stage.DATASET,
    kind=Integer(512, MIB, power_of_two=True, unit="B"),
    default=128 * KIB,
    effect=tr(
        "Each changed page rewrites a whole record: one of one page (8 KiB) writes least, larger "
        "ones compress better."
    ),
    source="zfsprops(7); zfs docs (32 KiB, earlier 8 KiB); Vondra 2016; Vondra 2022; tested",
    tried=(8 * KIB, 16 * KIB, 32 * KIB),
    written_whole=True,
)

_COMPRESSIONS: Final = (
    ChoiceValue("off", tr("nothing is compressed")),
    ChoiceValue("lz4", tr("fast: nearly always worth it")),
    ChoiceValue("zle", tr("runs of zeroes only")),
    ChoiceValue("lzjb", tr("the old one, worse than lz4")),
    *(
        ChoiceValue(
            f"zstd-{level}",
            tr("zstd, level {level}: a higher one saves more, takes more CPU").format(level=level),
        )
        for level in range(1, 20)
    ),
    *(
        ChoiceValue(f"zstd-fast-{level}", tr("zstd, faster than level 1, saves less"))
        for level in (*range(1, 11), *range(20, 101, 10), 500, 1000)
    ),
    *(
        ChoiceValue(f"gzip-{level}", tr("gzip, level {level}: slower than zstd").format(level=level))
        for level in range(1, 10)
    ),
)

COMPRESSION: Final = OptionSpec(
    id="compression",
    label=tr("Compression"),
    stage=Stage.DATASET,
    kind=Choice(_COMPRESSIONS),
    default=None,
    effect=tr("Fewer bytes to the disk for more CPU; pays only where a record shrinks by a whole sector."),
    source="zfsprops(7); release tags (off until 2.1, lz4 since 2.2); Vondra 2022; tested",
    tried=("off", "lz4", "zstd-3"),
    shown=Spelling(
        "compression={value}",
        (("gzip-6", "compression=gzip"), ("zstd-fast-1", "compression=zstd-fast")),
    ),
)

ATIME: Final = OptionSpec(
    id="atime",
    label=tr("Access times"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("relatime", tr("at most one update of a file's access time a day")),
            ChoiceValue("noatime", tr("reading never writes")),
            ChoiceValue("strictatime", tr("every read writes metadata anew")),
        )
    ),
    default=None,
    effect=tr("Whether reading a table also writes its access time, which PostgreSQL never looks at."),
    source="zfsprops(7); release tags (strict until 2.1, relatime since 2.2); Vondra 2022; tested",
    word="atime",
    spelling=Spelling(
        values=(("noatime", "atime=off"), ("relatime", "relatime=on"), ("strictatime", "relatime=off"))
    ),
    # With atime=off neither value of relatime has any effect, and either may be there.
    shown=Spelling(
        values=(
            ("noatime", "atime=off"),
            ("relatime", "atime=on relatime=on"),
            ("strictatime", "atime=on relatime=off"),
        )
    ),
)

LOGBIAS: Final = OptionSpec(
    id="logbias",
    label=tr("Log bias"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("latency", tr("fsync is answered from the log, on log devices where there are any")),
            ChoiceValue("throughput", tr("data goes to its place at once, past log devices, and fragments")),
        )
    ),
    default="latency",
    effect=tr("How an fsync of PostgreSQL is made durable."),
    source="zfsprops(7); zfs docs; Vondra 2016; Vondra 2022; tested",
)

SYNC: Final = OptionSpec(
    id="sync",
    label=tr("Synchronous writes"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("standard", tr("fsync waits for the disk")),
            ChoiceValue("always", tr("every write waits for the disk")),
            ChoiceValue("disabled", tr("fsync waits for nothing: up to 5 s of commits are lost in a crash")),
        )
    ),
    default="standard",
    effect=tr("Whether a commit of PostgreSQL is on the disk when it returns."),
    source="zfsprops(7) (“very dangerous … ignoring synchronous demands of databases”); zfs(4); tested",
    risks=(("disabled", (Safety.LOSES_COMMITS,)),),
)

REDUNDANT_METADATA: Final = OptionSpec(
    id="redundant_metadata",
    label=tr("Extra copies of metadata"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("all", tr("one bad block loses one record")),
            ChoiceValue("most", tr("fewer writes; one bad block can lose about 1000 records of a table")),
            ChoiceValue("some", tr("only the most important metadata"), since=_ZFS_2_1_11),
            ChoiceValue("none", tr("one bad block can lose the dataset"), since=_ZFS_2_1_11),
        )
    ),
    default="all",
    effect=tr("How many blocks of metadata each small random write of PostgreSQL adds."),
    source="zfsprops(7); zfs docs; Vondra 2022; tested (some and none are older than 2.2)",
    risks=tuple((value, (Safety.LESS_REDUNDANCY,)) for value in ("most", "some", "none")),
)

PRIMARYCACHE: Final = OptionSpec(
    id="primarycache",
    label=tr("What the ARC keeps"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("all", tr("data and metadata")),
            ChoiceValue("metadata", tr("metadata only: every read beyond shared_buffers goes to the disk")),
            ChoiceValue("none", tr("nothing: very slow")),
        )
    ),
    default="all",
    effect=tr("PostgreSQL counts on the system's cache behind its shared_buffers; on ZFS that is the ARC."),
    source="zfsprops(7); zfs docs; tested",
)

PREFETCH: Final = OptionSpec(
    id="prefetch",
    label=tr("Read ahead"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("all", tr("data and metadata")),
            ChoiceValue("metadata", tr("metadata only")),
            ChoiceValue("none", tr("nothing")),
        )
    ),
    default="all",
    effect=tr("Whether sequential scans are read ahead, which random reads do not need."),
    source="zfsprops(7)",
    since=_ZFS_2_3,
    untested=True,
)

DIRECT: Final = OptionSpec(
    id="direct",
    label=tr("Direct I/O"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("standard", tr("where a program asks for it and whole records are written")),
            ChoiceValue("always", tr("past the ARC wherever possible; pages smaller than a record are not")),
            ChoiceValue("disabled", tr("never: through the ARC, as before 2.3")),
        )
    ),
    default="standard",
    effect=tr(
        "Matters only for debug_io_direct: PostgreSQL writes one page, which has to be a whole record."
    ),
    source="zfsprops(7); release tags",
    since=_ZFS_2_3,
    untested=True,
)

CHECKSUM: Final = OptionSpec(
    id="checksum",
    label=tr("Kind of checksum"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("on", tr("fletcher4")),
            ChoiceValue("fletcher4", tr("cheap")),
            ChoiceValue("sha256", tr("cryptographic")),
            ChoiceValue("sha512", tr("cryptographic, faster on 64-bit CPUs")),
            ChoiceValue("skein", tr("cryptographic")),
            ChoiceValue("edonr", tr("cryptographic, fast")),
            ChoiceValue("blake3", tr("cryptographic, fast"), since=_ZFS_2_2, untested=True),
        )
    ),
    default="on",
    effect=tr("CPU for each record read and written."),
    source="zfsprops(7); tested",
)

COPIES: Final = OptionSpec(
    id="copies",
    label=tr("Copies of each block"),
    stage=Stage.DATASET,
    kind=Integer(1, 3),
    default=1,
    effect=tr("Everything is written so many times; no replacement for a mirror."),
    source="zfsprops(7); tested",
)

XATTR: Final = OptionSpec(
    id="xattr",
    label=tr("Extended attributes"),
    stage=Stage.DATASET,
    kind=Choice(
        (
            ChoiceValue("dir", tr("in hidden directories")),
            ChoiceValue("sa", tr("beside the inode: one I/O less where there are any (SELinux)")),
        )
    ),
    default=None,
    effect=tr("Where labels of files lie; PostgreSQL sets none itself."),
    source="zfsprops(7); release tags (dir until 2.2, sa since 2.3); tested",
    shown=Spelling("xattr={value}", (("dir", "xattr=on"),)),
)


def parse_properties(text: str) -> Iterator[str]:
    """Yield ``name=value`` of the tab-separated lines of ``zpool get`` and ``zfs get``."""
    for line in text.splitlines():
        name, tab, value = line.partition("\t")
        if tab:
            yield f"{name}={value}"


ZFS: Final = FormatSpec(
    id="zfs",
    label="ZFS",
    mkfs=None,
    minimum_bytes=64 * MIB,
    several=Assembler.ZFS,
    levels=(*MD_LEVELS, Level.RAIDZ3),
    options=(
        RECORDSIZE,
        COMPRESSION,
        ATIME,
        SYNC,
        LOGBIAS,
        REDUNDANT_METADATA,
        PRIMARYCACHE,
        PREFETCH,
        DIRECT,
        CHECKSUM,
        COPIES,
        XATTR,
        ASHIFT,
        AUTOTRIM,
        replace(
            FULL_PAGE_WRITES,
            effect=tr(
                "Off: pages are not repeated in the WAL after a checkpoint; safe for records from 8 KiB on, "
                "but not once the data directory is copied to another filesystem."
            ),
            risks=(),
        ),
        WAL_INIT_ZERO,
        WAL_RECYCLE,
    ),
    always=ALWAYS,
    readers=tuple(
        ReadbackProgram(
            ShownBy.PROPERTIES,
            (program, "get", "-H", "-p", "-o", "property,value", "all"),
            parse_properties,
        )
        for program in ("zpool", "zfs")
    ),
    whole_pages=True,
)
