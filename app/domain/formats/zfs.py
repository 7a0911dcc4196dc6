"""ZFS: options of the pool and the dataset, presets, fixed arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.domain.formats.common import FULL_PAGE_WRITES, MD_LEVELS, NODEV, NOSUID, WAL_INIT_ZERO, WAL_RECYCLE
from app.domain.options.format_spec import FixedArgument, FormatSpec
from app.domain.options.kinds import (
    Choice,
    FormatOption,
    Integer,
    ReadbackProgram,
    ReadbackToken,
    ShownBy,
    Spelling,
    Stage,
    Toggle,
    words,
)
from app.domain.options.raid import Assembler, Level
from app.domain.text import KIB, MIB


def _always(stage: Stage, item: str) -> FixedArgument:
    return FixedArgument(stage, "", item, ReadbackToken((item,)))


ALWAYS: Final = (
    _always(Stage.POOL, "cachefile=none"),
    _always(Stage.POOL, "failmode=continue"),
    _always(Stage.DATASET, "mountpoint=legacy"),
    _always(Stage.DATASET, "canmount=noauto"),
    _always(Stage.DATASET, "setuid=off"),
    _always(Stage.DATASET, "devices=off"),
    NODEV,
    NOSUID,
)


def _onoff(name: str) -> Spelling:
    return words(f"{name}=on", f"{name}=off")


_COMPRESSIONS: Final = (
    "off",
    "lz4",
    "zle",
    "lzjb",
    *(f"zstd-{level}" for level in range(1, 20)),
    *(f"zstd-fast-{level}" for level in (*range(1, 11), *range(20, 101, 10), 500, 1000)),
    *(f"gzip-{level}" for level in range(1, 10)),
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
        FormatOption(
            "recordsize", Stage.DATASET, Integer(512, MIB, power_of_two=True, unit="B"), default=128 * KIB
        ),
        FormatOption(
            "compression",
            Stage.DATASET,
            Choice(_COMPRESSIONS),
            shown=Spelling(
                "compression={value}",
                (("gzip-6", "compression=gzip"), ("zstd-fast-1", "compression=zstd-fast")),
            ),
        ),
        # With atime=off neither value of relatime has any effect, and either may be there.
        FormatOption(
            "atime",
            Stage.DATASET,
            Choice(("relatime", "noatime", "strictatime")),
            spelling=Spelling(
                values=(
                    ("noatime", "atime=off"),
                    ("relatime", "relatime=on"),
                    ("strictatime", "relatime=off"),
                )
            ),
            shown=Spelling(
                values=(
                    ("noatime", "atime=off"),
                    ("relatime", "atime=on relatime=on"),
                    ("strictatime", "atime=on relatime=off"),
                )
            ),
        ),
        FormatOption("sync", Stage.DATASET, Choice(("standard", "always", "disabled")), default="standard"),
        FormatOption("logbias", Stage.DATASET, Choice(("latency", "throughput")), default="latency"),
        FormatOption(
            "redundant_metadata", Stage.DATASET, Choice(("all", "most", "some", "none")), default="all"
        ),
        FormatOption("primarycache", Stage.DATASET, Choice(("all", "metadata", "none")), default="all"),
        FormatOption("prefetch", Stage.DATASET, Choice(("all", "metadata", "none")), default="all"),
        FormatOption("direct", Stage.DATASET, Choice(("standard", "always", "disabled")), default="standard"),
        FormatOption(
            "checksum",
            Stage.DATASET,
            Choice(("on", "fletcher4", "sha256", "sha512", "skein", "edonr", "blake3")),
            default="on",
        ),
        FormatOption("copies", Stage.DATASET, Integer(1, 3), default=1),
        FormatOption(
            "xattr",
            Stage.DATASET,
            Choice(("dir", "sa")),
            shown=Spelling("xattr={value}", (("dir", "xattr=on"),)),
        ),
        FormatOption("ashift", Stage.POOL, Integer(9, 16, also=(0,)), default=0),
        FormatOption("autotrim", Stage.POOL, Toggle(), default=False, spelling=_onoff("autotrim")),
        FULL_PAGE_WRITES,
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
