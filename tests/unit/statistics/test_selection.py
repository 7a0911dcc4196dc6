"""What a sequential design leaves out: half of the time, the same winner, and all where nothing differs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.statistics.selection import FEWEST_ROUNDS, all_within, differences_from, judge_round, level_of
from tests.simulated_selections import (
    CAP,
    Array,
    published_truths,
    runs_of,
    select,
    spreads,
    told_apart_by_the_matrix,
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
) -> tuple[Array, Array]:
    random = np.random.default_rng(11)
    truth = truths(kind, configurations, CAMPAIGNS, random)
    return truth, runs_of(truth, spreads(spread, cv, truth.shape, random), random, **(effects or {}))


def same_winner(logs: Array) -> float:
    selected = select(logs)
    return 1 - float(told_apart_by_the_matrix(logs, selected.leader).mean())


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
def test_half_of_the_time_finds_the_winner_of_the_fixed_matrix(
    configurations: int, kind: str, cv: float, spread: str
) -> None:
    truth, logs = simulated(kind, configurations, cv, spread=spread)
    selected = select(logs)
    assert np.median(selected.share) <= 0.5
    assert (selected.leader == logs.mean(axis=2).argmax(axis=1)).mean() >= 0.95
    assert same_winner(logs) >= 0.95
    assert (selected.leader == truth.argmax(axis=1)).mean() >= 0.95


def test_truths_as_published_runs_have_them_take_a_third_of_the_time() -> None:
    random = np.random.default_rng(12)
    truth = np.array(list(published_truths(12, CAMPAIGNS, random)))
    ordered = np.sort(truth, axis=1)
    truth = truth[ordered[:, -1] - ordered[:, -2] > math.log(1.05)]
    logs = runs_of(truth, spreads("unequal", 0.04, truth.shape, random), random)
    selected = select(logs)
    assert np.median(selected.share) < 0.35
    assert same_winner(logs) == 1


@pytest.mark.parametrize("effects", [{}, {"drift": -0.105}, {"carry_over": -0.03}])
def test_where_all_are_equal_the_cap_is_reached_with_several_left(effects: dict[str, float]) -> None:
    for configurations in (2, 6, 33):
        _, logs = simulated("equal", configurations, 0.025, effects=effects)
        selected = select(logs)
        assert (selected.left.sum(axis=1) > 1).mean() >= 0.92
        at_the_cap = ~np.isnan(selected.seen[:, :, CAP - 1]).all(axis=1)
        assert at_the_cap.mean() >= 0.92
        assert same_winner(logs) >= 0.95


def test_nothing_is_left_out_before_the_third_round() -> None:
    logs = np.log(np.array([[100.0, 101.0], [50.0, 50.1], [10.0, 10.01]]))
    active = np.ones(3, dtype=bool)
    assert not judge_round(logs, active).out.any()
    more = np.concatenate((logs, logs[:, :1]), axis=1)
    assert more.shape[1] == FEWEST_ROUNDS
    assert judge_round(more, active).out.tolist() == [False, True, True]


def test_rounds_that_slow_everybody_decide_nothing() -> None:
    random = np.random.default_rng(2)
    logs = 0.01 * random.standard_normal((4, 6)) + np.array([[0.0], [0.05], [0.1], [0.0]])
    slow = logs + 2.0 * random.standard_normal((1, 6))
    active = np.ones(4, dtype=bool)
    assert judge_round(slow, active).out.tolist() == judge_round(logs, active).out.tolist()
    assert int(judge_round(slow, active).leader) == 2


def test_a_run_that_is_missing_moves_nobody_ahead() -> None:
    """In the fast round the best one has no run: its plain mean would be the lowest."""
    logs = np.array([[0.1, 0.11, math.nan, 0.1], [0.0, 0.01, 3.0, 0.0], [0.0, 0.0, 3.0, 0.01]])
    judged = judge_round(logs, np.ones(3, dtype=bool))
    assert int(judged.leader) == 0
    assert judged.differences.rounds.tolist() == [3, 3, 3]
    assert judged.out.tolist() == [False, True, True]


def test_only_common_rounds_are_paired() -> None:
    logs = np.array([[0.0, 1.0, 2.0, 3.0, 4.0], [0.1, 1.1, 2.1, math.nan, math.nan]])
    found = differences_from(logs, np.array(0))
    assert found.behind[1] == pytest.approx(-0.1)
    assert found.rounds.tolist() == [5, 3]


def test_what_never_ran_is_neither_leader_nor_left_out() -> None:
    logs = np.array([[math.nan] * 4, [0.1, 0.11, 0.1, 0.1], [0.0, 0.01, 0.0, 0.0]])
    judged = judge_round(logs, np.array([False, True, True]))
    assert int(judged.leader) == 1
    assert judged.out.tolist() == [False, False, True]


def test_what_was_left_out_neither_leads_nor_is_left_out_again() -> None:
    logs = np.log(np.array([[9.0, 9.1, 9.05, math.nan], [5.0, 5.1, 5.0, 5.1], [5.0, 5.2, 5.0, 5.0]]))
    judged = judge_round(logs, np.array([False, True, True]))
    assert int(judged.leader) in {1, 2}
    assert not judged.out[0]


def test_fewer_configurations_are_judged_more_strictly() -> None:
    assert level_of(2) < level_of(3) < level_of(5) == level_of(33)


def test_within_a_precision_is_what_is_known_to_be_no_farther_behind() -> None:
    random = np.random.default_rng(3)
    near = 0.004 * random.standard_normal((3, 8)) + np.array([[0.01], [0.0], [0.0]])
    active = np.ones(3, dtype=bool)
    judged = judge_round(near, active)
    assert all_within(judged, active, 0.05)
    assert not all_within(judged, active, 0.002)
    only = np.arange(3) == judged.leader
    assert all_within(judged, only, 0.001)


def test_equals_are_declared_within_a_precision_and_others_hardly_ever() -> None:
    for kind, least, most in (("equal", 0.9, 1.0), ("5 %", 0.0, 0.05)):
        _, logs = simulated(kind, 6, 0.01)
        judged = judge_round(logs, np.ones(logs.shape[:2], dtype=bool))
        share = all_within(judged, np.ones(logs.shape[:2], dtype=bool), 0.03).mean()
        assert least <= share <= most
