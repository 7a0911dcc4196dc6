"""What a filesystem is to pgFooting: one frozen object, in a file of its own (`app.domain.filesystems`).

Everything that differs from one filesystem to the next is declared in it; the code that makes, reads back,
wipes, measures and imports filesystems asks the spec and knows none by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.options.creation import Arguments, Creation
from app.domain.options.kinds import OptionValue
from app.domain.options.on_disk import SuperblockPlace
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.raid import Assembler, Level
from app.domain.options.tokens import ExpectedToken, ReadbackProgram, ReadbackToken
from app.domain.versions import Component, Requirement, Version

if TYPE_CHECKING:
    from app.domain.options.conflicts import ConflictRule


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
            options that others have too (`app.domain.options.conflict_rules`).
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
