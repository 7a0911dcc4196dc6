"""Student's t distribution against scipy's values and against closed forms."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.statistics.sample_size import student_t_quantile, student_t_tail
from tests.cases import each_case

TABLE = Path(__file__).parents[2] / "data" / "statistics" / "student_t.csv"

with TABLE.open(encoding="ascii", newline="") as file:
    SCIPY = [(float(row["df"]), float(row["p"]), float(row["t"])) for row in csv.DictReader(file)]

shares = st.floats(1e-9, 1 - 1e-9)
degrees = st.floats(0.5, 1e5)


def test_scipy_table_complete() -> None:
    assert len(SCIPY) == 221


@each_case("df p t", SCIPY)
def test_quantiles_equal_those_of_scipy(df: float, p: float, t: float) -> None:
    assert student_t_quantile(p, df) == pytest.approx(t, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(
    ("df", "p", "t"), [(1, 0.975, 12.706), (4, 0.975, 2.776), (8, 0.8, 0.889), (30, 0.95, 1.697)]
)
def test_quantiles_equal_the_printed_tables(df: float, p: float, t: float) -> None:
    assert student_t_quantile(p, df) == pytest.approx(t, abs=5e-4)


@settings(deadline=None)
@given(shares)
def test_one_and_two_degrees_have_closed_forms(p: float) -> None:
    # Cauchy: tan(pi (p - 1/2)); two: (2p - 1) / sqrt(2 p (1 - p)); 1 - p itself is rounded near 1
    assert student_t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-6, abs=1e-12)
    assert student_t_quantile(p, 2) == pytest.approx(
        (2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-6, abs=1e-12
    )


@settings(deadline=None)
@given(shares, degrees)
def test_quantile_inverts_tail(p: float, df: float) -> None:
    assert 1 - student_t_tail(student_t_quantile(p, df), df) == pytest.approx(p, rel=1e-9, abs=1e-12)


@settings(deadline=None)
@given(shares, shares, degrees)
def test_quantile_monotonic_and_symmetric(p: float, q: float, df: float) -> None:
    if p < q:
        assert student_t_quantile(p, df) <= student_t_quantile(q, df)
    if p < 0.5:
        assert student_t_quantile(p, df) == pytest.approx(-student_t_quantile(1 - p, df), rel=1e-6)


def test_many_degrees_become_the_normal_distribution() -> None:
    assert student_t_quantile(0.975, math.inf) == pytest.approx(1.959963984540054)
    assert student_t_quantile(0.975, 2e7) == pytest.approx(student_t_quantile(0.975, 9e6), abs=1e-6)
    assert student_t_tail(1.959963984540054, math.inf) == pytest.approx(0.025)


def test_the_tail_reaches_its_ends() -> None:
    assert student_t_tail(math.inf, 3) == 0
    assert student_t_tail(-math.inf, 3) == 1
    assert student_t_tail(0, 3) == 0.5
    assert student_t_tail(1e200, 3) == 0


@pytest.mark.parametrize(
    ("p", "df"), [(0, 3), (1, 3), (-1, 3), (math.nan, 3), (0.5, 0), (0.9, -1), (0.9, math.nan)]
)
def test_invalid_probability_or_df_refused(p: float, df: float) -> None:
    with pytest.raises(ValueError, match=r"\("):
        student_t_quantile(p, df)


@pytest.mark.parametrize(("t", "df"), [(1, 0), (1, -2), (math.nan, 3), (1, math.nan)])
def test_a_tail_of_nothing_is_refused(t: float, df: float) -> None:
    with pytest.raises(ValueError, match=r"\("):
        student_t_tail(t, df)
