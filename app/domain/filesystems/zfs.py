"""ZFS: options of the pool and the dataset, presets, fixed arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.domain.filesystems.common import (
    FULL_PAGE_WRITES,
    MD_LEVELS,
    NODEV,
    NOSUID,
    SOURCE_2016,
    SOURCE_2022,
    WAL_INIT_ZERO,
    WAL_RECYCLE,
    defaults,
)
from app.domain.options.filesystem_spec import (
    FilesystemPreset,
    FilesystemSpec,
    FixedArgument,
    KernelRemedy,
    KernelThreads,
    PresetValue,
    Program,
    UnsupportedOption,
)
from app.domain.options.kinds import (
    Choice,
    ChoiceValue,
    Integer,
    OptionValue,
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
    spelling=Spelling("ashift={value}"),
    shown=Spelling("ashift={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    shown=_onoff("autotrim"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("recordsize={value}"),
    shown=Spelling("recordsize={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("compression={value}"),
    shown=Spelling(
        "compression={value}",
        (("gzip-6", "compression=gzip"), ("zstd-fast-1", "compression=zstd-fast")),
    ),
    shown_by=ShownBy.PROPERTIES,
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
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("logbias={value}"),
    shown=Spelling("logbias={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("sync={value}"),
    shown=Spelling("sync={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("redundant_metadata={value}"),
    shown=Spelling("redundant_metadata={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("primarycache={value}"),
    shown=Spelling("primarycache={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("prefetch={value}"),
    shown=Spelling("prefetch={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("direct={value}"),
    shown=Spelling("direct={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("checksum={value}"),
    shown=Spelling("checksum={value}"),
    shown_by=ShownBy.PROPERTIES,
)

COPIES: Final = OptionSpec(
    id="copies",
    label=tr("Copies of each block"),
    stage=Stage.DATASET,
    kind=Integer(1, 3),
    default=1,
    effect=tr("Everything is written so many times; no replacement for a mirror."),
    source="zfsprops(7); tested",
    spelling=Spelling("copies={value}"),
    shown=Spelling("copies={value}"),
    shown_by=ShownBy.PROPERTIES,
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
    spelling=Spelling("xattr={value}"),
    shown=Spelling("xattr={value}", (("dir", "xattr=on"),)),
    shown_by=ShownBy.PROPERTIES,
)


def _choice(option: str, value: OptionValue, why: str, source: str) -> PresetValue:
    return PresetValue(option, value, why, source)


_COPY_ON_WRITE: Final = (
    _choice("full_page_writes", False, tr("ZFS never writes half a record"), "zfs docs; Vondra 2022"),
    _choice(
        "wal_init_zero",
        False,
        tr("zeroed blocks are not reused by copy on write"),
        "manual 19.5.1; Vondra 2022",
    ),
    _choice(
        "wal_recycle", False, tr("a new file costs no more than an old one"), "manual 19.5.1; Vondra 2022"
    ),
)
_POOL_2022: Final = (
    _choice("ashift", 12, tr("as published"), SOURCE_2022),
    _choice("recordsize", 8 * KIB, tr("as published: PostgreSQL's page"), SOURCE_2022),
    _choice("compression", "lz4", tr("as published"), SOURCE_2022),
    _choice("atime", "noatime", tr("as published (atime=off; relatime=on has no effect then)"), SOURCE_2022),
    _choice("logbias", "latency", tr("as published"), SOURCE_2022),
    _choice("redundant_metadata", "most", tr("as published"), SOURCE_2022),
)
_RECORD_2016: Final = _choice("recordsize", 8 * KIB, tr("as published: PostgreSQL's page"), SOURCE_2016)

PRESETS: Final = (
    defaults("zpoolprops(7); zfsprops(7); Vondra 2016"),
    FilesystemPreset(
        "recommended",
        tr("Recommended for PostgreSQL"),
        "zfs docs; zpoolprops(7); Vondra 2022",
        (
            _choice(
                "ashift", 12, tr("SSDs often claim 512-byte sectors and have larger ones"), "zpoolprops(7)"
            ),
            _choice("recordsize", 32 * KIB, tr("with lz4 better than 8 KiB for most databases"), "zfs docs"),
            _choice("compression", "lz4", tr("costs little CPU and saves writes"), "zfs docs"),
            _choice("atime", "noatime", tr("reading never writes"), "zfsprops(7); Vondra 2022"),
            _choice("logbias", "latency", tr("throughput fragments small updates"), "zfs docs"),
            *_COPY_ON_WRITE,
        ),
    ),
    FilesystemPreset(
        "2008-8k",
        tr("2008: 8 KiB records, no compression"),
        "“PostgreSQL on UFS versus ZFS”, 2008",
        (
            _choice("recordsize", 8 * KIB, tr("as published"), "“PostgreSQL on UFS versus ZFS”, 2008"),
            _choice("compression", "off", tr("as published"), "“PostgreSQL on UFS versus ZFS”, 2008"),
        ),
    ),
    FilesystemPreset("2016-recordsize", tr("FOSDEM 2016: recordsize=8k"), SOURCE_2016, (_RECORD_2016,)),
    FilesystemPreset(
        "2016-recordsize-logbias",
        tr("FOSDEM 2016: recordsize=8k, logbias=throughput"),
        SOURCE_2016,
        (_RECORD_2016, _choice("logbias", "throughput", tr("as published"), SOURCE_2016)),
    ),
    FilesystemPreset("2022", tr("EDB 2022, server untuned"), SOURCE_2022, _POOL_2022),
    FilesystemPreset(
        "2022-tuned",
        tr("EDB 2022, tuned: no full page writes"),
        SOURCE_2022,
        (*_POOL_2022, *_COPY_ON_WRITE),
    ),
)


def parse_properties(text: str) -> Iterator[str]:
    """Yield ``name=value`` of the tab-separated lines of ``zpool get`` and ``zfs get``."""
    for line in text.splitlines():
        name, tab, value = line.partition("\t")
        if tab:
            yield f"{name}={value}"


ZFS: Final = FilesystemSpec(
    id="zfs",
    label="ZFS",
    good_for=tr("Checksums, compression, snapshots and RAID of its own; even TPS, for more CPU and memory."),
    mkfs=None,
    programs=(
        Program("zpool", "zfsutils-linux", OPENZFS, "version", module="zfs"),
        Program("zfs", "zfsutils-linux"),
    ),
    kernel_modules=("zfs",),
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
    presets=PRESETS,
    lacks=(
        UnsupportedOption(
            "barrier",
            tr(
                "ZFS always flushes the disk's write cache and has no switch for it. sync=disabled is a "
                "different and a worse trade: it loses commits even with PLP."
            ),
            "zfsprops(7); zfs(4)",
        ),
        UnsupportedOption("discard", tr("On ZFS it is an option of the pool: autotrim."), "zpoolprops(7)"),
        UnsupportedOption("block_size", tr("ZFS has records of variable size: recordsize."), "zfsprops(7)"),
        UnsupportedOption(
            "data", tr("ZFS has no journal of this kind; see sync and logbias."), "zfsprops(7)"
        ),
    ),
    readers=tuple(
        ReadbackProgram(
            ShownBy.PROPERTIES,
            (program, "get", "-H", "-p", "-o", "property,value", "all"),
            parse_properties,
        )
        for program in ("zpool", "zfs")
    ),
    whole_pages=True,
    kernel_threads=KernelThreads(
        "zfs",
        r"z_|zthr|zvol|zfs|txg_|arc_|dbu_|dbuf_|dp_|l2arc|spl_|vdev_|mmp|metaslab|autotrim",
    ),
    kernel_remedy=KernelRemedy(
        tr("OpenZFS is built for each kernel: install its module (contrib on Debian)."), "zfs-dkms"
    ),
    cache_limit="sys/module/zfs/parameters/zfs_arc_max",
)
