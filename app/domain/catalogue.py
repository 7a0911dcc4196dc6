"""Catalogues of translations as translators write them: GNU gettext's .po files, without a compiled copy.

A checkout has no build step in which a compiled copy (.mo) could be made, and a stale one would go unnoticed.
Reading takes some 25 ms, once, where a language other than English is asked for. The root helper imports
this too, with nothing but the standard library. Source of the format: GNU gettext manual, "PO Files".
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
_FIELD: Final = re.compile(r'^(msgid|msgid_plural|msgstr)(?:\[\d\])? ((?:".*"\n)+)', re.MULTILINE)
_COMMENT: Final = re.compile(r"^#.*\n", re.MULTILINE)
_FUZZY: Final = re.compile(r"^#,.*\bfuzzy\b", re.MULTILINE)
_GERMANIC: Final = gettext.c2py("n != 1")


@dataclass(frozen=True, slots=True)
class TranslatedMessage:
    """A message with its translations.

    Attributes:
        source: the English text.
        plural: the English text for several; empty where there is none.
        translations: one, or those of each plural form; an empty one is missing.
        is_fuzzy: whether it is a guess that has not been checked: it is not used.
    """

    source: str
    plural: str
    translations: tuple[str, ...]
    is_fuzzy: bool


def read_messages(text: str) -> Iterator[TranslatedMessage]:
    """Yield the messages of a catalogue, its header first (its source is empty).

    Raises:
        ValueError: a line is not part of a catalogue.
        SyntaxError: a line has an invalid escape sequence or quote.
    """
    for entry in re.split(r"\n\n+", text):
        lines = _COMMENT.sub("", f"{entry}\n")
        fields: dict[str, list[str]] = {"msgid": [], "msgid_plural": [], "msgstr": []}
        for name, quoted in _FIELD.findall(lines):
            fields[name].append(_unquoted(quoted))
        if _FIELD.sub("", lines).strip() or len(fields["msgid"]) != bool(fields["msgstr"]):
            raise ValueError(f"{lines[:60]!r}")
        if fields["msgid"]:
            plural = "".join(fields["msgid_plural"])
            is_fuzzy = _FUZZY.search(entry) is not None
            yield TranslatedMessage(fields["msgid"][0], plural, tuple(fields["msgstr"]), is_fuzzy)


def _unquoted(quoted: str) -> str:
    text = "".join(line[1:-1] for line in quoted.splitlines())
    return str(ast.literal_eval(f'"{text}"')) if "\\" in text else text


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Translations into one language; what is missing stays English, and of an empty one all does.

    Attributes:
        translations: those of each plural form, by message.
        plural_form: the number of the form for a count.
    """

    translations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plural_form: Callable[[int], int] = _GERMANIC

    def gettext(self, message: str) -> str:
        """Return the translation of a message."""
        return self.translations.get(message, (message,))[0]

    def ngettext(self, one: str, many: str, count: int) -> str:
        """Return the translation for a count."""
        form = self.translations.get(one, ())[self.plural_form(count) :][:1]
        return "".join(form) or (one if count == 1 else many)


def read_catalogue(path: Path) -> Catalogue:
    """Return the catalogue of a file.

    Raises:
        OSError: it cannot be read.
        ValueError: the file is not a catalogue.
        SyntaxError: a line has an invalid escape sequence or quote.
    """
    header, *messages = read_messages(path.read_text(encoding="utf-8"))
    rule = _PLURAL.search(header.translations[0])
    translations = {
        each.source: each.translations for each in messages if each.translations[0] and not each.is_fuzzy
    }
    return Catalogue(translations, gettext.c2py(rule[1]) if rule else _GERMANIC)
