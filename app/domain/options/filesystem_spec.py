"""What a filesystem is to pgFooting: one frozen object, in a file of its own (`app.domain.filesystems`).

Everything that differs from one filesystem to the next is declared in it; the code that makes, reads back,
wipes, measures and imports filesystems asks the spec and knows none by name.

How a filesystem is created: what the arguments of its mkfs program follow from, and their form.

What is asked of each filesystem is a pure function of a `Creation`, declared in its own file.

Where a format has its superblock on a device, and its UUID in it.
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
"""(flag, item) pairs; the item is empty for a flag that stands alone, the flag at stages other than mkfs."""

BLOCK_BYTES: Final = 4096
"""Block size said to mkfs programs unless one is chosen; mke2fs takes 1024 by itself below 512 MiB
(mke2fs.conf, small)."""

STRIPE_OPTIONS: Final = ("stride", "stripe_width", "su", "sw")
"""Options by which people tell the stripes of a RAID controller, which nobody can see, themselves."""


@dataclass(frozen=True, slots=True)
class StripeGeometry:
    """What a filesystem is told about the stripes below it.

    Attributes:
        chunk_bytes: contiguous bytes on one disk.
        data_disks: disks of a full stripe that hold data, not parity or copies.
    """

    chunk_bytes: int
    data_disks: int


@dataclass(frozen=True, slots=True)
class Creation:
    """One filesystem that is to be made.

    Attributes:
        options: what is chosen, by id.
        written: what the declarations say to the mkfs program: always, then what is chosen.
        uuid: that it gets; empty where nobody gives it one.
        layout: of its disks.
        geometry: of the stripes below it; None where there is nothing to align to.
    """

    options: Mapping[str, OptionValue]
    written: Arguments
    uuid: str
    layout: ArrayLayout
    geometry: StripeGeometry | None = None

    @property
    def block_bytes(self) -> int:
        """Return the block size that is chosen or said."""
        return int(self.options.get("block_size", BLOCK_BYTES))

    def says(self, flag: str) -> bool:
        """Return whether a flag of the mkfs program is said by a declaration."""
        return any(said == flag for said, _ in self.written)


def joined(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return arguments of a mkfs program: items of one flag joined by commas, flags as they come."""
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
        """Return whether a byte lies in it."""
        return self.offset <= offset < self.offset + self.length


@dataclass(frozen=True, slots=True)
class SuperblockPlace:
    """Where a format that we make has its superblock; it holds the UUID as 16 bytes, most significant first.

    Attributes:
        superblock: what is zeroed to wipe it; all of its magic and its UUID lie in it.
        explained: bytes in which other magics are the superblock's own contents.
        uuid_offset: of the UUID on the device.
        copies: how far copies of the superblock lie behind it, which are always written with it.
    """

    superblock: Area
    explained: Area
    uuid_offset: int
    copies: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is needed.

    Attributes:
        name: file name in the fixed folders for programs of the system.
        package: Debian package that has it.
        component: whose version decides about options; None where none does.
        version_argument: what makes it print its version.
        module: kernel module that is built of the same source: the older of both versions counts.
    """

    name: str
    package: str
    component: Component | None = None
    version_argument: str = "-V"
    module: str = ""


@dataclass(frozen=True, slots=True)
class KernelThreads:
    """Threads of the kernel whose CPU is measured as that of a filesystem.

    Attributes:
        family: what they are called together.
        pattern: regular expression for how their names begin.
    """

    family: str
    pattern: str


@dataclass(frozen=True, slots=True)
class KernelRemedy:
    """What helps where the kernel lacks a filesystem.

    Attributes:
        words: one sentence.
        package: Debian package that helps; may be empty.
        from_version: first version of Linux of which this is true; what helps with any module before.
    """

    words: str
    package: str = ""
    from_version: Version = ()


@dataclass(frozen=True, slots=True)
class FixedArgument:
    """Something that is always said, whatever is chosen.

    Attributes:
        stage: to whom.
        flag: flag of the mkfs program; empty for other stages.
        item: item, mount option or ``name=value``.
        why: one sentence.
        source: where that is from.
        seen: what a read back must show; None where nothing ever shows it.
    """

    stage: Stage
    flag: str
    item: str
    why: str
    source: str
    seen: ReadbackToken | None = None


@dataclass(frozen=True, slots=True)
class UnsupportedOption:
    """Something that people look for here and that does not exist: shown with the reason, never hidden.

    Attributes:
        option: the id that it has elsewhere.
        why: why not, and what comes nearest.
        source: where that is from.
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
        source: where that is from.
    """

    option: str
    value: OptionValue
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class FilesystemPreset:
    """A named set of choices.

    Attributes:
        id: what campaign files say.
        label: what people read.
        source: where the set as a whole is from.
        choices: what is chosen, with reasons; everything else stays as the tools and the kernel have it.
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
        id: what campaign files say, and the type given to mount(8).
        label: what people read.
        good_for: one or two sentences for people who choose.
        mkfs: program that makes it; None where there is none (tmpfs) or another stage makes it (zfs).
        programs: every program that making, checking and unmaking needs.
        kernel_modules: modules of which the kernel must have or be able to load all.
        minimum_bytes: smallest device; per disk for pools.
        several: who makes one thing of several disks for it.
        levels: levels that it can have; none where it needs no disk.
        options: in the order in which they are offered.
        always: what is said whatever is chosen.
        presets: first the defaults.
        lacks: what other filesystems have and this one has not.
        risks: what it costs in safety whatever is chosen.
        mkfs_arguments: of `mkfs`, without the devices; None where there is no such program.
        superblock: where it lies on each device; None where nothing is left on a disk (tmpfs) or the labels
            of the assembler count (zfs).
        readers: what shows it once it is mounted.
        expected: what a read back must show of how it was made, besides the options; None for nothing.
        whole_pages: whether a page of PostgreSQL is never half written, unless an option turns copy on
            write off.
        large_blocks_since: what can mount blocks larger than the machine's memory page; None for nothing.
        rules: which of its options do not go together and what follows from them, besides the rules about
            options that others have too (`app.domain.options.checks`).
        kernel_threads: threads of the kernel that work for it; None where it has none of its own.
        kernel_remedy: what helps where the kernel lacks it; None for what helps with any module.
        cache_limit: file, without the leading slash, that holds the largest size, in bytes, of a cache of
            its own that no control group counts; empty where there is none.
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
        """Return who makes a level for this filesystem: a single disk below ext4 or XFS is used as is."""
        return Assembler.RAW if level is Level.SINGLE and self.several is Assembler.MD else self.several

    def arguments(self, stage: Stage, chosen: Mapping[str, OptionValue]) -> Arguments:
        """Return what the programs of a stage are told: always, then what is chosen, as it is declared."""
        always = [(item.flag, item.item) for item in self.always if item.stage is stage]
        told = [
            option.written(chosen[option.id])
            for option in self.options
            if option.stage is stage and option.id in chosen
        ]
        return (*always, *((each.flag, each.item) for each in told if each is not None))

    def attributes_of_files(self, chosen: Mapping[str, OptionValue]) -> ReadbackToken | None:
        """Return what `lsattr` must show of files that are made on it; None where no option changes that."""
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
            KeyError: there is none of that id.
        """
        for item in self.options:
            if item.id == option_id:
                return item
        raise KeyError(option_id)

    def preset(self, preset_id: str) -> FilesystemPreset:
        """Return a preset.

        Raises:
            KeyError: there is none of that id.
        """
        for item in self.presets:
            if item.id == preset_id:
                return item
        raise KeyError(preset_id)
