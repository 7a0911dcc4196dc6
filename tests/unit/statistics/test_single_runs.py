"""How much runs would have to spread for chance to explain a difference of single runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.sample_size import chance_of, needed_spread


def test_needed_spread_error_rate() -> None:
    random = np.random.default_rng(7)
    spread = needed_spread(1.10, (1, 1))
    assert spread == pytest.approx(math.log(1.10) / (1.959964 * math.sqrt(2)), rel=1e-6)
    apart = spread * (random.standard_normal(40_000) - random.standard_normal(40_000))
    assert float((np.abs(apart) >= math.log(1.10)).mean()) == pytest.approx(0.05, abs=0.003)


def test_needed_spread_of_more_runs() -> None:
    assert needed_spread(1.10, (2, 2)) == pytest.approx(math.sqrt(2) * needed_spread(1.10, (1, 1)))


def test_several_comparisons_need_less_spread() -> None:
    assert needed_spread(1.10, (1, 1), 0.05 / 10) < needed_spread(1.10, (1, 1))


@given(st.floats(1e-3, 1e3), st.integers(1, 5), st.integers(1, 5))
def test_needed_spread_symmetric(ratio: float, first: int, second: int) -> None:
    there, back = needed_spread(ratio, (first, second)), needed_spread(1 / ratio, (second, first))
    assert there == pytest.approx(back, rel=1e-9, abs=1e-12)


def test_false_differences_with_known_spread() -> None:
    random = np.random.default_rng(3)
    wrong = 0
    for _ in range(4000):
        like = 0.02 * random.standard_normal((4, 3))
        spread = float(np.sqrt(like.var(axis=1, ddof=1).mean()))
        ratio = math.exp(0.02 * float(random.standard_normal() - random.standard_normal()))
        wrong += chance_of(ratio, (1, 1), spread, 8) < 0.05
    assert wrong / 4000 == pytest.approx(0.05, abs=0.01)


def test_no_spread_at_all_explains_no_difference() -> None:
    assert chance_of(1.1, (1, 1), 0.0, 6) == 0
    assert chance_of(1.0, (1, 1), 0.0, 6) == 1
    assert needed_spread(1.0, (1, 1)) == 0


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_ratio_is_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match=str(ratio)):
        needed_spread(ratio, (1, 1))
    with pytest.raises(ValueError, match=str(ratio)):
        chance_of(ratio, (1, 1), 0.01, 6)


def test_invalid_arguments_refused() -> None:
    with pytest.raises(ValueError, match="0"):
        needed_spread(1.1, (0, 1))
    with pytest.raises(ValueError, match="2"):
        needed_spread(1.1, (1, 1), 2.0)
    with pytest.raises(ValueError, match="nan"):
        chance_of(1.1, (1, 1), math.nan, 6)
