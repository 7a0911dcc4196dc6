"""Translation and formatting of every sentence and number for people.

The language is fixed when the process starts, because texts are translated where they are declared:
`LANGUAGE_VARIABLE` (the program's own setting), else LANGUAGE, LC_ALL, LC_MESSAGES and LANG as usual.
Messages without a translation stay English; an unreadable catalogue is reported on standard error, once, and
everything stays English.
"""

from __future__ import annotations

import ast
import gettext
import os
import re
import shlex
import string
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Final

from app import COMMAND, TOP
from app.domain.quoting import shell_word

# Catalogues of translations as translators write them: GNU gettext's .po files, without a compiled copy.
#
# A checkout has no build step in which a compiled copy (.mo) could be made, and a stale one would go
# unnoticed. Reading takes some 25 ms, once, where a language other than English is asked for. The root helper
# imports this too, with nothing but the standard library. Source of the format: GNU gettext manual, "PO
# Files".


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


# Names of our commands for this installation: packaging/run, a package or a wheel.
#
# Sentences name them as ``pgfooting COMMAND``, ``packaging/run`` and ``sudo packaging/helper``;
# `name_commands` replaces these by commands that work here.


CALLED_VARIABLE: Final = "PGFOOTING_COMMAND"
"""The command line name used for packaging/run or the installed command."""

PACKAGED: Final = Path("/usr/share/pgfooting")
"""Folder of the program in the package (packaging/deb)."""

SPOKEN: Final = re.compile(rf"(?<![\w./-]){COMMAND}(?= (?:--)?(?P<word>[a-z]+))")
"""The command in a sentence, with the command or option that follows it."""

PIPX_MARK: Final = "pipx_metadata.json"
"""File that pipx leaves in each of its environments."""

_INSTALL: Final = "sudo packaging/helper install"
_STATUS: Final = "sudo packaging/helper status"


def called(environment: Mapping[str, str]) -> str:
    """Return the command as the user has to type it in a shell."""
    name = environment.get(CALLED_VARIABLE, "")
    # Sentences get their values afterwards, so that braces would be taken for places of values.
    return shlex.quote(name) if name.isprintable() and not {"{", "}"} & set(name) and name else COMMAND


@cache
def wheel_installer(prefix: str = sys.prefix) -> str:
    """Return the command that installs the window's dependencies, with pip or pipx as for the program.

    Args:
        prefix: the environment that it runs in.
    """
    # Every start imports this module, and only a wheel without its window asks.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        required = distribution(COMMAND).requires or ()
    except PackageNotFoundError:
        required = ()
    wanted = [each.partition(";")[0].strip() for each in required if 'extra == "window"' in each]
    by_pipx = Path(prefix, PIPX_MARK).exists()
    # Sentences get their values afterwards, see `called`.
    python = "python3" if {"{", "}"} & set(sys.executable) else sys.executable
    command = ["pipx", "inject", COMMAND] if by_pipx else [python, "-m", "pip", "install"]
    return shlex.join([*command, *wanted])


def name_commands(environment: Mapping[str, str], top: Path = TOP) -> Callable[[str], str]:
    """Return a function that puts the commands of this installation into sentences.

    Args:
        environment: of this process.
        top: the folder of the program.
    """
    name = called(environment)
    helper = {
        _INSTALL: "sudo apt-get install pgfooting-helper",
        _STATUS: "systemctl status pgfooting-helper",
    }
    # A wheel has no root part and does not say how it was started: root's part comes as a package.
    is_wheel = not environment.get(CALLED_VARIABLE) and not (top / "packaging" / "helper").exists()
    if top == PACKAGED:
        helper["packaging/run"] = "apt-get install pgfooting"
    elif is_wheel:
        pass
    elif not environment.get(CALLED_VARIABLE) or {"{", "}"} & set(environment[CALLED_VARIABLE] + str(top)):
        return lambda sentence: sentence
    else:
        command = environment[CALLED_VARIABLE]
        folder = Path(command).parent if "/" in command else top / "packaging"
        script, run = shlex.quote(str(folder / "helper")), shlex.quote(str(folder / "run"))
        helper = {_INSTALL: f"sudo {script} install", _STATUS: f"sudo {script} status", "packaging/run": run}

    def with_names(sentence: str) -> str:
        if COMMAND not in sentence and "packaging/" not in sentence:
            return sentence
        for spoken, works in helper.items():
            sentence = sentence.replace(spoken, works)
        if is_wheel and "packaging/run" in sentence:
            sentence = sentence.replace("packaging/run", wheel_installer())
        return SPOKEN.sub(lambda _: name, sentence)

    return with_names


# Format values in sentences: numbers for a language, words of a command for a shell.
#
# For people only. Output for programs (files, --json, commands) uses the point and no other sign. Source:
# Unicode CLDR, "Number Symbols"; tests/gui/test_number_format.py compares with Qt's copy of it. The root
# helper imports this too, so it only uses the standard library: it has no `override`.


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


def titled(text: str) -> str:
    """Return a text with a capital letter first."""
    return text[:1].upper() + text[1:]


def quoted(text: str) -> str:
    """Return a text in the quotation marks of the user's language."""
    return tr("“{name}”").format(name=text)


def trn(one: str, many: str, count: int) -> str:
    """Return `one` for a count of 1 and `many` for others, in the user's language with its plural forms.

    Formatted afterwards, as with `tr`: ``trn("{count} run", "{count} runs", 3).format(count=3)``.
    """
    return _sentence(_catalogue.ngettext(one, many, count))


# Sizes and durations for people; `app.campaign_file.kinds` reads what they write.


KIB: Final = 1024
MIB: Final = 1024**2
GIB: Final = 1024**3
TIB: Final = 1024**4


def format_size(size_bytes: float) -> str:
    """Return a size for people with three significant digits and a binary unit, such as ``1.46 GiB``."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 999.5:  # from there on three digits would be written 1e+03
            return f"{number_text(value, '.3g')} {unit}"
        value /= KIB
    return f"{number_text(value, '.3g')} TiB" if abs(value) < 999.5 else f"{number_text(value, '.0f')} TiB"


def format_duration(seconds: float) -> str:
    """Return ``mm:ss``, or ``h:mm:ss`` from one hour on."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes:02}:{secs:02}"
