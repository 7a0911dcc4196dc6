"""Options of a filesystem as its programs know them: kinds of values, arguments, and verified tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import format_size, tr

OptionValue = bool | int | str

_LONGEST_LIST: Final = 12
"""Maximum number of allowed values in a message, which has to fit a terminal."""


@dataclass(frozen=True, slots=True)
class Toggle:
    """On or off; values are bool."""

    def accepts(self, value: object) -> bool:
        """Return whether `value` is valid."""
        return isinstance(value, bool)

    @property
    def allowed(self) -> str:
        """Return the allowed values for people."""
        return tr("true or false")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several words; values are str.

    Attributes:
        ids: the allowed values in display order.
    """

    ids: tuple[str, ...]

    def accepts(self, value: object) -> bool:
        """Return whether `value` is valid."""
        return isinstance(value, str) and value in self.ids

    @property
    def allowed(self) -> str:
        """Return the allowed values for people."""
        if len(self.ids) <= _LONGEST_LIST:
            return ", ".join(self.ids)
        return tr("{first} … {last} ({count} values)").format(
            first=", ".join(self.ids[: _LONGEST_LIST - 2]), last=self.ids[-1], count=len(self.ids)
        )


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number; a size is in bytes, with the unit ``B``.

    Attributes:
        minimum: smallest allowed value.
        maximum: largest allowed value.
        multiple_of: allowed values are multiples of this.
        power_of_two: whether it has to be a power of two.
        unit: for users; empty for plain numbers.
        also: single values outside the range, such as 0 for "none".
    """

    minimum: int
    maximum: int
    multiple_of: int = 1
    power_of_two: bool = False
    unit: str = ""
    also: tuple[int, ...] = ()

    def accepts(self, value: object) -> bool:
        """Return whether `value` is valid; bool is not a number here."""
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if value in self.also:
            return True
        fits = self.minimum <= value <= self.maximum and value % self.multiple_of == 0
        return fits and not (self.power_of_two and value.bit_count() != 1)

    @property
    def allowed(self) -> str:
        """Return the allowed values for people."""
        words = tr("{low} to {high}").format(low=self._format(self.minimum), high=self._format(self.maximum))
        if self.power_of_two:
            words += tr(", a power of two")
        elif self.multiple_of > 1:
            words += tr(", a multiple of {number}").format(number=self._format(self.multiple_of))
        for value in self.also:
            words += tr(", or {value}").format(value=value)
        return words

    def _format(self, value: int) -> str:
        if self.unit == "B":
            return f"{value} ({format_size(value)})" if value >= 1024 else f"{value} B"
        return f"{value} {self.unit}".rstrip()


Kind = Toggle | Choice | Integer


@dataclass(frozen=True, slots=True)
class Spelling:
    """How values become tokens.

    Attributes:
        template: token with ``{value}``, for numbers and words.
        values: (value, token) of exceptions; the token None passes no argument.
        divisor: divides a number, for programs that count in larger units.
    """

    template: str = ""
    values: tuple[tuple[OptionValue, str | None], ...] = ()
    divisor: int = 1

    def token(self, value: OptionValue) -> str | None:
        """Return the token of a value, or None for no argument."""
        for known, token in self.values:
            if known == value and type(known) is type(value):
                return token
        if isinstance(value, int) and not isinstance(value, bool):
            value //= self.divisor
        return self.template.format(value=value) if self.template else None


def words(on: str | None, off: str | None) -> Spelling:
    """Return the words of a toggle."""
    return Spelling(values=((True, on), (False, off)))


class ShownBy(StrEnum):
    """Where an option can be verified."""

    MOUNTINFO = "mountinfo"
    """Tokens: options of the mount and of the superblock in /proc/self/mountinfo."""
    SUPERBLOCK = "superblock"
    """Tokens: parsed output of the filesystem's own tool for the superblock."""
    ALLOCATION = "allocation"
    """Tokens: ``Data=raid1``, ``Metadata=raid1``: profiles of a filesystem that spans disks itself."""
    PROPERTIES = "properties"
    """Tokens: ``name=value`` of `zpool get -Hp` and `zfs get -Hp`."""
    ATTRIBUTES = "attributes"
    """Tokens: letters of `lsattr -d`."""
    ARRAY = "array"
    """Tokens: ``name=value`` of an md array in /sys/block/mdX/md."""
    VDEVS = "vdevs"
    """Tokens: ``class=vdevs`` of `zpool list -v`, such as ``data=raidz1*3``."""


@dataclass(frozen=True, slots=True)
class ReadbackToken:
    """Tokens that verify a value.

    Attributes:
        present: required tokens; ``a|b`` requires one of them (tools differ by version).
        absent: forbidden tokens; one that ends in ``=`` matches all with this prefix.
    """

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def contradictions(self, tokens: Collection[str]) -> tuple[str, ...]:
        """Return the missing and the forbidden tokens; empty if all is as wanted."""
        missing = tuple(token for token in self.present if not set(token.split("|")) & set(tokens))
        banned = {word for token in self.absent for word in token.split("|")}
        unwanted = tuple(
            token
            for token in tokens
            if token in banned
            or any(prefix.endswith("=") and token.startswith(prefix) for prefix in self.absent)
        )
        return missing + unwanted


