"""ReiserFS (format 3.6): part of Linux from 2.4.1 to 6.12, measured in 2016.

Sources in addition to those of `app.domain.formats.common`: reiserfsprogs 3.6.27, mkreiserfs(8); Linux
6.1, fs/reiserfs/super.c (reiserfs_parse_options, reiserfs_show_options) and reiserfs.h (struct
reiserfs_super_block).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.domain.formats import ext4
from app.domain.formats.common import (
    ATIME,
    BARRIER,
    MD_LEVELS,
    NODEV,
    NOSUID,
)
from app.domain.options.format_spec import (
    Area,
    Arguments,
    Creation,
    FormatSpec,
    SuperblockPlace,
)
from app.domain.options.kinds import Choice, ChoiceValue, Spelling, words
from app.domain.options.option import OptionSpec, Stage
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import KIB, MIB

_SUPER: Final = "fs/reiserfs/super.c"

REISERFS_BARRIER: Final = replace(
    BARRIER,
    source=f"{_SUPER}; Vondra 2016",
    spelling=words("barrier=flush", "barrier=none"),
    shown=words(None, "barrier=none"),
)

DATA: Final = replace(
    ext4.DATA,
    kind=Choice(
        (
            ChoiceValue("ordered", tr("data is written before the metadata that names it")),
            ChoiceValue("writeback", tr("no order: files can show what lay on the disk before a crash")),
            ChoiceValue("journal", tr("all data is written twice")),
        )
    ),
    source=_SUPER,
)

COMMIT: Final = replace(
    ext4.COMMIT, default=30, source=_SUPER, shown=Spelling("commit={value}", ((30, None),))
)

TAILS: Final = OptionSpec(
    id="tails",
    label=tr("Ends of files"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("small", tr("small files lie in the tree")),
            ChoiceValue("on", tr("the ends of all small and medium files lie in the tree")),
            ChoiceValue("off", tr("every file has blocks of its own")),
        )
    ),
    default="small",
    effect=tr("Saves room and costs time where files end within a block; those of tables never do."),
    source=_SUPER,
    shown=Spelling("tails={value}", (("small", None), ("off", "notail"))),
)


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkreiserfs(8), which has none for stripes."""
    fixed = (("-q", ""), ("-b", str(made.block_bytes)), ("--format", "3.6"), ("-u", made.uuid))
    return (*fixed, *made.written)


REISERFS: Final = FormatSpec(
    id="reiserfs",
    label="ReiserFS",
    mkfs="mkfs.reiserfs",
    minimum_bytes=40 * MIB,  # 32 MiB of it are the journal
    several=Assembler.MD,
    levels=MD_LEVELS,
    options=(ATIME, REISERFS_BARRIER, DATA, COMMIT, TAILS),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    superblock=SuperblockPlace(Area(64 * KIB, 4 * KIB), Area(64 * KIB, 4 * KIB), 64 * KIB + 84),
)
