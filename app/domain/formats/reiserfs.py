"""ReiserFS (format 3.6): part of Linux from 2.4.1 to 6.12, measured in 2016.

Sources in addition to those of `app.domain.formats.common`: reiserfsprogs 3.6.27, mkreiserfs(8); Linux
6.1, fs/reiserfs/super.c (reiserfs_parse_options, reiserfs_show_options) and reiserfs.h (struct
reiserfs_super_block).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.domain.formats.common import ATIME, BARRIER, MD_LEVELS, NODEV, NOSUID
from app.domain.formats.ext4 import EXT4
from app.domain.options.format_spec import Area, Arguments, Creation, FormatSpec, SuperblockPlace
from app.domain.options.kinds import Choice, FormatOption, Spelling, Stage, words
from app.domain.options.raid import Assembler
from app.domain.text import KIB, MIB

REISERFS_BARRIER: Final = replace(
    BARRIER, spelling=words("barrier=flush", "barrier=none"), shown=words(None, "barrier=none")
)
COMMIT: Final = replace(EXT4.option("commit"), default=30, shown=Spelling("commit={value}", ((30, None),)))


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
    options=(
        ATIME,
        REISERFS_BARRIER,
        EXT4.option("data"),
        COMMIT,
        FormatOption(
            "tails",
            Stage.MOUNT,
            Choice(("small", "on", "off")),
            default="small",
            shown=Spelling("tails={value}", (("small", None), ("off", "notail"))),
        ),
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    superblock=SuperblockPlace(Area(64 * KIB, 4 * KIB), Area(64 * KIB, 4 * KIB), 64 * KIB + 84),
)
