"""How sentences write their values: numbers as a language does, words of a command as a shell needs them.

For people only. What programs read back (files, --json, commands) has the point and no other sign.
Source: Unicode CLDR, "Number Symbols"; tests/gui/test_number_format.py compares with Qt's copy of it.
The root helper imports this too, with nothing but the standard library: it has no `override`.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from numbers import Real
from typing import Final

from app.domain.quoting.shell import shell_word

QUOTED: Final = "!q}"
"""Ends the place of a value that is a word of a shell: ``swapoff {area!q}``."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """The signs of one language.

    Attributes:
        decimal: before the fraction.
        group: between thousands.
    """

    decimal: str = "."
    group: str = ","

    @property
    def is_english(self) -> bool:
        """Whether numbers are already written so."""
        return (self.decimal, self.group) == (".", ",")

    def localise(self, written: str) -> str:
        """Return a number that Python has written, with the signs of this language."""
        return written if self.is_english else written.translate({46: self.decimal, 44: self.group})

    def write(self, value: float, form: str) -> str:
        """Return a number in one of Python's forms, such as ``,.1f``."""
        return self.localise(format(value, form))

    def plain(self, typed: str) -> str:
        """Return what a person typed as programs read it; a point before the fraction is known everywhere.

        ``1.500 MB`` is fifteen hundred where the point parts thousands, ``1.5 MB`` one and a half everywhere.
        """
        grouped = rf"(?<!\d)\d{{1,3}}(?:{re.escape(self.group)}\d{{3}})+(?!\d)"
        whole = re.sub(grouped, lambda found: found[0].replace(self.group, ""), typed)
        return re.sub(rf"(?<=\d){re.escape(self.decimal)}(?=\d)", ".", whole)


NUMBER_FORMATS: Final = {
    "en": NumberFormat(),
    "de": NumberFormat(",", "."),
}
"""By language; one that is not here writes them as English does."""


class _Formatter(string.Formatter):
    """Fills in values: numbers that have a form as a language writes them, everything else as it is.

    A number without a form is a count below a thousand, or what was typed or stored and is told as it was.
    """

    def __init__(self, numbers: NumberFormat) -> None:
        self._numbers = numbers

    def convert_field(self, value: object, conversion: str | None) -> object:  # type: ignore[explicit-override]  # root
        return shell_word(str(value)) if conversion == "q" else super().convert_field(value, conversion)

    def format_field(self, value: object, format_spec: str) -> str:  # type: ignore[explicit-override]  # root
        written = format(value, format_spec)
        return self._numbers.localise(written) if format_spec and isinstance(value, Real) else written


class Sentence(str):
    """A sentence whose values are written as `_Formatter` does when it is formatted."""

    __slots__ = ("_numbers",)
    _numbers: NumberFormat

    @classmethod
    def of(cls, text: str, numbers: NumberFormat) -> Sentence:
        """Return a sentence of a language."""
        sentence = cls(text)
        sentence._numbers = numbers
        return sentence

    def format(self, /, *args: object, **values: object) -> str:  # type: ignore[explicit-override]  # root
        """Return the sentence with its values."""
        return _Formatter(self._numbers).vformat(self, args, values)
