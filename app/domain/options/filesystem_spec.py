"""The whole declaration of a filesystem: its format, and what users choose it by (`app.domain.filesystems`).

Code that offers, explains, measures and imports filesystems asks the spec and knows none by name. Root does
not import this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from typing_extensions import override

from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, ReadbackToken, Stage, Toggle
from app.domain.options.option_spec import (
    KERNEL,
    USUAL_PAGE_BYTES,
    Component,
    OptionSpec,
    OptionText,
    Requirement,
    Safety,
    Version,
    Versions,
    explained,
)
from app.domain.options.refusals import Choices, ConflictRule
from app.domain.text import tr


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemSpec(FormatSpec):
    """One filesystem.

    Attributes:
        options: of the format, with what users read about them.
        good_for: one or two sentences for choosing it.
        programs: every program for creating, checking and removing it.
        kernel_modules: required modules, built in or loadable.
        presets: first the defaults.
        lacks: options of other filesystems that it lacks.
        rules: its refusals, and what depends on versions, disks and the server, in addition to the general
            rules (`app.domain.options.checks`).
        kernel_threads: kernel threads that work for it; None if it has none of its own.
        kernel_remedy: remedy if the kernel lacks it; None for the general one for modules.
        risks: its risks with any options.
        large_blocks_since: supports blocks larger than the machine's memory page; None for no version.
        cache_limit: file, without the leading slash, with the maximum size, in bytes, of its own cache
            outside of control groups; empty without such a cache.
    """

    options: tuple[OptionSpec, ...]
    good_for: str
    programs: tuple[Program, ...]
    kernel_modules: tuple[str, ...]
    presets: tuple[FilesystemPreset, ...]
    lacks: tuple[UnsupportedOption, ...] = ()
    rules: tuple[ConflictRule[Circumstances], ...] = ()
    kernel_threads: KernelThreads | None = None
    kernel_remedy: KernelRemedy | None = None
    cache_limit: str = ""
    risks: tuple[Safety, ...] = ()
    large_blocks_since: Requirement | None = None

    def attributes_of_files(self, chosen: Mapping[str, OptionValue]) -> ReadbackToken | None:
        """Return what `lsattr` must show for new files on it; None if no option changes that."""
        wanted, others = set[str](), set[str]()
        for option in self.options:
            if option.on_files is not None:
                others |= {token for _, token in option.on_files.values if token}
                token = option.on_files.token(chosen.get(option.id, option.default or False))
                wanted |= {token} if token else set()
        return ReadbackToken(tuple(sorted(wanted)), tuple(sorted(others - wanted))) if others else None

    @override
    def option(self, option_id: str) -> OptionSpec:
        """Return an option.

        Raises:
            KeyError: there is none with that id.
        """
        return {item.id: item for item in self.options}[option_id]

    def preset(self, preset_id: str) -> FilesystemPreset:
        """Return a preset.

        Raises:
            KeyError: there is none with that id.
        """
        for item in self.presets:
            if item.id == preset_id:
                return item
        raise KeyError(preset_id)


@dataclass(frozen=True, slots=True)
class DiskSetFacts:
    """Facts for rules about several disks.

    Attributes:
        size_bytes: of the disk.
        logical_block_bytes: smallest addressable unit.
        rotational: whether it is a hard disk.
    """

    size_bytes: int
    logical_block_bytes: int = 512
    rotational: bool = False


_TRUE: Final = ("true", "yes")
_FALSE: Final = ("false", "no")


def parse_switch(text: str) -> bool | None:
    """Parse a boolean as PostgreSQL does (bool.c: unique prefixes, any case); None for other text."""
    word = text.strip().lower()
    if word in {"1", "on"} or (word and any(full.startswith(word) for full in _TRUE)):
        return True
    if word in {"0", "of", "off"} or (word and any(full.startswith(word) for full in _FALSE)):
        return False
    return None


@dataclass(frozen=True, slots=True)
class Circumstances(Choices):
    """All inputs of a rule.

    Attributes:
        disks: of the group; empty if unknown.
        versions: of kernel and tools; missing if unknown.
        page_bytes: memory page of the machine; None if unknown.
        server: settings of the server by lower-case name, as in postgresql.conf; None if unknown.
        zfs_log_disks: number of log devices of a pool.
        preconditioned: whether the SSDs were preconditioned.
        server_page_bytes: of a data page of the server; the usual size if unknown.
    """

    filesystem: FilesystemSpec
    disks: tuple[DiskSetFacts, ...] = ()
    versions: Versions = field(default_factory=dict)
    page_bytes: int | None = None
    server: Mapping[str, str] | None = None
    zfs_log_disks: int = 0
    preconditioned: bool = False
    server_page_bytes: int = USUAL_PAGE_BYTES

    def kernel(self) -> Version | None:
        """Return the version of the kernel, or None."""
        return self.versions.get(KERNEL)

    def cuts_pages(self) -> bool:
        """Return whether a page is certainly written in several separate pieces; see `OptionSpec`."""
        sizes = [self.number(option.id) for option in self.filesystem.options if option.written_whole]
        return any(0 < size < self.server_page_bytes for size in sizes)

    def is_off(self, setting: str) -> bool:
        """Return whether a server setting is certainly off; it takes precedence over the option of that name.

        Unknown settings are not off: one of them may override the option.
        """
        if self.server is None:
            return False
        said = parse_switch(self.server.get(setting, ""))
        return self.options.get(setting) is False if said is None else not said


def described(
    made: FormatSpec,
    texts: Mapping[str, OptionText],
    rules: tuple[ConflictRule[Circumstances], ...] = (),
    **others: Any,  # noqa: ANN401 - fields of FilesystemSpec
) -> FilesystemSpec:
    """Return the whole declaration of a format.

    Args:
        made: the format.
        texts: of its options, by their ids; those of other options are ignored.
        rules: in addition to its refusals.
        others: further fields of `FilesystemSpec`.
    """
    format_fields = {each.name: getattr(made, each.name) for each in fields(made)}
    format_fields["options"] = tuple(explained(each, texts[each.id]) for each in made.options)
    return FilesystemSpec(**format_fields, **others, rules=(*made.refusals, *rules))


# Names of options and values in mount, mkfs, zpool and zfs, which a DBA knows. Pure.
#
# Derived from an option's spelling; the declaration only gives a name (`OptionSpec.word`) if one argument
# contains several options.


_MOST_WORDS: Final = 3
"""Maximum number of an option's words in its label; the others are in its list of values."""


