"""How compared runs followed each other: told from their numbers, with the neighbours that never were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import read_run_facts
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.run_order import describe_order, neighbours
from app.domain.campaign.order import Block, RunOrder, alternating_blocks, random_blocks
from app.domain.json_value import Json
from tests.fix_window import Trial, write_trial


def taken(folder: Path, blocks: tuple[Block, ...], more: dict[str, Json]) -> RunComparison:
    """Return the comparison of a campaign whose runs were taken in an order."""
    paths = []
    order = [(repeat, place) for repeat, block in enumerate(blocks) for place in block]
    for number, (repeat, place) in enumerate(order, start=1):
        trial = Trial(
            name=f"{'abcd'[place]} #{repeat + 1}",
            configuration="abcd"[place],
            repeat=repeat,
            more={"number": number, **more},
        )
        paths.append(write_trial(folder / "one" / f"{number:02}.footing", trial))
    return compare_runs([read_run_facts(path) for path in paths])


def test_random_order_seed_and_neighbours(tmp_path: Path) -> None:
    found = taken(tmp_path, random_blocks(3, 3, 7), {"order": "random", "order_seed": 7})
    how, met = describe_order(found)
    assert "in random order (drawn with 7)" in how
    assert met == "Every configuration ran right after every other one at least once."


def test_pairs_never_neighbours_counted(tmp_path: Path) -> None:
    found = taken(tmp_path, alternating_blocks(4, 3), {"order": "AB BA", "order_seed": None})
    how, met, itself = describe_order(found)
    assert "every second round in reverse order" in how
    assert met.startswith("6 of 12 ordered pairs of configurations never ran one right after the other")
    assert itself == "Runs that followed one of their own configuration: 2."


def test_older_files_order_unknown(tmp_path: Path) -> None:
    found = taken(tmp_path, alternating_blocks(2, 3), {})
    how, met, itself = describe_order(found)
    assert how.endswith("how the order within a round was chosen is not known.")
    assert met.startswith("Every configuration")
    assert "2." in itself


def test_neighbours_unknown_without_numbers(tmp_path: Path) -> None:
    found = taken(tmp_path, alternating_blocks(2, 3), {"number": None, "order": RunOrder.RANDOM.value})
    assert neighbours(found) is None
    (how,) = describe_order(found)
    assert "drawn with not known" in how


@pytest.mark.parametrize("alone", [True, False])
def test_one_configuration_or_several_campaigns(tmp_path: Path, *, alone: bool) -> None:
    found = taken(tmp_path, alternating_blocks(1 if alone else 2, 3), {})
    if not alone:
        runs = [replace(run.facts, campaign_key=run.facts.configuration) for run in found.runs]
        found = compare_runs(runs)
    assert describe_order(found) == ()


def test_neighbour_of_excluded_run_unknown(tmp_path: Path) -> None:
    found = taken(tmp_path, ((0, 1, 2), (0, 1, 2)), {})
    without = compare_runs([run.facts for run in found.runs if run.facts.number != 2])
    assert neighbours(without) == {(1, 0): 1, (0, 2): 1, (2, 1): 1}
