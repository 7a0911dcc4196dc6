"""A sequential campaign: what is left out when, what it says of it, and that a stop changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from app.analysis.facts import read_run_facts
from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import state_campaign
from app.comparison.comparison import compare_runs
from app.comparison.overall.fastest import find_fastest
from app.comparison.warnings import comparison_notes
from app.domain.campaign.configuration import Campaign, PlannedRun, interleaved_order
from app.domain.campaign.matrix import LEFT_OUT, Design
from app.draft.planning import effect_sentences
from app.execution.campaign import CampaignResult
from app.execution.design import follow, rivals_of, to_measure
from app.execution.resume.begun import begun_runs, is_complete
from app.export.comparison import comparison_as_json
from app.library.entries import CAMPAIGN_NAME
from app.report.pages.comparison_pages import describe_order
from app.runfile.metadata.safety import NOT_DURABLE
from app.runfile.reader import RunFile
from app.statistics.verdict import Verdict
from tests.campaign_bench import Bench

SPEEDS = {"a": 1000.0, "b": 1100.0, "c": 1020.0, "d": 1101.0}
"""d and b cannot be told apart; a and c are slower."""


def campaign_of(keys: str = "", names: str = "abcd", more: str = "") -> Campaign:
    top = f'name = "x"\norder = "AB BA"\ndesign = "sequential"\n{keys}\n[target.memory]\n'
    each = "".join(f'[[configuration]]\nname = "{name}"\n' for name in names)
    return parse_campaign(top + each + more, base_directory="/", source_name="x")


def speeds(truth: Mapping[str, float] = SPEEDS, spread: float = 0.005) -> Callable[[PlannedRun], float]:
    """Return the TPS of an attempt, the same for the same one."""

    def tps(planned: PlannedRun) -> float:
        name = planned.configuration.name
        chance = Random(f"{name} {planned.repeat} {planned.attempt}").gauss(0, spread)  # noqa: S311
        return truth[name] * (1 + chance)

    return tps


def bench_of(
    folder: Path,
    campaign: Campaign,
    fate: Callable[[int, int], str] = lambda _number, _attempt: "",
    tps: Callable[[PlannedRun], float] | None = None,
) -> Bench:
    folder.mkdir(exist_ok=True)
    (folder / CAMPAIGN_NAME).write_text(state_campaign(campaign))
    return Bench(folder, campaign, fate, tps=tps or speeds())


def rounds_of(result: CampaignResult) -> dict[str, int]:
    """Return how many rounds each configuration was in."""
    found: dict[str, int] = {}
    for each in result.results:
        name = each.planned.configuration.name
        found[name] = max(found.get(name, 0), each.planned.repeat + 1)
    return found


def test_losers_out_after_third_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(tmp_path, campaign_of())
    result = bench.run(monkeypatch)
    assert rounds_of(result) == {"a": 3, "b": 10, "c": 3, "d": 10}
    assert result.is_complete
    assert is_complete(tmp_path, bench.campaign)
    assert [texts.split(":")[0] for texts in bench.messages] == ["a", "c"]
    assert "dropped after round 3" in bench.messages[0]
    assert "is unlikely to be the fastest" in bench.messages[0]


def test_last_run_states_exclusion_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = bench_of(tmp_path, campaign_of()).run(monkeypatch)
    marked = {}
    for each in result.results:
        assert each.path is not None
        with RunFile(Path(each.path)) as run:
            for kind, reason in run.marks():
                if kind == LEFT_OUT:
                    marked[each.planned.configuration.name, each.planned.repeat] = reason
    assert marked.keys() == {("a", 2), ("c", 2)}
    assert all("dropped after round 3" in reason for reason in marked.values())


def test_ends_with_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = campaign_of(names="abc")
    bench = bench_of(tmp_path, campaign)
    result = bench.run(monkeypatch)
    assert rounds_of(result) == {"a": 3, "b": 3, "c": 3}
    assert result.is_complete
    assert to_measure(campaign, result.results) == []
    assert bench.messages[-1] == "No further runs are needed after round 3: b."


def test_precision_ends_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = bench_of(tmp_path, campaign_of("precision = 2")).run(monkeypatch)
    rounds = rounds_of(result)
    assert rounds["b"] == rounds["d"] < 10
    assert result.is_complete


@pytest.mark.parametrize(
    "stop_at", [2, 13, *(pytest.param(at, marks=pytest.mark.long) for at in (7, 12, 14, 15, 20, 25))]
)
def test_stop_at_any_run_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int
) -> None:
    whole = bench_of(tmp_path / "whole", campaign_of())
    whole.run(monkeypatch)
    numbers = [number for number, _ in whole.order]
    stopped = bench_of(
        tmp_path / "stopped",
        campaign_of(),
        lambda number, _attempt: "stopped" if number == numbers[stop_at] else "",
    )
    assert not stopped.run(monkeypatch).is_complete
    assert not is_complete(stopped.folder, stopped.campaign)
    again = Bench(stopped.folder, stopped.campaign, lambda _number, _attempt: "", tps=speeds())
    result = again.run(monkeypatch)
    assert [number for number, _ in (*stopped.order[:-1], *again.order)] == numbers
    assert result.is_complete
    assert rounds_of(result) == {"a": 3, "b": 10, "c": 3, "d": 10}


@pytest.mark.parametrize("weak", ["disturbed", "unknown"])
def test_weak_runs_do_not_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weak: str) -> None:
    """The best one is disturbed, or may be, in the first three rounds, and slow in them."""
    slow = speeds()

    def tps(planned: PlannedRun) -> float:
        disturbed = planned.configuration.name == "b" and planned.repeat < 3
        return slow(planned) * (0.5 if disturbed else 1.0)

    campaign = campaign_of(names="abc")
    order = {run.number: run for run in interleaved_order(campaign)}

    def fate(number: int, _attempt: int) -> str:
        run = order[number]
        return weak if run.configuration.name == "b" and run.repeat < 3 else ""

    result = bench_of(tmp_path, campaign, fate, tps).run(monkeypatch)
    rounds = rounds_of(result)
    assert rounds["b"] == 6  # three rounds that count, and then it has won
    assert result.is_complete
    assert to_measure(campaign, begun_runs(tmp_path, campaign).results) == []


def test_unsafe_excludes_only_its_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = campaign_of(names="abc")
    bench = bench_of(tmp_path, campaign, tps=speeds({"a": 1.0, "b": 9.0, "c": 1.001}))
    runs = [replace(each, marks=()) for each in bench.run(monkeypatch).results if each.planned.repeat < 3]
    assert follow(campaign, runs, 3).left_out.keys() == {"a", "c"}
    lossy = [
        replace(each, marks=((NOT_DURABLE, "x"),)) if each.planned.configuration.name == "b" else each
        for each in runs
    ]
    course = follow(campaign, lossy, 3)
    assert (course.left_out, course.ended_after("b")) == ({}, None)


def test_only_those_with_the_same_workload_compete() -> None:
    more = "[configuration.workload]\nclients = 9\n"
    campaign = campaign_of(names="abc", more=more)
    names = [rivals_of(campaign, each) for each in campaign.configurations]
    assert names == [("a", "b"), ("a", "b"), ()]
    fixed = replace(campaign, design=Design.FIXED)
    assert rivals_of(fixed, fixed.configurations[0]) == ()


def test_memory_limits_are_conditions() -> None:
    top = 'name = "x"\ndesign = "sequential"\n'
    each = (
        '[[configuration]]\nname = "{0} {1}"\n[configuration.target.disks]\ndata = ["A", "B"]\n'
        'level = "mirror"\nfilesystem = "{0}"\nmemory_limit = "{1}GB"\n'
        '[configuration.workload]\nsize = "9GB"\n'
    )
    sentence = "".join(each.format(name, limit) for name in ("ext4", "xfs") for limit in (2, 4))
    campaign = parse_campaign(top + sentence, base_directory="/", source_name="x")
    assert rivals_of(campaign, campaign.configurations[0]) == ("ext4 2", "xfs 2")
    plan = effect_sentences(replace(campaign, design=Design.FIXED, repeats=5))
    assert "allowing for" not in plan[0]


def test_lone_competitor_runs_with_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = "[configuration.workload]\nclients = 9\n"
    campaign = campaign_of(names="abc", more=more)
    result = bench_of(tmp_path, campaign).run(monkeypatch)
    assert rounds_of(result) == {"a": 3, "b": 3, "c": 3}
    assert result.is_complete


def test_fixed_design_excludes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = replace(campaign_of(names="abc"), design=Design.FIXED, repeats=5)
    result = bench_of(tmp_path, campaign).run(monkeypatch)
    assert rounds_of(result) == {"a": 5, "b": 5, "c": 5}
    assert result.is_complete
    assert len(to_measure(campaign, result.results[:7])) == 8


def test_failing_configuration_does_not_prevent_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = campaign_of(names="abc")
    order = {run.number: run for run in interleaved_order(campaign)}
    bench = bench_of(
        tmp_path, campaign, lambda number, _: "failed" if order[number].configuration.name == "a" else ""
    )
    result = bench.run(monkeypatch)
    assert rounds_of(result)["b"] == rounds_of(result)["c"] == 3


def test_exclusion_mark_outweighs_new_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark counts: who marked it had runs that are not there any more."""
    campaign = campaign_of(names="bd")
    results = bench_of(tmp_path, campaign).run(monkeypatch).results
    first = [each for each in results if each.planned.repeat < 4]
    assert follow(campaign, first, 4).left_out == {}
    marked = [
        replace(each, marks=((LEFT_OUT, ""),))
        if (each.planned.configuration.name, each.planned.repeat) == ("d", 3)
        else each
        for each in first
    ]
    course = follow(campaign, marked, 4)
    assert list(course.left_out) == ["d"]
    assert course.ended_after("b") == 4


