"""Options, words and sources that several filesystems share.

Sources, abbreviated in all files of this folder:
  mount(8)      util-linux 2.38, mount(8); Linux, mount(2)
  ext4.rst      Linux Documentation/admin-guide/ext4.rst
  xfs.rst       Linux Documentation/admin-guide/xfs.rst
  f2fs.rst      Linux Documentation/filesystems/f2fs.rst
  tmpfs.rst     Linux Documentation/filesystems/tmpfs.rst
  btrfs(5)      btrfs-progs Documentation/ch-mount-options.rst
  zfsprops(7), zpoolprops(7), zfs(4)  OpenZFS manual pages; defaults cross-checked at release tags
  zfs docs      openzfs-docs, Performance and Tuning/Workload Tuning.rst
  manual        PostgreSQL 18 manual
  2011          “Effects of filesystems and mount options upon PostgreSQL performance”, 2011-04-21
  Vondra 2016   T. Vondra, “PostgreSQL na EXT3/4, XFS, BTRFS a ZFS”, FOSDEM PgDay, 2016-01-28
  Vondra 2022   T. Vondra, “Postgres vs. File Systems: A Performance Comparison”, EDB, 2022-10-10, and the
                scripts published with it (pg-fs-benchmark)
  tested        seen by a test of this project (tests/disks/test_option_facts.py, tests/machine)

Includes the filesystems of e2fsprogs (mke2fs, superblock, dumpe2fs) and server settings that depend on the
filesystem, because copy on write changes their safety and speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.domain.options.format_spec import (
    Area,
    Arguments,
    Creation,
    FixedArgument,
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
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import Level
from app.domain.text import tr
from app.domain.units import KIB
from app.domain.versions import Component

MD_LEVELS: Final = (Level.SINGLE, Level.STRIPE, Level.MIRROR, Level.RAID10, Level.RAID5, Level.RAID6)
"""Levels of a filesystem that leaves its disks to md."""

ATIME: Final = OptionSpec(
    id="atime",
    label=tr("Access times"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("relatime", tr("at most one update of a file's access time a day")),
            ChoiceValue("noatime", tr("reading never writes")),
            ChoiceValue("strictatime", tr("every read makes the file's inode dirty")),
        )
    ),
    default="relatime",
    effect=tr("Whether reading a table also writes its access time, which PostgreSQL never looks at."),
    source="mount(8); 2011; tested",
    spelling=Spelling("{value}"),
    word="noatime",
    shown=Spelling("{value}", (("strictatime", None),)),
)

LAZYTIME: Final = OptionSpec(
    id="lazytime",
    label=tr("Lazy timestamps"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr(
        "Keeps time stamps in memory for up to a day: an inode that only changed its times is not written."
    ),
    source="mount(8); tested",
    spelling=words("lazytime", "nolazytime"),
    shown=words("lazytime", None),
)

DISCARD: Final = OptionSpec(
    id="discard",
    label=tr("Discard while running"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr(
        "Tells the SSD at once which blocks are free; costs latency at checkpoints, fstrim does it later."
    ),
    source="xfs.rst (“performance impact quite severe”); ext4.rst; Vondra 2016 (little effect); tested",
    spelling=words("discard", "nodiscard"),
    shown=words("discard", None),
)

BARRIER: Final = OptionSpec(
    id="barrier",
    label=tr("Write barriers"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr("Off: fsync returns before the disk's write cache is flushed, so that commits wait much less."),
    source="ext4.rst; 2011 (235 against 2392 tps); Vondra 2016; tested",
    spelling=words("barrier", "nobarrier"),
    shown=words(None, "nobarrier"),
    risks=((False, (Safety.LOSES_COMMITS_WITHOUT_PLP,)),),
)


def mkfs_discard(flag: str, on: str | None, off: str | None, source: str) -> OptionSpec:
    """Return the option whether the mkfs program discards the whole device first; it cannot be verified.

    Args:
        flag: flag of the program.
        on: item that discards; None for no argument.
        off: item that does not.
        source: manual page.
    """
    return OptionSpec(
        id="mkfs_discard",
        label=tr("Discard when made"),
        stage=Stage.MKFS,
        kind=Toggle(),
        default=True,
        effect=tr("On: the SSD starts as fresh as from the factory; off: as used as it is."),
        source=source,
        spelling=words(on, off),
        flag=flag,
        unseen=tr("what was discarded before a filesystem is made leaves no trace in it"),
        risks=((False, (Safety.DISTORTS,)),),
    )


BLOCK_SIZES: Final = Integer(KIB, 64 * KIB, power_of_two=True, unit="B")

NODEV: Final = FixedArgument(
    Stage.MOUNT,
    "",
    "nodev",
    tr("device nodes on the filesystem mean nothing"),
    "mount(8); CVE-2025-6019",
    ReadbackToken(("nodev",)),
)
NOSUID: Final = FixedArgument(
    Stage.MOUNT,
    "",
    "nosuid",
    tr("no program on the filesystem gains rights"),
    "mount(8); CVE-2025-6019",
    ReadbackToken(("nosuid",)),
)

LSATTR: Final = ReadbackProgram(
    ShownBy.ATTRIBUTES,
    ("lsattr", "-d"),
    lambda text: text.split(" ", 1)[0].replace("-", ""),
    ReadFrom.FOLDER,
)
"""Attributes of the mount point: one letter each, before the first space."""


E2FSPROGS: Final = Component("e2fsprogs")

LAZY_INIT: Final = (
    FixedArgument(
        Stage.MKFS,
        "-E",
        "lazy_itable_init=0",
        tr("else the kernel zeroes inode tables in the background while the benchmark runs"),
        "mke2fs(8)",
    ),
    FixedArgument(
        Stage.MKFS,
        "-E",
        "lazy_journal_init=0",
        tr("else a crash could replay what lay there before"),
        "mke2fs(8)",
    ),
)
REMOUNT_READ_ONLY: Final = FixedArgument(
    Stage.MOUNT,
    "",
    "errors=remount-ro",
    tr("an I/O error ends the run and is not written over"),
    "ext4.rst",
    ReadbackToken(("errors=remount-ro",)),
)
ALWAYS: Final = (*LAZY_INIT, NODEV, NOSUID, REMOUNT_READ_ONLY)

MKFS_DISCARD: Final = mkfs_discard("-E", "discard", "nodiscard", "mke2fs(8)")

SUPERBLOCK: Final = SuperblockPlace(Area(1024, 1024), Area(1024, 1024), 1024 + 0x68)
"""e2fsprogs, ext2_fs.h: struct ext2_super_block."""


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mke2fs(8), which creates all ext filesystems."""
    pairs = (("-q", ""), ("-U", made.uuid), *made.written)
    if not made.says("-b"):
        pairs += (("-b", str(made.block_bytes)),)
    if made.geometry:
        stride, width = _in_blocks(made.geometry, made.block_bytes)
        pairs += (("-E", f"stride={stride}"), ("-E", f"stripe_width={width}"))
    return pairs