@dataclass(frozen=True, slots=True)
class ExpectedToken:
    """A required token in addition to those of the chosen options.

    Attributes:
        name: for users, such as ``alignment``.
        shown_by: where it is shown.
        token: the token.
    """

    name: str
    shown_by: ShownBy
    token: ReadbackToken


class ReadFrom(StrEnum):
    """The last argument of a program that shows a filesystem."""

    NODE = "node"
    """A device of it, or the name of the pool."""
    FOLDER = "folder"
    """Its mount point."""


@dataclass(frozen=True, slots=True)
class ReadbackProgram:
    """A read-only program that shows properties of a filesystem.

    Attributes:
        shown_by: where its tokens belong; those of several readers of one place are merged.
        argv: program and arguments, without the last one.
        parse: converts its output to tokens.
        given: the last argument.
    """

    shown_by: ShownBy
    argv: tuple[str, ...]
    parse: Callable[[str], Iterable[str]]
    given: ReadFrom = ReadFrom.NODE


@dataclass(frozen=True, slots=True)
class ArgumentToken:
    """An argument of a program.

    Attributes:
        flag: flag of a mkfs program; items of one flag are joined by commas. Empty for other stages.
        item: the item, mount option or ``name=value``; empty for a flag without one.
    """

    flag: str
    item: str


# Options of a filesystem as its programs know them: one frozen object each.
#
# Nothing here knows a particular filesystem. An option's `Spelling` converts its value to the argument of a
# program, and to the token that verifies it. Root looks up both here: identifiers and typed values cross the
# bus, never tokens. Labels, reasons and risks are in `app.domain.options.option_spec`.


class Stage(StrEnum):
    """When an option is applied, and by what."""

    MKFS = "mkfs"
    MOUNT = "mount"
    POOL = "pool"
    DATASET = "dataset"
    ATTRIBUTE = "attribute"
    SERVER = "server"

    @property
    def shown_by(self) -> ShownBy:
        """Return where verification finds its options."""
        places = {
            Stage.MKFS: ShownBy.SUPERBLOCK,
            Stage.POOL: ShownBy.PROPERTIES,
            Stage.DATASET: ShownBy.PROPERTIES,
            Stage.ATTRIBUTE: ShownBy.ATTRIBUTES,
        }
        return places.get(self, ShownBy.MOUNTINFO)


BY_NAME: Final = Spelling("={value}")
"""Stands for the default of `FormatOption.spelling` and `FormatOption.shown`."""


@dataclass(frozen=True, slots=True)
class FormatOption:
    """One option of a filesystem, as far as it is passed to a program and read back.

    Attributes:
        id: stable name, unique within its filesystem; stored, sent, and written in campaign files.
        stage: when it is applied.
        kind: type and allowed values.
        default: of the tool or kernel; None if that depends on the machine.
        spelling: how a value is written; by default as ``id=value``.
        flag: flag of the mkfs program; empty for other stages.
        shown: how verification shows a value; None if nothing shows it directly. By default as it is written,
            but never for mkfs programs and the server. Where it is None, the filesystem's expected tokens
            (`FormatSpec.expected`) or a setting of the server show it, or `OptionText.unseen` says why not.
    """

    id: str
    stage: Stage
    kind: Kind
    default: OptionValue | None = None
    spelling: Spelling = BY_NAME
    flag: str = ""
    shown: Spelling | None = BY_NAME

    def __post_init__(self) -> None:
        """Replace the defaults of spelling and shown, which depend on the other fields."""
        if self.spelling is BY_NAME:
            object.__setattr__(self, "spelling", Spelling(f"{self.id}={{value}}"))
        if self.shown is BY_NAME:
            is_shown = self.stage not in {Stage.MKFS, Stage.SERVER}
            object.__setattr__(self, "shown", self.spelling if is_shown else None)

    def written(self, value: OptionValue) -> ArgumentToken | None:
        """Return the argument for a value; None for no argument."""
        token = self.spelling.token(value)
        return None if token is None else ArgumentToken(self.flag, token)

    def seen(self, value: OptionValue) -> ReadbackToken | None:
        """Return the tokens that verify a value; None if the option is never shown."""
        if self.shown is None:
            return None
        token = self.shown.token(value)
        if self.stage.shown_by is ShownBy.PROPERTIES and token is not None:
            # A property has one value: nothing else has to be absent. Blanks separate several properties.
            return ReadbackToken(tuple(token.split()))
        if isinstance(self.kind, Integer):
            prefix = self.shown.template.partition("{value}")[0]
            return ReadbackToken(absent=(prefix,)) if token is None else ReadbackToken(present=(token,))
        values: tuple[OptionValue, ...] = (True, False) if isinstance(self.kind, Toggle) else self.kind.ids
        others = {self.shown.token(other) for other in values} - {token, None}
        absent = tuple(sorted(other for other in others if other is not None))
        return ReadbackToken((token,) if token is not None else (), absent)
