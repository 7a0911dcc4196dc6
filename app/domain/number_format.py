"""Format values in sentences: numbers for a language, words of a command for a shell.

For people only. Output for programs (files, --json, commands) uses the point and no other sign. Source:
Unicode CLDR, "Number Symbols"; tests/gui/test_number_format.py compares with Qt's copy of it. The root helper
imports this too, so it only uses the standard library: it has no `override`.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from numbers import Real
from typing import Final

from app.domain.quoting.shell import shell_word

QUOTED: Final = "!q}"
"""Ends the placeholder of a value that is a word of a shell: ``swapoff {area!q}``."""


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
        """Whether these are Python's own signs."""
        return (self.decimal, self.group) == (".", ",")

    def localise(self, written: str) -> str:
        """Replace the signs in a number formatted by Python."""
        return written if self.is_english else written.translate({46: self.decimal, 44: self.group})

    def write(self, value: float, form: str) -> str:
        """Format a number with a format specification of Python, such as ``,.1f``."""
        return self.localise(format(value, form))

    def plain(self, typed: str) -> str:
        """Convert a typed number to the programs' format; a decimal point is accepted in every language.

        ``1.500 MB`` is fifteen hundred if the point separates thousands, ``1.5 MB`` one and a half
        everywhere.
        """
        grouped = rf"(?<!\d)\d{{1,3}}(?:{re.escape(self.group)}\d{{3}})+(?!\d)"
        whole = re.sub(grouped, lambda found: found[0].replace(self.group, ""), typed)
        return re.sub(rf"(?<=\d){re.escape(self.decimal)}(?=\d)", ".", whole)


NUMBER_FORMATS: Final = {
    "en": NumberFormat(),
    "de": NumberFormat(",", "."),
}
"""By language; all others use the English signs."""


class _Formatter(string.Formatter):
    """Fills in values: numbers with a format specification in a language's signs, all others unchanged.

    A number without a format specification is a count below a thousand, or a typed or stored value shown
    unchanged.
    """

    def __init__(self, numbers: NumberFormat) -> None:
        self._numbers = numbers

    def convert_field(self, value: object, conversion: str | None) -> object:  # type: ignore[explicit-override]  # root
        return shell_word(str(value)) if conversion == "q" else super().convert_field(value, conversion)

    def format_field(self, value: object, format_spec: str) -> str:  # type: ignore[explicit-override]  # root
        written = format(value, format_spec)
        return self._numbers.localise(written) if format_spec and isinstance(value, Real) else written


class Sentence(str):
    """A sentence whose `format` uses `_Formatter`."""

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
