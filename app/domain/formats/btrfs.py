"""btrfs: options, presets, fixed arguments, conflict rules, and how its superblock and profiles are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from app.domain.formats.common import (
    ATIME,
    BARRIER,
    FILE_EXTEND_METHOD,
    FULL_PAGE_WRITES,
    LAZYTIME,
    LSATTR,
    MD_LEVELS,
    NODEV,
    NOSUID,
    WAL_INIT_ZERO,
    WAL_RECYCLE,
    mkfs_discard,
    switch,
)
from app.domain.options.format_spec import Area, Arguments, Creation, FormatSpec, SuperblockPlace
from app.domain.options.kinds import (
    Choice,
    ExpectedToken,
    FormatOption,
    Integer,
    OptionValue,
    ReadbackProgram,
    ReadbackToken,
    ReadFrom,
    ShownBy,
    Spelling,
    Stage,
    Toggle,
    words,
)
from app.domain.options.raid import ArrayLayout, Assembler, Level
from app.domain.options.refusals import Action, Choices, ConflictRule
from app.domain.text import GIB, KIB, MIB, tr


def parse_dump_super(text: str) -> Iterator[str]:
    """Yield the tokens of ``btrfs inspect-internal dump-super -f``.

    ``key=value`` with the first word of the value (``nodesize=16384``), ``csum_type=NAME`` with the name in
    brackets, and the names of flags alone (``NO_HOLES``).
    """
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 2 and not line.startswith((" ", "\t")):
            value = fields[2].strip("()") if fields[0] == "csum_type" and len(fields) > 2 else fields[1]
            yield f"{fields[0]}={value}"
        else:
            yield from re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", line)


def parse_df(text: str) -> Iterator[str]:
    """Yield ``kind=profile`` of ``btrfs filesystem df``; one of several profiles as ``Data=raid5+single``.

    Profiles are in lower case as mkfs.btrfs takes them.
    """
    found: dict[str, set[str]] = {}
    for kind, profile in re.findall(r"^(\w+), (\w+):", text, re.MULTILINE):
        found.setdefault(kind, set()).add(profile.lower())
    for kind, names in found.items():
        yield f"{kind}={'+'.join(sorted(names))}"


_DUMP_SUPER: Final = ("btrfs", "inspect-internal", "dump-super", "-f")
_DF: Final = ("btrfs", "filesystem", "df", "--raw")

READERS: Final = (
    ReadbackProgram(ShownBy.SUPERBLOCK, _DUMP_SUPER, parse_dump_super),
    ReadbackProgram(ShownBy.ALLOCATION, _DF, parse_df, ReadFrom.FOLDER),
    LSATTR,
)


COMPRESSING: Final = ("compress", "compress_force")


def is_compressing(it: Choices) -> bool:
    """Return whether an option turns compression on."""
    return any(it.options.get(option, "off") != "off" for option in COMPRESSING)


REFUSALS: Final[tuple[ConflictRule[Choices], ...]] = (
    ConflictRule(
        "C03",
        Action.REFUSE,
        COMPRESSING,
        lambda it: not it.writes_whole_pages() and is_compressing(it),
        tr("Without copy on write nothing is compressed: the kernel would silently drop one of the two."),
        "btrfs(5); tested (the last one wins)",
    ),
    ConflictRule(
        "C05",
        Action.REFUSE,
        COMPRESSING,
        lambda it: it.value("datasum") is False and is_compressing(it),
        tr("btrfs compresses only data with checksums."),
        "btrfs(5)",
    ),
    ConflictRule(
        "C06",
        Action.REFUSE,
        ("datasum",),
        lambda it: it.options.get("datasum") is True and it.value("datacow") is False,
        tr("Checksums need copy on write: the kernel would silently turn one of them off."),
        "btrfs(5); tested (the last one wins)",
    ),
    ConflictRule(
        "C35",
        Action.REFUSE,
        ("compress_force", "compress"),
        lambda it: all(it.options.get(option, "off") != "off" for option in COMPRESSING),
        tr("Only one kind of compression can be on: the kernel would silently drop the other."),
        "btrfs(5)",
    ),
    ConflictRule(
        "C36",
        Action.REFUSE,
        ("mirror_copies",),
        lambda it: (
            it.options.get("mirror_copies", "2") != "2"
            and it.level is not None
            and it.level is not Level.MIRROR
        ),
        tr("Only a mirror can have more than two copies."),
        "mkfs.btrfs(8), PROFILES",
    ),
)


_COMPRESSIONS: Final = (
    "off",
    "lzo",
    *(f"zstd:{level}" for level in range(1, 16)),
    *(f"zstd:-{level}" for level in range(1, 16)),
    *(f"zlib:{level}" for level in range(1, 10)),
)


def profiles(made: ArrayLayout, chosen: Mapping[str, OptionValue]) -> tuple[str, str]:
    """Return the profiles of data and metadata; mkfs.btrfs(8) recommends to give both always.

    Args:
        made: layout of the level by btrfs.
        chosen: options; more copies of a mirror's data mean as many of its metadata.
    """
    data, metadata = made.name, made.metadata
    if made.level is Level.MIRROR and chosen.get("mirror_copies", "2") != "2":
        data = metadata = f"raid1c{chosen['mirror_copies']}"
    return data, str(chosen.get("metadata_profile", metadata))


def mkfs_arguments(made: Creation) -> Arguments:
    """Return the arguments of mkfs.btrfs(8)."""
    data, metadata = profiles(made.layout, made.options)
    others = (pair for pair in made.written if pair[0] not in {"", "-d", "-m"})
    return (("--quiet", ""), ("-U", made.uuid), ("-d", data), ("-m", metadata), *others)


def expected(made: Creation) -> tuple[ExpectedToken, ...]:
    """Return the profiles that ``btrfs filesystem df`` must show."""
    kinds = zip(("Data", "Metadata"), profiles(made.layout, made.options), strict=True)
    return tuple(
        ExpectedToken(f"{kind.lower()} profile", ShownBy.ALLOCATION, ReadbackToken((f"{kind}={profile}",)))
        for kind, profile in kinds
    )


BTRFS: Final = FormatSpec(
    id="btrfs",
    label="btrfs",
    mkfs="mkfs.btrfs",
    minimum_bytes=128 * MIB,
    several=Assembler.BTRFS,
    levels=MD_LEVELS,
    options=(
        ATIME,
        BARRIER,
        switch("datacow", default=True),
        switch("datasum", default=True),
        FormatOption(
            "compress",
            Stage.MOUNT,
            Choice(_COMPRESSIONS),
            default="off",
            spelling=Spelling("compress={value}", (("off", None),)),
        ),
        FormatOption(
            "compress_force",
            Stage.MOUNT,
            Choice(_COMPRESSIONS),
            default="off",
            spelling=Spelling("compress-force={value}", (("off", None),)),
        ),
        FormatOption(
            "ssd", Stage.MOUNT, Choice(("ssd", "nossd", "ssd_spread")), spelling=Spelling("{value}")
        ),
        FormatOption(
            "discard",
            Stage.MOUNT,
            Choice(("async", "sync", "off")),
            spelling=Spelling("discard={value}", (("off", "nodiscard"),)),
            shown=Spelling("discard={value}", (("off", None), ("sync", "discard"))),
        ),
        LAZYTIME,
        FormatOption(
            "commit",
            Stage.MOUNT,
            Integer(1, 300, unit="s"),
            default=30,
            shown=Spelling("commit={value}", ((30, None),)),
        ),
        switch("flushoncommit", default=False),
        switch("treelog", default=True),
        switch("autodefrag", default=False),
        FormatOption("thread_pool", Stage.MOUNT, Integer(1, 1024), shown=None),
        FormatOption(
            "max_inline",
            Stage.MOUNT,
            Integer(0, 4 * KIB, unit="B"),
            default=2048,
            shown=Spelling("max_inline={value}", ((2048, None),)),
        ),
        # said by `profiles`, and shown by `btrfs filesystem df`
        FormatOption("mirror_copies", Stage.MKFS, Choice(("2", "3", "4")), default="2", spelling=Spelling()),
        # said by `profiles`, and shown by `btrfs filesystem df`
        FormatOption(
            "metadata_profile",
            Stage.MKFS,
            Choice(("single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10")),
            spelling=Spelling(),
        ),
        FormatOption(
            "checksum",
            Stage.MKFS,
            Choice(("crc32c", "xxhash", "sha256", "blake2")),
            default="crc32c",
            spelling=Spelling("{value}"),
            flag="--csum",
            shown=Spelling(
                "csum_type={value}",
                (("xxhash", "csum_type=xxhash64"), ("blake2", "csum_type=blake2|csum_type=blake2b")),
            ),
        ),
        FormatOption(
            "nodesize",
            Stage.MKFS,
            Integer(4 * KIB, 64 * KIB, power_of_two=True, unit="B"),
            default=16 * KIB,
            spelling=Spelling("{value}"),
            flag="-n",
            shown=Spelling("nodesize={value}"),
        ),
        mkfs_discard("-K", None, ""),
        FormatOption(
            "nocow_attribute",
            Stage.ATTRIBUTE,
            Toggle(),
            default=False,
            spelling=words("+C", None),
            shown=words("C", None),
        ),
        FILE_EXTEND_METHOD,
        FULL_PAGE_WRITES,
        WAL_INIT_ZERO,
        WAL_RECYCLE,
    ),
    always=(NODEV, NOSUID),
    mkfs_arguments=mkfs_arguments,
    # ctree.h: struct btrfs_super_block, and its mirrors.
    superblock=SuperblockPlace(
        Area(64 * KIB, 4 * KIB),
        Area(64 * KIB, 4 * KIB),
        64 * KIB + 32,
        copies=(64 * MIB - 64 * KIB, 256 * GIB - 64 * KIB),
    ),
    readers=READERS,
    expected=expected,
    whole_pages=True,
    refusals=REFUSALS,
)
