"""The format of a filesystem: one frozen object, in its own file (`app.domain.formats`).

All differences between filesystems that root has to know are declared in it; code that creates, verifies and
wipes filesystems asks the spec and knows none by name. What only users read is in
`app.domain.options.filesystem_spec`. Arguments of the mkfs program and expected results
are pure functions of a `Creation`, declared with the filesystem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.options.kinds import (
    ExpectedToken,
    FormatOption,
    OptionValue,
    ReadbackProgram,
    ReadbackToken,
    Stage,
)
from app.domain.options.raid import ArrayLayout, Assembler, Level

if TYPE_CHECKING:
    from app.domain.options.refusals import Choices, ConflictRule


Arguments = tuple[tuple[str, str], ...]
"""(flag, item) pairs; the item is empty for a flag without one, the flag at stages other than mkfs."""

BLOCK_BYTES: Final = 4096
"""Default block size passed to mkfs programs; mke2fs's own is 1024 below 512 MiB (mke2fs.conf, small)."""

STRIPE_OPTIONS: Final = ("stride", "stripe_width", "su", "sw")
"""Options for the stripes of a RAID controller, which only the user knows."""


@dataclass(frozen=True, slots=True)
class StripeGeometry:
    """The stripes below a filesystem.

    Attributes:
        chunk_bytes: contiguous bytes on one disk.
        data_disks: disks of a full stripe that hold data, not parity or copies.
    """

    chunk_bytes: int
    data_disks: int


@dataclass(frozen=True, slots=True)
class Creation:
    """A filesystem to create.

    Attributes:
        options: chosen ones, by id.
        written: arguments from the declarations: fixed ones, then chosen ones.
        uuid: of the filesystem; empty for a random one.
        layout: of its disks.
        geometry: of the stripes below it; None without alignment.
    """

    options: Mapping[str, OptionValue]
    written: Arguments
    uuid: str
    layout: ArrayLayout
    geometry: StripeGeometry | None = None

    @property
    def block_bytes(self) -> int:
        """Return the chosen or default block size."""
        return int(self.options.get("block_size", BLOCK_BYTES))

    def sets(self, flag: str) -> bool:
        """Return whether a declaration sets a flag of the mkfs program."""
        return any(said == flag for said, _ in self.written)


def joined(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return arguments of a mkfs program: items of one flag joined by commas, flags in order."""
    items: dict[str, list[str]] = {}
    for flag, item in pairs:
        items.setdefault(flag, []).extend([item] if item else [])
    words: list[str] = []
    for flag, values in items.items():
        words += [flag, ",".join(values)] if values else [flag]
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Area:
    """Bytes of a device.

    Attributes:
        offset: of the first byte.
        length: in bytes.
    """

    offset: int
    length: int

    def holds(self, offset: int) -> bool:
        """Return whether a byte is inside."""
        return self.offset <= offset < self.offset + self.length


@dataclass(frozen=True, slots=True)
class SuperblockPlace:
    """Where our formats have their superblock; it contains the UUID as 16 bytes, most significant first.

    Attributes:
        superblock: zeroed to wipe it; includes all of its magic and its UUID.
        explained: bytes in which other magics are the superblock's own contents.
        uuid_offset: of the UUID on the device.
        copies: distances of the copies of the superblock that are always written with it.
    """

    superblock: Area
    explained: Area
    uuid_offset: int
    copies: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FixedArgument:
    """An argument that is always passed; `app.domain.option_texts.ALWAYS` says why.

    Attributes:
        stage: receives it.
        flag: flag of the mkfs program; empty for other stages.
        item: item, mount option or ``name=value``.
        seen: tokens that verify it; None if it cannot be verified.
    """

    stage: Stage
    flag: str
    item: str
    seen: ReadbackToken | None = None


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """One filesystem, as far as it is made, mounted and read back.

    Attributes:
        id: in campaign files, and the type for mount(8).
        label: for users.
        mkfs: program that creates it; None if there is none (tmpfs) or another stage creates it (zfs).
        minimum_bytes: smallest device; per disk for pools.
        several: combines several disks for it.
        levels: supported levels; none if it needs no disk.
        options: in display order.
        always: fixed arguments.
        mkfs_arguments: of `mkfs`, without the devices; None without such a program.
        superblock: its position on each device; None if nothing is left on a disk (tmpfs) or the labels of
            the assembler count (zfs).
        readers: programs that show its properties after mounting.
        expected: expected tokens in addition to those of the options; None for none.
        whole_pages: whether a page of PostgreSQL is never half written, unless an option turns copy on write
            off.
        refusals: what its options refuse of each other, in addition to the general rules
            (`app.domain.options.refusals`).
    """

    id: str
    label: str
    mkfs: str | None
    minimum_bytes: int
    several: Assembler
    levels: tuple[Level, ...]
    options: tuple[FormatOption, ...]
    always: tuple[FixedArgument, ...]
    mkfs_arguments: Callable[[Creation], Arguments] | None = None
    superblock: SuperblockPlace | None = None
    readers: tuple[ReadbackProgram, ...] = ()
    expected: Callable[[Creation], tuple[ExpectedToken, ...]] | None = None
    whole_pages: bool = False
    refusals: tuple[ConflictRule[Choices], ...] = ()

    def assembler(self, level: Level) -> Assembler:
        """Return the assembler of a level: a single disk below ext4 or XFS is used directly."""
        return Assembler.RAW if level is Level.SINGLE and self.several is Assembler.MD else self.several

    def arguments(self, stage: Stage, chosen: Mapping[str, OptionValue]) -> Arguments:
        """Return the arguments of a stage: fixed ones, then chosen ones, in the order of declaration."""
        always = [(item.flag, item.item) for item in self.always if item.stage is stage]
        tokens = [
            option.written(chosen[option.id])
            for option in self.options
            if option.stage is stage and option.id in chosen
        ]
        return (*always, *((each.flag, each.item) for each in tokens if each is not None))

    def option(self, option_id: str) -> FormatOption:
        """Return an option.

        Raises:
            KeyError: there is none with that id.
        """
        for item in self.options:
            if item.id == option_id:
                return item
        raise KeyError(option_id)
