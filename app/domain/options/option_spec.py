"""What users read about an option or a RAID level, where it exists, what it risks. Root imports none of it.

Wizard page, validation, command line and documentation iterate `OptionSpec`: a `FormatOption` of
`app.domain.formats` joined with its `OptionText` of `app.domain.option_texts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from typing import Final, NewType

from app.domain.options.kinds import FormatOption, OptionValue, Spelling
from app.domain.options.raid import PARITY_DISKS, ArrayLayout, Assembler, Level
from app.domain.text import KIB, tr

# Versions of the kernel and of programs, and requirements of options.


Version = tuple[int, ...]
"""Numbers of a version, such as (6, 18, 44); compared number by number."""

_NUMBERS: Final = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,5}", re.ASCII)


Component = NewType("Component", str)
"""Name of a component with a version that options depend on, as upstream calls it. Those of a filesystem are
in its own file.
"""

KERNEL: Final = Component("Linux")
MDADM_VERSION: Final = Component("mdadm")

Versions = Mapping[Component, Version]
"""Installed versions; a missing component is unknown."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A version of a component that begins or ends something.

    Attributes:
        component: the component.
        version: the first one that has it (since), or no longer has it (removed).
    """

    component: Component
    version: Version

    def is_reached(self, versions: Versions) -> bool | None:
        """Return whether the installed version is this one or newer; None if unknown."""
        installed = versions.get(self.component)
        return None if installed is None else installed >= self.version

    @property
    def words(self) -> str:
        """Return it for people, such as ``Linux 5.6``."""
        return f"{self.component} {format_version(self.version)}"


def parse_version(text: str) -> Version | None:
    """Return the first dotted number of a text such as ``6.1.0-56-amd64`` or ``zfs-2.1.11-1``, or None."""
    match = _NUMBERS.search(text)
    return None if match is None else tuple(int(number) for number in match[0].split("."))


def format_version(version: Version) -> str:
    """Return ``6.18.44`` for (6, 18, 44)."""
    return ".".join(map(str, version))


class Safety(StrEnum):
    """Risk of an option's value (classes S L X C T R E B of the storage reference)."""

    SAFE = "safe"
    LOSES_COMMITS_WITHOUT_PLP = "loses-commits-without-plp"
    LOSES_COMMITS = "loses-commits"
    STALE_DATA = "stale-data"
    NO_CHECKSUMS = "no-checksums"
    TORN_PAGES = "torn-pages"
    LESS_REDUNDANCY = "less-redundancy"
    EXPERIMENTAL = "experimental"
    DISTORTS = "distorts"

    @property
    def label(self) -> str:
        """Return two or three words for tables and marks."""
        return _SAFETY_WORDS[self][0]

    @property
    def sentence(self) -> str:
        """Return its meaning, one sentence."""
        return _SAFETY_WORDS[self][1]


_SAFETY_WORDS: Final = {
    Safety.SAFE: (tr("safe"), tr("Does not reduce safety.")),
    Safety.LOSES_COMMITS_WITHOUT_PLP: (
        tr("needs PLP"),
        tr(
            "A power cut can lose acknowledged commits or the whole filesystem, unless all write caches "
            "survive it (power-loss protection, battery)."
        ),
    ),
    Safety.LOSES_COMMITS: (
        tr("loses commits"),
        tr("A power cut or crash of the machine can lose acknowledged commits, on any disk."),
    ),
    Safety.STALE_DATA: (
        tr("stale data"),
        tr(
            "After a crash files can contain old disk content. PostgreSQL repairs its own from the WAL, but "
            "other files may expose old data."
        ),
    ),
    Safety.NO_CHECKSUMS: (
        tr("no checksums"),
        tr("The filesystem has no data checksums: it neither detects nor repairs wrong data from a disk."),
    ),
    Safety.TORN_PAGES: (
        tr("torn pages"),
        tr("A crash can leave torn pages: full_page_writes must stay on."),
    ),
    Safety.LESS_REDUNDANCY: (
        tr("less redundancy"),
        tr("Fewer copies than the level promises: some damage cannot be repaired."),
    ),
    Safety.EXPERIMENTAL: (
        tr("experimental"),
        tr("Its own developers call it unstable or not for production."),
    ),
    Safety.DISTORTS: (
        tr("distorts"),
        tr("Changes the benchmark but not everyday use: compare with care."),
    ),
}

NOT_DURABLE: Final = frozenset({Safety.LOSES_COMMITS_WITHOUT_PLP, Safety.LOSES_COMMITS})
"""Classes that mark a result as not durable (rule C24)."""


