"""tmpfs: memory as a filesystem, the upper limit; its contents do not survive a shutdown."""

from __future__ import annotations

from typing import Final

from app.domain.formats.common import ATIME, NODEV, NOSUID
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import Choice, ChoiceValue, Integer, Spelling, Toggle, words
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.domain.units import KIB, MIB, TIB
from app.domain.versions import KERNEL, Requirement

SIZE_BYTES: Final = OptionSpec(
    id="size_bytes",
    label=tr("Size"),
    stage=Stage.MOUNT,
    kind=Integer(64 * MIB, 16 * TIB, multiple_of=64 * KIB, unit="B"),
    default=None,
    effect=tr(
        "How much memory data and WAL may take: half of the RAM by itself; too much hangs the machine."
    ),
    source="tmpfs.rst; tested",
    spelling=Spelling("size={value}k", divisor=KIB),
)

HUGE: Final = OptionSpec(
    id="huge",
    label=tr("Huge pages"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            ChoiceValue("never", tr("4 KiB pages")),
            ChoiceValue("always", tr("huge pages wherever there are any")),
            ChoiceValue("within_size", tr("huge pages inside the file's size")),
            ChoiceValue("advise", tr("only where a program asks for them")),
        )
    ),
    default="never",
    effect=tr("Fewer, larger pages behind the files: less work for the CPU, more memory used."),
    source="tmpfs.rst; tested",
    shown=Spelling("huge={value}", (("never", None),)),
)

NOSWAP: Final = OptionSpec(
    id="noswap",
    label=tr("Never swapped out"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr("Keeps the data in memory: otherwise a full machine benchmarks its swap space."),
    source="tmpfs.rst; tested",
    spelling=words("noswap", None),
    since=(Requirement(KERNEL, (6, 4)),),
)

TMPFS: Final = FormatSpec(
    id="tmpfs",
    label="tmpfs",
    mkfs=None,
    minimum_bytes=64 * MIB,
    several=Assembler.RAW,
    levels=(),
    options=(SIZE_BYTES, ATIME, HUGE, NOSWAP),
    always=(NODEV, NOSUID),
    risks=(Safety.LOSES_COMMITS,),
    whole_pages=True,
)
