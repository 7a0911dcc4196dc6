"""ext4: options, presets, what is always said."""

from __future__ import annotations

from typing import Final

from app.domain.filesystem import Always, Choosing, FilesystemSpec, Preset, Program
from app.domain.filesystems.common import ATIME, LAZYTIME, NODEV, NOSUID
from app.domain.option_kinds import Alternative, Choice, Integer, Toggle
from app.domain.option_words import Seen, ShownBy, Words, words
from app.domain.options import OptionSpec, Safety, Stage
from app.domain.raid import Assembler, Level
from app.domain.text import tr
from app.domain.units import MIB
from app.domain.versions import Component

BARRIER: Final = OptionSpec(
    id="barrier",
    label=tr("Write barriers"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=True,
    effect=tr("Off: fsync returns before the disk's write cache is flushed, so each commit waits less."),
    source="ext4.rst; ext4(5); 2011; Vondra 2016",
    spelling=words("barrier", "nobarrier"),
    shown=words(None, "nobarrier"),
    risks=((False, (Safety.LOSES_COMMITS_WITHOUT_PLP,)),),
)

DATA: Final = OptionSpec(
    id="data",
    label=tr("Journal mode"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            Alternative("ordered", tr("data is written before the metadata that names it")),
            Alternative(
                "writeback", tr("no order between data and metadata: after a crash files can hold old data")
            ),
            Alternative("journal", tr("all data is written twice, and direct I/O is off")),
        )
    ),
    default="ordered",
    effect=tr("What goes through the filesystem's journal; PostgreSQL recovers from its own WAL either way."),
    source="ext4.rst; 2011",
    spelling=Words("data={value}"),
    shown=Words("data={value}", (("ordered", None),)),
    risks=(("writeback", (Safety.LOSES_COMMITS_WITHOUT_PLP,)),),
)

COMMIT: Final = OptionSpec(
    id="commit",
    label=tr("Journal commit interval"),
    stage=Stage.MOUNT,
    kind=Integer(1, 3600, unit="s"),
    default=5,
    effect=tr(
        "How long metadata may wait in memory; commits of PostgreSQL use fsync and do not depend on it."
    ),
    source="ext4.rst; 2011 (commit=999)",
    spelling=Words("commit={value}"),
    shown=Words("commit={value}", ((5, None),)),
)

JOURNAL: Final = OptionSpec(
    id="journal",
    label=tr("Journal"),
    stage=Stage.MKFS,
    kind=Toggle(),
    default=True,
    effect=tr("Off: no journal to write at fsync, but a crash of the machine needs fsck and can lose files."),
    source="mke2fs(8)",
    spelling=words("has_journal", "^has_journal"),
    flag="-O",
    shown=words("has_journal", None),
    shown_by=ShownBy.SUPERBLOCK,
    risks=((False, (Safety.LOSES_COMMITS,)),),
)

ALWAYS: Final = (
    Always(
        Stage.MKFS,
        "-E",
        "lazy_itable_init=0",
        tr("else the kernel zeroes inode tables in the background while the benchmark runs"),
        "mke2fs(8)",
    ),
    Always(
        Stage.MKFS,
        "-E",
        "lazy_journal_init=0",
        tr("else a crash could replay what lay in the journal before"),
        "mke2fs(8)",
    ),
    NODEV,
    NOSUID,
    Always(
        Stage.MOUNT,
        "",
        "errors=remount-ro",
        tr("an I/O error ends the run and is not written over"),
        "ext4.rst",
        Seen(("errors=remount-ro",)),
    ),
)

PROGRAMS: Final = (
    Program("mkfs.ext4", "e2fsprogs", Component.E2FSPROGS),
    Program("dumpe2fs", "e2fsprogs"),
)

DISK_LEVELS: Final = (Level.SINGLE, Level.STRIPE, Level.MIRROR, Level.RAID10, Level.RAID5, Level.RAID6)

EXT4: Final = FilesystemSpec(
    id="ext4",
    label="ext4",
    good_for=tr("The usual choice: high throughput, overwrites in place, few surprises."),
    mkfs="mkfs.ext4",
    programs=PROGRAMS,
    kernel_modules=("ext4",),
    minimum_bytes=64 * MIB,
    several=Assembler.MD,
    levels=DISK_LEVELS,
    options=(JOURNAL, ATIME, LAZYTIME, BARRIER, DATA, COMMIT),
    always=ALWAYS,
    presets=(
        Preset("defaults", tr("Defaults"), "mke2fs.conf; ext4.rst"),
        Preset(
            "recommended",
            tr("Recommended for PostgreSQL"),
            "PostgreSQL manual 28.1; ext4.rst; 2011",
            (Choosing("atime", "noatime", tr("reading never writes"), "2011; Vondra 2016"),),
        ),
    ),
)