USUAL_PAGE_BYTES: Final = 8 * KIB
"""Default page size of PostgreSQL (configure --with-blocksize; manual 17.3.3.5)."""
SMALLEST_PAGE_BYTES: Final = KIB
"""The smallest possible page size (configure --with-blocksize: 1 to 32 kB)."""


@dataclass(frozen=True, slots=True)
class ChoiceValue:
    """One value of a `Choice`.

    Attributes:
        id: the value.
        effect: on PostgreSQL; empty if the value or the option says it.
        since: requirements of this value in addition to the option's own.
        removed: versions that no longer have it.
        untested: newer than every kernel or tool in the tests.
    """

    id: str
    effect: str = ""
    since: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    untested: bool = False


@dataclass(frozen=True)
class OptionText:
    """What users read about one option; see `OptionSpec`.

    Attributes:
        label: for users.
        effect: on PostgreSQL, one sentence.
        source: of the facts.
        values: each value of a `Choice`, in its order; may be missing if there is nothing to say of any.
        unseen: why it cannot be verified, one clause; empty if it can: by `FormatOption.shown`, by the
            filesystem's expected tokens (`FormatSpec.expected`), or as a setting of the server.
        on_files: how new files on the filesystem show a value, in letters of `lsattr`; None if they do not.
            Checked after loading.
        risks: (value, classes) for risky values.
        written_whole: whether it is the number of bytes that are written atomically: below the server's page
            size, pages can be half written.
        since: all requirements for the option to exist.
        removed: versions that no longer have it.
        of_wal: for the server stage: whether it concerns the WAL instead of the data.
        tried: values worth comparing, if there are many: those in published comparisons and manuals.
        word: its program's name for it, if the spelling does not contain one.
        untested: its effect was never seen on a real kernel or tool: newer than Linux 6.1 and 6.18, OpenZFS
            2.1.11 and the tools of Debian 12 and 13.
    """

    label: str
    effect: str
    source: str
    _: KW_ONLY
    values: tuple[ChoiceValue, ...] = ()
    unseen: str = ""
    on_files: Spelling | None = None
    risks: tuple[tuple[OptionValue, tuple[Safety, ...]], ...] = ()
    written_whole: bool = False
    since: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    of_wal: bool = False
    tried: tuple[OptionValue, ...] = ()
    word: str = ""
    untested: bool = False


@dataclass(frozen=True, slots=True)
class OptionSpec(FormatOption, OptionText):
    """One option of a filesystem, with what users read about it."""

    def safety_of(self, value: OptionValue, server_page_bytes: int = USUAL_PAGE_BYTES) -> tuple[Safety, ...]:
        """Return the risks of a value; (SAFE,) for none.

        Args:
            value: a legal one.
            server_page_bytes: of a data page of the server.
        """
        if self.written_whole and isinstance(value, int) and value < server_page_bytes:
            return (Safety.TORN_PAGES,)
        for risky, classes in self.risks:
            if risky == value and type(risky) is type(value):
                return classes
        return (Safety.SAFE,)

    @property
    def safety(self) -> tuple[Safety, ...]:
        """Return the risks of all values together; (SAFE,) for none."""
        classes = dict.fromkeys(item for _, items in self.risks for item in items)
        if self.written_whole:
            classes[Safety.TORN_PAGES] = None
        return tuple(classes) or (Safety.SAFE,)


def explained(option: FormatOption, text: OptionText) -> OptionSpec:
    """Return an option with its text."""
    values = text.values or tuple(map(ChoiceValue, getattr(option.kind, "ids", ())))
    of_format = {each.name: getattr(option, each.name) for each in fields(option)}
    return OptionSpec(**of_format, **{**vars(text), "values": values})


# What users choose a RAID level by: capacity, redundancy, and a sentence or two. Root has no use for it.


_HOLE: Final = tr(
    "Small writes must read first, and a crash during a write can leave inconsistent parity (write hole)."
)
_RAIDZ: Final = tr(
    "No write hole. Each record gets parity and padding, so usable size is approximate; random I/O is about "
    "as fast as one disk."
)
_UNSTABLE: Final = tr(
    "The btrfs developers call raid5 and raid6 unstable: “should not be used in production”."
)
_FIRST_SYNC: Final = tr(
    "pgFooting measures after the initial synchronisation, or records that you skipped it."
)

