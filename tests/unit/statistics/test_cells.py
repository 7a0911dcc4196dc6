"""A factor over the cells of a matrix: the mean ratio with its interval, sets of campaigns, and the truth."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.cells import CellPair, compare_levels, compare_over_cells, independent_sets
from app.statistics.verdict import Samples, Verdict, compare
from tests.simulated_cells import matrices

COUNT = 200
FEW = 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / COUNT)
"""At most that share of identical levels may be told apart; the seeds are fixed, so that nothing differs."""

means = st.floats(0.1, 1e6)


@given(st.lists(st.tuples(means, means), min_size=3, max_size=12))
def test_cells_compared_as_pairs(pairs: list[tuple[float, float]]) -> None:
    found = compare_over_cells([CellPair(*pair) for pair in pairs])
    first, second = zip(*pairs, strict=True)
    expected = compare(Samples(first, second, paired=True))
    assert found.comparison.ratio == pytest.approx(expected.ratio, rel=1e-6)
    assert found.comparison.interval is not None
    assert expected.interval is not None
    assert found.comparison.interval.low == pytest.approx(expected.interval.low, rel=1e-6)
    assert (found.cells, found.sets) == (len(pairs), None)
    assert found.least == pytest.approx(min(b / a for a, b in pairs))
    assert found.most == pytest.approx(max(b / a for a, b in pairs))


def test_shared_campaigns_form_one_set() -> None:
    campaigns = [{"a", "x"}, {"b", "y"}, {"a", "y"}, (), {"c", "z"}, ()]
    assert independent_sets(campaigns) == ((0, 1, 2), (3,), (4,), (5,))
    assert independent_sets([]) == ()


def test_campaign_zero_not_missing_campaign() -> None:
    assert independent_sets([(), {0, 1}, {1}, ()]) == ((0,), (1, 2), (3,))


def test_two_campaigns_no_verdict() -> None:
    pairs = [CellPair(1000, 1200 + cell, frozenset({"a", "b"})) for cell in range(20)]
    found = compare_over_cells(pairs)
    assert found.comparison.verdict is Verdict.INDICATIVE
    assert (found.cells, found.sets) == (20, 1)


def test_few_cells_indicative_none_impossible() -> None:
    found = compare_over_cells([CellPair(1000, 1100), CellPair(500, 550)])
    assert found.comparison.verdict is Verdict.INDICATIVE
    assert found.comparison.ratio == pytest.approx(1.1)
    nothing = compare_over_cells([])
    assert nothing.comparison.verdict is Verdict.IMPOSSIBLE
    assert (nothing.cells, nothing.least, nothing.most, nothing.sets) == (0, None, None, None)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_mean_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="CellPair"):
        compare_over_cells([CellPair(1000, value)])


def test_levels_adjusted_by_holm() -> None:
    random_cells = list(matrices(3, 8, 1, ratio=1.02))
    alone = [compare_over_cells(pairs) for pairs in random_cells]
    family = compare_levels(random_cells)
    assert [each.comparison.interval.confidence for each in family if each.comparison.interval] != [0.95] * 3
    for one, each in zip(alone, family, strict=True):
        assert each.comparison.ratio == one.comparison.ratio
        assert each.comparison.p_value == one.comparison.p_value
    assert compare_levels([]) == ()


@pytest.mark.long
@pytest.mark.parametrize("cells", [3, 12])
def test_false_verdicts_with_interaction(cells: int) -> None:
    for interaction in (0.0, 0.2):
        found = [
            compare_over_cells(each).comparison for each in matrices(COUNT, cells, 5, interaction=interaction)
        ]
        apart = sum(each.verdict in {Verdict.HIGHER, Verdict.LOWER} for each in found)
        covered = sum(each.interval.low <= 1 <= each.interval.high for each in found if each.interval)
        assert apart / COUNT <= FEW
        assert covered + apart == COUNT


def test_campaign_effect_is_no_difference() -> None:
    simulated = list(matrices(COUNT, 22, 9, campaign=0.03, sets=4))
    found = [compare_over_cells(each) for each in simulated]
    by_sets = sum(each.comparison.verdict in {Verdict.HIGHER, Verdict.LOWER} for each in found)
    assert by_sets / COUNT <= FEW


def test_true_difference_of_single_runs() -> None:
    simulated = matrices(100, 12, 2, ratio=1.05, run=0.02)
    found = [compare_over_cells(each).comparison.verdict for each in simulated]
    assert found.count(Verdict.HIGHER) > 90
    assert Verdict.LOWER not in found


def blocked(*cells: tuple[float, ...]) -> list[CellPair]:
    """Return cells of repeats, each by the differences of the logarithms of its pairs."""
    return [CellPair(1.0, math.exp(math.fsum(each) / len(each)), differences=each) for each in cells]


def test_repeats_of_two_cells_are_enough() -> None:
    found = compare_over_cells(blocked((-0.70, -0.69, -0.68), (-0.70, -0.68, -0.69)))
    assert (found.comparison.verdict, found.depends) == (Verdict.LOWER, False)
    assert found.comparison.ratio == pytest.approx(math.exp(-0.69))


def test_cells_that_differ_have_no_mean() -> None:
    found = compare_over_cells(blocked((0.0, 0.01, -0.01), (0.7, 0.71, 0.69), (0.7, 0.7, 0.71)))
    assert (found.comparison.verdict, found.comparison.interval, found.depends) == (
        Verdict.INDICATIVE,
        None,
        True,
    )


def test_irrelevant_interaction_ignored() -> None:
    found = compare_over_cells(blocked((0.0, 0.0001, -0.0001), (0.01, 0.0101, 0.0099)))
    assert (found.comparison.verdict, found.depends) == (Verdict.HIGHER, False)


def test_one_pair_of_cells_beyond_chance() -> None:
    """Two steady cells differ by too little to matter, the third by much, in a wide noise of its own."""
    steady = (0.0, 0.0001, -0.0001), (0.01, 0.0101, 0.0099)
    found = compare_over_cells(blocked(*steady, (0.5, -0.5, 0.3)))
    assert found.least is not None
    assert found.most is not None
    assert found.most / found.least > 1.02
    assert not found.depends


def test_single_pair_cell_cells_are_repeats() -> None:
    found = compare_over_cells(blocked((0.1, 0.11), (0.1, 0.12), (0.1,)))
    assert found.comparison.runs == (3, 3)
