"""306 published single runs: over their cells they say what their author says, with intervals.

Their author (tests/data/comparison/README.md) writes of "very little difference between EXT4 and XFS", and
that btrfs "clearly underperforms" read-write; his tables show tuned ZFS beside the default. He gives no
figures over all cells: about -60 %, +12 % and 0 are geometric means of his numbers. Those of the tables that
his text prints, which are of fewer scales, lie in the intervals as well (below).
"""

from __future__ import annotations

import math

import pytest

from app.statistics.cells import CellComparison, compare_over_cells
from app.statistics.verdict import Comparison, Verdict
from tests.vondra_runs import Variant, cells_of, published_runs

EXT4, XFS, BTRFS = ("ext4", "default"), ("xfs", "default"), ("btrfs", "default")
ZFS, TUNED = ("zfs", "default"), ("zfs", "no-fpw-tuned")


def over(first: Variant, second: Variant, mode: str) -> CellComparison:
    return compare_over_cells(cells_of(first, second, mode))


def holds(found: Comparison, difference: float) -> bool:
    assert found.interval is not None
    return found.interval.low <= 1 + difference <= found.interval.high


def test_all_published_runs_and_rates() -> None:
    runs = published_runs()
    assert len(runs) == 306
    assert sum(run.at_a_rate for run in runs) == 14
    assert all(run.tps > 0 for run in runs)


@pytest.mark.parametrize(("mode", "cells"), [("ro", 17), ("rw", 22)])
def test_xfs_and_ext4_are_practically_equal(mode: str, cells: int) -> None:
    found = over(EXT4, XFS, mode)
    assert (found.cells, found.sets) == (cells, None)
    assert found.comparison.verdict is Verdict.EQUAL
    assert holds(found.comparison, 0.0)


def test_btrfs_60_percent_slower_read_write() -> None:
    found = over(EXT4, BTRFS, "rw")
    assert (found.cells, found.sets) == (22, 3)
    assert found.comparison.verdict is Verdict.LOWER  # its runs are of other campaigns than those of ext4
    assert holds(found.comparison, -0.60)


def test_tuned_zfs_12_percent_faster() -> None:
    found = over(ZFS, TUNED, "rw")
    assert found.sets is None
    assert found.comparison.verdict is Verdict.HIGHER
    assert holds(found.comparison, 0.12)


def test_tuned_zfs_is_no_faster_read_only() -> None:
    found = over(ZFS, TUNED, "ro")
    assert found.comparison.verdict is Verdict.EQUAL
    assert holds(found.comparison, 0.0)


PRINTED = {
    ("ext4", "btrfs"): [
        *[(9596, 4839), (11650, 3393), (11035, 2898), (14914, 4857), (17335, 5020)],
        *[(3333, 1564), (2492, 1436), (4491, 2013), (5826, 2199)],
        *[(85291, 33352), (58736, 27952), (30495, 6541)],
    ],
    ("zfs", "tuned"): [
        *[(6386, 7381), (10297, 11088), (9255, 10076), (8109, 8995), (12348, 12381), (13618, 13861)],
        *[(889, 1077), (1967, 2470), (1760, 2141), (1519, 1815), (1933, 2370), (3064, 3917)],
        *[(61028, 64057), (32568, 36066), (3822, 6068)],
    ],
}
"""Read-write TPS of the tables in the author's text: fewer scales than he measured."""


@pytest.mark.parametrize(
    ("names", "first", "second"), [(("ext4", "btrfs"), EXT4, BTRFS), (("zfs", "tuned"), ZFS, TUNED)]
)
def test_printed_mean_within_interval(names: tuple[str, str], first: Variant, second: Variant) -> None:
    printed = PRINTED[names]
    mean = math.exp(math.fsum(math.log(b / a) for a, b in printed) / len(printed))
    found = over(first, second, "rw")
    assert holds(found.comparison, mean - 1)
