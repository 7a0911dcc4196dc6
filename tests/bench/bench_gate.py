"""A gate for upgrades: how often it errs at its limit, and how often it tells what lies beside it.

Promised: at the limit at most 5 % false "worse" and 5 % false "not worse", with 0, 1 and 3 % between them.
Printed for each number of campaigns and each spread between those of base and new side: both errors where the
truth is exactly the limit, then "worse" where it is twice the limit, "not worse" where nothing changed.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.statistics.gate import GateVerdict, judge_gate  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402

LIMIT = 0.03
WITHIN = 0.02
REPEATS = 3
CAMPAIGNS = ((3, 3), (4, 4), (6, 6), (12, 3), (3, 12), (24, 3), (12, 6))
SPREADS = ((0.0, 0.0), (0.01, 0.01), (0.03, 0.03), (0.0, 0.03), (0.03, 0.0), (0.01, 0.03))


def shares(
    counts: tuple[int, int], between: tuple[float, float], truth: float, gates: int
) -> tuple[float, float]:
    """Return how often it says worse, and not worse."""
    random = np.random.default_rng(5)
    found = []
    for _ in range(gates):
        sides = [
            np.exp(shift + random.normal(0, spread, (count, 1)) + random.normal(0, WITHIN, (count, REPEATS)))
            for count, spread, shift in zip(counts, between, (0.0, math.log1p(-truth)), strict=True)
        ]
        found.append(judge_gate(sides[0].tolist(), sides[1].tolist(), LIMIT).verdict)
    return tuple(found.count(each) / gates for each in (GateVerdict.WORSE, GateVerdict.NOT_WORSE))  # type: ignore[return-value]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=2000, help="simulated for each cell")
    gates = parser.parse_args().gates
    print(describe_machine())
    print(f"limit {LIMIT:.0%}, {REPEATS} runs a campaign that spread by {WITHIN:.0%}, {gates} gates a cell")
    for counts in CAMPAIGNS:
        for between in SPREADS:
            worse, not_worse = shares(counts, between, LIMIT, gates)
            found = shares(counts, between, 2 * LIMIT, gates)[0]
            same = shares(counts, between, 0.0, gates)[1]
            print(
                f"{counts[0]:2} against {counts[1]:2} campaigns that spread by"
                f" {between[0]:.0%} and {between[1]:.0%}:"
                f"  false worse {worse:5.1%}  false not worse {not_worse:5.1%}"
                f"  worse by {2 * LIMIT:.0%} found {found:6.1%}  unchanged told {same:6.1%}"
            )


if __name__ == "__main__":
    main()