def expected(made: Creation) -> tuple[ExpectedToken, ...]:
    """Return the lines of ``dumpe2fs -h`` that show the alignment."""
    if not made.geometry:
        return ()
    stride, width = _in_blocks(made.geometry, made.block_bytes)
    lines = ReadbackToken((f"RAID stride: {stride}", f"RAID stripe width: {width}"))
    return (ExpectedToken("alignment", ShownBy.SUPERBLOCK, lines),)


def _in_blocks(geometry: StripeGeometry, block_bytes: int) -> tuple[int, int]:
    stride = geometry.chunk_bytes // block_bytes
    return stride, stride * geometry.data_disks


def parse_dumpe2fs(text: str) -> Iterator[str]:
    """Yield the tokens of ``dumpe2fs -h``.

    Features (each word of ``Filesystem features:``) one by one, other lines as ``Key: value`` with single
    spaces (``Block size: 4096``).
    """
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if key == "Filesystem features":
            yield from value.split()
        elif colon:
            yield f"{key}: {' '.join(value.split())}"


READERS: Final = (ReadbackProgram(ShownBy.SUPERBLOCK, ("dumpe2fs", "-h"), parse_dumpe2fs),)


FULL_PAGE_WRITES: Final = OptionSpec(
    id="full_page_writes",
    label=tr("Full page writes"),
    stage=Stage.SERVER,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Off: pages are not repeated in the WAL after a checkpoint: right only where no page is half written."
    ),
    source="manual 19.5.1; zfs docs; Vondra 2022",
    spelling=words("full_page_writes=on", "full_page_writes=off"),
    risks=((False, (Safety.TORN_PAGES,)),),
)

WAL_INIT_ZERO: Final = OptionSpec(
    id="wal_init_zero",
    label=tr("Zero new WAL files"),
    stage=Stage.SERVER,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Off: a new WAL file is only sized, not written: copy on write would not reuse the zeroed blocks."
    ),
    source="manual 19.5.1; Vondra 2022",
    spelling=words("wal_init_zero=on", "wal_init_zero=off"),
    of_wal=True,
)

FILE_EXTEND_METHOD: Final = OptionSpec(
    id="file_extend_method",
    label=tr("How files grow"),
    stage=Stage.SERVER,
    kind=Choice(
        (
            ChoiceValue("posix_fallocate", tr("space is reserved first: btrfs never compresses such a file")),
            ChoiceValue("write_zeros", tr("zeros are written first: the file can be compressed")),
        )
    ),
    default="posix_fallocate",
    effect=tr(
        "How the server makes a table longer by many pages at once, as loading does: reserved space turns "
        "compression off. Releases of PostgreSQL 16 and newer since February 2026 have the setting."
    ),
    source="manual 19.4 (“BTRFS known to disable compression”); tested",
)

WAL_RECYCLE: Final = OptionSpec(
    id="wal_recycle",
    label=tr("Recycle WAL files"),
    stage=Stage.SERVER,
    kind=Toggle(),
    default=True,
    effect=tr("Off: a new WAL file is made each time: with copy on write renaming an old one saves nothing."),
    source="manual 19.5.1; Vondra 2022",
    spelling=words("wal_recycle=on", "wal_recycle=off"),
    of_wal=True,
)
