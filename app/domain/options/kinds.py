"""Kinds of options: what values there are, and how people are told.

How an option's value becomes the token that a program is told, and the token that shows it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import tr
from app.domain.units import format_size
from app.domain.versions import Requirement

OptionValue = bool | int | str

_TRUE: Final = ("true", "yes")
_FALSE: Final = ("false", "no")
_LONGEST_LIST: Final = 12
"""Of more allowed values a message names the first few: it has to fit a terminal."""


@dataclass(frozen=True, slots=True)
class Toggle:
    """On or off; values are bool."""

    def accepts(self, value: object) -> bool:
        """Return whether `value` is one of this kind."""
        return isinstance(value, bool)

    @property
    def allowed(self) -> str:
        """Return the allowed values for people."""
        return tr("true or false")


@dataclass(frozen=True, slots=True)
class ChoiceValue:
    """One value of a `Choice`.

    Attributes:
        id: the value.
        effect: what it does for PostgreSQL.
        since: requirements of this value beyond the option's own.
        removed: what has it no more.
        untested: newer than any kernel or tool that tests could try.
    """

    id: str
    effect: str
    since: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    untested: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several words; values are str.

    Attributes:
        values: in the order in which they are offered.
    """

    values: tuple[ChoiceValue, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the allowed values."""
        return tuple(item.id for item in self.values)

    def accepts(self, value: object) -> bool:
        """Return whether `value` is one of this kind."""
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
    """A whole number; a size is one in bytes with the unit ``B``.

    Attributes:
        minimum: smallest allowed value.
        maximum: largest allowed value.
        multiple_of: what the value has to be a multiple of.
        power_of_two: whether it has to be a power of two.
        unit: unit for people; empty for plain numbers.
        also: single values beyond the range, such as 0 for "none".
    """

    minimum: int
    maximum: int
    multiple_of: int = 1
    power_of_two: bool = False
    unit: str = ""
    also: tuple[int, ...] = ()

    def accepts(self, value: object) -> bool:
        """Return whether `value` is one of this kind; bool is not a number here."""
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if value in self.also:
            return True
        fits = self.minimum <= value <= self.maximum and value % self.multiple_of == 0
        return fits and not (self.power_of_two and value.bit_count() != 1)

    @property
    def allowed(self) -> str:
        """Return the allowed values for people."""
        words = tr("{minimum} to {maximum}").format(
            minimum=self._format(self.minimum), maximum=self._format(self.maximum)
        )
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


def parse_switch(text: str) -> bool | None:
    """Return what PostgreSQL reads as on or off (bool.c: unique prefixes, any case), else None."""
    word = text.strip().lower()
    if word in {"1", "on"} or (word and any(full.startswith(word) for full in _TRUE)):
        return True
    if word in {"0", "of", "off"} or (word and any(full.startswith(word) for full in _FALSE)):
        return False
    return None


@dataclass(frozen=True, slots=True)
class Spelling:
    """How values become tokens.

    Attributes:
        template: token with ``{value}``, for numbers and words.
        values: (value, token) of the values that are written otherwise; the token None says nothing at all.
        divisor: by how much a number is divided, for programs that count in larger units.
    """

    template: str = ""
    values: tuple[tuple[OptionValue, str | None], ...] = ()
    divisor: int = 1

    def token(self, value: OptionValue) -> str | None:
        """Return the token of a value, or None where nothing is said."""
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
    """Where a read back finds an option."""

    MOUNTINFO = "mountinfo"
    """Tokens: options of the mount and of the superblock in /proc/self/mountinfo."""
    SUPERBLOCK = "superblock"
    """Tokens: what the filesystem's own tool prints of the superblock, as its parser describes them."""
    ALLOCATION = "allocation"
    """Tokens: ``Data=raid1``, ``Metadata=raid1``: profiles of a filesystem that spreads over disks itself."""
    PROPERTIES = "properties"
    """Tokens: ``name=value`` of `zpool get -Hp` and `zfs get -Hp`."""
    ATTRIBUTES = "attributes"
    """Tokens: letters of `lsattr -d`."""
    ARRAY = "array"
    """Tokens: ``name=value`` of what the kernel says of an md array in /sys/block/mdX/md."""
    VDEVS = "vdevs"
    """Tokens: ``class=vdevs`` of what `zpool list -v` shows, such as ``data=raidz1*3``."""


@dataclass(frozen=True, slots=True)
class ReadbackToken:
    """What a read back shows when a value took effect.

    Attributes:
        present: tokens that must be there; ``a|b`` is there where one of them is (tools differ by version).
        absent: tokens that must not be there; one that ends in ``=`` stands for all that begin with it.
    """

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def contradictions(self, tokens: Collection[str]) -> tuple[str, ...]:
        """Return the tokens that are missing or that should not be there; empty where all is as wanted."""
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
    """Something that a read back must show besides the options that were chosen.

    Attributes:
        name: for people, such as ``alignment``.
        shown_by: where.
        token: what.
    """

    name: str
    shown_by: ShownBy
    token: ReadbackToken


class ReadFrom(StrEnum):
    """What a program that shows a filesystem is given as its last argument."""

    NODE = "node"
    """A device of it, or the name of the pool."""
    FOLDER = "folder"
    """Its mount point."""


@dataclass(frozen=True, slots=True)
class ReadbackProgram:
    """A program that only reads, and shows what a filesystem is like.

    Attributes:
        shown_by: what its tokens belong to; those of several readers of one place are put together.
        argv: program and arguments, without the last one.
        parse: tokens of what it prints.
        given: the last argument.
    """

    shown_by: ShownBy
    argv: tuple[str, ...]
    parse: Callable[[str], Iterable[str]]
    given: ReadFrom = ReadFrom.NODE


@dataclass(frozen=True, slots=True)
class ArgumentToken:
    """What a program is told.

    Attributes:
        flag: flag of a mkfs program; items of one flag are joined by commas. Empty for other stages.
        item: the item, mount option or ``name=value``; empty for a flag that stands alone.
    """

    flag: str
    item: str
