"""The matrix of a campaign: dimensions, exclusions, the resulting cells, and the order of runs. Pure.

A cell is one combination of values. A value counts only if it has an effect (an option of ZFS on ZFS only):
combinations that differ in nothing else are one cell. `app.campaign_file.matrix` creates them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any, Final, Protocol

from typing_extensions import override

from app.domain.text import tr

LONGEST_NAME: Final = 80
"""Maximum length of a configuration's name."""

_SWITCHES: Final = frozenset({"on", "off", "true", "false", "yes", "no", "none", "always", "auto", "default"})
"""Words that are meaningless without their key."""

_SPOKEN: Final = {"true": tr("on"), "false": tr("off")}

Cell = tuple[int | None, ...]
"""Index of the value for each dimension, from 0; None if the dimension has no effect there."""


@dataclass(frozen=True, slots=True)
class Change:
    """A key of a campaign file with its value.

    Attributes:
        key: parts of the dotted key; ``("target", "memory")`` with ``{}`` for a target without keys.
        value: as TOML has it.
    """

    key: tuple[str, ...]
    value: Any

    @override
    def __hash__(self) -> int:
        return hash(self.key)  # values may be lists and tables


@dataclass(frozen=True, slots=True)
class DimensionValue:
    """One value of a dimension.

    Attributes:
        name: given by the user, or the value's own text.
        changes: keys that it changes; empty for a value that changes nothing.
    """

    name: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class MatrixDimension:
    """A dimension with several values.

    Attributes:
        name: unique among those of a matrix.
        values: at least one; names and changes are unique.
        key: dotted, if each value changes only this key; else empty.
    """

    name: str
    values: tuple[DimensionValue, ...]
    key: str = ""


Exclusion = tuple[tuple[int, tuple[int, ...]], ...]
"""Excluded combinations: values of some dimensions, by index."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Dimensions on top of the shared part of every configuration.

    Attributes:
        shared: the shared part.
        dimensions: at least one.
        exclusions: each excludes something.
        cells: one for each configuration of the campaign, in the same order.
        left_out: number of excluded cells.
    """

    shared: tuple[Change, ...]
    dimensions: tuple[MatrixDimension, ...]
    exclusions: tuple[Exclusion, ...]
    cells: tuple[Cell, ...]
    left_out: int = 0


def default_name(key: str) -> str:
    """Return the default name of a dimension with one key: the key's last part.

    For further disks with the group, because groups have the same keys.
    """
    settings, disks = "postgresql.settings.", "target.disks."
    if key.startswith(settings):
        return key.removeprefix(settings)
    group, _, rest = key.removeprefix(disks).partition(".")
    if key.startswith(disks) and rest and group != "options":
        return f"{group} {rest.rpartition('.')[2]}"
    return key.rpartition(".")[2]


def is_left_out(cell: Cell, exclusion: Exclusion) -> bool:
    """Return whether an exclusion matches a cell; not if one of its dimensions has no effect there."""
    return all(cell[dimension] in values for dimension, values in exclusion)


def labels_of(dimensions: Sequence[MatrixDimension]) -> tuple[tuple[str, ...], ...]:
    """Return each value's name in names of cells: its word if that is clear, else with its key."""
    words = [[_word(value) for value in each.values] for each in dimensions]
    found = []
    for place, each in enumerate(dimensions):
        others = {word for other, more in enumerate(words) if other != place for word in more}
        own = words[place]
        if not each.key or (all(map(_is_telling_word, own)) and not others & set(own)):
            found.append(tuple(own))
        else:
            found.append(tuple(f"{each.name} {word}" for word in own))
    return tuple(found)


def cell_names(dimensions: Sequence[MatrixDimension], cells: Sequence[Cell], alone: str) -> tuple[str, ...]:
    """Return a name for each cell: the shortest that is unique.

    Args:
        dimensions: of the matrix.
        cells: all different.
        alone: name of a cell that no value distinguishes.
    """
    labels = labels_of(dimensions)
    telling = [len({cell[place] for cell in cells}) > 1 for place in range(len(dimensions))]
    found: dict[str, None] = {}
    for number, cell in enumerate(cells, start=1):
        parts = [
            labels[place][value]
            for place, value in enumerate(cell)
            if value is not None and telling[place] and labels[place][value]
        ]
        name = ", ".join(parts) or alone
        if len(name) > LONGEST_NAME or name in found:
            ending = f" … {number}"
            name = name[: LONGEST_NAME - len(ending)].rstrip(" ,") + ending
        found[name] = None
    return tuple(found)


def describe_matrix(matrix: Matrix) -> tuple[str, ...]:
    """Describe the dimensions and the number of combinations in sentences."""
    sizes = [len(each.values) for each in matrix.dimensions]
    parts = [f"{each.name} ({', '.join(value.name for value in each.values)})" for each in matrix.dimensions]
    sentence = tr("{dimensions}: {product} combinations give {count} configurations.")
    sentences = [
        sentence.format(dimensions=" x ".join(parts), product=math.prod(sizes), count=len(matrix.cells)),
    ]
    if matrix.left_out:
        sentences.append(tr("[[exclude]] removes {count} of them.").format(count=matrix.left_out))
    for place, each in enumerate(matrix.dimensions):
        idle = sum(cell[place] is None for cell in matrix.cells)
        if idle:
            words = tr("{name} has no effect in {idle} of {count} configurations; these are measured once.")
            sentences.append(words.format(name=each.name, idle=idle, count=len(matrix.cells)))
    return tuple(sentences)


