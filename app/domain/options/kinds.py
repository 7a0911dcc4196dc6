"""Kinds of options: what values there are, and how people are told."""

from __future__ import annotations

from dataclasses import dataclass
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
