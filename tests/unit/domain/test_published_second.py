"""The published figures against a second transcription, made independently (tests/data/reference-second)."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.published.reading import REFERENCE, published_figures
from tests.unit.domain.transcriptions import differences

SECOND = Path(__file__).resolve().parents[2] / "data" / "reference-second"
TEXTS = sorted(path.stem for path in REFERENCE.glob("*.toml"))


def figures_of(text: str) -> list[Any]:
    return [figure for figure in published_figures() if figure.publication.id == text]


def own_as_second(text: str) -> dict[str, Any]:
    """Our own file in the shape of the second: what a perfect second transcription would be."""
    content = tomllib.loads((REFERENCE / f"{text}.toml").read_text())
    statements = [
        {"quotation": each["quotation"], "numbers": [figure["written"] for figure in each["figures"]]}
        for each in content["statement"]
    ]
    return {"source": text, "table": content.get("table", []), "statement": statements}


@pytest.mark.parametrize("text", TEXTS)
def test_transcriptions_agree(text: str) -> None:
    second = tomllib.loads((SECOND / f"{text}.toml").read_text())
    assert second["source"] == text
    assert differences(figures_of(text), second) == []


@pytest.mark.parametrize("text", TEXTS)
def test_a_perfect_copy_has_no_differences(text: str) -> None:
    assert differences(figures_of(text), own_as_second(text)) == []


def test_digit_row_and_column_differences_found() -> None:
    second = own_as_second("vondra-2022")
    digit = copy.deepcopy(second)
    digit["table"][0]["rows"][0][3] = "101082"
    assert len(differences(figures_of("vondra-2022"), digit)) == 1
    row = copy.deepcopy(second)
    del row["table"][3]["rows"][0]
    assert len(differences(figures_of("vondra-2022"), row)) == 3
    column = copy.deepcopy(second)
    for cells in column["table"][4]["rows"]:
        del cells[-1]
    column["table"][4]["columns"].pop()
    assert len(differences(figures_of("vondra-2022"), column)) == 3


def test_statement_number_differences_found() -> None:
    fewer = own_as_second("ufs-zfs-2008")
    fewer["statement"][1]["numbers"].pop()
    assert len(differences(figures_of("ufs-zfs-2008"), fewer)) == 1
    more = own_as_second("ufs-zfs-2008")
    more["statement"][1]["numbers"].append("41 KB/sec")
    assert len(differences(figures_of("ufs-zfs-2008"), more)) == 1
