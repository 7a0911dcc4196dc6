"""The list of pairs: whole, allowed, short, and the same every time."""

from __future__ import annotations

import itertools

from tests.pairs import every_pair, pairs_of, pairwise

VALUES = {"a": "123", "b": "12", "c": "1234", "d": "12", "e": "12", "f": "123"}


def test_every_pair_in_some_row() -> None:
    rows, impossible = pairwise(VALUES)
    assert impossible == set()
    held = {pair for row in rows for pair in pairs_of(row)}
    assert held == every_pair(VALUES)
    assert len(held) == sum(len(VALUES[a]) * len(VALUES[b]) for a, b in itertools.combinations(VALUES, 2))
    assert all(set(row) == set(VALUES) for row in rows)
    assert len(rows) <= 18, "12 are needed at least, 288 are all"
    assert pairwise(VALUES) == (rows, impossible)


def test_rows_allowed_missing_pairs_impossible() -> None:
    rows, impossible = pairwise(
        VALUES, allowed=lambda row: not (row["a"] == "1" and row["b"] == "2") and row["c"] != row["f"]
    )
    assert not any(row["a"] == "1" and row["b"] == "2" for row in rows)
    assert impossible == {
        (("a", "1"), ("b", "2")),
        (("c", "1"), ("f", "1")),
        (("c", "2"), ("f", "2")),
        (("c", "3"), ("f", "3")),
    }
    assert {pair for row in rows for pair in pairs_of(row)} | impossible == every_pair(VALUES)


def test_dear_rows_are_few() -> None:
    def dear(row: object) -> float:
        return 10.0 if isinstance(row, dict) and row["c"] == "4" else 1.0

    rows, _ = pairwise(VALUES, cost=dear)
    assert sum(row["c"] == "4" for row in rows) <= 4, "3 are needed at least"
