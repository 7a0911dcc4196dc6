"""All-pairs lists: few rows in which each value of a key stands once beside each value of each other key."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

Row = Mapping[str, str]
Choice = tuple[str, str]
"""A key and the name of one of its values."""
Pair = tuple[Choice, Choice]

_TRIALS = 40
_HOPELESS = 400


def pairs_of(row: Row) -> Iterator[Pair]:
    """Yield the pairs that a row holds, each in the order of the names of its keys."""
    yield from itertools.combinations(sorted(row.items()), 2)


def every_pair(values: Mapping[str, Sequence[str]]) -> set[Pair]:
    """Return all pairs of values of two keys."""
    return {
        (first, second)
        for one, other in itertools.combinations(sorted(values), 2)
        for first in ((one, name) for name in values[one])
        for second in ((other, name) for name in values[other])
    }


def pairwise(
    values: Mapping[str, Sequence[str]],
    *,
    allowed: Callable[[Row], bool] = lambda _: True,
    cost: Callable[[Row], float] = lambda _: 1.0,
) -> tuple[list[Row], set[Pair]]:
    """Return rows that hold every pair which some allowed row can hold, and the pairs that none can.

    Greedy, and the same for the same arguments: of many rows that are drawn around pairs that are missing
    still, the one with the most missing pairs for its cost is taken.

    Args:
        values: the names of the values of each key.
        allowed: whether a whole row may be.
        cost: of a row; cheap ones are preferred.
    """
    draw = random.Random(20261122)  # noqa: S311 - the same list every time
    missing, impossible, rows = every_pair(values), set[Pair](), list[Row]()
    while missing:
        wanted = sorted(missing)
        tries = [wanted[draw.randrange(len(wanted))] for _ in range(_TRIALS)]
        found = [row for pair in tries if allowed(row := _around(pair, values, missing, draw))]
        if not found:
            pair = tries[0]
            others = (_around(pair, values, set(), draw) for _ in range(_HOPELESS))
            found = [row for row in others if allowed(row)][:1]
            if not found:
                impossible.add(pair)
                missing.discard(pair)
                continue
        best = max(found, key=lambda row: len(missing.intersection(pairs_of(row))) / cost(row))
        rows.append(best)
        missing -= set(pairs_of(best))
    return rows, impossible


def _around(pair: Pair, values: Mapping[str, Sequence[str]], missing: set[Pair], draw: random.Random) -> Row:
    """Return a row that holds a pair; every other key takes the value with the most missing pairs."""
    row = dict(pair)
    others = [key for key in values if key not in row]
    draw.shuffle(others)
    for key in others:
        names = list(values[key])
        draw.shuffle(names)

        def gain(name: str, key: str = key) -> int:
            return sum(tuple(sorted([(key, name), chosen])) in missing for chosen in row.items())

        row[key] = max(names, key=gain)
    return row
