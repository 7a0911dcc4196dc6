"""The sentence about the fastest: who is in the set, who was not compared, and what it may not say."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from app.analysis.facts import RunFacts
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.overall.fastest import (
    among_fastest,
    describe_fastest,
    find_fastest,
    is_proved,
    shows_speed,
)
from app.export.comparison import comparison_as_json
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from tests.made_matrix import made_run


def repeated(
    speeds: dict[str, float], count: int = 5, campaign: str = "one", **more: object
) -> list[RunFacts]:
    noise = np.exp(0.003 * np.random.default_rng(3).standard_normal((count, len(speeds))))
    return [
        made_run(
            {"filesystem": name},
            float(tps * noise[repeat, place]),
            repeat=repeat,
            campaign=campaign,
            **more,  # type: ignore[arg-type]
        )
        for repeat in range(count)
        for place, (name, tps) in enumerate(speeds.items())
    ]


def fastest_sentence(runs: list[RunFacts]) -> str:
    comparison = compare_runs(runs)
    return describe_fastest(find_fastest(comparison))


def test_names_configurations_indistinguishable_from_fastest() -> None:
    assert fastest_sentence(repeated({"ext4": 1000, "xfs": 1100, "zfs": 1099.9, "btrfs": 500})) == (
        "Fastest: xfs. Not significantly slower: zfs (with 95 % confidence)."
    )


def test_single_fastest() -> None:
    assert fastest_sentence(repeated({"ext4": 1000, "xfs": 1200, "btrfs": 500})) == (
        "Fastest: xfs. Each of the other 2 is significantly slower (with 95 % confidence)."
    )


def test_all_inconclusive() -> None:
    assert fastest_sentence(repeated({"ext4": 1000, "xfs": 1000.1, "f2fs": 1000.05})) == (
        "None of these 3 is proven to be the fastest; ext4 has the highest mean."
    )


def test_of_two_configurations_the_verdict_says_it() -> None:
    assert fastest_sentence(repeated({"ext4": 1000, "xfs": 1200})) == ""
    assert fastest_sentence([]) == ""


def test_baseline_excluded_when_significantly_slower() -> None:
    comparison = compare_runs(repeated({"ext4": 1000, "xfs": 1200, "zfs": 1199}))
    found = find_fastest(comparison)
    assert found is not None
    assert comparison.rows[0] not in (found.best, *found.others)


def test_too_few_runs_other_campaigns_not_compared() -> None:
    runs = [
        *repeated({"ext4": 1000, "xfs": 1200, "btrfs": 500}),
        *repeated({"f2fs": 2000}, count=2),
        *repeated({"zfs": 3000}, campaign="two"),
    ]
    assert ". Not compared: f2fs, zfs (with" in fastest_sentence(runs)


def test_not_durable_excluded_unsafe_marked() -> None:
    runs = [
        *repeated({"ext4": 1000, "xfs": 1100, "btrfs": 500}),
        *repeated({"f2fs": 9000}, marks=((NOT_DURABLE, "fsync off"),)),
        *repeated({"zfs": 1300}, marks=((UNSAFE, "traded"),)),
    ]
    assert fastest_sentence(runs).startswith(
        "Fastest: zfs (UNSAFE). Each of the other 3 is significantly slower"
    )
    assert "f2fs" not in fastest_sentence(runs)


def test_runs_at_a_rate_have_no_fastest() -> None:
    assert fastest_sentence(repeated({"ext4": 300, "xfs": 300, "btrfs": 290}, rate=True)) == ""


@pytest.mark.parametrize("disturbed", ["ext4", "xfs"])
def test_disturbed_configurations_are_not_compared(disturbed: str) -> None:
    speeds = {"ext4": 1000.0, "xfs": 1200.0, "btrfs": 500.0, "zfs": 900.0}
    spoilt = speeds.pop(disturbed)
    first = {disturbed: spoilt}
    runs = [*repeated(first, marks=((DISTURBED, "others"),)), *repeated(speeds)]
    sentence = fastest_sentence(sorted(runs, key=lambda run: run.configuration != "ext4"))
    if disturbed == "ext4":  # nothing is compared with the first then
        assert sentence == ""
    else:
        assert ". Not compared: xfs" in sentence


def test_the_json_names_them() -> None:
    runs = repeated({"ext4": 1000, "xfs": 1100, "zfs": 1099.9, "btrfs": 500})
    found = json.loads(json.dumps(comparison_as_json(compare_runs(runs))))["fastest"]
    assert (found["name"], found["not_distinguishable"], found["not_judged"]) == ("xfs", ["zfs"], [])
    assert found["sentence"].startswith("Fastest: xfs")


def first_part(runs: list[RunFacts]) -> RunComparison:
    return compare_runs(runs).parts[0]


@pytest.mark.parametrize(
    ("speeds", "count", "among", "proved"),
    [
        ({"ext4": 1000, "xfs": 1200, "btrfs": 500}, 3, ["xfs"], True),
        ({"ext4": 1000, "xfs": 1200, "btrfs": 500}, 1, ["xfs"], False),
        ({"ext4": 1000, "xfs": 1200}, 3, ["xfs"], True),
        ({"ext4": 1000, "xfs": 1000.1}, 3, ["ext4", "xfs"], True),
        ({"ext4": 1000, "xfs": 1200}, 2, ["xfs"], False),
        ({"ext4": 1000}, 1, ["ext4"], True),
    ],
)
def test_highest_mean_of_few_is_not_proved(
    speeds: dict[str, float], count: int, among: list[str], *, proved: bool
) -> None:
    part = first_part(repeated(speeds, count))
    assert sorted(row.name for row in among_fastest(part)) == among
    assert is_proved(part) is proved


def test_what_is_not_durable_leaves_a_pair() -> None:
    runs = repeated({"ext4": 1000, "xfs": 1000.1}, 3)
    lost = repeated({"f2fs": 9000}, 3, marks=((NOT_DURABLE, "fsync off"),))
    part = first_part([*runs, *lost])
    assert {row.name for row in among_fastest(part)} == {"ext4", "xfs"}


def at_300(**speeds: float) -> RunComparison:
    """Return runs of which 300 TPS were wanted, and whether they kept that is known."""
    runs = repeated(speeds, 3, rate=True)
    return first_part(
        [
            replace(run, summary={**run.summary, "transactions": 60 * (run.summary["tps"] or 0)})
            for run in runs
        ]
    )


@pytest.mark.parametrize(
    ("speeds", "tells"),
    [
        ({"ext4": 300.0, "xfs": 300.5, "btrfs": 299.9}, False),
        ({"ext4": 100.0, "xfs": 120.0, "btrfs": 50.0}, True),
        ({"ext4": 100.0, "xfs": 120.0, "btrfs": 50.0, "zfs": 300.0}, False),
    ],
)
def test_fastest_only_for_unkept_rates(speeds: dict[str, float], *, tells: bool) -> None:
    part = at_300(**speeds)
    assert shows_speed(part) is tells
    assert (find_fastest(part) is not None) is tells
    assert is_proved(part) is tells
