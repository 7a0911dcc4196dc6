"""Exact tests: expected values from scipy, see tests/data/statistics/README.md."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.statistics.exact_tests import ExactTests, exact_tests
from app.statistics.verdict import ReferenceRuns, Samples

DATA = Path(__file__).parents[2] / "data" / "statistics" / "exact.csv"


def rows() -> list[dict[str, str]]:
    with DATA.open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def samples(a: list[float], b: list[float], *, paired: bool = False) -> Samples:
    return Samples(tuple(a), tuple(b), paired)


@pytest.mark.parametrize("row", rows(), ids=str)
def test_p_values_equal_those_of_scipy(row: dict[str, str]) -> None:
    a, b = ([float(word) for word in row[name].split()] for name in ("a", "b"))
    found = exact_tests(samples(a, b, paired=row["paired"] == "1"))
    assert found.permutation == pytest.approx(float(row["permutation"]), rel=1e-9)
    if row["mann_whitney"]:
        assert found.mann_whitney == pytest.approx(float(row["mann_whitney"]), rel=1e-9)
    else:
        assert found.mann_whitney is None


@pytest.mark.parametrize(("runs", "least"), [(3, 0.1), (4, 2 / 70), (5, 2 / 252)])
def test_smallest_p_by_runs(runs: int, least: float) -> None:
    found = exact_tests(samples([1.0 + 0.01 * n for n in range(runs)], [1000.0 + n for n in range(runs)]))
    assert found.mann_whitney == pytest.approx(least)
    assert found.permutation == pytest.approx(least)


def test_no_p_few_zero_or_many() -> None:
    nothing = ExactTests(None, None)
    assert exact_tests(samples([1.0], [2.0, 3.0])) == nothing
    assert exact_tests(samples([0.0, 1, 2], [2.0, 3, 4])) == nothing
    many = [float(value) for value in np.arange(1, 14)]
    assert exact_tests(samples(many, many, paired=True)) == nothing
    assert exact_tests(samples(many, many)) == nothing


def test_identical_runs_p_one() -> None:
    assert exact_tests(samples([5.0] * 4, [5.0] * 4)) == ExactTests(1.0, 1.0)
    assert exact_tests(samples([5.0] * 4, [5.0] * 4, paired=True)).permutation == 1.0


def test_no_p_between_campaigns() -> None:
    apart = Samples((1.0, 1.1, 1.2, 1.3), (2.0, 2.1, 2.2, 2.3), paired=False, together=False)
    assert exact_tests(apart) == ExactTests(None, None)
    by_reference = replace(apart, reference=ReferenceRuns((1.0, 1.1, 1.2), (2.0, 2.1, 2.2)))
    assert exact_tests(by_reference) == ExactTests(None, None)
    assert exact_tests(replace(apart, together=True)).permutation == pytest.approx(2 / 70)
