"""All filesystems: what users choose them by, added to their formats (`app.domain.formats`).

Sources are abbreviated as in `app.domain.option_texts`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app.domain import option_texts
from app.domain.errors import Problem
from app.domain.formats import btrfs, ext4, f2fs, reiserfs, tmpfs, xfs, zfs
from app.domain.option_texts import BTRFS_PROGS, E2FSPROGS, OPENZFS
from app.domain.options.checks import validate_options
from app.domain.options.filesystem_spec import (
    Circumstances,
    FilesystemPreset,
    FilesystemSpec,
    KernelRemedy,
    KernelThreads,
    PresetValue,
    Program,
    UnsupportedOption,
    described,
)
from app.domain.options.format_spec import FormatSpec
from app.domain.options.option_spec import KERNEL, Component, Requirement, Safety
from app.domain.options.raid import Level
from app.domain.options.refusals import Action, ConflictRule
from app.domain.text import KIB, tr

SOURCE_2011: Final = "2011"
SOURCE_2016: Final = "Vondra 2016"
SOURCE_2022: Final = "Vondra 2022"

DUMPE2FS: Final = Program("dumpe2fs", "e2fsprogs")

NOATIME: Final = PresetValue("atime", "noatime", tr("reads never set atime"), "mount(8); 2011; Vondra 2016")
NO_BARRIER: Final = PresetValue("barrier", False, tr("as published; only for disks with PLP"), SOURCE_2016)
ONLINE_DISCARD: Final = PresetValue("discard", True, tr("as published"), SOURCE_2016)


def defaults(source: str) -> FilesystemPreset:
    """Return the preset without choices.

    Args:
        source: documentation of the defaults.
    """
    return FilesystemPreset("defaults", tr("Defaults of tools and kernel"), source)


_WRITEBACK: Final = PresetValue("data", "writeback", tr("as published"), SOURCE_2011)

EXT4: Final = described(
    ext4.EXT4,
    option_texts.EXT4,
    good_for=tr("The usual choice: overwrites in place, high throughput, few surprises."),
    programs=(Program("mkfs.ext4", "e2fsprogs", E2FSPROGS), DUMPE2FS),
    kernel_modules=("ext4",),
    presets=(
        defaults("mke2fs.conf; ext4.rst; 2011 (data=ordered,relatime)"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "2011; Vondra 2016; manual 28.3",
            (
                NOATIME,
                PresetValue(
                    "discard", False, tr("fstrim between runs costs no latency"), "xfs.rst; Vondra 2016"
                ),
                PresetValue(
                    "barrier",
                    True,
                    tr("explicit, so commits survive a power cut"),
                    "manual 28.1; ext4.rst; Vondra 2016",
                ),
            ),
        ),
        FilesystemPreset(
            "2011-writeback",
            "2011: writeback, noatime",
            SOURCE_2011,
            (_WRITEBACK, NOATIME),
        ),
        FilesystemPreset(
            "2011-commit",
            "2011: writeback, noatime, commit=999",
            SOURCE_2011,
            (_WRITEBACK, NOATIME, PresetValue("commit", 999, tr("as published"), SOURCE_2011)),
        ),
        FilesystemPreset(
            "2011-nobarrier",
            "2011: writeback, noatime, barrier=0",
            SOURCE_2011,
            (
                _WRITEBACK,
                NOATIME,
                PresetValue("barrier", False, tr("as published; only for disks with PLP"), SOURCE_2011),
            ),
        ),
        FilesystemPreset(
            "2016-nobarrier-discard",
            "FOSDEM 2016: nobarrier, discard",
            SOURCE_2016,
            (NO_BARRIER, ONLINE_DISCARD),
        ),
        FilesystemPreset(
            "2022",
            "EDB 2022: relatime",
            SOURCE_2022,
            (PresetValue("atime", "relatime", tr("as published"), SOURCE_2022),),
        ),
    ),
    kernel_threads=KernelThreads("jbd2", r"jbd2/|ext4"),
)


_UNSTRIPED: Final = frozenset({Level.SINGLE, Level.MIRROR})

_XFS_RULES: Final[tuple[ConflictRule[Circumstances], ...]] = (
    ConflictRule(
        "C01",
        Action.REFUSE,
        ("barrier",),
        lambda it: it.options.get("barrier") is False and (it.kernel() or (0,)) >= (4, 19),
        tr("XFS's “nobarrier” was removed in Linux 4.19, and XFS always flushes. Remove the option for XFS."),
        "xfs.rst, “Removed Mount Options”; tested",
    ),
    ConflictRule(
        "C18",
        Action.WARN,
        ("swalloc",),
        lambda it: it.value("swalloc") is True and it.level in _UNSTRIPED and "sw" not in it.options,
        tr("Without stripes there is no stripe width to align to, so this has no effect."),
        "xfs.rst",
    ),
    ConflictRule(
        "C18-largeio",
        Action.WARN,
        ("largeio",),
        lambda it: (
            it.value("largeio") is True and it.level in _UNSTRIPED and not it.chosen("sw", "allocsize")
        ),
        tr(
            "Without stripes or a preallocation size there is no larger I/O size to report, so this has no "
            "effect."
        ),
        "xfs.rst",
    ),
)

XFS: Final = described(
    xfs.XFS,
    option_texts.XFS,
    good_for=tr("Overwrites in place like ext4; scales well with many clients and large disks."),
    programs=(
        Program("mkfs.xfs", "xfsprogs", Component("xfsprogs")),
        Program("xfs_info", "xfsprogs"),
    ),
    large_blocks_since=Requirement(KERNEL, (6, 12)),
    kernel_modules=("xfs",),
    presets=(
        defaults("mkfs.xfs(8); xfs.rst"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "2011; Vondra 2016; xfs.rst",
            (
                NOATIME,
                PresetValue(
                    "discard", False, tr("fstrim between runs costs no latency"), "xfs.rst; Vondra 2016"
                ),
            ),
        ),
        FilesystemPreset(
            "2011",
            "2011: noatime, noquota",
            SOURCE_2011,
            (NOATIME, PresetValue("quota", "noquota", tr("as published"), SOURCE_2011)),
        ),
        FilesystemPreset(
            "2011-nobarrier",
            "2011: noatime, noquota, nobarrier",
            SOURCE_2011,
            (
                NOATIME,
                PresetValue("quota", "noquota", tr("as published"), SOURCE_2011),
                PresetValue("barrier", False, tr("as published; only for disks with PLP"), SOURCE_2011),
            ),
        ),
        FilesystemPreset("2016-discard", "FOSDEM 2016: discard", SOURCE_2016, (ONLINE_DISCARD,)),
        FilesystemPreset(
            "2022",
            "EDB 2022: relatime",
            SOURCE_2022,
            (PresetValue("atime", "relatime", tr("as published"), SOURCE_2022),),
        ),
    ),
    kernel_threads=KernelThreads("xfs", r"xfs"),
    rules=_XFS_RULES,
)


_NODATACOW: Final = PresetValue("datacow", False, tr("as published"), "2011; Vondra 2016")

_SSD: Final = PresetValue("ssd", "ssd", tr("as published"), "Vondra 2016; Vondra 2022")

_NEW_WAL_FILES: Final = tuple(
    PresetValue(name, False, tr("copy on write does not overwrite old blocks"), "manual 19.5.1; Vondra 2022")
    for name in ("wal_init_zero", "wal_recycle")
)


_METADATA_DISKS: Final = {"raid0": 2, "raid1": 2, "raid10": 2, "raid1c3": 3, "raid1c4": 4}


def _metadata_needs_more(it: Circumstances) -> bool:
    needed = max(
        _METADATA_DISKS.get(str(it.options.get("metadata_profile", "")), 0),
        int(str(it.options.get("mirror_copies", 0))),
    )
    return 0 < len(it.disks) < needed


_BTRFS_RULES: Final[tuple[ConflictRule[Circumstances], ...]] = (
    ConflictRule(
        "C04",
        Action.IMPLY,
        ("datacow", "nocow_attribute"),
        lambda it: not it.writes_whole_pages(),
        tr(
            "Without copy on write there are no checksums and pages can be torn, so full_page_writes stays "
            "on."
        ),
        "btrfs(5); tested",
        (("datasum", False), ("full_page_writes", True)),
    ),
    ConflictRule(
        "C07-unverified",
        Action.WARN,
        ("full_page_writes",),
        lambda it: it.is_off("full_page_writes") and it.writes_whole_pages(),
        tr("btrfs is not known to protect against torn pages, so the result is marked unverified."),
        "btrfs(5); no official statement found",
    ),
    ConflictRule(
        "C27",
        Action.WARN,
        ("level",),
        lambda it: it.level in {Level.RAID5, Level.RAID6},
        tr("The btrfs developers call raid5 and raid6 unstable: “should not be used in production”."),
        "mkfs.btrfs(8); btrfs Status",
    ),
    ConflictRule(
        "C40",
        Action.WARN,
        btrfs.COMPRESSING,
        lambda it: (
            btrfs.is_compressing(it)
            and (it.server or {}).get("file_extend_method", it.value("file_extend_method"))
            == "posix_fallocate"
        ),
        tr(
            "From PostgreSQL 16 on, loaded tables are not compressed because space is reserved first. Use "
            "file_extend_method = write_zeros if the server has it; compression is verified after loading."
        ),
        "manual 19.4; tested",
    ),
    ConflictRule(
        "C37",
        Action.REFUSE,
        ("metadata_profile", "mirror_copies"),
        _metadata_needs_more,
        tr("There are fewer disks than copies."),
        "mkfs.btrfs(8), PROFILES",
    ),
    ConflictRule(
        "C38",
        Action.WARN,
        ("autodefrag",),
        lambda it: it.value("autodefrag") is True,
        tr("From the btrfs documentation: “not well suited for large database workloads”."),
        "btrfs(5)",
    ),
)

BTRFS: Final = described(
    btrfs.BTRFS,
    option_texts.BTRFS,
    good_for=tr("Checksums, compression, snapshots and built-in RAID; weak at random writes."),
    programs=(
        Program("mkfs.btrfs", "btrfs-progs", BTRFS_PROGS, version_argument="--version"),
        Program("btrfs", "btrfs-progs"),
    ),
    kernel_modules=("btrfs",),
    presets=(
        defaults("mkfs.btrfs(8); btrfs(5); 2011; Vondra 2016"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "btrfs(5); manual 19.5; Vondra 2022",
            (
                PresetValue(
                    "atime",
                    "noatime",
                    tr("each new access time copies metadata, which slows reads down"),
                    "btrfs(5); 2011",
                ),
                PresetValue("autodefrag", False, tr("it does not suit large databases"), "btrfs(5)"),
                *_NEW_WAL_FILES,
            ),
        ),
        FilesystemPreset("2011-nodatacow", "2011: nodatacow", SOURCE_2011, (_NODATACOW,)),
        FilesystemPreset(
            "2011-nodatacow-noatime",
            "2011: nodatacow, noatime",
            SOURCE_2011,
            (_NODATACOW, NOATIME),
        ),
        FilesystemPreset("2016-ssd", "FOSDEM 2016: ssd", SOURCE_2016, (_SSD,)),
        FilesystemPreset(
            "2016-ssd-nobarrier", "FOSDEM 2016: ssd, nobarrier", SOURCE_2016, (_SSD, NO_BARRIER)
        ),
        FilesystemPreset(
            "2016-all",
            "FOSDEM 2016: ssd, nobarrier, discard, nodatacow",
            SOURCE_2016,
            (_SSD, NO_BARRIER, PresetValue("discard", "sync", tr("as published"), SOURCE_2016), _NODATACOW),
        ),
        FilesystemPreset(
            "2022",
            "EDB 2022: ssd, relatime",
            SOURCE_2022,
            (_SSD, PresetValue("atime", "relatime", tr("as published"), SOURCE_2022)),
        ),
    ),
    kernel_threads=KernelThreads("btrfs", r"btrfs"),
    rules=_BTRFS_RULES,
)


_COPY_ON_WRITE: Final = (
    PresetValue("full_page_writes", False, tr("ZFS never writes half a record"), "zfs docs; Vondra 2022"),
    *_NEW_WAL_FILES,
)

_POOL_2022: Final = (
    PresetValue("ashift", 12, tr("as published"), SOURCE_2022),
    PresetValue("recordsize", 8 * KIB, tr("as published"), SOURCE_2022),
    PresetValue("compression", "lz4", tr("as published"), SOURCE_2022),
    PresetValue("atime", "noatime", tr("as published"), SOURCE_2022),
    PresetValue("logbias", "latency", tr("as published"), SOURCE_2022),
    PresetValue("redundant_metadata", "most", tr("as published"), SOURCE_2022),
)

_RECORD_2016: Final = PresetValue("recordsize", 8 * KIB, tr("as published"), SOURCE_2016)

ZFS: Final = described(
    zfs.ZFS,
    option_texts.ZFS,
    good_for=tr(
        "Checksums, compression, snapshots and built-in RAID; even TPS at the cost of CPU and memory."
    ),
    programs=(
        Program("zpool", "zfsutils-linux", OPENZFS, "version", module="zfs"),
        Program("zfs", "zfsutils-linux"),
    ),
    kernel_modules=("zfs",),
    presets=(
        defaults("zpoolprops(7); zfsprops(7); Vondra 2016"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "zfs docs; zpoolprops(7); Vondra 2022",
            (
                PresetValue(
                    "ashift",
                    12,
                    tr("SSDs often report 512-byte sectors but use larger ones"),
                    "zpoolprops(7)",
                ),
                PresetValue(
                    "recordsize", 32 * KIB, tr("better than 8 KiB with lz4 for most databases"), "zfs docs"
                ),
                PresetValue("compression", "lz4", tr("costs little CPU and saves writes"), "zfs docs"),
                PresetValue("atime", "noatime", tr("reads never set atime"), "zfsprops(7); Vondra 2022"),
                PresetValue("logbias", "latency", tr("“throughput” fragments small updates"), "zfs docs"),
                *_COPY_ON_WRITE,
            ),
        ),
        FilesystemPreset(
            "2008-8k",
            "2008: recordsize=8k, compression=off",
            "“PostgreSQL on UFS versus ZFS”, 2008",
            (
                PresetValue(
                    "recordsize", 8 * KIB, tr("as published"), "“PostgreSQL on UFS versus ZFS”, 2008"
                ),
                PresetValue("compression", "off", tr("as published"), "“PostgreSQL on UFS versus ZFS”, 2008"),
            ),
        ),
        FilesystemPreset("2016-recordsize", "FOSDEM 2016: recordsize=8k", SOURCE_2016, (_RECORD_2016,)),
        FilesystemPreset(
            "2016-recordsize-logbias",
            "FOSDEM 2016: recordsize=8k, logbias=throughput",
            SOURCE_2016,
            (_RECORD_2016, PresetValue("logbias", "throughput", tr("as published"), SOURCE_2016)),
        ),
        FilesystemPreset("2022", "EDB 2022: recordsize=8k, lz4", SOURCE_2022, _POOL_2022),
        FilesystemPreset(
            "2022-tuned",
            "EDB 2022: recordsize=8k, lz4, full_page_writes=off",
            SOURCE_2022,
            (*_POOL_2022, *_COPY_ON_WRITE),
        ),
    ),
    lacks=(
        UnsupportedOption(
            "barrier",
            tr(
                "ZFS flushes the disk's write cache, and no pool or dataset option turns that off. "
                "sync=disabled is worse: it loses commits even with PLP."
            ),
            "zfsprops(7); zfs(4)",
        ),
        UnsupportedOption("discard", tr("ZFS has a pool option for this: autotrim."), "zpoolprops(7)"),
        UnsupportedOption(
            "block_size", tr("ZFS uses records of variable size instead: recordsize."), "zfsprops(7)"
        ),
        UnsupportedOption(
            "data", tr("ZFS has no journal of this kind; see “sync” and “logbias”."), "zfsprops(7)"
        ),
    ),
    kernel_threads=KernelThreads(
        "zfs",
        r"z_|zthr|zvol|zfs|txg_|arc_|dbu_|dbuf_|dp_|l2arc|spl_|vdev_|mmp|metaslab|autotrim",
    ),
    kernel_remedy=KernelRemedy(
        tr("OpenZFS needs a module for this kernel: install it (contrib on Debian)."), "zfs-dkms"
    ),
    cache_limit="sys/module/zfs/parameters/zfs_arc_max",
)


_F2FS_RULES: Final[tuple[ConflictRule[Circumstances], ...]] = (
    ConflictRule(
        "C20-nobarrier",
        Action.WARN,
        ("fsync_mode", "barrier"),
        lambda it: it.value("fsync_mode") == "nobarrier" and it.value("barrier") is False,
        tr("Both do the same: remove one of them."),
        "f2fs.rst",
    ),
    ConflictRule(
        "C34",
        Action.IMPLY,
        ("errors",),
        lambda it: "errors" not in it.options and (it.kernel() or (0,)) >= (6, 5),
        tr("An I/O error makes the filesystem read-only and so ends the run."),
        "f2fs.rst",
        (("errors", "remount-ro"),),
    ),
)

F2FS: Final = described(
    f2fs.F2FS,
    option_texts.F2FS,
    good_for=tr("Made for flash: appends instead of overwriting. No data checksums."),
    programs=(
        Program("mkfs.f2fs", "f2fs-tools", Component("f2fs-tools")),
        Program("dump.f2fs", "f2fs-tools"),
    ),
    kernel_modules=("f2fs",),
    presets=(
        defaults("mkfs.f2fs(8); f2fs.rst; Vondra 2016"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "f2fs.rst; 2011; Vondra 2016",
            (
                NOATIME,
                PresetValue("fsync_mode", "strict", tr("durable as on other filesystems"), "f2fs.rst"),
                PresetValue("checkpoint_merge", True, tr("shorter stalls at fsync"), "f2fs.rst"),
            ),
        ),
        FilesystemPreset(
            "2016-nobarrier-discard",
            "FOSDEM 2016: nobarrier, discard",
            SOURCE_2016,
            (NO_BARRIER, ONLINE_DISCARD),
        ),
    ),
    lacks=(
        UnsupportedOption(
            "compress",
            tr("f2fs compresses only files written once, so not PostgreSQL's tables and WAL."),
            "f2fs.rst, “Compression”",
        ),
        UnsupportedOption(
            "lazytime",
            tr("f2fs always uses lazy timestamps; it accepts nolazytime and ignores it."),
            "tested (Linux 6.1)",
        ),
        UnsupportedOption("checksum", tr("f2fs has no data checksums."), "f2fs.rst"),
    ),
    kernel_threads=KernelThreads("f2fs", r"f2fs"),
    rules=_F2FS_RULES,
)


_NOT_EXT3: Final = tr("ext3 does not have it: the filesystem would be ext4, and the kernel refuses it.")

_SOURCE: Final = "mke2fs(8) -t; tested (“Mount option(s) incompatible with ext3”)"


EXT3: Final = described(
    ext4.EXT3,
    option_texts.EXT4,
    good_for=tr("For comparison with old servers and benchmarks; do not use it for new systems."),
    programs=(Program("mkfs.ext3", "e2fsprogs", E2FSPROGS), DUMPE2FS),
    kernel_modules=("ext4",),
    presets=(
        defaults("mke2fs.conf; ext4.rst; Vondra 2016"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "manual 28.3; 2011; Vondra 2016",
            (
                NOATIME,
                PresetValue(
                    "barrier", True, tr("explicit, so commits survive a power cut"), "manual 28.1; ext4.rst"
                ),
            ),
        ),
        FilesystemPreset("2016", "FOSDEM 2016: defaults", SOURCE_2016),
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
    kernel_threads=EXT4.kernel_threads,
)


REISERFS: Final = described(
    reiserfs.REISERFS,
    option_texts.REISERFS,
    good_for=tr("For comparison with old benchmarks; Linux supports it up to 6.12."),
    programs=(Program("mkfs.reiserfs", "reiserfsprogs"),),
    kernel_modules=("reiserfs",),
    presets=(
        defaults("fs/reiserfs/super.c"),
        FilesystemPreset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "manual 28.1; 2011; Vondra 2016",
            (
                NOATIME,
                PresetValue("barrier", True, tr("explicit, so commits survive a power cut"), "manual 28.1"),
            ),
        ),
        FilesystemPreset("2016", "FOSDEM 2016: defaults", SOURCE_2016),
        FilesystemPreset("2016-nobarrier", "FOSDEM 2016: nobarrier", SOURCE_2016, (NO_BARRIER,)),
    ),
    lacks=(
        UnsupportedOption(
            "discard",
            tr("ReiserFS cannot discard free blocks on an SSD, not even with fstrim."),
            "fs/reiserfs/super.c",
        ),
        UnsupportedOption("block_size", tr("ReiserFS uses blocks of 4 KiB here."), "mkreiserfs(8)"),
    ),
    kernel_threads=KernelThreads("reiserfs", r"reiserfs"),
    kernel_remedy=KernelRemedy(tr("Linux dropped it in 6.13: boot an older kernel."), from_version=(6, 13)),
)


TMPFS: Final = described(
    tmpfs.TMPFS,
    option_texts.TMPFS,
    good_for=tr("The upper limit of this machine: fsync does nothing, and a power cut loses everything."),
    programs=(Program("mount", "mount"),),
    risks=(Safety.LOSES_COMMITS,),
    kernel_modules=("tmpfs",),
    presets=(
        defaults("tmpfs.rst"),
        FilesystemPreset("recommended", tr("Recommended for PostgreSQL"), "tmpfs.rst; mount(8)", (NOATIME,)),
    ),
    lacks=(
        UnsupportedOption("barrier", tr("It uses no disk."), "tmpfs.rst"),
        UnsupportedOption("discard", tr("It uses no disk."), "tmpfs.rst"),
    ),
)


FILESYSTEMS: Final = (EXT4, XFS, BTRFS, ZFS, F2FS, EXT3, REISERFS, TMPFS)


def filesystem(filesystem_id: str) -> FilesystemSpec:
    """Return a filesystem.

    Raises:
        KeyError: there is none of that id.
    """
    found = find_filesystem(filesystem_id)
    if found is None:
        raise KeyError(filesystem_id)
    return found


def find_filesystem(filesystem_id: str) -> FilesystemSpec | None:
    """Return a filesystem; None if there is none of that id, as one of another version."""
    return next((each for each in FILESYSTEMS if each.id == filesystem_id), None)


def explained_problems(
    made: FormatSpec, options: Iterable[tuple[str, object]], level: Level
) -> tuple[Problem, ...]:
    """Return the problems of options of a plan (`plan_problems`) as users read them."""
    return validate_options(filesystem(made.id), options, level=level)
