"""The glossary: every heading that needs it has its word, and every word is said once."""

from __future__ import annotations

import pytest

from app.analysis.glossary import GLOSSARY, meaning_of
from app.comparison.table import COMPARISON_COLUMNS
from app.runfile.figures import FIGURES
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE, RUNS_FOR_A_VERDICT


@pytest.mark.parametrize("column", [each.id for each in COMPARISON_COLUMNS])
def test_each_heading_of_a_comparison_is_explained(column: str) -> None:
    assert meaning_of(column).endswith(".")


def test_columns_explained_once_and_exist() -> None:
    named = [column for each in GLOSSARY for column in each.columns]
    assert sorted(set(named)) == sorted(named)
    known = {each.id for each in COMPARISON_COLUMNS} | {each.name for each in FIGURES} | {"verdict"}
    assert set(named) <= known


def test_words_sorted_unique_full_sentences() -> None:
    words = [each.word.casefold() for each in GLOSSARY]
    assert words == sorted(set(words))
    assert [each.word for each in GLOSSARY if not each.meaning.endswith(".")] == []


def test_verdict_numbers_match_constants() -> None:
    found = next(each.meaning for each in GLOSSARY if each.word == "Indicative only")
    assert f"fewer than {RUNS_FOR_A_VERDICT} runs" in found
    assert f"at least {RUNS_FOR_A_REFERENCE} times" in found


def test_what_users_ask_for_is_there() -> None:
    words = {each.word for each in GLOSSARY}
    assert words >= {
        "p50",
        "p95",
        "p99",
        "Jitter",
        "Drift",
        "Steady",
        "95 % CI",
        "Holm",
        "Indicative only",
    }
