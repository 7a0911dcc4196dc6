"""tmpfs: memory as a filesystem, the upper limit; its contents do not survive a shutdown."""

from __future__ import annotations

from typing import Final

from app.domain.formats.common import ATIME, NODEV, NOSUID
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import Choice, FormatOption, Integer, Spelling, Stage, Toggle, words
from app.domain.options.raid import Assembler
from app.domain.text import KIB, MIB, TIB

TMPFS: Final = FormatSpec(
    id="tmpfs",
    label="tmpfs",
    mkfs=None,
    minimum_bytes=64 * MIB,
    several=Assembler.RAW,
    levels=(),
    options=(
        FormatOption(
            "size_bytes",
            Stage.MOUNT,
            Integer(64 * MIB, 16 * TIB, multiple_of=64 * KIB, unit="B"),
            spelling=Spelling("size={value}k", divisor=KIB),
        ),
        ATIME,
        FormatOption(
            "huge",
            Stage.MOUNT,
            Choice(("never", "always", "within_size", "advise")),
            default="never",
            shown=Spelling("huge={value}", (("never", None),)),
        ),
        FormatOption("noswap", Stage.MOUNT, Toggle(), default=False, spelling=words("noswap", None)),
    ),
    always=(NODEV, NOSUID),
    whole_pages=True,
)
