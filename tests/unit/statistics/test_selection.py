"""What a sequential design leaves out: half of the time, the same winner, and all where nothing differs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.statistics.selection import (
    FEWEST_ROUNDS,
    SIMULATED_ALONE,
    SIMULATED_LOST,
    SIMULATED_LOST_UNEQUAL,
    differences_from,
    judge_round,
    pair_alpha,
    rival_alpha,
    within_precision,
)
from tests.simulated_selections import (
    CAP,
    Array,
    distinguished_by_matrix,
    published_truths,
    runs_of,
    select,
    spreads,
    truths,
)

CAMPAIGNS = 200


def simulated(
    kind: str,
    configurations: int,
    cv: float,
    *,
    spread: str = "alike",
    effects: dict[str, float] | None = None,
    campaigns: int = CAMPAIGNS,
) -> tuple[Array, Array]:
    random = np.random.default_rng(11)
    truth = truths(kind, configurations, campaigns, random)
    return truth, runs_of(truth, spreads(spread, cv, truth.shape, random), random, **(effects or {}))


def by_chance(share: float) -> float:
    """Return how many of 500 campaigns, as a share, there are hardly more of by chance than of all."""
    return share + 2 * math.sqrt(share * (1 - share) / 500)


def same_winner(logs: Array) -> float:
    selected = select(logs)
    return 1 - float(distinguished_by_matrix(logs, selected.leader).mean())


@pytest.mark.parametrize("configurations", [6, 33])
@pytest.mark.parametrize(
    ("kind", "cv", "spread"),
    [
        ("5 %", 0.01, "unequal"),
        ("5 %", 0.025, "alike"),
        ("spread", 0.04, "alike"),
        ("spread", 0.025, "unequal"),
    ],
)
def test_half_time_same_winner(configurations: int, kind: str, cv: float, spread: str) -> None:
    truth, logs = simulated(kind, configurations, cv, spread=spread)
    selected = select(logs)
    assert np.median(selected.share) <= 0.5
    assert (selected.leader == logs.mean(axis=2).argmax(axis=1)).mean() >= 0.95
    assert same_winner(logs) >= 0.95
    assert (selected.leader == truth.argmax(axis=1)).mean() >= 0.95


@pytest.mark.parametrize("configurations", [8, 33])
@pytest.mark.parametrize("spread", ["alike", "unequal"])
def test_half_time_with_five_percent_lead(configurations: int, spread: str) -> None:
    """All others are 5 % behind, which is the worst case, with 4 % from run to run."""
    _, logs = simulated("5 %", configurations, 0.04, spread=spread, campaigns=500)
    assert np.median(select(logs).share) <= 0.5
    assert same_winner(logs) >= 0.95


@pytest.mark.parametrize("configurations", [6, 12, 33])
@pytest.mark.parametrize("spread", ["alike", "unequal", "one noisy"])
@pytest.mark.long
def test_error_rates_of_selection(configurations: int, spread: str) -> None:
    truth, logs = simulated("5 %", configurations, 0.04, spread=spread, campaigns=500)
    best = np.take_along_axis(select(logs).left, truth.argmax(axis=1)[:, None], axis=1)
    assert 1 - best.mean() <= by_chance(SIMULATED_LOST if spread == "alike" else SIMULATED_LOST_UNEQUAL)
    _, equal = simulated("equal", configurations, 0.04, spread=spread, campaigns=500)
    assert (select(equal).left.sum(axis=1) == 1).mean() <= by_chance(SIMULATED_ALONE)


def test_published_truths_take_third() -> None:
    random = np.random.default_rng(12)
    truth = np.array(list(published_truths(12, CAMPAIGNS, random)))
    ordered = np.sort(truth, axis=1)
    truth = truth[ordered[:, -1] - ordered[:, -2] > math.log(1.05)]
    logs = runs_of(truth, spreads("unequal", 0.04, truth.shape, random), random)
    selected = select(logs)
    assert np.median(selected.share) < 0.35
    assert same_winner(logs) == 1


@pytest.mark.parametrize("effects", [{}, {"drift": -0.105}, {"carry_over": -0.03}])
@pytest.mark.long
def test_equals_reach_cap(effects: dict[str, float]) -> None:
    for configurations in (2, 6, 33):
        _, logs = simulated("equal", configurations, 0.025, effects=effects)
        selected = select(logs)
        assert (selected.left.sum(axis=1) > 1).mean() >= 0.92
        at_the_cap = ~np.isnan(selected.seen[:, :, CAP - 1]).all(axis=1)
        assert at_the_cap.mean() >= 0.92
        assert same_winner(logs) >= 0.95


def test_no_exclusion_before_third_round() -> None:
    logs = np.log(np.array([[100.0, 101.0], [50.0, 50.1], [10.0, 10.01]]))
    active = np.ones(3, dtype=bool)
    assert not judge_round(logs, active, cap=CAP).out.any()
    more = np.concatenate((logs, logs[:, :1]), axis=1)
    assert more.shape[1] == FEWEST_ROUNDS
    assert judge_round(more, active, cap=CAP).out.tolist() == [False, True, True]


def test_rounds_that_slow_everybody_decide_nothing() -> None:
    random = np.random.default_rng(2)
    logs = 0.01 * random.standard_normal((4, 6)) + np.array([[0.0], [0.05], [0.1], [0.0]])
    slow = logs + 2.0 * random.standard_normal((1, 6))
    active = np.ones(4, dtype=bool)
    assert judge_round(slow, active, cap=CAP).out.tolist() == judge_round(logs, active, cap=CAP).out.tolist()
    assert int(judge_round(slow, active, cap=CAP).leader) == 2


def test_missing_run_moves_nothing_ahead() -> None:
    """In the fast round the best one has no run: its plain mean would be the lowest."""
    logs = np.array([[0.1, 0.11, math.nan, 0.1], [0.0, 0.01, 3.0, 0.0], [0.0, 0.0, 3.0, 0.01]])
    judged = judge_round(logs, np.ones(3, dtype=bool), cap=CAP)
    assert int(judged.leader) == 0
    assert judged.differences.rounds.tolist() == [3, 3, 3]
    assert judged.out.tolist() == [False, True, True]


def test_only_common_rounds_are_paired() -> None:
    logs = np.array([[0.0, 1.0, 2.0, 3.0, 4.0], [0.1, 1.1, 2.1, math.nan, math.nan]])
    found = differences_from(logs, np.array(0))
    assert found.behind[1] == pytest.approx(-0.1)
    assert found.rounds.tolist() == [5, 3]


def test_never_run_neither_leader_nor_out() -> None:
    logs = np.array([[math.nan] * 4, [0.1, 0.11, 0.1, 0.1], [0.0, 0.01, 0.0, 0.0]])
    judged = judge_round(logs, np.array([False, True, True]), cap=CAP)
    assert int(judged.leader) == 1
    assert judged.out.tolist() == [False, False, True]


def test_excluded_neither_leads_nor_repeats() -> None:
    logs = np.log(np.array([[9.0, 9.1, 9.05, math.nan], [5.0, 5.1, 5.0, 5.1], [5.0, 5.2, 5.0, 5.0]]))
    judged = judge_round(logs, np.array([False, True, True]), cap=CAP)
    assert int(judged.leader) in {1, 2}
    assert not judged.out[0]


def test_rival_alpha_stricter_for_fewer() -> None:
    assert rival_alpha(2) < rival_alpha(3) < rival_alpha(6) == rival_alpha(33)


def test_pair_alpha_stricter_for_more() -> None:
    assert pair_alpha(2) == pair_alpha(6) > pair_alpha(12) > pair_alpha(33) > rival_alpha(33)


def test_within_precision() -> None:
    random = np.random.default_rng(3)
    near = 0.004 * random.standard_normal((3, 8)) + np.array([[0.01], [0.0], [0.0]])
    active = np.ones(3, dtype=bool)
    judged = judge_round(near, active, cap=CAP)
    assert within_precision(judged, active, 0.05)
    assert not within_precision(judged, active, 0.002)
    only = np.arange(3) == judged.leader
    assert within_precision(judged, only, 0.001)


def test_within_precision_error_rates() -> None:
    for kind, least, most in (("equal", 0.9, 1.0), ("5 %", 0.0, 0.05)):
        _, logs = simulated(kind, 6, 0.01)
        judged = judge_round(logs, np.ones(logs.shape[:2], dtype=bool), cap=CAP)
        share = within_precision(judged, np.ones(logs.shape[:2], dtype=bool), 0.03).mean()
        assert least <= share <= most


def test_nearest_rival_stays() -> None:
    """Both are behind by more than chance makes of one in six, and by less than a winner needs."""
    scatter = 0.01 * np.array([[1.0, -1.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0]] * 3)
    logs = scatter + np.array([[0.03], [0.011], [0.0105], [0.01], [0.01], [0.01]])
    judged = judge_round(logs, np.ones(6, dtype=bool), cap=CAP)
    assert judged.out.tolist() == [False, False, True, True, True, True]


def test_identical_runs_keep_equals() -> None:
    logs = np.log(np.array([[100.0] * 3, [100.0] * 3, [90.0] * 3, [80.0] * 3]))
    judged = judge_round(logs, np.ones(4, dtype=bool), cap=CAP)
    assert int(judged.leader) == 0
    assert judged.out.tolist() == [False, False, True, True]


@pytest.mark.parametrize("cap", [4, 20])
def test_single_of_equals_with_other_caps(cap: int) -> None:
    random = np.random.default_rng(6)
    logs = 0.04 * random.standard_normal((500, 6, cap))
    assert (select(logs).left.sum(axis=1) == 1).mean() <= by_chance(SIMULATED_ALONE)