_WORDS: Final = {
    (Level.SINGLE, Assembler.RAW): tr("One partition, directly on the disk."),
    (Level.SINGLE, Assembler.BTRFS): tr(
        "One copy of data; two copies of metadata on the same disk, as mkfs.btrfs does."
    ),
    (Level.SINGLE, Assembler.ZFS): tr("A pool of one disk, with two copies of metadata."),
    (Level.STRIPE, Assembler.MD): tr("Striped over all disks; if one fails, everything is lost."),
    (Level.STRIPE, Assembler.BTRFS): tr(
        "Data and metadata have no second copy; if one disk fails, everything is lost."
    ),
    (Level.STRIPE, Assembler.ZFS): tr("Records are spread over all disks; if one fails, the pool is lost."),
    (Level.MIRROR, Assembler.MD): tr("Every disk holds a full copy. ") + _FIRST_SYNC,
    (Level.MIRROR, Assembler.BTRFS): tr(
        "Two copies of each block. With three or more disks this gives more space than an md or ZFS mirror, "
        "but less redundancy. Three or four copies are possible."
    ),
    (Level.MIRROR, Assembler.ZFS): tr("Every disk holds a full copy, with checksums."),
    (Level.RAID10, Assembler.MD): tr(
        "Two copies of each chunk on neighbouring disks; an odd number of disks works too. "
    )
    + _FIRST_SYNC,
    (Level.RAID10, Assembler.BTRFS): tr(
        "Two copies of each stripe; each chunk can use different pairs of disks."
    ),
    (Level.RAID10, Assembler.ZFS): tr("Mirrors of two disks each, with records spread over them."),
    (Level.RAID5, Assembler.MD): f"{_HOLE} {_FIRST_SYNC}",
    (Level.RAID5, Assembler.BTRFS): f"{_UNSTABLE} {_HOLE}",
    (Level.RAID5, Assembler.ZFS): _RAIDZ,
    (Level.RAID6, Assembler.MD): f"{_HOLE} {_FIRST_SYNC}",
    (Level.RAID6, Assembler.BTRFS): f"{_UNSTABLE} {_HOLE}",
    (Level.RAID6, Assembler.ZFS): _RAIDZ,
    (Level.RAIDZ3, Assembler.ZFS): _RAIDZ,
}


def risks_of(made: ArrayLayout) -> tuple[Safety, ...]:
    """Return the risks of a level made by an assembler."""
    is_unstable = made.assembler is Assembler.BTRFS and made.level in PARITY_DISKS
    return (Safety.EXPERIMENTAL,) if is_unstable else ()


def words_of(made: ArrayLayout) -> str:
    """Return the special properties of a level made by an assembler."""
    return _WORDS[made.level, made.assembler]


def survives(made: ArrayLayout, disks: int, copies: int | None = None) -> int:
    """Return how many disks may fail in any combination.

    Args:
        made: layout of the level.
        disks: number of disks.
        copies: copies of a btrfs mirror; None for its two.
    """
    if made.level is Level.MIRROR:
        return (copies or 2) - 1 if made.assembler is Assembler.BTRFS else disks - 1
    return 1 if made.level is Level.RAID10 else PARITY_DISKS.get(made.level, 0)


def capacity(made: ArrayLayout, sizes: Sequence[int], copies: int | None = None) -> int:
    """Return the capacity of disks of these sizes, before overhead of assembler and filesystem.

    Args:
        made: layout of the level.
        sizes: bytes of each disk or partition.
        copies: copies of a btrfs mirror; None for its two.
    """
    if made.level in {Level.SINGLE, Level.STRIPE}:
        return sum(sizes)
    if made.assembler is Assembler.BTRFS and made.level in {Level.MIRROR, Level.RAID10}:
        return _spread(sizes, copies or 2)
    if made.level is Level.MIRROR:
        return min(sizes)
    if made.level is Level.RAID10:
        pairs = zip(sizes[::2], sizes[1::2], strict=False)
        return sum(map(min, pairs)) if made.assembler is Assembler.ZFS else min(sizes) * len(sizes) // 2
    return min(sizes) * (len(sizes) - PARITY_DISKS[made.level])


def _spread(sizes: Sequence[int], copies: int) -> int:
    """Return the capacity with `copies` of each chunk on different disks, those with most room first.

    No disk can hold more than one copy of each chunk: a disk larger than its share is cut to it.
    """
    rest = sorted(sizes, reverse=True)
    left = copies
    while left > 1 and rest and rest[0] * left > sum(rest):
        rest = rest[1:]
        left -= 1
    return sum(rest) // left if rest else 0
