"""How the compared runs of one campaign were interleaved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import read_run_facts
from app.comparison.comparison import RunComparison, compare_runs
from app.domain.campaign.matrix import Block, RunOrder, alternating_blocks
from app.domain.json_value import Json
from app.report.pages.comparison_pages import describe_order
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


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"order": "random", "order_seed": 7}, "in random order (seed 7)"),
        ({"order": RunOrder.RANDOM.value}, "seed not known"),
        ({"order": "AB BA", "order_seed": None}, "every second round in reverse"),
        ({}, "The method of ordering within a round is not known."),
    ],
    ids=["random", "without seed", "alternating", "older file"],
)
def test_order_described(tmp_path: Path, more: dict[str, Json], words: str) -> None:
    assert words in describe_order(taken(tmp_path, alternating_blocks(2, 3), more))


@pytest.mark.parametrize("alone", [True, False])
def test_one_configuration_or_several_campaigns(tmp_path: Path, *, alone: bool) -> None:
    found = taken(tmp_path, alternating_blocks(1 if alone else 2, 3), {})
    if not alone:
        runs = [replace(run.facts, campaign_key=run.facts.configuration) for run in found.runs]
        found = compare_runs(runs)
    assert describe_order(found) == ""
