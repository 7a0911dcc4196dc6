"""Single runs beside each other: the spread that would explain their difference, and the known one."""

from __future__ import annotations

import math

import pytest

from app.analysis.facts import RunFacts
from app.comparison.comparison import compare_runs
from app.comparison.overall.single_runs import ChanceOfFewRuns
from app.export.comparison import comparison_as_json
from app.library.spreads import KnownSpread
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.run_metadata import IMPORTED
from tests.made_matrix import made_run

QUIET = {"folder": KnownSpread(0.005, 4, 16)}


def pair(**more: object) -> list[RunFacts]:
    return [
        made_run({"filesystem": name}, tps, **more)  # type: ignore[arg-type]
        for name, tps in (("ext4", 1000.0), ("xfs", 1100.0))
    ]


def found(runs: list[RunFacts], spreads: dict[str, KnownSpread] | None = None) -> ChanceOfFewRuns:
    chance = compare_runs(runs, spreads=spreads).rows[-1].judged.chance
    assert chance is not None
    return chance


def test_needed_spread_without_known_spread() -> None:
    chance = found(pair())
    assert chance.needed == pytest.approx(math.log(1.1) / (1.959964 * math.sqrt(2)), rel=1e-5)
    assert (chance.known, chance.chance, chance.is_explained) == (None, None, None)
    [verdict] = compare_runs(pair()).verdicts
    assert verdict == (
        "No verdict: xfs measured 10 % faster than ext4 (1 run each; a verdict needs 3); chance alone "
        "explains it only if such runs vary by 3.4 % or more."
    )


def test_difference_against_library_spread() -> None:
    chance = found(pair(), QUIET)
    assert chance.is_explained is False
    assert chance.chance == pytest.approx(0.0, abs=1e-6)
    assert (
        compare_runs(pair(), spreads=QUIET)
        .verdicts[0]
        .endswith(
            "3.4 % or more; 16 similar runs of 4 configurations in this library vary by 0.5 %, too little "
            "to explain it."
        )
    )
    noisy = {"folder": KnownSpread(0.05, 4, 16)}
    assert found(pair(), noisy).is_explained is True
    assert compare_runs(pair(), spreads=noisy).verdicts[0].endswith("vary by 5 %, which may explain it.")


def test_large_difference_indicative_only() -> None:
    assert compare_runs(pair(), spreads=QUIET).verdicts[0].startswith("No verdict: ")


def test_own_repeats_preferred_to_library_spread() -> None:
    noise = (1.0, 1.01, 0.99, 1.005)
    repeats = [
        made_run({"filesystem": name}, tps * each, repeat=place)
        for name, tps in (("ext4", 1000.0), ("zfs", 700.0))
        for place, each in enumerate(noise)
    ]
    chance = found([*repeats, made_run({"filesystem": "xfs"}, 1100.0)], QUIET)
    assert chance.of_these
    assert chance.known is not None
    assert (chance.known.runs, chance.known.configurations, chance.known.df) == (8, 2, 6)
    assert chance.comparisons == 1  # zfs has a verdict


def test_single_runs_adjusted_for_comparisons() -> None:
    runs = [*pair(), made_run({"filesystem": "zfs"}, 800.0)]
    assert found(runs).comparisons == 2
    assert "(adjusted for 2 comparisons)" in compare_runs(runs).verdicts[0]
    assert found(runs[:2]).needed > compare_runs(runs).rows[1].judged.chance.needed  # type: ignore[union-attr]


def test_other_target_kind_and_imported_no_spread() -> None:
    assert found(pair(kind="memory"), QUIET).known is None
    imported = pair(kind=IMPORTED, marks=((IMPORTED, "elsewhere"),))
    assert found(imported, QUIET | {IMPORTED: KnownSpread(0.01, 4, 16)}).known is None


def test_between_campaigns_no_repeat_tells_the_spread() -> None:
    runs = [pair()[0], made_run({"filesystem": "xfs"}, 1100.0, campaign="two")]
    chance = found(runs, QUIET)
    assert chance.between_campaigns
    assert chance.known is None
    assert "such runs of two campaigns vary by 3.4 % or more" in compare_runs(runs).verdicts[0]


def test_no_chance_disturbed_rate_or_zero() -> None:
    for runs in (
        pair(marks=((DISTURBED, "others"),)),
        pair(rate=True),
        [pair()[0], made_run({"filesystem": "xfs"}, 0.0)],
        [pair()[0], made_run({"filesystem": "xfs"}, None)],
    ):
        assert compare_runs(runs).rows[-1].judged.chance is None
    assert compare_runs([]).rows == ()


def test_the_json_tells_it() -> None:
    document = comparison_as_json(compare_runs(pair(), spreads=QUIET))
    configurations = document["configurations"]
    assert isinstance(configurations, list)
    last = configurations[-1]
    assert isinstance(last, dict)
    assert last["chance"] == {
        "needed_spread": pytest.approx(0.0344, abs=1e-4),
        "comparisons": 1,
        "known_spread": 0.005,
        "probability": pytest.approx(0.0, abs=1e-6),
    }
