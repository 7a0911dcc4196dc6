"""306 published single runs through the comparison: their author's conclusions, each with an interval."""

from __future__ import annotations

import pytest

from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.matrix import Matrix, find_variants, lay_out
from app.comparison.overall.fastest import find_fastest
from app.runfile.metadata.offered_load import LoadKind
from app.statistics.cells import CellComparison
from app.statistics.verdict import Verdict
from tests.vondra_runs import published_facts

READ_ONLY, READ_WRITE = "select-only", "simple-update"
UNDECIDED = {Verdict.EQUAL, Verdict.INCONCLUSIVE}


@pytest.fixture(scope="module")
def comparison() -> RunComparison:
    return compare_runs(published_facts())


@pytest.fixture(scope="module")
def fast() -> RunComparison:
    """The runs that went as fast as they could."""
    return compare_runs([run for run in published_facts() if run.load.kind is not LoadKind.RATE])


@pytest.fixture(scope="module")
def matrix(fast: RunComparison) -> Matrix:
    found = lay_out(fast)
    assert found is not None
    return found


def against_best(matrix: Matrix, level: str) -> dict[str, CellComparison]:
    return next(dict(each.against) for each in matrix.columns if each.level == level)


def test_each_condition_is_one_workload(comparison: RunComparison) -> None:
    assert len(comparison.parts) == 16
    for part in comparison.parts:
        kinds = {item for run in part.own_runs for item in run.facts.properties if item.topic == "Workload"}
        assert len(kinds) == 2
        names = {group.name for group in part.groups}
        others = [group.name for group in comparison.groups if group.name not in names]
        assert not [name for name in others for row in part.rows if name in row.verdict]


def test_xfs_as_fast_as_ext4(matrix: Matrix) -> None:
    best, second = matrix.columns[:2]
    assert {best.level, second.level} == {"ext4", "xfs"}
    assert {each.comparison.verdict for each in second.against.values()} <= UNDECIDED
    assert {kind: each.cells for kind, each in second.against.items()} == {READ_ONLY: 17, READ_WRITE: 22}


def test_btrfs_slower_with_an_interval(matrix: Matrix) -> None:
    """Its runs are of other campaigns than those of the best: sets of campaigns are the replicates."""
    found = against_best(matrix, "btrfs")[READ_WRITE]
    assert (found.cells, found.sets, found.comparison.verdict) == (22, 3, Verdict.LOWER)
    assert found.comparison.interval is not None
    assert found.comparison.interval.low <= 0.4 <= found.comparison.interval.high


def test_full_page_writes_pay_for_writes(matrix: Matrix) -> None:
    [found] = [each for each in find_variants(matrix, 0.02) if each.level.startswith("zfs")]
    verdicts = {kind: each.comparison.verdict for kind, each in found.gains.items()}
    assert verdicts == {READ_ONLY: Verdict.EQUAL, READ_WRITE: Verdict.HIGHER}


@pytest.mark.parametrize(("scale", "ratio"), [(50, 0.373), (250, 0.325), (1000, 0.546), (5000, 0.463)])
def test_one_condition_has_its_own_ranking(fast: RunComparison, scale: int, ratio: float) -> None:
    name = f"{READ_WRITE}, scale {scale}, i5"
    part = next(each for each in fast.parts if each.condition == name)
    found = lay_out(part)
    assert found is not None
    [btrfs] = against_best(found, "btrfs").values()
    [ext4] = [each for each in found.columns if each.level == "ext4"]
    relative = [each.comparison.ratio or 1.0 for each in ext4.against.values()] or [1.0]
    assert (btrfs.comparison.ratio or 0.0) / relative[0] == pytest.approx(ratio, rel=0.05)


def test_machine_is_a_condition_and_no_factor(matrix: Matrix) -> None:
    assert (matrix.across, matrix.down) == ("filesystem", "RAID")
    assert {part.condition.rpartition(", ")[2] for part in (block.part for block in matrix.blocks)} == {
        *("i5", "xeon")
    }


def test_pairs_indicative_with_chance(comparison: RunComparison) -> None:
    rows = [row for row in comparison.rows if row.comparison is not None]
    assert {row.comparison.verdict for row in rows if row.comparison} == {Verdict.INDICATIVE}
    assert all(row.judged.chance is not None and row.judged.chance.known is None for row in rows)
    assert all("chance alone explains it only if such runs" in row.verdict for row in rows)
    assert {find_fastest(part) for part in comparison.parts} == {None}
