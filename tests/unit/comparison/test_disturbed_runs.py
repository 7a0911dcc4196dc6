"""Disturbed runs never make a clean verdict: they are set aside, or what they show is indicative only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.figures import compare_figure
from app.comparison.groups import WeakRuns, could_be_others
from app.comparison.verdict import ReservationCode, count_words, how_disturbed
from app.comparison.warnings import comparison_warnings
from app.domain.disturbances import (
    Disturbance,
    DisturbanceKind,
    Disturbances,
    MeasuredActivity,
    judge_disturbances,
)
from app.export.comparison import comparison_as_json
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.run_metadata import IMPORTED
from app.statistics.verdict import Interval, Verdict
from tests.fix_window import Trial, write_trial


def disturbed(run: RunFacts, percent: float) -> RunFacts:
    """Return a run in which other programs used so much of the CPUs."""
    judged = Disturbances((Disturbance(DisturbanceKind.OTHERS_CPU, percent),))
    return replace(run, marks=(*run.marks, (DISTURBED, judged.reason)), disturbances=judged)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    return read_run_facts(write_trial(tmp_path_factory.mktemp("runs") / "a.footing", Trial()))


def campaign(trial: RunFacts, **speeds: Sequence[float | tuple[float, float]]) -> list[RunFacts]:
    """Return runs of configurations: of each its TPS, or TPS and the CPU that others used in per cent."""
    runs = []
    for name, values in speeds.items():
        for repeat, value in enumerate(values):
            tps, percent = value if isinstance(value, tuple) else (value, 0.0)
            run = replace(
                trial,
                id=f"{name}{repeat}",
                name=f"{name} #{repeat + 1}",
                configuration=name,
                repeat=repeat,
                summary={"tps": tps, "latency_p99_ms": 1e4 / tps},
                shape=None,
            )
            runs.append(disturbed(run, percent) if percent else run)
    return runs


def compared(trial: RunFacts, **speeds: Sequence[float | tuple[float, float]]) -> RunComparison:
    return compare_runs(campaign(trial, **speeds))


def verdict_of(comparison: RunComparison, place: int = 1) -> Verdict:
    found = comparison.rows[place].comparison
    assert found is not None
    return found.verdict


def unknown(run: RunFacts) -> RunFacts:
    """Return a run of which nothing is known of others."""
    return replace(run, disturbances=judge_disturbances(MeasuredActivity({}, 2)))


QUIET = (1000.0, 1004.0, 998.0, 1001.0, 1003.0)
SLOW = (800.0, 805.0, 797.0, 801.0, 802.0)
ALL_DISTURBED = tuple(
    (tps, percent) for tps, percent in zip(SLOW, (42.0, 55.0, 61.0, 70.0, 50.0), strict=True)
)


def test_undisturbed_clean_verdict(trial: RunFacts) -> None:
    found = compared(trial, one=QUIET, two=SLOW)
    assert verdict_of(found) is Verdict.LOWER
    assert "disturbed" not in " ".join((*found.verdicts, *comparison_warnings(found)))
    document = comparison_as_json(found)["configurations"]
    assert isinstance(document, list)
    assert [each["disturbed"] for each in document if isinstance(each, dict)] == [[], []]


def test_all_runs_disturbed_indicative_with_amount(trial: RunFacts) -> None:
    found = compared(trial, one=QUIET, two=ALL_DISTURBED)
    assert verdict_of(found) is Verdict.INDICATIVE
    assert found.rows[1].comparison is not None
    assert found.rows[1].comparison.interval is None
    assert found.verdicts == (
        ("No verdict, because 5 of 10 runs were disturbed: two measured 20 % slower than one (5 runs each)."),
    )


def test_disturbed_excluded_with_three_left(trial: RunFacts) -> None:
    two = (SLOW[0], (500.0, 42.0), SLOW[2], (480.0, 58.0), SLOW[4])
    found = compared(trial, one=QUIET, two=two)
    assert verdict_of(found) is Verdict.LOWER
    assert [run.name for run in found.runs if run.is_excluded] == ["two #2", "two #4"]
    assert found.rows[1].runs == 3
    assert found.rows[1].mean.mean == pytest.approx(799.7, abs=0.1)
    [reservation] = found.rows[1].judged.reservations
    assert reservation.code is ReservationCode.LEFT_OUT
    (weak,) = reservation.values
    assert isinstance(weak, WeakRuns)
    assert ([run.name for run in weak.weak], weak.runs) == (["two #2", "two #4"], 10)
    (sentence,) = found.verdicts
    assert sentence.endswith(f"; {reservation.text}.")


@pytest.mark.parametrize("count", [1, 5, 10])
def test_unknown_disturbance_is_no_verdict(trial: RunFacts, count: int) -> None:
    runs = campaign(trial, one=QUIET[:3] if count == 1 else QUIET, two=SLOW[:3] if count == 1 else SLOW)
    found = compare_runs([unknown(run) if at < count else run for at, run in enumerate(runs)])
    assert verdict_of(found) is Verdict.INDICATIVE
    assert "not known whether" in found.verdicts[0]
    assert "It is not known whether other processes disturbed" in comparison_warnings(found)[0]
    assert compare_figure(found, "latency_p99_ms").better(1) is None


def test_unknown_runs_are_set_aside_like_disturbed(trial: RunFacts) -> None:
    runs = campaign(trial, one=QUIET, two=SLOW)
    found = compare_runs([unknown(run) if at in {6, 8} else run for at, run in enumerate(runs)])
    assert verdict_of(found) is Verdict.LOWER
    assert [run.name for run in found.runs if run.is_excluded] == ["two #2", "two #4"]
    document = comparison_as_json(found)["configurations"]
    assert isinstance(document, list)
    assert [each["disturbance_unknown"] for each in document if isinstance(each, dict)] == [[], [6, 8]]


def test_unknown_of_few_runs_keeps_chance(trial: RunFacts) -> None:
    runs = campaign(trial, one=QUIET[:1], two=SLOW[:1])
    judged = compare_runs(list(map(unknown, runs))).rows[1].judged
    assert [each.code for each in judged.reservations] == [ReservationCode.CHANCE]


@pytest.mark.parametrize("repeats", [1, 3])
def test_one_imported_campaign_is_one(trial: RunFacts, repeats: int) -> None:
    made = campaign(trial, one=QUIET[:repeats], two=SLOW[:repeats])
    runs = [
        unknown(replace(run, campaign_key=f"edb/{run.configuration}", marks=((IMPORTED, "elsewhere"),)))
        for run in made
    ]
    found = compare_runs(runs)
    text = " ".join((*found.verdicts, *comparison_warnings(found), *compare_figure(found, "tps").verdicts))
    assert "imported from one campaign" in text
    assert "different campaigns" not in text
    assert "between the campaigns" not in text
    other = compare_runs([replace(run, campaign=run.configuration) for run in runs])
    assert "different campaigns" in " ".join(comparison_warnings(other))


def test_other_figures_of_disturbed_indicative(trial: RunFacts) -> None:
    found = compare_figure(compared(trial, one=QUIET, two=ALL_DISTURBED), "latency_p99_ms")
    assert [each and each.verdict for each in found.comparisons] == [None, Verdict.INDICATIVE]
    assert found.better(1) is None
    assert "no verdict, because 5 of 10 runs were disturbed" in found.verdicts[1]
    quiet = compare_figure(compared(trial, one=QUIET, two=SLOW), "latency_p99_ms")
    assert quiet.better(1) is False


def test_disturbed_baseline_no_verdicts(trial: RunFacts) -> None:
    found = compared(trial, one=ALL_DISTURBED, two=QUIET, three=SLOW)
    assert {verdict_of(found, place) for place in (1, 2)} <= {Verdict.INDICATIVE, Verdict.INCONCLUSIVE}
    assert all("5 of 10 runs were disturbed" in verdict for verdict in found.verdicts)


def test_disturbed_configuration_leaves_others_alone(trial: RunFacts) -> None:
    found = compared(trial, one=QUIET, two=ALL_DISTURBED, three=SLOW)
    assert (verdict_of(found, 1), verdict_of(found, 2)) == (Verdict.INDICATIVE, Verdict.LOWER)
    assert "disturbed" not in found.rows[2].verdict


def test_disturbed_never_practically_equal(trial: RunFacts) -> None:
    found = compared(trial, one=QUIET, two=tuple((tps, 30.0) for tps in QUIET))
    assert verdict_of(found) is Verdict.INDICATIVE


def test_inconclusive_disturbed_stays_inconclusive(trial: RunFacts) -> None:
    noisy = ((700.0, 20.0), (1300.0, 9.0), (900.0, 40.0))
    found = compared(trial, one=QUIET[:3], two=noisy)
    assert verdict_of(found) is Verdict.INCONCLUSIVE
    assert "3 of 6 runs were disturbed." in found.verdicts[0]
    assert "more of each" not in found.verdicts[0]  # what more runs would do, nobody knows of disturbed ones


def test_single_disturbed_runs_both_reasons(trial: RunFacts) -> None:
    found = compared(trial, one=QUIET[:1], two=ALL_DISTURBED[:1])
    assert found.verdicts == (
        (
            "No verdict: two measured 20 % slower than one (1 run each; a verdict needs 3); 1 of 2 runs was "
            "disturbed."
        ),
    )


def test_warnings_name_disturbed_runs_and_use(trial: RunFacts) -> None:
    two = (SLOW[0], (500.0, 42.0), SLOW[2], SLOW[3])
    warnings = comparison_warnings(compared(trial, one=ALL_DISTURBED, two=two))
    assert warnings[:2] == (
        (
            "Other processes disturbed one #1, one #2, one #3, one #4, one #5: other programs used 42 to 70 %"
            " of the CPUs. Too few undisturbed runs are left for a verdict."
        ),
        "Excluded as disturbed by other processes: two #2 (other programs used 42 % of the CPUs).",
    )
    many = tuple((800.0 + at, 30.0) for at in range(12))
    assert "one #5 and 7 more: other" in comparison_warnings(compared(trial, one=many, two=SLOW))[0]


def test_exclusion_independent_of_speed(trial: RunFacts) -> None:
    for factor in (0.1, 1.0, 10.0):
        two = (800.0, (800.0 * factor, 42.0), 801.0, 802.0)
        aside = [run.is_excluded for run in compared(trial, one=QUIET[:4], two=two).runs]
        assert aside == [False] * 4 + [False, True, False, False]


def test_disturbed_mark_without_amounts(trial: RunFacts) -> None:
    run = replace(trial, marks=((DISTURBED, "somebody said so"),))
    assert how_disturbed([run]) == "according to their files"


def test_count_of_disturbed_runs_worded() -> None:
    assert [count_words(*each) for each in ((1, 1), (1, 4), (2, 4), (4, 4))] == [
        "the run was disturbed",
        "1 of 4 runs was disturbed",
        "2 of 4 runs were disturbed",
        "4 of 4 runs were disturbed",
    ]


def test_older_disturbed_example_indicative() -> None:
    """The example that ships: three of its six runs were recorded while other work used up to 42 % of CPU."""
    folder = Path(__file__).parents[3] / "resources/examples/folder-against-memory"
    found = compare_runs([read_run_facts(path) for path in sorted(folder.glob("*.footing"))])
    assert verdict_of(found) is Verdict.INDICATIVE
    assert "3 of 6 runs were disturbed" in found.verdicts[0]


# --- attempts at the same run


def again(run: RunFacts, attempt: int, tps: float) -> RunFacts:
    """Return a later attempt at a run that nobody disturbed."""
    marks = tuple(mark for mark in run.marks if mark[0] != DISTURBED)
    quiet = replace(run, marks=marks, disturbances=Disturbances())
    name = f"{run.name}, attempt {attempt}"
    return replace(quiet, id=f"{run.id}-{attempt}", name=name, attempt=attempt, summary={"tps": tps})


def test_repeated_attempt_counted_once_paired(trial: RunFacts) -> None:
    runs = campaign(trial, one=QUIET[:3], two=(SLOW[0], (500.0, 42.0), SLOW[2]))
    found = compare_runs([*runs, again(runs[4], 2, 805.0)])
    assert verdict_of(found) is Verdict.LOWER
    assert found.rows[1].comparison is not None
    assert (found.rows[1].comparison.paired, found.rows[1].runs) == (True, 3)
    values = {run.name: run.left_out for run in found.runs if run.left_out}
    assert values == {"two #2": "it was disturbed, and two #2, attempt 2 counts instead"}
    (sentence,) = found.verdicts
    assert "1 of 7 runs was disturbed: excluded" in sentence


def test_all_attempts_disturbed_first_counts(trial: RunFacts) -> None:
    runs = campaign(trial, one=QUIET[:3], two=((500.0, 42.0), (510.0, 40.0), (505.0, 30.0)))
    later = disturbed(again(runs[3], 2, 800.0), 33.0)
    found = compare_runs([*runs, later])
    assert [run.name for run in found.runs if run.left_out] == ["two #1, attempt 2"]
    assert verdict_of(found) is Verdict.INDICATIVE


def test_equal_repeat_numbers_no_attempts(trial: RunFacts) -> None:
    runs = [replace(run, repeat=0) for run in campaign(trial, one=QUIET, two=SLOW)]
    assert not any(run.left_out for run in compare_runs(runs).runs)


# --- what others took below the threshold


def beside(run: RunFacts, percent: float) -> RunFacts:
    """Return a run of which it is known that others used so little of the CPUs that it is no disturbance."""
    return replace(
        run, disturbances=Disturbances(measured=(Disturbance(DisturbanceKind.OTHERS_CPU, percent),))
    )


def test_subthreshold_load_explains_difference_no_verdict(trial: RunFacts) -> None:
    runs = campaign(trial, one=QUIET, two=tuple(tps * 0.965 for tps in QUIET[::-1]))
    assert verdict_of(compare_runs(runs)) is Verdict.LOWER
    known = [beside(run, 0.2 if run.configuration == "one" else 4.0) for run in runs]
    found = compare_runs(known)
    assert verdict_of(found) is Verdict.INDICATIVE
    assert found.verdicts == (
        (
            "No verdict, because other programs used 4.0 % of the CPUs in the slower and 0.2 % in the "
            "faster one: two measured 3.5 % slower than one (5 runs each)."
        ),
    )
    assert comparison_as_json(found)["warnings"] is not None


@pytest.mark.parametrize(("one", "two"), [(0.2, 1.0), (4.0, 0.2), (4.0, 4.0), (0.0, 0.0)])
def test_difference_beyond_subthreshold_load_stays(trial: RunFacts, one: float, two: float) -> None:
    runs = campaign(trial, one=QUIET, two=tuple(tps * 0.965 for tps in QUIET[::-1]))
    known = [beside(run, one if run.configuration == "one" else two) for run in runs]
    assert verdict_of(compare_runs(known)) is Verdict.LOWER


@pytest.mark.parametrize(
    ("one", "two", "verdict"), [(0.1, 0.2, Verdict.EQUAL), (0.1, 4.0, Verdict.INDICATIVE)]
)
def test_equal_asks_for_others(trial: RunFacts, one: float, two: float, verdict: Verdict) -> None:
    runs = campaign(trial, one=QUIET, two=QUIET[::-1])
    found = compare_runs([beside(run, one if run.configuration == "one" else two) for run in runs])
    assert verdict_of(found) is verdict
    assert ("in the second" in found.verdicts[0]) is (verdict is Verdict.INDICATIVE)


def test_partly_unknown_load_keeps_verdict(trial: RunFacts) -> None:
    runs = campaign(trial, one=QUIET, two=tuple(tps * 0.965 for tps in QUIET[::-1]))
    known = [beside(run, 4.0) if run.name == "two #1" else run for run in runs]
    assert verdict_of(compare_runs(known)) is Verdict.LOWER


@pytest.mark.parametrize("share", [0.0, 50.0, 100.0, 250.0])
def test_any_claimed_load_compared(trial: RunFacts, share: float) -> None:
    known = beside(trial, share)
    assert could_be_others([[known], [known]], Interval(0.9, 0.95, 0.95)) is None
