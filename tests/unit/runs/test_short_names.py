from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.runs.short_names import short_names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["ext4 stripe scale 1000 #1", "xfs stripe scale 1000 #1"], ("ext4", "xfs")),
        (["ext4 stripe scale 1000 #1", "ext4 stripe scale 1000 #2"], ("#1", "#2")),
        (["ext4 #1", "xfs #1"], ("ext4 #1", "xfs #1")),
        (["a long name that is the same"] * 2, ("a long name that is the same",) * 2),
        (["a long name that goes on", "a long name that goes on and on"], None),
        (["only one name, however long it may be"], None),
        ([], None),
    ],
)
def test_words_that_all_have_are_left_out(names: list[str], short: tuple[str, ...] | None) -> None:
    assert short_names(names) == (tuple(names) if short is None else short)


@given(st.lists(st.text(), max_size=6))
def test_names_that_were_different_stay_so_and_none_is_empty(names: list[str]) -> None:
    short = short_names(names)
    assert len(set(short)) == len(set(names))
    assert all(short) or not all(names)