def real_name(option: OptionSpec) -> str:
    """Return the program's name for an option: ``recordsize``, ``nobarrier``, ``-E stride``.

    For a switch it is the word with an effect: a mount without arguments has barriers, so it is
    ``nobarrier``.
    """
    if option.word:
        return option.word
    if isinstance(option.kind, Integer):
        return _with_flag(option, _name_of(option.spelling.template))
    usual = option.default
    values = [value for value in _values(option) if value != usual]
    if isinstance(option.kind, Toggle) and usual is None:
        values = [True]
    tokens = [token for value in values if (token := option.spelling.token(value)) is not None]
    if not tokens:  # the kernel only has a word for the default
        tokens = list(filter(None, (option.spelling.token(value) for value in _values(option))))
    names = dict.fromkeys(map(_name_of, tokens))
    return _with_flag(option, ", ".join(list(names)[:_MOST_WORDS]))


def shown_name(option: OptionSpec) -> str:
    """Return the real name for a check box: which of its two states the word means."""
    name = real_name(option)
    if isinstance(option.kind, Toggle) and option.default is True and option.stage is not Stage.SERVER:
        return tr("off: {word}").format(word=name) if _means_off(option) else name
    return name


def real_words(option: OptionSpec) -> tuple[str, ...]:
    """Return every word that users may search for an option: its names and arguments."""
    values = _values(option)
    tokens = (token for value in values if (token := option.spelling.token(value)))
    # A user who writes nodatacow in /etc/fstab searches for that, not for the word next to the check box.
    return tuple(dict.fromkeys((option.id, real_name(option), *tokens)))


def spelled_as(spec: FilesystemSpec, option: OptionSpec, value: OptionValue) -> str:
    """Return how a value is passed to the program: ``mount -o nobarrier``; empty without an argument."""
    token = option.spelling.token(value)
    if token is None:
        return ""
    words = " ".join(filter(None, (option.flag, token)))
    if option.stage is Stage.ATTRIBUTE:
        return f"chattr {words}"
    before = {
        Stage.MKFS: spec.mkfs,
        Stage.MOUNT: "mount -o",
        Stage.POOL: "zpool create -o",
        Stage.DATASET: "zfs create -o",
        Stage.SERVER: "postgresql.conf:",
    }
    return f"{before[option.stage]} {words}"


def _values(option: OptionSpec) -> tuple[OptionValue, ...]:
    match option.kind:
        case Toggle():
            return (True, False)
        case Choice() as kind:
            return tuple(kind.ids)
        case Integer():
            return ()


def _means_off(option: OptionSpec) -> bool:
    """Return whether the word means "off" by itself: ``nobarrier`` does, ``autotrim`` is a name."""
    off = option.spelling.token(False)  # noqa: FBT003 - the value of a switch
    return off is not None and "=" not in off


def _name_of(token: str) -> str:
    """Return the name in ``name=value``; empty for a value alone, the word itself for a word."""
    name = token.partition("=")[0]
    return "" if name == "{value}" else name


def _with_flag(option: OptionSpec, name: str) -> str:
    if option.stage is Stage.ATTRIBUTE:
        return f"chattr {name}"
    return " ".join(filter(None, (option.flag, name)))
