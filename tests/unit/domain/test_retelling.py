"""Sentences that files hold in English, read in another language."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app import TOP

TOLD = """
import sys
from app.domain.messages.retelling import retold
sys.stdout.write("\\n".join(map(retold, sys.argv[1:])))
"""
EXAMPLE = """
from app.analysis.facts import kept_run_facts
from app.library.entries import find_examples
for path in find_examples():
    for pair in kept_run_facts(path).unavailable:
        print(*pair)
"""


def said(language: str, code: str, *words: str) -> str:
    """Return what a process of another language prints."""
    found = subprocess.run(
        (sys.executable, "-P", "-c", code, *words),
        env=os.environ | {"PGFOOTING_LANGUAGE": language, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


def read_in(language: str, *texts: str) -> list[str]:
    """Return what a process of another language makes of English texts of this program."""
    return said(language, TOLD, *texts).split("\n")


def test_a_sentence_of_the_program_is_told_in_the_language_of_the_reader() -> None:
    (told,) = read_in("de", "the data directory does not lie on btrfs")
    assert told == "das Datenverzeichnis liegt nicht auf btrfs"


def test_values_of_a_sentence_stay_as_they_were_written() -> None:
    (told,) = read_in("de", "the mount of /srv/pg {x} 16 cannot be found")
    assert "/srv/pg {x} 16" in told
    assert "cannot be found" not in told


def test_what_is_longer_than_any_sentence_is_not_looked_at() -> None:
    text = f"the mount of {'/x' * 300} cannot be found"
    assert read_in("de", text) == [text]


@pytest.mark.parametrize("text", ["", "No such device", "{", "was nobody's sentence: 12 of 13"])
def test_texts_of_others_stay_as_they_are(text: str) -> None:
    assert read_in("de", text) == [text]


def test_english_readers_get_what_was_written() -> None:
    text = "the mount of /srv cannot be found"
    assert read_in("en", text) == [text]


def test_what_the_example_leaves_out_is_told_in_german() -> None:
    found = said("de", EXAMPLE)
    assert found.count("nichts davon wurde aufgezeichnet") == 4
    assert "of this example" not in found
    assert "recorded" not in found
