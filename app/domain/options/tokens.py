"""How an option's value becomes the token that a program is told, and the token that shows it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from app.domain.options.kinds import OptionValue


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
