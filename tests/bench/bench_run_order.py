"""What the order of runs does to verdicts where nothing differs, and how evenly neighbours are spread.

Campaigns of identical configurations, 1 % from run to run, on machines that are not quiet: a drift, a job
that meets every fourth or every third run, a configuration whose run slows the next one. Printed is how many
campaigns name any false difference (pairs, Holm), in percent.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.domain.campaign.order import (  # noqa: E402
    Block,
    alternating_blocks,
    ordered_neighbours,
    random_blocks,
)
from app.statistics.verdict import Samples, Verdict, compare_family  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402

CV = 0.01
SEEDS = 50
"""Orders that are drawn of each size; a campaign takes one of them."""

Array = NDArray[np.float64]
Effect = Callable[[Array, Sequence[int], np.random.Generator], None]


def _nothing(_logs: Array, _order: Sequence[int], _random: np.random.Generator) -> None:
    """Leave it as it is."""


def _drift(logs: Array, _order: Sequence[int], _random: np.random.Generator) -> None:
    logs += np.log1p(np.linspace(0, -0.1, len(logs)))


def _every(period: int) -> Effect:
    def hit(logs: Array, _order: Sequence[int], random: np.random.Generator) -> None:
        logs[random.integers(period) :: period] += math.log(0.95)

    return hit


def _left_behind(logs: Array, order: Sequence[int], _random: np.random.Generator) -> None:
    logs[[place for place in range(1, len(order)) if order[place - 1] == 0]] += math.log(0.97)


EFFECTS: dict[str, Effect] = {
    "quiet": _nothing,
    "drift -10 %": _drift,
    "every 4th -5 %": _every(4),
    "every 3rd -5 %": _every(3),
    "after first -3 %": _left_behind,
}


def _abab(count: int, blocks: int) -> tuple[Block, ...]:
    return (tuple(range(count)),) * blocks


def _drawn(count: int, blocks: int) -> list[tuple[Block, ...]]:
    return [random_blocks(count, blocks, seed) for seed in range(SEEDS)]


def _plain(count: int, blocks: int) -> list[tuple[Block, ...]]:
    random = np.random.default_rng(1)
    return [
        tuple(tuple(int(each) for each in random.permutation(count)) for _ in range(blocks))
        for _ in range(SEEDS)
    ]


ORDERS: dict[str, Callable[[int, int], list[tuple[Block, ...]]]] = {
    "AB AB": lambda count, blocks: [_abab(count, blocks)],
    "AB BA": lambda count, blocks: [alternating_blocks(count, blocks)],
    "plain random": _plain,
    "drawn, best": _drawn,
}


def false_share(orders: Sequence[tuple[Block, ...]], effect: Effect, campaigns: int) -> float:
    """Return the share of campaigns that name a difference where there is none."""
    random = np.random.default_rng(7)
    wrong = 0
    for number in range(campaigns):
        blocks = orders[number % len(orders)]
        order = [each for block in blocks for each in block]
        logs = CV * random.standard_normal(len(order))
        effect(logs, order, random)
        tps = np.exp(logs).reshape(len(blocks), -1)
        first, *others = [
            tuple(float(tps[at, block.index(each)]) for at, block in enumerate(blocks))
            for each in range(len(blocks[0]))
        ]
        found = compare_family([Samples(first, other, paired=True) for other in others])
        wrong += any(each.verdict in {Verdict.HIGHER, Verdict.LOWER} for each in found)
    return wrong / campaigns


def main() -> None:
    """Print a row an order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000)
    campaigns = parser.parse_args().campaigns
    allowed = 0.05 + 2 * math.sqrt(0.05 * 0.95 / campaigns)
    began_s = time.monotonic()
    print(describe_machine())
    print(f"{campaigns} campaigns a cell, runs spread by {CV:.0%}; at most {allowed:.1%} is by chance")
    print(
        f"{'configurations x repeats, order':36}"
        + "".join(f"{name:>17}" for name in EFFECTS)
        + "  never, twice"
    )
    for count, blocks in ((2, 3), (2, 5), (2, 10), (3, 5), (4, 5), (4, 10), (6, 5)):
        for name, make in ORDERS.items():
            orders = make(count, blocks)
            shares = [false_share(orders, effect, campaigns) for effect in EFFECTS.values()]
            followed = ordered_neighbours([each for block in orders[0] for each in block])
            never = count * (count - 1) - sum(one != other for one, other in followed)
            echoes = sum(times for (one, other), times in followed.items() if one == other)
            cells = "".join(f"{100 * share:17.1f}" for share in shares)
            print(f"{f'{count} x {blocks}, {name}':36}{cells}  {never:5}, {echoes}", flush=True)
    print(f"{time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
