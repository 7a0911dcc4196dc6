"""A gate for upgrades: campaigns against campaigns, with an error that is one of twenty at the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.gate import FEWEST_CAMPAIGNS, GateVerdict, judge_gate

LIMIT = 0.03
STEADY = ((100.0, 101.0), (102.0, 100.0), (99.0, 100.0))


def times(side: Sequence[Sequence[float]], factor: float) -> list[list[float]]:
    return [[factor * value for value in campaign] for campaign in side]


def test_clearly_worse_same_and_faster() -> None:
    assert judge_gate(STEADY, times(STEADY, 0.9), LIMIT).verdict is GateVerdict.WORSE
    assert judge_gate(STEADY, STEADY, LIMIT).verdict is GateVerdict.NOT_WORSE
    assert judge_gate(STEADY, times(STEADY, 1.5), LIMIT).verdict is GateVerdict.NOT_WORSE


def test_near_limit_untold_with_campaigns_needed() -> None:
    found = judge_gate(STEADY, times(STEADY, 0.98), LIMIT)
    assert found.verdict is GateVerdict.INCONCLUSIVE
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1 - LIMIT < found.high
    assert found.more is not None
    more = judge_gate(STEADY * 4, times(STEADY, 0.98) * 4, LIMIT)
    assert more.verdict is GateVerdict.NOT_WORSE, "with enough campaigns of that spread it is told"
    assert found.more <= 9


def test_exactly_at_limit_untold() -> None:
    found = judge_gate(STEADY, times(STEADY, 1 - LIMIT), LIMIT)
    assert (found.verdict, found.more) == (GateVerdict.INCONCLUSIVE, None)
    flat = judge_gate([[100.0]] * 3, [[97.0]] * 3, LIMIT)
    assert flat.verdict is GateVerdict.INCONCLUSIVE


@pytest.mark.parametrize(("base", "new"), [(2, 3), (3, 2), (1, 1), (1, 12), (0, 3)])
def test_too_few_campaigns_untold(base: int, new: int) -> None:
    found = judge_gate([[100.0, 101.0]] * base, [[50.0, 51.0]] * new, LIMIT)
    assert found.verdict is GateVerdict.INCONCLUSIVE
    assert (found.low, found.high) == (None, None)
    assert found.campaigns == (base, new)
    assert (found.ratio is None) is (base == 0)
    if base == 0:
        assert found.more is None
    else:
        assert found.more is not None
        assert found.more >= FEWEST_CAMPAIGNS - min(base, new)


def test_runs_averaged_within_campaign() -> None:
    """A hundred repeats in each campaign do not make three campaigns tell more than they do."""
    once = judge_gate([[100.0], [102.0], [98.0]], [[95.0], [97.0], [93.0]], LIMIT)
    often = judge_gate([[100.0] * 100, [102.0] * 100, [98.0] * 100], [[95.0], [97.0], [93.0]], LIMIT)
    assert (once.low, once.high) == pytest.approx((often.low, often.high))


def test_several_configurations_stricter() -> None:
    new = times(STEADY, 0.95)
    alone, of_ten = judge_gate(STEADY, new, LIMIT), judge_gate(STEADY, new, LIMIT, among=10)
    assert alone.high is not None
    assert of_ten.high is not None
    assert alone.high < of_ten.high
    assert alone.low == of_ten.low


@pytest.mark.parametrize(("factor", "is_more"), [(0.963, True), (0.98, False)])
def test_advice_allows_for_several_configurations(factor: float, *, is_more: bool) -> None:
    """Calling one worse takes more campaigns then; calling it not worse takes as many."""
    new = times(STEADY, factor)
    alone, of_ten = (judge_gate(STEADY, new, LIMIT, among=each).more for each in (1, 10))
    assert alone
    assert of_ten
    assert (of_ten > alone) is is_more


@pytest.mark.parametrize(
    ("base", "worse_by", "among"),
    [
        ([[]], 0.03, 1),
        ([[0.0]], 0.03, 1),
        ([[math.nan]], 0.03, 1),
        ([[1.0]], 0.0, 1),
        ([[1.0]], 1.0, 1),
        ([[1.0]], 0.03, 0),
    ],
)
def test_what_is_no_question_is_refused(base: list[list[float]], worse_by: float, among: int) -> None:
    with pytest.raises(ValueError, match=r"."):
        judge_gate(base, [[1.0]], worse_by, among)


sides = st.lists(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=4), min_size=3, max_size=6)


@given(base=sides, new=sides, unit=st.floats(0.01, 100.0))
def test_verdict_independent_of_unit(base: list[list[float]], new: list[list[float]], unit: float) -> None:
    found, scaled = judge_gate(base, new, LIMIT), judge_gate(times(base, unit), times(new, unit), LIMIT)
    assert found.low is not None
    assert found.high is not None
    assert found.ratio is not None
    assert found.low <= found.ratio * (1 + 1e-9)
    assert found.ratio <= found.high * (1 + 1e-9)
    assert scaled.ratio == pytest.approx(found.ratio)
    if abs(found.low / 0.97 - 1) > 1e-6 and abs(found.high / 0.97 - 1) > 1e-6:
        assert scaled.verdict is found.verdict


@pytest.mark.parametrize("between", [0.0, 0.01, 0.03])
@pytest.mark.long
def test_error_rates_at_limit(between: float) -> None:
    """600 simulated gates, three campaigns of three runs each; chance adds up to 2.7 % (3 sigma)."""
    random = np.random.default_rng(7)
    found = []
    for _ in range(600):
        base, new = (
            np.exp(shift + random.normal(0, between, (3, 1)) + random.normal(0, 0.02, (3, 3))).tolist()
            for shift in (0.0, math.log1p(-LIMIT))
        )
        found.append(judge_gate(base, new, LIMIT).verdict)
    assert found.count(GateVerdict.WORSE) <= 0.077 * len(found)
    assert found.count(GateVerdict.NOT_WORSE) <= 0.077 * len(found)
