"""Factor verdicts over cells and the set that holds the best: errors, coverage, power, and published runs.

Printed are shares of simulated matrices and campaigns, in percent: identical levels told apart (at most 5 are
promised), intervals that hold the true ratio (95), true differences named, the truly best one missing from
the set (at most 5); and what the published runs give by filesystem and by ZFS configuration.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.statistics.cells import CellComparison, compare_over_cells  # noqa: E402
from app.statistics.verdict import Comparison, Verdict  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402
from tests.simulated_cells import best_sets, matrices  # noqa: E402
from tests.vondra_runs import cells_of  # noqa: E402

_APART = frozenset({Verdict.HIGHER, Verdict.LOWER})


def _holds(found: Comparison, ratio: float) -> bool:
    return found.interval is not None and found.interval.low <= ratio <= found.interval.high


def print_factors(count: int) -> float:
    """Print matrices of single runs; return the largest share of identical levels told apart."""
    worst = 0.0
    print("one run in each cell of one campaign: runs and interaction, cells -> apart, covered, +5 % named")
    for run, interaction in ((0.01, 0.0), (0.03, 0.0), (0.01, 0.1), (0.03, 0.3)):
        for cells in (3, 5, 8, 12, 22, 40):
            same = [
                compare_over_cells(each).comparison
                for each in matrices(count, cells, 1, run=run, interaction=interaction)
            ]
            more = [
                compare_over_cells(each).comparison
                for each in matrices(count, cells, 2, ratio=1.05, run=run, interaction=interaction)
            ]
            apart = sum(each.verdict in _APART for each in same) / count
            covered = sum(_holds(each, 1.05) for each in more) / count
            named = sum(each.verdict is Verdict.HIGHER for each in more) / count
            worst = max(worst, apart)
            print(
                f"  {run:4.0%} {interaction:4.0%}  {cells:3} -> {apart:5.1%} {covered:6.1%} {named:6.1%}",
                flush=True,
            )
    print("runs of a cell of two campaigns (runs 1 %): campaigns, sets x cells -> apart by cells, by sets")
    for campaign in (0.0, 0.01, 0.03, 0.1):
        for sets, cells in ((3, 22), (5, 22), (8, 40)):
            found = [
                compare_over_cells(each) for each in matrices(count, cells, 3, campaign=campaign, sets=sets)
            ]
            by_cells = sum(each.over_cells.verdict in _APART for each in found) / count
            by_sets = sum(each.comparison.verdict in _APART for each in found) / count
            worst = max(worst, by_sets)
            print(f"  {campaign:4.0%}  {sets} x {cells:2} -> {by_cells:6.1%} {by_sets:6.1%}", flush=True)
    return worst


def print_best(count: int) -> float:
    """Print campaigns of several configurations; return the largest share that lacks the best."""
    worst = 0.0
    print(
        "best of k, repeats: equals | best 1 % better | spreads 1 to 8 % | independent -> missing (set size)"
    )
    for configurations in (3, 4, 6, 8, 12):
        for repeats in (3, 5, 10):
            cells = []
            equal, wide = [1.0] * configurations, [0.01] * (configurations - 1) + [0.08]
            better = [1.0] * (configurations - 1) + [1.01]
            for ratios, spreads, paired in (
                (equal, [0.025] * configurations, True),
                (better, [0.025] * configurations, True),
                (equal, wide, True),
                (equal, [0.025] * configurations, False),
            ):
                found = list(best_sets(ratios, spreads, repeats, count, 5, paired=paired))
                last = len(ratios) - 1  # of equals the first and the last stand for all
                missing = max(sum(place not in each for each in found) / count for place in {0, last})
                if ratios is better:
                    missing = sum(last not in each for each in found) / count
                worst = max(worst, missing)
                size = sum(map(len, found)) / count
                cells.append(f"{missing:5.1%} ({size:4.1f})")
            print(f"  {configurations:2} {repeats:2}: " + " | ".join(cells), flush=True)
    return worst


def print_published() -> None:
    """Print what the 306 published runs give."""
    print("published runs, second against first: cells, over sets or cells of one campaign; over all cells")
    for modes in ("ro", "rw"):
        for first, second in (
            (("ext4", "default"), ("xfs", "default")),
            (("ext4", "default"), ("btrfs", "default")),
            (("ext4", "default"), ("zfs", "default")),
            (("ext4", "default"), ("zfs", "no-fpw-tuned")),
            (("zfs", "default"), ("zfs", "no-fpw-tuned")),
            (("zfs", "default"), ("zfs", "no-fpw")),
        ):
            found = compare_over_cells(cells_of(first, second, modes))
            names = f"{' '.join(second)} against {' '.join(first)}"
            print(f"  {modes} {names:44} {_told(found)}")


def _told(found: CellComparison) -> str:
    sets = "" if found.sets is None else f" in {found.sets} sets"
    return f"{found.cells} cells{sets}: {_interval(found.comparison)}; {_interval(found.over_cells)}"


def _interval(found: Comparison) -> str:
    if found.ratio is None or found.interval is None:
        return found.verdict.value
    ends: Sequence[float] = (found.ratio, found.interval.low, found.interval.high)
    mean, low, high = (100 * (each - 1) for each in ends)
    return f"{mean:+.1f} % ({low:+.1f} to {high:+.1f}, {found.verdict.value})"


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    began_s = time.monotonic()
    print(describe_machine())
    allowed = 0.05 + 2 * math.sqrt(0.05 * 0.95 / count)
    print(f"{count} simulated each; 5 % and two standard errors: {allowed:.1%}")
    factors = print_factors(count)
    best = print_best(max(200, count // 4))
    print_published()
    print(
        f"worst: told apart {factors:.1%}, best one missing {best:.1%} (promised 5 %); "
        f"{time.monotonic() - began_s:.0f} s"
    )


if __name__ == "__main__":
    main()
