"""Every catalogue: values, keys of the keyboard and blanks are those of the English text, without markup."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from app.campaign_file.recipes.head import list_recipes
from app.domain.text import (
    ENGLISH,
    NUMBER_FORMATS,
    TranslatedMessage,
    catalogue_path,
    languages,
    read_messages,
)
from tests.house import modules, said_in, source_of

CATALOGUES = [name for name in languages() if name != ENGLISH]
TOP = Path(__file__).resolve().parents[2]
SAYING = {"tr", "trn"}
_VALUE = re.compile(r"\{[^{}]*\}")
_MNEMONIC = re.compile(r"&(?=\w)")
_TAG = re.compile(r"</?[a-z]+[^>]*>")
_CODE = re.compile(r"`[^`]*`")


@cache
def messages(language: str) -> list[TranslatedMessage]:
    """Return those that have a translation that is used."""
    text = catalogue_path(language).read_text(encoding="utf-8")
    found = [each for each in read_messages(text) if each.source and not each.is_fuzzy]
    return [each for each in found if each.translations[0]]


def pairs(language: str) -> list[tuple[str, str]]:
    """Return English texts with their translations; of plurals each form with the text for several."""
    found = []
    for each in messages(language):
        if not each.plural:
            found.append((each.source, each.translations[0]))
        else:
            found += [(each.plural, form) for form in each.translations[1:]]
    return found


def inside_of_texts(source: str) -> list[int]:
    """Return the lines in which a text is translated inside of an f-string."""
    return [
        call.lineno
        for text in ast.walk(ast.parse(source))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in SAYING
    ]


def said_by_program() -> Iterator[str]:
    """Yield every text that the program or the head of a recipe translates."""
    for call in itertools.chain.from_iterable(map(said_in, modules().values())):
        yield from (str(each.value) for each in call.args[:1] if isinstance(each, ast.Constant))
    for recipe in list_recipes():
        yield from (recipe.summary, recipe.head.question)
        if recipe.head.quick:
            yield recipe.head.quick.cannot_show
        if recipe.head.server:
            yield from recipe.head.server.prepare


def test_german_complete_each_once() -> None:
    known = Counter(each.source for each in messages("de"))
    assert [text for text, count in known.items() if count > 1] == []
    assert [text for text in said_by_program() if text not in known] == []


def test_no_translation_nested_where_xgettext_misses() -> None:
    assert inside_of_texts("a = tr('x')\nb = f'{a} {tr(\"y\")}'") == [2]
    sources = {name: source_of(path) for name, path in modules().items()}
    maybe = {path: source for path, source in sources.items() if re.search(r"\{[^{}]*\btr[nc]?\(", source)}
    found = {path: inside_of_texts(source) for path, source in maybe.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("language", CATALOGUES)
def test_translation_keeps_placeholders(language: str) -> None:
    wrong = [
        (source, translated)
        for source, translated in pairs(language)
        if Counter(_VALUE.findall(source)).keys() != Counter(_VALUE.findall(translated)).keys()
    ]
    assert wrong == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_translation_keeps_mnemonic(language: str) -> None:
    wrong = [
        (source, translated)
        for source, translated in pairs(language)
        if len(_MNEMONIC.findall(source)) != len(_MNEMONIC.findall(translated))
    ]
    assert wrong == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_translation_keeps_leading_and_trailing_text(language: str) -> None:
    """Blanks and line ends at the edges join pieces; a period ends a sentence."""

    def edges(text: str) -> tuple[str, str]:
        return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]

    assert [
        (source, translated) for source, translated in pairs(language) if edges(source) != edges(translated)
    ] == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_translation_adds_no_markup_keeps_code(language: str) -> None:
    wrong = []
    for source, translated in pairs(language):
        brought = set(_TAG.findall(translated)) - set(_TAG.findall(source))
        typed = Counter(_CODE.findall(source)) - Counter(_CODE.findall(translated))
        if brought or typed:
            wrong.append((source, translated))
    assert wrong == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_plural_forms_complete(language: str) -> None:
    text = catalogue_path(language).read_text(encoding="utf-8")
    header = next(read_messages(text)).translations[0]
    count = re.search(r"nplurals=(\d)", header)
    assert count is not None
    assert {len(each.translations) for each in messages(language) if each.plural} <= {int(count[1])}
    assert f"Language: {language}\n" in header


@pytest.mark.parametrize("language", CATALOGUES)
def test_no_escapes_unknown_to_gettext(language: str) -> None:
    """xgettext leaves ``\\u00a0`` as it is: the message in the catalogue is then none of the program's."""
    text = catalogue_path(language).read_text(encoding="utf-8")
    assert [each.source for each in read_messages(text) if re.search(r"\\[uN][0-9a-f{]", each.source)] == []


_ENGLISH_NUMBER = re.compile(
    r"(?<![\w.,\"{-])(?:\d+\.\d+(?=\s?(?:%|ms|s\b|:1|[KMGT]?i?B\b))|\d{1,3}(?:,\d{3})+(?![\w,]))"
)


@pytest.mark.parametrize("language", CATALOGUES)
def test_numbers_localized(language: str) -> None:
    assert NUMBER_FORMATS[language].decimal == ","
    translated = [text for each in messages(language) for text in each.translations if each.source]
    assert [text for text in translated if _ENGLISH_NUMBER.search(text)] == []
