"""Translation and formatting of every sentence and number for people.

The language is fixed when the process starts, because texts are translated where they are declared:
`LANGUAGE_VARIABLE` (the program's own setting), else LANGUAGE, LC_ALL, LC_MESSAGES and LANG as usual.
Messages without a translation stay English; an unreadable catalogue is reported on standard error, once, and
everything stays English.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from app import COMMAND, TOP
from app.domain.catalogue import Catalogue, read_catalogue
from app.domain.command_names import called, name_commands
from app.domain.number_format import NUMBER_FORMATS, QUOTED, NumberFormat, Sentence

TRANSLATIONS: Final = TOP / "resources" / "translations"
LANGUAGE_VARIABLE: Final = "PGFOOTING_LANGUAGE"
ENGLISH: Final = "en"
OWN_NAMES: Final = {ENGLISH: "English", "de": "Deutsch"}
"""Names of languages in themselves."""

_ENGLISH_LOCALES: Final = frozenset({"", "C", "POSIX"})


def catalogue_path(language: str, folder: Path = TRANSLATIONS) -> Path:
    """Return the path of a language's catalogue."""
    return folder / language / "LC_MESSAGES" / "pgfooting.po"


def languages(folder: Path = TRANSLATIONS) -> tuple[str, ...]:
    """Return the available languages, English first."""
    try:
        found = sorted(each.name for each in folder.iterdir() if catalogue_path(each.name, folder).exists())
    except OSError:
        found = []
    return (ENGLISH, *found)


def wanted_language(environment: Mapping[str, str], known: tuple[str, ...]) -> str:
    """Return the requested language if it is available, else English.

    LANGUAGE may list several, separated by colons; the first available one counts, including English.
    """
    for name in _locales(environment):
        if name in _ENGLISH_LOCALES:
            return ENGLISH
        for candidate in (name, name.partition("_")[0]):
            if candidate in known:
                return candidate
    return ENGLISH


def _locales(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield names of requested locales in order, without encodings and modifiers."""
    for variable in (LANGUAGE_VARIABLE, "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = environment.get(variable, "")
        if value:
            for each in value.split(":"):
                yield each.partition(".")[0].partition("@")[0]
            if variable != LANGUAGE_VARIABLE:
                return  # as in any other program, the first variable that is set decides


def load(language: str, folder: Path = TRANSLATIONS) -> Catalogue:
    """Return the catalogue of a language; an empty one for English and unavailable languages."""
    if language == ENGLISH:
        return Catalogue()
    path = catalogue_path(language, folder)
    try:
        return read_catalogue(path)
    except (OSError, ValueError, SyntaxError) as err:
        sys.stderr.write(f"{COMMAND}: The catalogue {path} cannot be read ({err}): all is in English.\n")
        return Catalogue()


LANGUAGE: Final = wanted_language(os.environ, languages())
"""Language of this process."""

_catalogue: Final = load(LANGUAGE)
_numbers: Final = NUMBER_FORMATS.get(LANGUAGE, NumberFormat())

CALLED: Final = called(os.environ)
"""The command as the user has to type it: as this process was started."""

_with_command_names: Final = name_commands(os.environ)


def _sentence(translated: str) -> str:
    """Return a sentence with the commands and numbers of this installation."""
    replaced = _with_command_names(translated)
    return replaced if _numbers.is_english and QUOTED not in replaced else Sentence.of(replaced, _numbers)


def number_text(value: float, form: str) -> str:
    """Format a number for people, with the signs of the user's language.

    Sentences do the same with the numbers that they are formatted with; output for programs uses `format`.

    Args:
        value: the number.
        form: a format specification of Python, such as ``,.1f``.
    """
    return _numbers.write(value, form)


def plain_number(typed: str) -> str:
    """Convert a typed number: a point before fractions and nothing between thousands."""
    return _numbers.plain(typed)


def tr(message: str) -> str:
    """Return `message` in the user's language, or unchanged without a translation.

    Sentences with values are translated first and formatted afterwards: ``tr("{count}
    runs").format(count=3)``.
    """
    return _sentence(_catalogue.gettext(message))


def trn(one: str, many: str, count: int) -> str:
    """Return `one` for a count of 1 and `many` for others, in the user's language with its plural forms.

    Formatted afterwards, as with `tr`: ``trn("{count} run", "{count} runs", 3).format(count=3)``.
    """
    return _sentence(_catalogue.ngettext(one, many, count))
