"""Statistics over runs: intervals, verdicts, families of comparisons."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.draft.planning import Plan
from app.statistics.sample_size import minimum_detectable_effect, power_of_t_test, runs_needed
from app.statistics.verdict import (
    Comparison,
    ReferenceRuns,
    Samples,
    Verdict,
    compare,
    compare_family,
    compare_reference,
    holm_levels,
    run_interval,
)
from tests.simulated_families import simulated_difference
from tests.simulated_references import TwoCampaigns, count_verdicts

DATA = Path(__file__).parents[2] / "data" / "statistics"

means = st.floats(0.01, 1e7)
several = st.lists(means, min_size=3, max_size=12)
anything = st.lists(st.floats(0, 1e7), max_size=12)


def read(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def compare_paired(baseline: Sequence[float], candidate: Sequence[float]) -> Comparison:
    return compare(Samples(tuple(baseline), tuple(candidate), paired=True))


def compare_unpaired(baseline: Sequence[float], candidate: Sequence[float]) -> Comparison:
    return compare(Samples(tuple(baseline), tuple(candidate), paired=False))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P values adjusted for their number (Holm 1979), each at its place."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, p_values[place] * (len(order) - rank)))
        adjusted[place] = highest
    return tuple(adjusted)


def interval_of(comparison: Comparison) -> tuple[float, float]:
    assert comparison.interval is not None
    return comparison.interval.low, comparison.interval.high


# --- one configuration ---------------------------------------------------------------------------


def test_geometric_mean_and_student_interval() -> None:
    # logs 0, 1, 2: mean 1, sd 1, t(.975, 2) = 4.302653
    interval = run_interval([1, math.e, math.e**2])
    half = 4.302652729911275 / math.sqrt(3)
    assert interval.mean == pytest.approx(math.e)
    assert interval.low == pytest.approx(math.exp(1 - half))
    assert interval.high == pytest.approx(math.exp(1 + half))
    assert not interval.indicative_only


@pytest.mark.parametrize("values", [[100.0], [100.0, 110.0]])
def test_below_three_runs_no_interval(values: list[float]) -> None:
    interval = run_interval(values)
    assert interval.mean == pytest.approx(math.prod(values) ** (1 / len(values)))
    assert (interval.low, interval.high) == (None, None)
    assert interval.indicative_only


def test_no_run_and_zero_run() -> None:
    assert run_interval([]).mean is None
    assert run_interval([0, 0, 0]).mean == 0
    assert run_interval([0, 5, 5, 5]).low is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_invalid_run_mean_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"\["):
        run_interval([1, value, 2])
    with pytest.raises(ValueError, match=r"\("):
        compare_unpaired([1, 2, 3], [1, value, 2])


@settings(deadline=None)
@given(several, st.floats(1e-3, 1e3), st.randoms())
def test_interval_scale_and_order_invariant(
    values: list[float], factor: float, random: np.random.Generator
) -> None:
    one = run_interval(values)
    shuffled = list(values)
    random.shuffle(shuffled)
    other = run_interval([value * factor for value in shuffled])
    for attribute in ("mean", "low", "high"):
        assert getattr(other, attribute) == pytest.approx(getattr(one, attribute) * factor, rel=1e-6)
    assert min(values) * (1 - 1e-9) <= (one.mean or 0) <= max(values) * (1 + 1e-9)


def test_interval_coverage() -> None:
    random = np.random.default_rng(20221010)
    runs = np.exp(random.normal(math.log(7700), 0.05, (4000, 4)))
    intervals = [run_interval(row) for row in runs]
    covered = sum((i.low or 0) <= 7700 <= (i.high or 0) for i in intervals) / len(intervals)
    assert 0.94 < covered < 0.96  # binomial standard error 0.0034


# --- two configurations --------------------------------------------------------------------------


@pytest.mark.parametrize("row", read("welch.csv"), ids=str)
def test_unpaired_equals_welch_of_scipy_on_logarithms(row: dict[str, str]) -> None:
    comparison = compare_unpaired(numbers(row["a"]), numbers(row["b"]))
    assert comparison.p_value == pytest.approx(float(row["p"]), rel=1e-8)
    assert comparison.narrow is not None
    found = (*interval_of(comparison), comparison.narrow.low, comparison.narrow.high)
    for value, column in zip(found, ("low95", "high95", "low90", "high90"), strict=True):
        assert math.log(value) == pytest.approx(float(row[column]), rel=1e-8)


@pytest.mark.parametrize("row", read("paired.csv"), ids=str)
def test_paired_equals_scipy(row: dict[str, str]) -> None:
    comparison = compare_paired(numbers(row["a"]), numbers(row["b"]))
    assert comparison.p_value == pytest.approx(float(row["p"]), rel=1e-8)
    for value, column in zip(interval_of(comparison), ("low95", "high95"), strict=True):
        assert math.log(value) == pytest.approx(float(row[column]), rel=1e-8)


BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0)


@pytest.mark.parametrize(
    ("factor", "verdict", "equivalent"),
    [
        (1.10, Verdict.HIGHER, False),
        (0.90, Verdict.LOWER, False),
        (1.001, Verdict.EQUAL, True),
    ],
)
@pytest.mark.parametrize("paired", [True, False])
def test_each_verdict_has_its_case(factor: float, verdict: Verdict, equivalent: bool, paired: bool) -> None:  # noqa: FBT001
    wobble = (1.001, 0.999, 1.002, 0.998, 1.0)
    candidate = tuple(value * factor * w for value, w in zip(BASE, wobble, strict=True))
    comparison = compare(Samples(BASE, candidate, paired))
    assert (comparison.verdict, comparison.equivalent) == (verdict, equivalent)
    assert comparison.ratio == pytest.approx(factor, rel=1e-3)
    assert comparison.more_runs is None


def test_inconclusive_with_more_runs() -> None:
    noisy = compare_paired([1000, 1100, 900, 1000], [1050, 950, 1000, 1030])
    assert noisy.verdict is Verdict.INCONCLUSIVE
    spread = float(np.std(np.log([1.05, 950 / 1100, 1000 / 900, 1.03]), ddof=1))
    needed = runs_needed(spread, paired=True)
    assert needed is not None
    assert noisy.more_runs == needed - 4
    assert noisy.more_runs_for == 0.02  # less was seen
    hopeless = compare_unpaired([1, 1000, 5], [5, 1, 1000])
    assert (hopeless.verdict, hopeless.more_runs) == (Verdict.INCONCLUSIVE, None)


def test_more_runs_for_observed_difference() -> None:
    """12 configurations, 3 repeats, a true 20 %: one or two more show it, and not the 58 that 2 % take."""
    pairs = [1.17, 1.2, 1.24]
    found = compare(
        Samples((1000, 1000, 1000), tuple(1000 * each for each in pairs), paired=True), alpha=0.05 / 11
    )
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.ratio is not None
    assert found.more_runs_for == pytest.approx(found.ratio - 1)
    assert found.more_runs is not None
    assert 1 <= found.more_runs <= 3
    slower = compare(Samples((1170, 1200, 1240), (1000, 1000, 1000), paired=True), alpha=0.05 / 11)
    assert slower.more_runs == found.more_runs


def test_significant_and_equivalent() -> None:
    candidate = [value * w for value, w in zip(BASE, (1.0041, 1.0039, 1.004, 1.0042, 1.0038), strict=True)]
    comparison = compare_paired(BASE, candidate)
    assert (comparison.verdict, comparison.equivalent) == (Verdict.HIGHER, True)


def test_pairs_remove_drift() -> None:
    drifting = (1000.0, 900.0, 800.0, 700.0)
    better = tuple(value * w for value, w in zip(drifting, (1.04, 1.05, 1.05, 1.06), strict=True))
    assert compare_paired(drifting, better).verdict is Verdict.HIGHER
    assert compare_unpaired(drifting, better).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("a", "b"), [([1.0], [2.0]), ([1.0, 2.0], [2.0, 3.0]), ([1.0, 2.0, 3.0], [2.0, 3.0])]
)
def test_fewer_than_three_runs_are_indicative_only(a: list[float], b: list[float]) -> None:
    comparison = compare_unpaired(a, b)
    assert comparison.verdict is Verdict.INDICATIVE
    assert comparison.ratio is not None
    assert (comparison.interval, comparison.p_value) == (None, None)


@pytest.mark.parametrize(
    ("a", "b"), [([], []), ([1.0] * 3, []), ([1.0] * 3, [0.0] * 3), ([0.0, 1, 1], [1.0] * 3)]
)
def test_empty_or_zero_run_impossible(a: list[float], b: list[float]) -> None:
    comparison = compare_unpaired(a, b)
    assert comparison.verdict is Verdict.IMPOSSIBLE
    assert comparison.ratio is None


def test_constant_runs_equal() -> None:
    for value in (100.0, 1 / 3, 7699.9999):
        same = compare_unpaired([value] * 3, [value] * 4)
        assert (same.verdict, same.p_value) == (Verdict.EQUAL, 1)
        other = compare_unpaired([value] * 3, [value * 1.1] * 3)
        assert (other.verdict, other.p_value) == (Verdict.HIGHER, 0)
        assert interval_of(other) == pytest.approx((1.1, 1.1))


def test_pairs_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4\)"):
        compare_paired([1, 2, 3], [1, 2, 3, 4])


@settings(deadline=None)
@given(several, several, st.floats(1e-3, 1e3))
def test_comparison_scales_and_reverses(a: list[float], b: list[float], factor: float) -> None:
    one = compare_unpaired(a, b)
    scaled = compare_unpaired([value * factor for value in a], [value * factor for value in b])
    turned = compare_unpaired(b, a)
    assert interval_of(scaled) == pytest.approx(interval_of(one), rel=1e-6)
    low, high = interval_of(one)
    if high < 1e300 and low > 1e-300:  # runs that differ a billionfold have no bounds
        assert interval_of(turned) == pytest.approx((1 / high, 1 / low), rel=1e-6)


@settings(deadline=None)
@given(anything, anything)
def test_any_means_without_nan(a: list[float], b: list[float]) -> None:
    comparison = compare_unpaired(a, b)
    assert (comparison.ratio is None) == (comparison.verdict is Verdict.IMPOSSIBLE)
    assert (comparison.interval is None) == (comparison.verdict in {Verdict.INDICATIVE, Verdict.IMPOSSIBLE})
    if comparison.interval and comparison.p_value is not None:
        low, high = interval_of(comparison)
        assert low <= high
        assert (low <= 1 <= high) == (comparison.verdict in {Verdict.EQUAL, Verdict.INCONCLUSIVE})
        assert 0 <= comparison.p_value <= 1


@pytest.mark.long
@pytest.mark.parametrize("paired", [True, False])
def test_false_verdict_rate(paired: bool) -> None:  # noqa: FBT001
    random = np.random.default_rng(1)
    runs = np.exp(random.normal(0, 0.04, (3000, 2, 5)))
    verdicts = [compare(Samples(tuple(a), tuple(b), paired)).verdict for a, b in runs]
    wrong = sum(verdict in {Verdict.HIGHER, Verdict.LOWER} for verdict in verdicts) / len(verdicts)
    assert 0.035 < wrong < 0.065  # Welch is a little conservative; standard error 0.004


@pytest.mark.long
def test_equivalence_error_rate_at_bound() -> None:
    random = np.random.default_rng(2)
    noise = random.normal(0, 0.01, (3000, 2, 6))
    noise[:, 1] += math.log(1.02)
    equal = sum(compare_paired(np.exp(a), np.exp(b)).equivalent for a, b in noise) / len(noise)
    assert equal < 0.06


# --- several configurations ----------------------------------------------------------------------


def test_holm_adjusts_as_published() -> None:
    # R: p.adjust(c(.01, .04, .03, .005), "holm") = .03 .06 .06 .02
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()
    assert holm([0.7, 0.9]) == (1.0, 1.0)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_levels_reject_exactly_what_adjusted_values_reject(p_values: list[float]) -> None:
    adjusted, levels = holm(p_values), holm_levels(p_values, 0.05)
    for p, q, level in zip(p_values, adjusted, levels, strict=True):
        if not math.isclose(q, 0.05):
            assert (q < 0.05) == (p < level)
        assert p - 1e-12 <= q <= 1


def test_family_stricter_than_single() -> None:
    candidate = [value * w for value, w in zip(BASE, (1.05, 1.01, 1.03, 1.0, 1.04), strict=True)]
    single = Samples(BASE, tuple(candidate), paired=True)
    assert compare(single).verdict is Verdict.HIGHER
    unlike = Samples(BASE, tuple(np.multiply(BASE, (1.3, 0.8, 1.1, 0.9, 1))), paired=True)
    few = Samples((1.0,), (2.0,), paired=True)
    family = compare_family([single, unlike, few, unlike])
    assert family[0].verdict is Verdict.INCONCLUSIVE
    assert family[0].interval is not None
    assert family[0].interval.confidence == pytest.approx(
        1 - 0.05 / 3
    )  # the one without a verdict is not tested
    assert family[2].verdict is Verdict.INDICATIVE
    assert compare_family([single])[0] == compare(single)


# --- how many runs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("runs", "deviations"), [(3, 3.0709), (5, 2.0244), (10, 1.3249), (20, 0.9091)])
def test_detectable_effect_equals_r(runs: int, deviations: float) -> None:
    """R: power.t.test(n = runs, power = 0.8)$delta; ratios are of logarithms, so twice is squared."""
    effect = minimum_detectable_effect(0.01, runs)
    assert effect is not None
    assert math.log1p(effect) == pytest.approx(0.01 * deviations, rel=1e-4)
    twice = minimum_detectable_effect(0.02, runs)
    assert twice == pytest.approx((1 + effect) ** 2 - 1)


def test_power_equals_r() -> None:
    """R, help of power.t.test: n = 20, delta = 1, sd = 1 has power 0.8689528."""
    assert power_of_t_test(1 / math.sqrt(2 / 20), 38, 0.05) == pytest.approx(0.8689528, abs=1e-7)
    assert power_of_t_test(0, 7, 0.05) == pytest.approx(0.025, abs=1e-9)
    assert power_of_t_test(1, 1e6, 0.05) == pytest.approx(power_of_t_test(1, math.inf, 0.05), abs=1e-5)


@pytest.mark.parametrize(
    ("configurations", "percents"),
    [
        (2, {3: (4.7, 20.3), 5: (2.4, 10.0), 10: (1.4, 5.8)}),
        (4, {3: (8.3, 37.7), 5: (3.3, 13.9), 10: (1.7, 7.2)}),
        (8, {3: (13.0, 63), 5: (4.1, 17.6), 10: (2.0, 8.3)}),
        (12, {3: (16.6, 85), 5: (4.7, 20.0), 10: (2.2, 8.9)}),
    ],
)
def test_detectable_equals_recorded_simulation(
    configurations: int, percents: dict[int, tuple[float, float]]
) -> None:
    for repeats, of_spreads in percents.items():
        for spread, percent in zip((0.01, 0.04), of_spreads, strict=True):
            said = Plan(configurations - 1, spread).detectable(repeats)
            assert said is not None
            assert 100 * said == pytest.approx(percent, rel=0.02, abs=0.06)


@pytest.mark.parametrize(("configurations", "repeats"), [(2, 3), (3, 5), (5, 3), (8, 10), (12, 3), (12, 5)])
def test_detectable_near_simulated(configurations: int, repeats: int) -> None:
    true = math.expm1(0.025 * simulated_difference(configurations, repeats, 2000, 5))
    assert Plan(configurations - 1, 0.025).detectable(repeats) == pytest.approx(true, rel=0.1)


def test_one_run_detects_nothing() -> None:
    assert minimum_detectable_effect(0.01, 1) is None
    assert minimum_detectable_effect(0.01, 0) is None
    paired, unpaired = (minimum_detectable_effect(0.01, 10, paired=each) for each in (True, False))
    assert paired is not None
    assert unpaired is not None
    assert paired < unpaired
    assert minimum_detectable_effect(0, 5) == 0


@pytest.mark.parametrize(("spread", "paired"), list(product([0.0, 0.005, 0.02, 0.1], [True, False])))
def test_runs_needed_is_smallest(spread: float, paired: bool) -> None:  # noqa: FBT001
    runs = runs_needed(spread, effect=0.02, paired=paired)
    assert runs is not None
    bound = 0.02 * (1 + 1e-9)
    detectable = minimum_detectable_effect(spread, runs, paired=paired)
    assert detectable is not None
    assert detectable <= bound
    if runs > 3:
        fewer = minimum_detectable_effect(spread, runs - 1, paired=paired)
        assert fewer is not None
        assert fewer > bound


def test_runs_needed_out_of_reach() -> None:
    assert runs_needed(1.0, effect=0.001, paired=False) is None


# --- by a reference that ran in two campaigns ------------------------------------------------------


def by_reference(*logs: Sequence[float]) -> Samples:
    """Samples of these logarithms: the first, the second, the reference beside each."""
    a, b, c, d = (tuple(math.exp(each) for each in group) for group in logs)
    return Samples(a, b, paired=False, together=False, reference=ReferenceRuns(c, d))


def test_ratio_of_ratios_variance_and_df() -> None:
    # Each of variance 1: error sqrt(4 / 3), 8 degrees of freedom, t(.975, 8) = 2.306004
    found = compare(by_reference([0, 1, 2], [5, 6, 7], [10, 11, 12], [12, 13, 14]))
    half = 2.306004135204166 * math.sqrt(4 / 3)
    assert found.ratio == pytest.approx(math.exp(5 - 2))
    assert interval_of(found) == pytest.approx((math.exp(3 - half), math.exp(3 + half)))
    assert (found.runs, found.reference_runs, found.paired) == ((3, 3), (3, 3), False)
    # Only the reference varies, in one campaign: two degrees of freedom, t(.975, 2) = 4.302653
    found = compare(by_reference([0, 0, 0], [5, 5, 5], [9, 10, 11], [12, 12, 12]))
    half = 4.302652729911275 * math.sqrt(1 / 3)
    assert interval_of(found) == pytest.approx((math.exp(3 - half), math.exp(3 + half)))


def test_reference_change_is_welch() -> None:
    one, two = (900.0, 910.0, 905.0), (990.0, 1003.0, 996.0, 1001.0)
    alone = compare_unpaired(one, two)
    assert compare_reference(ReferenceRuns(one, two)) == alone


@given(several, several, several, several, st.floats(0.1, 10), st.floats(0.1, 10))
def test_campaign_factor_changes_no_verdict(
    a: list[float], b: list[float], c: list[float], d: list[float], one: float, two: float
) -> None:
    def judged(first: float, second: float) -> Comparison:
        values = (
            tuple(value * factor for value in group)
            for group, factor in ((a, first), (b, second), (c, first), (d, second))
        )
        first_one, other, beside_first, beside_other = values
        reference = ReferenceRuns(beside_first, beside_other)
        return compare(Samples(first_one, other, paired=False, together=False, reference=reference))

    before, after = judged(1.0, 1.0), judged(one, two)
    assert after.ratio == pytest.approx(before.ratio, rel=1e-6)
    assert interval_of(after) == pytest.approx(interval_of(before), rel=1e-5)


@pytest.mark.parametrize("values", [(1.0, 2.0), (), (0.0, 1.0, 1.0), (1.0, 1.0, -1.0), (1.0, 1.0, math.nan)])
def test_invalid_reference_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"\("):
        ReferenceRuns(values, (1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match=r"\("):
        ReferenceRuns((1.0, 2.0, 3.0), values)


def test_reference_only_for_unpaired_apart() -> None:
    reference = ReferenceRuns((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    for paired, together in ((True, False), (False, True)):
        with pytest.raises(ValueError, match="Samples"):
            Samples((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), paired, together, reference)


@pytest.mark.long
@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("of_reference", [3, 5])
def test_reference_coverage_after_machine_change(runs: int, of_reference: int) -> None:
    """Without it nearly all identical configurations would be told apart; the bench has more settings."""
    count = 600
    found = count_verdicts(TwoCampaigns(runs, of_reference), count, 20261123)
    assert 0.93 <= found.covered <= 0.97
    # Seeded: what chance allows is allowed once and for all.
    assert found.higher + found.lower <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / count)
