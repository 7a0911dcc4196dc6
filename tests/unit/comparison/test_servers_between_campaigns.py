"""Servers that already run, in several campaigns: what was made anew is not ranked, but for a reference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.analysis.facts import RunFacts
from app.analysis.properties import IDENTIFIER, ROUND_TRIP, TARGET, Property
from app.comparison.comparison import compare_runs
from app.comparison.differences import what_differs
from app.comparison.warnings import comparison_warnings
from app.runfile.metadata.run_metadata import EXISTING_SERVER
from app.statistics.verdict import Verdict
from tests.unit.comparison.test_anchor import campaign, put, recorded, slower, verdict_of  # noqa: F401

HAMMER = (10.0, 10.2, 9.9, 10.1, 10.0)
UFS = (40.0, 40.5, 39.8, 40.2, 40.1)
REFERENCE = (30.0, 30.2, 29.9, 30.1, 30.0)
ONE, OTHER, THIRD = "7300000000000000001", "7300000000000000002", "7300000000000000003"


def on_server(run: RunFacts, *items: Property) -> RunFacts:
    """Return a run as one on a server that already ran."""
    found = replace(run, marks=((EXISTING_SERVER, ""),))
    for item in items:
        found = put(found, item)
    return found


def measured(key: str, runs: list[RunFacts], filesystem: str, identifier: str) -> list[RunFacts]:
    """Return runs of a campaign, of which the one called server lies on a filesystem of that campaign."""
    trip = 0.05 if key == "one" else 0.09
    return [
        on_server(
            run,
            Property(TARGET, "filesystem", filesystem if run.configuration == "server" else "ffs"),
            Property(TARGET, IDENTIFIER, identifier if run.configuration == "server" else ONE),
            Property(TARGET, ROUND_TRIP, f"{trip:.2f} ms", measured=trip),
        )
        for run in runs
    ]


@pytest.fixture
def first(recorded: RunFacts) -> list[RunFacts]:  # noqa: F811 - a fixture of the other file
    """A server on HAMMER, and beside it the one that stays as it is."""
    return measured("one", campaign(recorded, "one", server=HAMMER, reference=REFERENCE), "hammer", OTHER)


@pytest.fixture
def second(recorded: RunFacts) -> list[RunFacts]:  # noqa: F811
    """The same machine, a tenth slower by then, its disk made anew as UFS."""
    runs = campaign(recorded, "two", server=slower(UFS), reference=slower(REFERENCE))
    return measured("two", runs, "ufs", THIRD)


def without_reference(runs: list[RunFacts]) -> list[RunFacts]:
    return [run for run in runs if run.configuration != "reference"]


def test_recreated_disk_not_ranked_with_remedy(first: list[RunFacts], second: list[RunFacts]) -> None:
    found = compare_runs(without_reference([*first, *second]))
    assert verdict_of(found, "server (two)") not in {Verdict.HIGHER, Verdict.LOWER}
    warnings = comparison_warnings(found)
    (result,) = (each for each in warnings if "were not interleaved" in each)
    assert "A configuration with 3 or more runs in both campaigns would allow one." in result
    assert "use a second, unchanged server on its machine" in result
    assert "recipes lentfer-2009”" in result
    assert any("different PostgreSQL clusters, or one was recreated" in each for each in warnings)


def test_unchanged_second_server_ranks_campaigns(first: list[RunFacts], second: list[RunFacts]) -> None:
    found = compare_runs([*first, *second])
    assert verdict_of(found, "server (two)") is Verdict.HIGHER
    comparison = {row.name: row.comparison for row in found.rows}["server (two)"]
    assert comparison is not None
    assert comparison.ratio == pytest.approx(40.12 / 10.04, rel=1e-3), "the tenth is taken out"
    warnings = comparison_warnings(found)
    text = "reference (two), the same configuration, is 10 % slower than reference (one)"
    assert any(text in each for each in warnings)


@pytest.mark.parametrize(
    "item",
    [
        Property(TARGET, "filesystem", "", is_shown=False, is_known=False),
        Property(TARGET, IDENTIFIER, THIRD),
    ],
    ids=["filesystem not known", "another server"],
)
def test_other_or_unknown_reference_refused(
    first: list[RunFacts], second: list[RunFacts], item: Property
) -> None:
    runs = [put(run, item) if run.configuration == "reference" else run for run in second]
    found = compare_runs([*first, *runs])
    assert verdict_of(found, "server (two)") not in {Verdict.HIGHER, Verdict.LOWER}


def test_two_servers_one_campaign(first: list[RunFacts]) -> None:
    found = compare_runs(first)
    assert verdict_of(found, "reference") is Verdict.HIGHER
    assert not any("campaign" in each for each in comparison_warnings(found))


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [(0.05, 0.14, False), (20.0, 39.0, False), (0.1, 0.3, True), (5.0, 50.0, True)],
)
def test_round_trip_difference_beyond_chance(
    recorded: RunFacts,  # noqa: F811
    one: float,
    other: float,
    *,
    differ: bool,
) -> None:
    runs = [
        put(recorded, Property(TARGET, ROUND_TRIP, f"{trip:.2f} ms", measured=trip)) for trip in (one, other)
    ]
    assert bool(what_differs(runs).differences) is differ
    assert bool(what_differs([runs[0], recorded]).differences), "one of them has none"
