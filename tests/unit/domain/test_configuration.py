from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Configuration,
    MemoryTarget,
    Script,
    Workload,
    as_begun,
    interleaved_order,
    with_drawn_order,
)
from app.domain.campaign.matrix import RunOrder


def campaign(configurations: int, repeats: int, seeds: tuple[int, ...] = (5, 6, 7)) -> Campaign:
    made = tuple(Configuration(f"c{number}", MemoryTarget()) for number in range(configurations))
    return Campaign("trial", made, repeats, seeds, order_seed=1)


@given(st.integers(1, 6), st.integers(1, 8))
def test_every_block_holds_each_configuration_once(configurations: int, repeats: int) -> None:
    runs = interleaved_order(campaign(configurations, repeats))
    assert [run.number for run in runs] == list(range(1, configurations * repeats + 1))
    for repeat in range(repeats):
        block = runs[repeat * configurations : (repeat + 1) * configurations]
        assert {run.repeat for run in block} == {repeat}
        assert len({run.configuration.name for run in block}) == configurations


def test_ab_ba_cancels_linear_drift() -> None:
    runs = interleaved_order(replace(campaign(2, 4), order=RunOrder.ALTERNATING, order_seed=None))
    assert "".join(run.configuration.name[-1] for run in runs) == "01100110"
    places: Counter[str] = Counter()
    for run in runs:
        places[run.configuration.name] += run.number
    assert len(set(places.values())) == 1


def test_one_seed_per_repeat() -> None:
    runs = interleaved_order(campaign(3, 5, seeds=(11, 12)))
    by_repeat = {run.repeat: {other.seed for other in runs if other.repeat == run.repeat} for run in runs}
    assert by_repeat == {0: {11}, 1: {12}, 2: {11}, 3: {12}, 4: {11}}


def test_only_select_only_never_writes() -> None:
    reading = Script(builtin=BuiltinScript.SELECT_ONLY)
    own = Script(builtin=None, path="/srv/scripts/mine.sql")
    assert not Workload(scripts=(reading,)).writes
    assert Workload(scripts=(reading, own)).writes
    assert Workload().writes
    assert Workload(scripts=(reading, own)).label == "select-only + mine.sql"


def test_random_order_drawn_once() -> None:
    asked = replace(campaign(3, 3), order_seed=None)
    with pytest.raises(ValueError, match="trial"):
        interleaved_order(asked)
    seeds = {with_drawn_order(asked).order_seed for _ in range(20)}
    assert len(seeds) == 20
    assert None not in seeds
    stated = replace(asked, order_seed=5)
    assert with_drawn_order(stated) == stated
    alternating = replace(asked, order=RunOrder.ALTERNATING)
    assert with_drawn_order(alternating) == alternating


def test_resumed_without_seed_is_ab_ba() -> None:
    asked = replace(campaign(3, 3), order_seed=None)
    assert as_begun(asked).order is RunOrder.ALTERNATING
    assert as_begun(replace(asked, order_seed=0)).order is RunOrder.RANDOM