def _word(value: DimensionValue) -> str:
    return _SPOKEN.get(value.name, value.name) if len(value.changes) == 1 else value.name


def _is_telling_word(word: str) -> bool:
    return word[:1].isalpha() and word.lower() not in _SWITCHES and word not in _SPOKEN.values()


# The order of a campaign's runs: complete blocks that contain each configuration once.
#
# After-effects of a run (an SSD's garbage collection, warm caches) hit its successor, and other events hit
# whichever run is active. So blocks are in random order, and of many such orders the one with the most
# balanced ordered neighbours, also across blocks, is chosen: a Williams square (Williams 1949) if the number
# of blocks allows one. Figures: resources/manual/method.md. Configurations are numbers here, from 0. Standard
# library only.
#
# `Design` determines how often each configuration is run.


Block = tuple[int, ...]

_MOST_CANDIDATES: Final = 300
_MOST_STEPS: Final = 1_000_000
"""Maximum steps for all candidates together: some 0.3 s, even for a campaign of thousands of runs."""


class RunOrder(StrEnum):
    """Orders of the runs of a campaign."""

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

    No configuration follows itself, except with two of them: otherwise only AB AB AB would remain, which
    turns a drift into a difference, and the most balanced neighbours are those of AB BA AB, which does so
    with an event at every fourth run. So of two, half of the blocks begin with each, at random.

    The result for the same arguments never changes between versions: a campaign is resumed by its seed.

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
    """Return how often each configuration ran right after another: (before, after) by count."""
    return Counter(pairwise(order))


class _Draw:
    """Random numbers that are stable across versions of Python: only `Random.random` guarantees that."""

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
    """Return blocks in which each next configuration is one that rarely followed the previous one."""
    followed: Counter[tuple[int, int]] = Counter()
    found: list[Block] = []
    before = -1
    for _ in range(blocks):
        left, block = draw.shuffled(range(count)), []
        while left:
            others = (each for each in left if each != before)
            # One that never followed is optimal: stop at the first.
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
    """Return a Williams square with random names and rows in random order; None if blocks do not fit."""
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
    """Return the rows in random order; none begins with the previous one's last, if possible."""
    left, found = draw.shuffled(range(len(square))), list[Block]()
    while left:
        last = (found[-1] if found else before)[-1:]
        chosen = next((row for row in left if square[row][:1] != last), left[0])
        left.remove(chosen)
        found.append(square[chosen])
    return found


def _imbalance(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Return measures of imbalance, the most important first.

    How often a configuration follows itself; imbalance of its neighbours across the whole order; of its
    positions within blocks; of its neighbours within blocks (a Williams square has each pair equally often).
    Imbalance is the sum of squares of the counts, which is smallest if they are equal.
    """
    order = [each for block in blocks for each in block]
    followed = ordered_neighbours(order)
    echoes = sum(times for pair, times in followed.items() if pair[0] == pair[1])
    places = Counter((place, each) for block in blocks for place, each in enumerate(block))
    within = Counter(pair for block in blocks for pair in pairwise(block))
    evenness = tuple(sum(times * times for times in counts.values()) for counts in (followed, places, within))
    return (echoes, *evenness)


DEFAULT_CAP: Final = 10
"""Default maximum of rounds of a sequential campaign."""
LEFT_OUT: Final = "left-out"
"""Kind of the mark of the last run of a configuration that was dropped from a sequential campaign."""
FEWEST_CAP: Final = 4
"""Nothing is dropped before the third round: with fewer it would be the fixed matrix."""


class Design(StrEnum):
    """How the number of runs of each configuration is determined.

    FIXED: `Campaign.repeats` times. SEQUENTIAL: after each complete round the unlikely winners are dropped
    (`app.statistics.selection`); the others continue until one remains, for at most `Campaign.repeats`
    rounds.
    """

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


class _Competitor(Protocol):
    """The part of a configuration that determines its competitors."""

    @property
    def condition(self) -> Hashable:
        """Equal for configurations that may be compared."""

    @property
    def has_rate(self) -> bool:
        """Whether transactions arrive at a rate."""


def contests(configurations: Sequence[_Competitor]) -> tuple[tuple[int, ...], ...]:
    """Return the indexes of configurations that compete: under the same condition, and without a rate.

    Another scale, number of clients, workload or memory limit is another condition: all of them are wanted.
    At a fixed rate all are equally fast.
    """
    alike: dict[Hashable, list[int]] = {}
    for place, each in enumerate(configurations):
        if not each.has_rate:
            alike.setdefault(each.condition, []).append(place)
    return tuple(tuple(places) for places in alike.values() if len(places) > 1)
