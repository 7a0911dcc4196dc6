"""A made-up filesystem, declared as those of `app.domain.filesystems` are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.domain.filesystems import defaults
from app.domain.formats.common import ATIME, NODEV, NOSUID
from app.domain.option_texts import COMMON
from app.domain.options.filesystem_spec import KernelRemedy, KernelThreads, Program, described
from app.domain.options.format_spec import (
    Area,
    Arguments,
    Creation,
    FormatSpec,
    SuperblockPlace,
)
from app.domain.options.kinds import (
    Choice,
    ExpectedToken,
    FormatOption,
    Integer,
    ReadbackProgram,
    ReadbackToken,
    ShownBy,
    Spelling,
    Stage,
)
from app.domain.options.option_spec import ChoiceValue, Component, OptionText
from app.domain.options.raid import Assembler, Level
from app.domain.options.refusals import Action, ConflictRule
from app.domain.text import KIB, MIB

PACE: Final = FormatOption(
    "pace",
    Stage.MOUNT,
    Choice(("slow", "fast")),
    default="slow",
    shown=Spelling("pace={value}", (("slow", None),)),
)
UNIT: Final = FormatOption(
    "unit_bytes",
    Stage.MKFS,
    Integer(KIB, 64 * KIB, power_of_two=True, unit="B"),
    default=4 * KIB,
    spelling=Spelling("{value}"),
    flag="-u",
    shown=Spelling("unit={value}"),
)


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkfs.madeup."""
    chunk = (("--chunk", str(made.geometry.chunk_bytes)),) if made.geometry else ()
    return (("--uuid", made.uuid), *made.written, *chunk)


def expected(made: Creation) -> tuple[ExpectedToken, ...]:
    """Return what madeup-show must show of the stripes."""
    if not made.geometry:
        return ()
    token = ReadbackToken((f"chunk={made.geometry.chunk_bytes}",))
    return (ExpectedToken("alignment", ShownBy.SUPERBLOCK, token),)


def parse(text: str) -> Iterator[str]:
    """Yield each word."""
    yield from text.split()


FORMAT: Final = FormatSpec(
    id="madeup",
    label="MadeUpFS",
    mkfs="mkfs.madeup",
    minimum_bytes=16 * MIB,
    several=Assembler.MD,
    levels=(Level.SINGLE, Level.STRIPE),
    options=(ATIME, PACE, UNIT),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    superblock=SuperblockPlace(Area(8 * KIB, 4 * KIB), Area(8 * KIB, 4 * KIB), 8 * KIB + 64),
    readers=(ReadbackProgram(ShownBy.SUPERBLOCK, ("madeup-show",), parse),),
    expected=expected,
    refusals=(
        ConflictRule(
            "M01",
            Action.REFUSE,
            ("pace", "unit_bytes"),
            lambda it: it.value("pace") == "fast" and it.number("unit_bytes") < 4 * KIB,
            "Small units are slow.",
            "made up",
        ),
    ),
)
TEXTS: Final = {
    **COMMON,
    "pace": OptionText(
        "Pace",
        "Nothing at all.",
        "made up",
        values=(ChoiceValue("slow", "slow"), ChoiceValue("fast", "fast")),
    ),
    "unit_bytes": OptionText("Unit", "Nothing at all.", "made up"),
}
MADE_UP: Final = described(
    FORMAT,
    TEXTS,
    good_for="Nothing at all.",
    programs=(
        Program("mkfs.madeup", "madeup-progs", Component("madeup-progs"), version_argument="--version"),
        Program("madeup-show", "madeup-progs"),
    ),
    kernel_modules=("madeup",),
    presets=(defaults("made up"),),
    kernel_threads=KernelThreads("madeup", r"madeup_"),
    kernel_remedy=KernelRemedy("Nobody has it.", "madeup-dkms"),
)
