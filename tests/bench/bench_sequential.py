"""The sequential design against the fixed matrix: time, winner, errors, and intervals that hold the truth.

Campaigns with a cap of ten rounds. Printed for each setting: time, the median share of the runs of the fixed
matrix (promised where one wins by 5 %: at most 50 %); same, how often the fastest is that of the fixed
matrix, and `or not told` or one that the fixed matrix cannot tell from it (95 %); lost, how often the truly
best was left out, and beside it how often another one is the fastest of the fixed matrix; one left. Then how
many of the 95 % intervals hold the truth (93 to 97 %): of the leader against any other, of that those that
were left out, of the leader against the first, and of any two others.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from tests.bench._figures import describe_machine  # noqa: E402
from tests.simulated_selections import (  # noqa: E402
    Array,
    Selected,
    holds,
    interval_of,
    published_truths,
    runs_of,
    select,
    spreads,
    told_apart_by_the_matrix,
    truths,
)

CVS = (0.01, 0.025, 0.04)
SIZES = (6, 12, 20, 33)
KINDS = ("alike", "unequal", "one noisy")
_DISTURBED = {"drift -10 %": {"drift": -0.105}, "after the first -3 %": {"carry_over": -0.03}}


def described(truth: Array, logs: Array, selected: Selected) -> str:
    """Return the cells of a row about time, winner and errors."""
    fastest = logs.mean(axis=2).argmax(axis=1)
    same = selected.leader == fastest
    told = told_apart_by_the_matrix(logs, selected.leader)
    best = np.take_along_axis(selected.left, truth.argmax(axis=1)[:, None], axis=1)
    left = selected.left.sum(axis=1)
    return (
        f"time {np.median(selected.share):6.1%} (mean {selected.share.mean():5.1%})  same {same.mean():6.1%} "
        f"or not told {1 - told.mean():6.1%}  lost {1 - best.mean():5.1%} "
        f"(matrix {(fastest != truth.argmax(axis=1)).mean():5.1%})  one left {(left == 1).mean():5.1%}"
    )


def covered(truth: Array, selected: Selected, campaigns: int) -> str:
    """Return the cells of a row about intervals."""
    random = np.random.default_rng(3)
    found: dict[str, list[bool | None]] = {"any": [], "left out": [], "first": [], "two others": []}
    count = truth.shape[1]
    for campaign in range(min(campaigns, len(truth))):
        leader = int(selected.leader[campaign])
        others = [int(each) for each in random.permutation(count) if each != leader]

        def holding(one: int, other: int, campaign: int = campaign) -> bool | None:
            of = interval_of(selected, campaign, one, other)
            return holds(of, truth[campaign, other] - truth[campaign, one])

        found["any"].append(holding(leader, others[0]))
        if not selected.left[campaign, others[0]]:
            found["left out"].append(found["any"][-1])
        if leader:
            found["first"].append(holding(0, leader))
        if count > 2:
            found["two others"].append(holding(others[0], others[1]))
    told = []
    for name, values in found.items():
        known = [each for each in values if each is not None]
        told.append(f"{name} {np.mean(known):6.1%}" if len(known) >= campaigns // 5 else f"{name}      -")
    return "  held: " + ", ".join(told)


def row(name: str, truth: Array, logs: Array, campaigns: int) -> None:
    """Print one."""
    selected = select(logs)
    print(f"{name:38} {described(truth, logs, selected)}", flush=True)
    if campaigns:
        print(f"{'':38}{covered(truth, selected, campaigns)}", flush=True)


def print_made_up(campaigns: int, intervals: int) -> None:
    """Print what is made up: truths, spreads, sizes."""
    for kind, spread in product(("5 %", "spread", "2 %", "equal"), KINDS):
        print(f"\ntruth: {kind}, spreads: {spread}")
        for count, cv in product(SIZES, CVS[-1:] if kind == "equal" else CVS):  # equal ones have no scale
            random = np.random.default_rng(17)
            truth = truths(kind, count, campaigns, random)
            logs = runs_of(truth, spreads(spread, cv, truth.shape, random), random)
            row(f"{count:2} configurations, {cv:4.1%}", truth, logs, intervals if count in {6, 33} else 0)


def print_disturbed(campaigns: int, intervals: int) -> None:
    """Print what drift and carry-over do."""
    print("\ndisturbed machines, spreads: alike, 2.5%")
    for (name, effect), kind, count in product(_DISTURBED.items(), ("5 %", "equal"), (6, 33)):
        random = np.random.default_rng(18)
        truth = truths(kind, count, campaigns, random)
        logs = runs_of(truth, spreads("alike", 0.025, truth.shape, random), random, **effect)
        row(f"{name}, {count:2}, {kind}", truth, logs, intervals)


def print_published(campaigns: int, intervals: int) -> None:
    """Print truths as published runs had them."""
    print("\ntruth: as the 306 published runs have it, spreads: unequal")
    for count, cv in product((6, 12, 20), CVS):
        random = np.random.default_rng(19)
        truth = np.array(list(published_truths(count, campaigns, random)))
        logs = runs_of(truth, spreads("unequal", cv, truth.shape, random), random)
        ordered = np.sort(truth, axis=1)
        wins = ordered[:, -1] - ordered[:, -2] >= np.log(1.05)
        for told, which in (("one wins by 5 %", wins), ("closer", ~wins)):
            name = f"{count:2} of them, {cv:4.1%}, {told} ({which.mean():.0%})"
            row(name, truth[which], logs[which], intervals)


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--intervals", type=int, default=200, help="campaigns whose intervals are looked at")
    arguments = parser.parse_args()
    campaigns, began_s = arguments.campaigns, time.monotonic()
    print(describe_machine())
    print(f"{campaigns} campaigns a row, intervals of {arguments.intervals}")
    print_made_up(campaigns, arguments.intervals)
    print_disturbed(campaigns, arguments.intervals)
    print_published(campaigns, arguments.intervals)
    print(f"{time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
