"""Languages: which one a process speaks, catalogues as gettext reads them, and none that breaks anything."""

from __future__ import annotations

import gettext
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.text import (
    ENGLISH,
    LANGUAGE_VARIABLE,
    OWN_NAMES,
    TRANSLATIONS,
    catalogue_path,
    languages,
    load,
    read_catalogue,
    read_messages,
    wanted_language,
)

TOP = Path(__file__).resolve().parents[3]
SAMPLE = TOP / "tests" / "data" / "catalogues" / "sample.po"
KNOWN = ("en", "cs", "de", "pt_BR")


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LANG": "de_AT.UTF-8@euro"}, "de"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "cs_CZ.UTF-8"}, "cs"),
        ({"LC_MESSAGES": "cs_CZ.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "de"}, "de"),
        ({"LANGUAGE": "fr:cs:de"}, "cs"),
        ({"LANGUAGE": "en_GB:de"}, "en"),
        ({"LANGUAGE": "pt_BR:de"}, "pt_BR"),
        ({"LANGUAGE": "pt_PT"}, "en"),
        ({"LANG": "de_DE.UTF-8", LANGUAGE_VARIABLE: "cs"}, "cs"),
        ({"LANG": "de_DE.UTF-8", LANGUAGE_VARIABLE: "en"}, "en"),
        ({"LANG": "de_DE.UTF-8", LANGUAGE_VARIABLE: "tlh"}, "de"),
        ({"LANG": "../../etc"}, "en"),
    ],
)
def test_language_first_available(environment: dict[str, str], language: str) -> None:
    assert wanted_language(environment, KNOWN) == language


def test_languages_have_own_names() -> None:
    assert languages()[0] == ENGLISH
    assert set(languages()) == set(OWN_NAMES)
    assert "de" in languages()
    assert languages(TOP / "no such folder") == (ENGLISH,)


def test_catalogue_equals_gettext() -> None:
    ours = read_catalogue(SAMPLE)
    with SAMPLE.with_suffix(".mo").open("rb") as stream:
        theirs = gettext.GNUTranslations(stream)
    messages = list(read_messages(SAMPLE.read_text(encoding="utf-8")))
    assert len(messages) == 7
    for message in messages[1:]:
        if not message.plural:  # of those versions of Python say different things
            assert ours.gettext(message.source) == theirs.gettext(message.source)
        for count in range(30 if message.plural else 0):
            words = (message.source, message.plural, count)
            assert ours.ngettext(*words) == theirs.ngettext(*words)
    assert ours.gettext("a guess") == "a guess", "what nobody has looked at is not used"
    assert ours.gettext("obsolete") == "obsolete"
    assert ours.ngettext("{count} run", "{count} runs", 3) == "{count} běhy"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe not UTF-8",
        b"no catalogue",
        b'msgid "cut off',
        b'msgid "a"\nmsgstr "b" c',
        b'msgid "a"\nmsgstr "\\',
        b'msgid "a"\nmsgstr "\\"',
        b'msgid "a"',
        b"",
        b'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=__import__(1);\\n"',
    ],
)
def test_broken_catalogue_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = catalogue_path("de", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises((ValueError, SyntaxError)):
        read_catalogue(path)
    assert load("de", tmp_path).gettext("a") == "a"
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert f"The catalogue {path} cannot be read" in errors


def test_missing_and_vanished_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "de").mkdir()
    assert languages(tmp_path) == (ENGLISH,)
    assert load("de", tmp_path).gettext("a") == "a"
    assert "cannot be read" in capsys.readouterr().err


def test_language_of_environment() -> None:
    def printed(**environment: str) -> str:
        argv = (sys.executable, "-P", "-m", "app", "list", "--help")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LANG", "LC_"))}
        found = subprocess.run(
            argv, cwd=TOP, env=kept | environment, capture_output=True, text=True, check=True
        )
        return found.stdout

    english = printed()
    assert printed(LC_ALL="C") == english
    german = printed(LANGUAGE="de")
    catalogue = read_catalogue(catalogue_path("de", TRANSLATIONS))
    for sentence in ("only runs that match these", "print a JSON array"):
        assert sentence in english
        assert " ".join(catalogue.gettext(sentence).split()) in " ".join(german.split())
