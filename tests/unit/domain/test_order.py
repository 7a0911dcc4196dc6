"""The order of runs: complete blocks at random, neighbours spread evenly, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.campaign.matrix import Block, alternating_blocks, ordered_neighbours, random_blocks

GOLDEN_TWO = ((1, 0), (1, 0), (0, 1), (0, 1), (0, 1))
GOLDEN_THREE = ((2, 0, 1), (0, 2, 1), (2, 1, 0))
GOLDEN_FOUR = ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))


def neighbours(blocks: tuple[Block, ...]) -> Counter[tuple[int, int]]:
    return ordered_neighbours(list(chain.from_iterable(blocks)))


def never(blocks: tuple[Block, ...]) -> int:
    count = len(blocks[0])
    return count * (count - 1) - sum(one != other for one, other in neighbours(blocks))


@settings(max_examples=20)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**31 - 1))
def test_every_block_holds_each_configuration_once(count: int, repeats: int, seed: int) -> None:
    blocks = random_blocks(count, repeats, seed)
    assert [sorted(block) for block in blocks] == [list(range(count))] * repeats
    assert random_blocks(count, repeats, seed) == blocks


@pytest.mark.parametrize("count", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("repeats", [2, 3, 5, 6, 10])
def test_random_blocks_fewest_missing_pairs(count: int, repeats: int) -> None:
    blocks = random_blocks(count, repeats, 1)
    assert not any(one == other for one, other in neighbours(blocks))
    assert never(blocks) == max(0, count * (count - 1) - (count * repeats - 1))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_all_ordered_pairs_in_five_repeats(count: int) -> None:
    assert {never(random_blocks(count, 5, seed)) for seed in range(15)} == {0}


def test_alternating_blocks_miss_half() -> None:
    """What is measured against: 6 of 12, and 20 of 30, whatever the repeats."""
    assert never(alternating_blocks(4, 20)) == 6
    assert never(alternating_blocks(6, 20)) == 20


@pytest.mark.parametrize(("count", "repeats"), [(4, 4), (6, 6), (4, 8), (3, 6), (5, 10), (8, 8)])
def test_williams_square_where_possible(count: int, repeats: int) -> None:
    for seed in range(5):
        blocks = random_blocks(count, repeats, seed)
        within = Counter(pair for block in blocks for pair in pairwise(block))
        places = Counter((place, each) for block in blocks for place, each in enumerate(block))
        assert set(within.values()) == {repeats // count}
        assert len(within) == count * (count - 1)
        assert set(places.values()) == {repeats // count}


def test_seeds_vary_order_and_first() -> None:
    orders = [random_blocks(4, 5, seed) for seed in range(60)]
    assert len(set(orders)) > 30  # the best ones are few, under 24 names
    first = Counter(blocks[0][0] for blocks in orders)
    assert all(7 <= times <= 23 for times in first.values())  # 15 are expected


@pytest.mark.parametrize("repeats", [2, 3, 5, 10])
def test_two_configurations_begin_equally_often(repeats: int) -> None:
    orders = {random_blocks(2, repeats, seed) for seed in range(60)}
    assert len(orders) >= 2 * (repeats - 1)
    for blocks in orders:
        begins = sum(block[0] for block in blocks)
        assert begins in {repeats // 2, repeats - repeats // 2}


def test_drawn_order_stable_across_versions() -> None:
    """A campaign that was begun is resumed by its seed: these may never change."""
    assert random_blocks(2, 5, 7) == GOLDEN_TWO
    assert random_blocks(3, 3, 7) == GOLDEN_THREE
    assert random_blocks(4, 4, 7) == GOLDEN_FOUR


def test_thousands_of_runs_are_ordered_too() -> None:
    assert len(random_blocks(100, 100, 1)) == 100
    assert len(random_blocks(1, 1000, 1)) == 1000
    assert random_blocks(0, 3, 1) == ((), (), ())
