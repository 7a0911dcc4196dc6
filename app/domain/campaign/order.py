"""In which order the runs of a campaign are taken: complete blocks, each configuration once in every one.

What a run leaves behind (an SSD's garbage collection, warm caches) falls on its successor, and what the
machine does meanwhile on whoever's turn it is. So blocks are in random order, and of many such orders the one
is taken whose ordered neighbours, across the borders of blocks too, are spread most evenly: a Williams square
(Williams 1949) where the number of blocks allows one. Figures: resources/manual/method.md.

Configurations are numbers here, from 0. Standard library only.

How it is settled how often each configuration of a campaign is run. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Final, Protocol

Block = tuple[int, ...]

_MOST_CANDIDATES: Final = 300
_MOST_STEPS: Final = 1_000_000
"""Steps that all candidates together may take: some 0.3 s, for a campaign of thousands of runs too."""


class RunOrder(StrEnum):
    """How the runs of a campaign follow each other."""

    RANDOM = "random"
    ALTERNATING = "AB BA"


def alternating_blocks(count: int, blocks: int) -> tuple[Block, ...]:
    """Return AB BA AB ...: every second block is reversed, which cancels a linear drift of the machine.

    Args:
        count: of configurations.
        blocks: of complete blocks.
    """
    forward = tuple(range(count))
    return tuple(forward if block % 2 == 0 else forward[::-1] for block in range(blocks))


@lru_cache(maxsize=64)
def random_blocks(count: int, blocks: int, seed: int) -> tuple[Block, ...]:
    """Return complete blocks in random order, the most balanced ones of many.

    No configuration follows itself. Two are the exception: there that would leave only AB AB AB, in which
    what drifts becomes a difference, and the most even neighbours are those of AB BA AB, in which what
    happens at every fourth run does. So of two half of the blocks begin with each, which ones is drawn.

    The same for the same arguments in every version: a campaign that was begun is resumed by its seed.

    Args:
        count: of configurations.
        blocks: of complete blocks.
        seed: a whole number from 0.
    """
    draw = _Draw(seed)
    if count == 2:
        odd = draw.below(2)
        return tuple(
            (first, 1 - first) for first in draw.shuffled([(each + odd) % 2 for each in range(blocks)])
        )
    steps = count * count * blocks
    tries = max(1, min(_MOST_CANDIDATES, _MOST_STEPS // max(1, steps)))
    found: tuple[Block, ...] | None = None
    best: tuple[int, ...] = ()
    for number in range(tries):
        candidate = _williams(count, blocks, draw) if number % 2 == 0 else None
        candidate = candidate or _drawn(count, blocks, draw)
        rank = _imbalance(candidate)
        if found is None or rank < best:
            found, best = candidate, rank
    return found or ()


def ordered_neighbours(order: Sequence[int]) -> Counter[tuple[int, int]]:
    """Return how often each configuration ran right after which other: (before, after) by count."""
    return Counter(pairwise(order))


class _Draw:
    """Random numbers that no version of Python changes: of `random` only `Random.random` promises that."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - an order, no secret

    def below(self, limit: int) -> int:
        return min(int(self._random.random() * limit), limit - 1)

    def shuffled(self, items: Sequence[int]) -> list[int]:
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            place = self.below(last + 1)
            found[last], found[place] = found[place], found[last]
        return found


def _drawn(count: int, blocks: int, draw: _Draw) -> tuple[Block, ...]:
    """Return blocks in which each next configuration is one that followed the one before least often."""
    followed: Counter[tuple[int, int]] = Counter()
    found: list[Block] = []
    before = -1
    for _ in range(blocks):
        left, block = draw.shuffled(range(count)), []
        while left:
            others = (each for each in left if each != before)
            # The first that never followed cannot be beaten: of many that is one of the first.
            chosen = next((each for each in others if not followed.get((before, each))), -1)
            if chosen < 0:
                chosen = min(
                    (each for each in left if each != before),
                    key=lambda each: followed[before, each],
                    default=left[0],
                )
            followed[before, chosen] += 1
            left.remove(chosen)
            block.append(chosen)
            before = chosen
        found.append(tuple(block))
    return tuple(found)


def _williams(count: int, blocks: int, draw: _Draw) -> tuple[Block, ...] | None:
    """Return a Williams square under random names, its rows in random order; None where blocks do not fit."""
    rows = count if count % 2 == 0 else 2 * count
    if count < 3 or blocks % rows:
        return None
    # 0, 1, n-1, 2, n-2, ...: all steps between neighbours differ, so that a shift repeats no pair.
    first = [(count - step // 2) % count if step % 2 == 0 else (step + 1) // 2 for step in range(count)]
    names = draw.shuffled(range(count))
    square = [tuple(names[(each + row) % count] for each in first) for row in range(count)]
    if rows > count:
        square += [row[::-1] for row in square]
    found: list[Block] = []
    for _ in range(blocks // rows):
        found += _without_echo(square, found[-1] if found else (), draw)
    return tuple(found)


def _without_echo(square: Sequence[Block], before: Block, draw: _Draw) -> list[Block]:
    """Return the rows in random order, none beginning with what the one before ends with where that goes."""
    left, found = draw.shuffled(range(len(square))), list[Block]()
    while left:
        last = (found[-1] if found else before)[-1:]
        chosen = next((row for row in left if square[row][:1] != last), left[0])
        left.remove(chosen)
        found.append(square[chosen])
    return found


def _imbalance(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Return what is to be small, the gravest first.

    How often a configuration follows itself; how uneven its neighbours are across the whole order; how uneven
    its places within blocks; how uneven its neighbours within blocks (a Williams square has each pair equally
    often). Uneven is the sum of squares of the counts, which is smallest where they are alike.
    """
    order = [each for block in blocks for each in block]
    followed = ordered_neighbours(order)
    echoes = sum(times for pair, times in followed.items() if pair[0] == pair[1])
    places = Counter((place, each) for block in blocks for place, each in enumerate(block))
    within = Counter(pair for block in blocks for pair in pairwise(block))
    evenness = tuple(sum(times * times for times in counts.values()) for counts in (followed, places, within))
    return (echoes, *evenness)


DEFAULT_CAP: Final = 10
"""Rounds of a sequential campaign, at most, where nobody says."""
LEFT_OUT: Final = "left-out"
"""Kind of the mark of the last run of a configuration that is unlikely to be the fastest."""
FEWEST_CAP: Final = 4
"""Nothing is left out before the third round: with fewer it would be the fixed matrix."""


class Design(StrEnum):
    """How it is settled how often each configuration is run.

    FIXED: `Campaign.repeats` times. SEQUENTIAL: after each complete round what is unlikely to be the fastest
    is left out (`app.statistics.selection`); the others go on until one is left, `Campaign.repeats` rounds at
    most.
    """

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


class _Competitor(Protocol):
    """A configuration, as far as it decides what it competes with."""

    @property
    def condition(self) -> Hashable:
        """What is the same for those that may be compared."""

    @property
    def has_rate(self) -> bool:
        """Whether transactions arrive at a rate."""


def contests(configurations: Sequence[_Competitor]) -> tuple[tuple[int, ...], ...]:
    """Return the places of those that can win against each other: under one condition, and without a rate.

    Another scale, another number of clients, other transactions or another memory limit are other conditions:
    all of them are wanted. At a rate all are as fast as that.
    """
    alike: dict[Hashable, list[int]] = {}
    for place, each in enumerate(configurations):
        if not each.has_rate:
            alike.setdefault(each.condition, []).append(place)
    return tuple(tuple(places) for places in alike.values() if len(places) > 1)
