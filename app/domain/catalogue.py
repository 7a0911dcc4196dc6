"""Read catalogues of translations: GNU gettext's .po files, without compiling them.

Compiled ones (.mo) would have to be rebuilt after every change, by everyone who starts the program from a
checkout, and a stale one would go unnoticed. Reading 4,400 messages takes about 25 ms, once, and only for a
language other than English. Source of the format: GNU gettext manual, "PO Files".
"""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PLURAL: Final = re.compile(r"plural\s*=\s*([^;\n]+)")
_FIELD: Final = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d)\])?\s*(?=")')
_CONTEXT_END: Final = "\4"
"""Separates context and message, as in a compiled catalogue."""


class CatalogueError(ValueError):
    """A file is no catalogue; the text gives the line."""


@dataclass(slots=True)
class _Entry:
    """A message while its lines are read.

    Attributes:
        fields: of the entry by their keyword, translations by their number.
        is_fuzzy: whether it is an unreviewed guess, which is not used.
    """

    fields: dict[str, str] = field(default_factory=dict)
    is_fuzzy: bool = False


@dataclass(frozen=True, slots=True)
class TranslatedMessage:
    """A message with its translations.

    Attributes:
        source: the English text.
        plural: the English plural; empty if there is none.
        context: distinguishes equal words; empty for none.
        translations: one, or those of each plural form; an empty one is missing.
        is_fuzzy: whether it is an unreviewed guess.
    """

    source: str
    plural: str
    context: str
    translations: tuple[str, ...]
    is_fuzzy: bool = False


def read_messages(text: str) -> Iterator[TranslatedMessage]:
    """Yield the messages of a catalogue, its header first (its source is empty).

    Raises:
        CatalogueError: a line is invalid.
    """
    entry, last = _Entry(), ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        found = _FIELD.match(stripped)
        if stripped.startswith("#") or not stripped or (found and found[1] in {"msgid", "msgctxt"}):
            # what begins an entry ends the one before, with or without a blank line
            if "msgstr0" in entry.fields:
                yield _message(entry)
                entry = _Entry()
            entry.is_fuzzy |= stripped.startswith("#,") and "fuzzy" in stripped
            if found is None:
                continue
        if found:
            last = found[1] + ((found[2] or "0") if found[1] == "msgstr" else "")
            stripped = stripped[found.end() :]
            entry.fields[last] = ""
        if not last:
            raise CatalogueError(f"line {number}: {stripped[:60]!r}")
        entry.fields[last] += _unquoted(stripped, number)
    if "msgstr0" in entry.fields:
        yield _message(entry)


def _unquoted(quoted: str, number: int) -> str:
    if len(quoted) < 2 or quoted[0] != '"' or quoted[-1] != '"':
        raise CatalogueError(f"line {number}: {quoted[:60]!r}")
    if "\\" not in quoted:
        return quoted[1:-1]
    try:
        return str(ast.literal_eval(quoted))
    except (SyntaxError, ValueError) as err:
        raise CatalogueError(f"line {number}: {quoted[:60]!r}") from err


def _message(entry: _Entry) -> TranslatedMessage:
    fields = entry.fields
    translations: list[str] = []
    while (name := f"msgstr{len(translations)}") in fields:
        translations.append(fields[name])
    return TranslatedMessage(
        fields.get("msgid", ""),
        fields.get("msgid_plural", ""),
        fields.get("msgctxt", ""),
        tuple(translations),
        entry.is_fuzzy,
    )


def _germanic_form(count: int) -> int:
    """Return the plural form of English and similar languages: 0 for one, 1 for all others."""
    return int(count != 1)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Translations into one language; missing ones stay English.

    The root helper imports this too, so it only uses the standard library.

    Attributes:
        translations: those of each plural form, by message (after its context, if it has one).
        plural_form: the number of the form for a count.
    """

    translations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plural_form: Callable[[int], int] = _germanic_form

    def gettext(self, message: str) -> str:
        """Return the translation of a message."""
        found = self.translations.get(message)
        return found[0] if found else message

    def ngettext(self, one: str, many: str, count: int) -> str:
        """Return the translation for a count."""
        found = self.translations.get(one)
        form = self.plural_form(count)
        if found and form < len(found) and found[form]:
            return found[form]
        return one if count == 1 else many

    def pgettext(self, context: str, message: str) -> str:
        """Return the translation of a message in a context."""
        found = self.translations.get(f"{context}{_CONTEXT_END}{message}")
        return found[0] if found else message


def read_catalogue(path: Path) -> Catalogue:
    """Read a catalogue.

    Raises:
        CatalogueError: it is invalid.
        OSError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise CatalogueError("it is not UTF-8") from err
    translations: dict[str, tuple[str, ...]] = {}
    plural_form: Callable[[int], int] = _germanic_form
    for message in read_messages(text):
        if not message.source:
            rule = _PLURAL.search(message.translations[0])
            plural_form = plural_form if rule is None else _plural_rule(rule[1])
        elif message.translations[0] and not message.is_fuzzy:
            prefix = message.context + _CONTEXT_END if message.context else ""
            translations[prefix + message.source] = message.translations
    return Catalogue(translations, plural_form)


def _plural_rule(rule: str) -> Callable[[int], int]:
    """Return the function for gettext's plural rule, a C expression.

    Raises:
        CatalogueError: it is invalid.
    """
    try:
        return gettext.c2py(rule)
    except ValueError as err:
        raise CatalogueError(f"no rule for plurals: {rule[:60]!r}") from err
