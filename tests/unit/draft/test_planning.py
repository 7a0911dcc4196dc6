"""What the review says that so many runs show: with the real number of comparisons, and both ways."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Configuration,
    FolderTarget,
    MemoryTarget,
    Script,
    ServerTarget,
    Workload,
    WorkloadPhase,
)
from app.domain.campaign.matrix import Design
from app.draft.planning import NOISY_SPREAD, Plan, effect_sentences
from app.library.spreads import KnownSpread

SCRIPTS = [Script(each) for each in BuiltinScript]
FOLDER = {"folder": KnownSpread(0.021, 4, 19)}


def campaign(configurations: int, repeats: int = 5, *, memory: bool = False) -> Campaign:
    made = [Configuration(f"c{number}", FolderTarget()) for number in range(configurations)]
    if memory:
        made[-1] = Configuration("memory", MemoryTarget())
    return Campaign("trial", tuple(made), repeats)


def shown(sentence: str) -> float:
    found = re.search("(?:a difference of|power\\)) ([\\d.]+)\u00a0%", sentence)
    assert found is not None
    return float(found[1])


def test_more_configurations_less_power() -> None:
    differences = [shown(effect_sentences(campaign(count), None, FOLDER)[0]) for count in (2, 4, 8, 12)]
    assert differences == sorted(differences)
    assert differences[-1] > 1.7 * differences[0]
    assert "11 comparisons" in effect_sentences(campaign(12))[0]
    assert "comparisons" not in effect_sentences(campaign(2))[0]


def matrix(footings: int, scales: int, scripts: int) -> Campaign:
    """Return a campaign of as many folders as footings, each under as many conditions."""
    made = [
        Configuration(
            f"{folder} {scale} {script}",
            FolderTarget(f"/srv/{folder}"),
            workload=Workload(scripts=(SCRIPTS[script],), scale=scale + 1, size=None),
        )
        for folder, scale, script in product(range(footings), range(scales), range(scripts))
    ]
    return Campaign("trial", tuple(made), 5)


@pytest.mark.parametrize(
    ("footings", "scales", "scripts", "comparisons"),
    [(4, 2, 2, 3), (2, 5, 1, 1), (1, 4, 1, 3), (1, 4, 2, 3), (1, 1, 2, 0)],
)
def test_family_is_that_of_a_condition(footings: int, scales: int, scripts: int, comparisons: int) -> None:
    sentences = effect_sentences(matrix(footings, scales, scripts), None, FOLDER)[0]
    if not comparisons:
        assert sentences.startswith("Each configuration has different conditions")
        return
    assert shown(sentences) == pytest.approx(100 * (Plan(comparisons, 0.021).detectable(5) or 0), abs=0.06)


def test_no_verdict_is_said_before() -> None:
    made = matrix(2, 1, 1)
    phase = WorkloadPhase("measured", background="pg_basebackup")
    beside = [replace(each, workload=replace(each.workload, phases=(phase,))) for each in made.configurations]
    sentences = effect_sentences(replace(made, configurations=tuple(beside)))
    assert [each.partition(":")[0] for each in sentences] == ["There will be no verdict"]
    server = [replace(each, target=ServerTarget("host=db")) for each in made.configurations]
    assert "without “ssh”" in effect_sentences(replace(made, configurations=tuple(server)))[0]
    known = [replace(each, target=ServerTarget("host=db", ssh="db")) for each in made.configurations]
    assert "ssh" not in " ".join(effect_sentences(replace(made, configurations=tuple(known))))


def test_spread_from_library_target() -> None:
    first = effect_sentences(campaign(2), None, FOLDER)[0]
    assert (
        "that runs vary by 2.1\u00a0%, as seen on this kind of target in 19 runs of 4 configurations" in first
    )
    assert shown(first) == pytest.approx(100 * (Plan(1, 0.021).detectable(5) or 0), abs=0.06)


def test_larger_spread_wins_unknown_assumed() -> None:
    both = FOLDER | {"memory": KnownSpread(0.005, 2, 12)}
    assert "vary by 2.1\u00a0%" in effect_sentences(campaign(2, memory=True), None, both)[0]
    first = effect_sentences(campaign(2, memory=True), None, FOLDER)[0]
    assert "figures below assume 4\u00a0%" in first


def test_it_answers_both_ways_with_the_time() -> None:
    _, differences, times = effect_sentences(campaign(2, 5), 3000.0, FOLDER)  # ten minutes a repeat
    plan = Plan(1, 0.021)
    for difference in (0.02, 0.05, 0.10):
        assert f"{difference * 100:.0f}\u00a0% needs {plan.repeats(difference)} repeats (" in differences
    assert f"6 repeats in 1 h detect {100 * (plan.detectable(6) or 0):.2g}\u00a0%" in times
    assert "48 repeats in 8 h detect" in times
    assert "288 repeats in 48 h detect" in times


def test_sequential_says_repeats_are_the_limit() -> None:
    sequential = replace(campaign(3, 10), design=Design.SEQUENTIAL)
    assert effect_sentences(sequential)[:-1] == effect_sentences(campaign(3, 10))
    assert (
        "This applies to configurations that remain until the last round" in effect_sentences(sequential)[-1]
    )


def test_suggested_repeats_show_the_difference() -> None:
    for comparisons in (1, 4, 11):
        plan = Plan(comparisons, NOISY_SPREAD)
        for difference in (0.02, 0.05, 0.2):
            repeats = plan.repeats(difference)
            assert repeats is not None
            assert (plan.detectable(repeats) or 1) <= difference * (1 + 1e-9)
            assert repeats == 3 or (plan.detectable(repeats - 1) or 0) > difference


def test_impossible_or_costly_repeats() -> None:
    wild = {"folder": KnownSpread(0.9, 4, 19)}
    sentences = effect_sentences(campaign(2, 3), 3 * 86_400.0, wild)
    assert re.search("2\u00a0% [^%]*more than 1,000 repeats[^%]* 5\u00a0%", sentences[1])
    assert len(sentences) == 2  # a day a repeat: not even a weekend holds three
    assert len(effect_sentences(campaign(2, 3), None, wild)) == 2


def test_few_runs_and_single_configuration() -> None:
    assert effect_sentences(campaign(1)) == (
        "There is only one configuration, so the campaign compares nothing.",
    )
    assert effect_sentences(campaign(2, 2))[0].startswith("2 runs each are too few for a verdict")
    assert effect_sentences(campaign(2, 1))[0].startswith("1 run each is too few for a verdict")
