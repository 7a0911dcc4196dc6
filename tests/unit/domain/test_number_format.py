"""Numbers as languages write them, and what is typed in one of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.campaign_file.kinds import parse_size
from app.domain.text import LANGUAGE_VARIABLE, NUMBER_FORMATS, NumberFormat, Sentence, languages

TOP = Path(__file__).resolve().parents[3]
GERMAN, SPACED = NUMBER_FORMATS["de"], NumberFormat(",", "\N{NO-BREAK SPACE}")
FINITE = st.floats(-1e15, 1e15)
FORMS = st.sampled_from([",.0f", ",.1f", ",.3f", ".3g", "+.1f", ",", ".2f"])
formats = pytest.mark.parametrize(
    "numbers", [*NUMBER_FORMATS.values(), SPACED], ids=[*NUMBER_FORMATS, "spaced"]
)


def test_languages_have_number_formats() -> None:
    assert set(languages()) <= set(NUMBER_FORMATS)


def test_numbers_are_written_as_the_language_does() -> None:
    written = {name: numbers.write(4058.986, ",.3f") for name, numbers in NUMBER_FORMATS.items()}
    assert written == {"en": "4,058.986", "de": "4.058,986"}
    assert SPACED.write(4058.986, ",.3f") == "4\N{NO-BREAK SPACE}058,986"


@formats
@given(value=FINITE, form=FORMS)
def test_only_separators_depend_on_language(numbers: NumberFormat, value: float, form: str) -> None:
    written = numbers.write(value, form)
    assert re.findall(r"[\d+e-]", written) == re.findall(r"[\d+e-]", format(value, form))


@formats
@given(value=FINITE, form=st.sampled_from([",.0f", ",.1f", ",.3f", ".2f"]))
def test_what_is_shown_can_be_typed(numbers: NumberFormat, value: float, form: str) -> None:
    assert float(numbers.plain(numbers.write(value, form))) == float(format(value, form).replace(",", ""))


@pytest.mark.parametrize(
    ("numbers", "typed", "size"),
    [
        (GERMAN, "1,5 MiB", 3 << 19),
        (GERMAN, "1.5 MiB", 3 << 19),
        (GERMAN, "1.500 kB", 1_500_000),
        (GERMAN, "131.072", 131_072),
        (GERMAN, "1.048.576 B", 1 << 20),
        (SPACED, "1,5 MiB", 3 << 19),
        (SPACED, "131\N{NO-BREAK SPACE}072", 131_072),
        (SPACED, "8 KiB", 8 << 10),
        (NUMBER_FORMATS["en"], "1.5 MiB", 3 << 19),
    ],
)
def test_sizes_may_be_typed_in_the_language(numbers: NumberFormat, typed: str, size: int) -> None:
    assert parse_size(numbers.plain(typed)) == size


def test_sentence_formats_numbers_only() -> None:
    sentence = Sentence.of("{tps:,.0f} TPS, {ms:.3g} ms, {count} of {name} {rest:>6} {typed} {}", GERMAN)
    message = sentence.format("1,000.5", tps=4058.2, ms=0.986, count=3, name="a.b", rest="c,d", typed=0.5)
    assert message == "4.058 TPS, 0,986 ms, 3 of a.b    c,d 0.5 1,000.5"


def test_nested_format_spec() -> None:
    assert Sentence.of("{value:,.{decimals}f}", GERMAN).format(value=1234.56, decimals=1) == "1.234,6"


EXAMPLE = sorted(map(str, (TOP / "resources" / "examples" / "vondra-2022").glob("*.footing")))


@pytest.mark.long
@pytest.mark.parametrize("language", sorted(NUMBER_FORMATS))
def test_people_read_numbers_of_their_language(language: str) -> None:
    numbers = NUMBER_FORMATS[language]
    table = _printed(language, "list", "--library", str(TOP / "resources" / "examples"))
    assert numbers.write(7079, ",.0f") in table
    assert _printed(language, "compare", *EXAMPLE).count(numbers.write(14.8, ".1f")) > 1


@pytest.mark.long
@pytest.mark.parametrize("language", ["de"])
def test_csv_and_json_language_independent(language: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{each}.{ending}" for ending in ("csv", "json") for each in (language, "en")]
    for file in files:
        _printed(file.stem, "export", "--output", str(file), EXAMPLE[0])
    assert files[0].read_text() == files[1].read_text()
    document = [json.loads(file.read_text()) for file in files[2:]]
    document += [json.loads(_printed(each, "compare", "--json", *EXAMPLE)) for each in (language, "en")]
    numbers = [list(_numbers_in(each)) for each in document]
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]


def _numbers_in(value: object) -> Iterator[float]:
    match value:
        case dict():
            for each in value.values():
                yield from _numbers_in(each)
        case list():
            for each in value:
                yield from _numbers_in(each)
        case int() | float():
            yield value
        case _:
            pass


def _printed(language: str, *words: str) -> str:
    """Return what the command prints in a language."""
    return subprocess.run(
        [sys.executable, "-m", "app", *words],
        capture_output=True,
        text=True,
        env={**os.environ, LANGUAGE_VARIABLE: language},
        cwd=TOP,
        check=True,
    ).stdout
