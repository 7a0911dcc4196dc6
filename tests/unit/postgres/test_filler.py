"""Rows with a stated compressibility, as text; servers load it in tests/postgres/test_compressibility.py."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from app.postgres.pgbench.scale import LEAST_RATIO, MOST_RATIO, load_script, random_bytes

RATIOS = st.floats(LEAST_RATIO, MOST_RATIO)


@given(RATIOS, RATIOS)
def test_higher_ratio_has_fewer_random_bytes(one: float, other: float) -> None:
    if one > other:
        one, other = other, one
    assert 0 < random_bytes(other) <= random_bytes(one) <= 91


def test_least_ratio_is_all_random() -> None:
    assert random_bytes(LEAST_RATIO) == 91
    assert random_bytes(LEAST_RATIO + 0.05) < 91


@given(RATIOS)
def test_filler_length_independent_of_ratio(ratio: float) -> None:
    text = load_script(ratio)
    lengths = []
    for count, zeros in re.findall(r"FROM 1 FOR (\d+)\)(?: \|\| decode\('([0-9a-f]*)', 'hex'\))?", text):
        lengths.append(int(count) + len(zeros) // 2)
        assert set(zeros) <= {"0"}
    assert lengths == [22, 91], "history, then accounts"


@given(RATIOS)
def test_rows_are_inserted_and_never_updated(ratio: float) -> None:
    text = load_script(ratio).upper()
    assert "UPDATE" not in text
    assert text.count("INSERT INTO") == 3
