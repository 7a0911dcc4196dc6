"""The declaration of a filesystem: one frozen object, in its own file (`app.domain.filesystems`).

All differences between filesystems are declared in it; code that creates, verifies, wipes, measures and
imports filesystems asks the spec and knows none by name. Arguments of the mkfs program and expected results
are pure functions of a `Creation`, declared with the filesystem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.options.kinds import ExpectedToken, OptionValue, ReadbackProgram, ReadbackToken
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import ArrayLayout, Assembler, Level
from app.domain.versions import Component, Requirement, Version

if TYPE_CHECKING:
    from app.domain.options.conflicts import ConflictRule


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

    def says(self, flag: str) -> bool:
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
class Program:
    """A required program.

    Attributes:
        name: file name in the system's fixed program folders.
        package: Debian package of the program.
        component: its version decides about options; None if it does not.
        version_argument: makes it print its version.
        module: kernel module built from the same source: the older of both versions counts.
    """

    name: str
    package: str
    component: Component | None = None
    version_argument: str = "-V"
    module: str = ""


@dataclass(frozen=True, slots=True)
class KernelThreads:
    """Kernel threads that work for a filesystem.

    Attributes:
        family: their common name.
        pattern: regular expression for the beginning of their names.
    """

    family: str
    pattern: str


@dataclass(frozen=True, slots=True)
class KernelRemedy:
    """Remedy if the kernel lacks a filesystem.

    Attributes:
        words: one sentence.
        package: Debian package that helps; may be empty.
        from_version: first version of Linux for which this is true; before, the general remedy for modules.
    """

    words: str
    package: str = ""
    from_version: Version = ()


@dataclass(frozen=True, slots=True)
class FixedArgument:
    """An argument that is always passed.

    Attributes:
        stage: receives it.
        flag: flag of the mkfs program; empty for other stages.
        item: item, mount option or ``name=value``.
        why: one sentence.
        source: of the reason.
        seen: tokens that verify it; None if it cannot be verified.
    """

    stage: Stage
    flag: str
    item: str
    why: str
    source: str
    seen: ReadbackToken | None = None


@dataclass(frozen=True, slots=True)
class UnsupportedOption:
    """A missing option that users may look for: shown with the reason, never hidden.

    Attributes:
        option: its id in other filesystems.
        why: why it is missing, and the nearest alternative.
        source: of the reason.
    """

    option: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class PresetValue:
    """One choice of a preset.

    Attributes:
        option: `OptionSpec.id`.
        value: its value.
        why: one sentence.
        source: of the reason.
    """

    option: str
    value: OptionValue
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class FilesystemPreset:
    """A named set of choices.

    Attributes:
        id: in campaign files.
        label: for users.
        source: of the set as a whole.
        choices: with reasons; everything else keeps the defaults of tools and kernel.
    """

    id: str
    label: str
    source: str
    choices: tuple[PresetValue, ...] = ()

    @property
    def options(self) -> dict[str, OptionValue]:
        """Return option ids and values."""
        return {item.option: item.value for item in self.choices}


@dataclass(frozen=True, slots=True)
class FilesystemSpec:
    """One filesystem.

    Attributes:
        id: in campaign files, and the type for mount(8).
        label: for users.
        good_for: one or two sentences for choosing it.
        mkfs: program that creates it; None if there is none (tmpfs) or another stage creates it (zfs).
        programs: every program for creating, checking and removing it.
        kernel_modules: required modules, built in or loadable.
        minimum_bytes: smallest device; per disk for pools.
        several: combines several disks for it.
        levels: supported levels; none if it needs no disk.
        options: in display order.
        always: fixed arguments.
        presets: first the defaults.
        lacks: options of other filesystems that it lacks.
        risks: its risks with any options.
        mkfs_arguments: of `mkfs`, without the devices; None without such a program.
        superblock: its position on each device; None if nothing is left on a disk (tmpfs) or the labels of
            the assembler count (zfs).
        readers: programs that show its properties after mounting.
        expected: expected tokens in addition to those of the options; None for none.
        whole_pages: whether a page of PostgreSQL is never half written, unless an option turns copy on write
            off.
        large_blocks_since: supports blocks larger than the machine's memory page; None for no version.
        rules: conflicts and implications of its options, in addition to the general rules
            (`app.domain.options.checks`).
        kernel_threads: kernel threads that work for it; None if it has none of its own.
        kernel_remedy: remedy if the kernel lacks it; None for the general one for modules.
        cache_limit: file, without the leading slash, with the maximum size, in bytes, of its own cache
            outside of control groups; empty without such a cache.
    """

    id: str
    label: str
    good_for: str
    mkfs: str | None
    programs: tuple[Program, ...]
    kernel_modules: tuple[str, ...]
    minimum_bytes: int
    several: Assembler
    levels: tuple[Level, ...]
    options: tuple[OptionSpec, ...]
    always: tuple[FixedArgument, ...]
    presets: tuple[FilesystemPreset, ...]
    lacks: tuple[UnsupportedOption, ...] = ()
    risks: tuple[Safety, ...] = ()
    mkfs_arguments: Callable[[Creation], Arguments] | None = None
    superblock: SuperblockPlace | None = None
    readers: tuple[ReadbackProgram, ...] = ()
    expected: Callable[[Creation], tuple[ExpectedToken, ...]] | None = None
    whole_pages: bool = False
    large_blocks_since: Requirement | None = None
    rules: tuple[ConflictRule, ...] = ()
    kernel_threads: KernelThreads | None = None
    kernel_remedy: KernelRemedy | None = None
    cache_limit: str = ""

    def assembler(self, level: Level) -> Assembler:
        """Return the assembler of a level: a single disk below ext4 or XFS is used directly."""
        return Assembler.RAW if level is Level.SINGLE and self.several is Assembler.MD else self.several

    def arguments(self, stage: Stage, chosen: Mapping[str, OptionValue]) -> Arguments:
        """Return the arguments of a stage: fixed ones, then chosen ones, in the order of declaration."""
        always = [(item.flag, item.item) for item in self.always if item.stage is stage]
        told = [
            option.written(chosen[option.id])
            for option in self.options
            if option.stage is stage and option.id in chosen
        ]
        return (*always, *((each.flag, each.item) for each in told if each is not None))

    def attributes_of_files(self, chosen: Mapping[str, OptionValue]) -> ReadbackToken | None:
        """Return what `lsattr` must show for new files on it; None if no option changes that."""
        wanted, others = set[str](), set[str]()
        for option in self.options:
            if option.on_files is not None:
                others |= {token for _, token in option.on_files.values if token}
                token = option.on_files.token(chosen.get(option.id, option.default or False))
                wanted |= {token} if token else set()
        return ReadbackToken(tuple(sorted(wanted)), tuple(sorted(others - wanted))) if others else None

    def option(self, option_id: str) -> OptionSpec:
        """Return an option.

        Raises:
            KeyError: there is none with that id.
        """
        for item in self.options:
            if item.id == option_id:
                return item
        raise KeyError(option_id)

    def preset(self, preset_id: str) -> FilesystemPreset:
        """Return a preset.

        Raises:
            KeyError: there is none with that id.
        """
        for item in self.presets:
            if item.id == preset_id:
                return item
        raise KeyError(preset_id)
