"""Rows with a stated compressibility, as text; servers load it in tests/postgres/test_compressibility.py."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from app.postgres.pgbench.filler import LEAST_RATIO, MOST_RATIO, load_script, random_bytes

RATIOS = st.floats(LEAST_RATIO, MOST_RATIO)


@given(RATIOS, RATIOS)
def test_what_can_be_compressed_more_has_fewer_random_bytes(one: float, other: float) -> None:
    if one > other:
        one, other = other, one
    assert 0 < random_bytes(other) <= random_bytes(one) <= 91


def test_the_least_ratio_is_a_filler_of_random_bytes_alone() -> None:
    assert random_bytes(LEAST_RATIO) == 91
    assert random_bytes(LEAST_RATIO + 0.05) < 91


@given(RATIOS)
def test_fillers_have_the_same_length_whatever_the_ratio(ratio: float) -> None:
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
