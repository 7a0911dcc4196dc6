"""Figures other than TPS, axes of charts, and the comparison as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import Property
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.factors import find_dimensions, number_of, sweep
from app.comparison.figures import (
    COSTS,
    LOADING,
    compare_figure,
    compare_figures,
    format_mean,
)
from app.domain.json_value import Json
from app.export.comparison import comparison_as_json
from app.export.runs import finite
from app.statistics.verdict import Samples, compare, run_interval
from tests.fix_window import Trial, write_campaign, write_trial


@pytest.fixture
def runs(tmp_path: Path) -> list[RunFacts]:
    return [read_run_facts(path) for path in write_campaign(tmp_path)]


def with_figures(runs: list[RunFacts], name: str, values: list[float | None]) -> list[RunFacts]:
    return [
        replace(run, summary={**run.summary, name: value}) for run, value in zip(runs, values, strict=True)
    ]


# The campaign is ext4, xfs, ext4, xfs, ext4, xfs.
P99 = [4.0, 2.0, 4.1, 2.1, 4.2, 2.05]


def test_figure_paired_as_tps(runs: list[RunFacts]) -> None:
    found = compare_figure(compare_runs(with_figures(runs, "latency_p99_ms", [*P99])), "latency_p99_ms")
    assert found.means == (run_interval(P99[::2]), run_interval(P99[1::2]))
    assert found.comparisons[0] is None
    assert found.comparisons[1] == compare(Samples(tuple(P99[::2]), tuple(P99[1::2]), paired=True))
    assert found.better(1) is True
    assert found.better(0) is None
    sentence = "latency, 99th percentile: xfs is 50 % lower than ext4 (95 % CI 47 to 53 %, 3 runs each)"
    assert found.verdicts == ("", sentence)
    assert format_mean(found, 0) == "4.10 ms"


def test_figure_of_some_runs(runs: list[RunFacts]) -> None:
    some = with_figures(runs, "wal_bytes", [800.0, None, 810.0, None, 790.0, math.nan])
    comparison = compare_runs(some)
    found = compare_figure(comparison, "wal_bytes")
    assert found.means[1].mean is None
    assert found.better(1) is None
    assert comparison.groups[0].by_repeat("wal_bytes") == {0: 800.0, 1: 810.0, 2: 790.0}
    assert [each.figure.name for each in compare_figures(comparison, COSTS)] == ["wal_bytes"]


def test_load_times_compared_when_loaded(runs: list[RunFacts]) -> None:
    assert compare_figures(compare_runs(runs), LOADING) == ()
    seconds = [10.0, 30.0, 10.1, 30.3, 9.9, 29.7]
    comparison = compare_runs(with_figures(runs, "load_index_s", [*seconds]))
    (found,) = compare_figures(comparison, LOADING)
    assert found.better(1) is False
    assert found.verdicts[1].startswith("building keys: xfs is 3.0 times as high as ext4")
    figures = comparison_as_json(comparison)["figures"]
    assert "load_index_s" in json.dumps(figures)


def test_an_unknown_figure_is_a_mistake(runs: list[RunFacts]) -> None:
    with pytest.raises(KeyError):
        compare_figure(compare_runs(runs), "horsepower")


def test_json_matches_table(runs: list[RunFacts]) -> None:
    document = json.loads(json.dumps(finite(comparison_as_json(compare_runs(runs))), allow_nan=False))
    first, second = document["configurations"]
    assert "verdict" not in first
    assert (second["name"], second["verdict"], second["paired"]) == ("xfs", "higher", True)
    assert second["interval"]["low"] < second["ratio"] < second["interval"]["high"]
    assert "No stalled second." in document["runs"][0]["facts"]
    assert json.dumps(finite(comparison_as_json(compare_runs([]))))


# --- axes -----------------------------------------------------------------------------------------


def configured(folder: Path, *sets: tuple[str, int, float]) -> RunComparison:
    """Runs of a filesystem with so many clients and TPS, each a configuration of its own."""
    facts = []
    for number, (filesystem, clients, tps) in enumerate(sets):
        name = f"{filesystem} {clients}"
        workload: dict[str, Json] = {"label": "tpcb-like", "clients": clients, "threads": 1, "duration_s": 5}
        trial = Trial(name, name, tps=tps, filesystem=filesystem, more={"workload": workload})
        facts.append(read_run_facts(write_trial(folder / f"{number}.footing", trial)))
    return compare_runs(facts)


SETS = [("ext4", 16, 3.0), ("ext4", 4, 1.0), ("xfs", 4, 2.0), ("xfs", 16, 4.0), ("ext4", 8, 2.0)]


def test_dimensions_usual_first(tmp_path: Path) -> None:
    found = find_dimensions(configured(tmp_path, *SETS))
    assert [(each.name, each.is_swept) for each in found] == [
        ("filesystem", False),
        ("clients", True),
        ("configuration", False),
    ]
    assert found[1].levels == ("4", "8", "16")
    assert found[0].levels == ("ext4", "xfs")


def test_sweep_one_line_per_remaining(tmp_path: Path) -> None:
    comparison = configured(tmp_path, *SETS)
    lines = sweep(comparison, find_dimensions(comparison)[1], "tps")
    values = {
        line.name: [(point.x, round(point.value.mean or 0, 9)) for point in line.points] for line in lines
    }
    assert values["ext4"] == [(4, 1), (8, 2), (16, 3)]
    assert values["xfs"] == [(4, 2), (16, 4)]


def test_sweep_lines_hold_the_duration(tmp_path: Path) -> None:
    runs = [run.facts for run in configured(tmp_path, *SETS).runs]
    hour = Property("Workload", "measured time", "1:00:00")
    held = [tuple(hour if item.key == hour.key else item for item in run.properties) for run in runs]
    long = [replace(run, id=f"{run.id} h", properties=found) for run, found in zip(runs, held, strict=True)]
    comparison = compare_runs([*runs, *long])
    clients = next(each for each in find_dimensions(comparison) if each.is_swept)
    lines = sweep(comparison, clients, "tps")
    assert sorted(len(line.points) for line in lines) == [2, 2, 3, 3]
    assert {line.name.partition(",")[0] for line in lines} == {"ext4", "xfs"}


def test_property_varying_within_group_no_dimension(runs: list[RunFacts]) -> None:
    odd = [
        replace(run, properties=(*run.properties, Property("Machine", "kernel build", str(number))))
        for number, run in enumerate(runs)
    ]
    assert [each.name for each in find_dimensions(compare_runs(odd))] == ["filesystem", "configuration"]


@pytest.mark.parametrize(
    ("text", "number"), [("1,000", 1000.0), ("nan", None), ("inf", None), ("ext4", None)]
)
def test_only_finite_numbers_are_numbers(text: str, number: float | None) -> None:
    assert number_of(text) == number
