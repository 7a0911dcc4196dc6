"""Translate English sentences in files into the user's language.

Run files contain reasons as the recording process wrote them: an example, a colleague's run or one measured
over ssh may be in English. A sentence of this program is looked up in the catalogue, with its values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from string import Formatter
from typing import Final

from app.domain.text import own_translations

_FEWEST_LETTERS: Final = 12
"""Minimum of own letters in a sentence with values: a shorter one could be any text."""
_MOST_LETTERS: Final = 500
_MOST_VALUES: Final = 4
"""Files are not trusted: longer sentences, or more values, could make matching too slow."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A sentence with values.

    Attributes:
        texts: the parts between its values, which are searched first.
        expression: matches the sentence and names its values; compiled only after its texts were found.
        translation: with the same names.
    """

    texts: tuple[str, ...]
    expression: str
    translation: str

    @property
    def weight(self) -> int:
        """Number of its own characters."""
        return sum(map(len, self.texts))

    def values_in(self, text: str) -> dict[str, str] | None:
        """Return the values by name; None for another sentence."""
        if not all(each in text for each in self.texts):
            return None
        match = re.fullmatch(self.expression, text, re.DOTALL)
        return None if match is None else match.groupdict()


@lru_cache(maxsize=4096)
def retold(text: str) -> str:
    """Translate an English sentence of this program into the user's language; return other texts unchanged.

    Values stay as they were written.
    """
    exact = own_translations().get(text)
    if exact:
        return exact[0]
    if len(text) > _MOST_LETTERS:
        return text
    fitting = ((each, each.values_in(text)) for each in _patterns())
    known = [(each, values) for each, values in fitting if values is not None]
    if not known:
        return text
    pattern, values = max(known, key=lambda each: each[0].weight)
    return _filled(pattern.translation, values) or text


@cache
def _patterns() -> tuple[_Pattern, ...]:
    made = (
        _pattern(source, translations[0])
        for source, translations in own_translations().items()
        if "{" in source and len(translations) == 1
    )
    return tuple(each for each in made if each is not None)


def _pattern(source: str, translation: str) -> _Pattern | None:
    """Return the pattern of a sentence with named values; None without values or with too little text."""
    pieces, texts = [], []
    names: set[str] = set()
    try:
        parsed = list(Formatter().parse(source))
    except ValueError:  # braces that are text
        return None
    for text, name, _, _ in parsed:
        pieces.append(re.escape(text))
        texts.append(text)
        if name is None:
            continue
        if not name.isidentifier():
            return None
        pieces.append(f"(?P={name})" if name in names else f"(?P<{name}>.+?)")
        names.add(name)
    made = _Pattern(tuple(texts), "".join(pieces), translation)
    return made if 0 < len(names) <= _MOST_VALUES and made.weight >= _FEWEST_LETTERS else None


def _filled(translation: str, values: dict[str, str]) -> str:
    """Fill values that are texts already into a translation; empty if it has other names."""
    told = []
    for text, name, _, _ in Formatter().parse(translation):
        told.append(text)
        if name is not None:
            if name not in values:
                return ""
            told.append(retold(values[name]))
    return "".join(told)
