"""What the planner says so many runs show, against what simulated campaigns with Holm's procedure show.

Promised: within 10 % for 2 to 12 configurations and 3 to 10 repeats.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.draft.planning import Plan  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402
from tests.simulated_families import simulated_difference  # noqa: E402

SPREAD = 0.025


def main() -> None:
    """Print a row a number of configurations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=20_000)
    campaigns = parser.parse_args().campaigns
    began_s = time.monotonic()
    print(describe_machine())
    print(f"{campaigns} campaigns a cell, runs spread by {SPREAD:.1%}; said -> simulated difference, percent")
    worst = 0.0
    for configurations in range(2, 13):
        cells = []
        for repeats in range(3, 11):
            said = Plan(configurations - 1, SPREAD).detectable(repeats) or math.nan
            true = math.expm1(SPREAD * simulated_difference(configurations, repeats, campaigns, 1))
            worst = max(worst, abs(said / true - 1))
            cells.append(f"{100 * said:6.2f} -> {100 * true:6.2f}")
        print(f"{configurations:3}  " + "  ".join(cells), flush=True)
    print(f"farthest from the truth: {worst:.1%} (promised 10 %); {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