def test_comparison_states_and_corrects_exclusion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = bench_of(tmp_path, campaign_of()).run(monkeypatch)
    facts = [read_run_facts(Path(each.path)) for each in result.results if each.path is not None]
    assert {(run.design, run.rivals) for run in facts} == {("sequential", ("a", "b", "c", "d"))}
    comparison = compare_runs(facts)
    notes = " ".join(comparison_notes(comparison))
    assert "Sequential design" in notes
    assert "a (dropped after round 3" in notes
    assert "Remaining after 10 rounds, without a winner: b, d." in notes
    by_name = {row.name: row for row in comparison.rows}
    assert by_name["b"].comparison is not None
    assert by_name["b"].comparison.verdict is Verdict.HIGHER
    assert by_name["b"].comparison.runs == (3, 3)  # the common rounds
    fastest = find_fastest(comparison)
    assert fastest is not None
    assert {row.name for row in (fastest.best, *fastest.others)} == {"b", "d"}
    document = comparison_as_json(comparison)["design"]
    assert isinstance(document, dict)
    assert document["sequential"] is True
    assert isinstance(document["left_out"], dict)
    assert document["left_out"].keys() == {"a", "c"}


def test_order_of_rounds_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaigns = {
        "sequential": campaign_of(),
        "fixed": replace(campaign_of(names="ab"), design=Design.FIXED, repeats=3),
    }
    order = {}
    for name, campaign in campaigns.items():
        result = bench_of(tmp_path / name, campaign).run(monkeypatch)
        paths = [Path(each.path) for each in result.results if each.path is not None]
        runs = [replace(read_run_facts(path), order="random", order_seed=7) for path in paths]
        order[name] = describe_order(compare_runs(runs))
    assert "each round ran its configurations once" in order["sequential"]
    assert "each round ran its configurations once" in order["fixed"]


def test_comparison_of_some_competitors_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = bench_of(tmp_path, campaign_of()).run(monkeypatch)
    facts = [
        read_run_facts(Path(each.path))
        for each in result.results
        if each.path is not None and each.planned.configuration.name in {"a", "b"}
    ]
    notes = " ".join(comparison_notes(compare_runs(facts)))
    assert "2 of the 4 configurations that competed are compared here" in notes


def test_fixed_campaign_has_no_design_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = replace(campaign_of(names="ab"), design=Design.FIXED, repeats=3)
    result = bench_of(tmp_path, campaign).run(monkeypatch)
    comparison = compare_runs([read_run_facts(Path(each.path)) for each in result.results if each.path])
    assert not any("equential" in note for note in comparison_notes(comparison))
    assert comparison_as_json(comparison)["design"] == {"sequential": False, "left_out": {}}
