"""306 published single runs through the comparison: their author's conclusions, each with an interval."""

from __future__ import annotations

import pytest

from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.overall.factor_verdicts import FactorVerdict, FactorVerdicts, judge_factors
from app.comparison.overall.factor_wording import describe_factor, describe_not_counted
from app.comparison.overall.fastest import find_fastest
from app.statistics.verdict import Comparison, Verdict
from tests.vondra_runs import published_facts

READ_ONLY, READ_WRITE = "select-only", "simple-update"
TUNED = "full_page_writes off, wal_init_zero off, wal_recycle off"


@pytest.fixture(scope="module")
def comparison() -> RunComparison:
    """The first run is one of ext4, so that ext4 is what others are compared with."""
    return compare_runs(sorted(published_facts(), key=lambda run: not run.configuration.startswith("ext4")))


@pytest.fixture(scope="module")
def found(comparison: RunComparison) -> FactorVerdicts:
    return judge_factors(comparison)


def verdict(found: FactorVerdicts, factor: str, level: str, transactions: str) -> FactorVerdict:
    [one] = [
        each
        for each in found.verdicts
        if (each.factor, each.candidate, each.transactions) == (factor, level, transactions)
    ]
    return one


def holds(found: Comparison, difference: float) -> bool:
    assert found.interval is not None
    return found.interval.low <= 1 + difference <= found.interval.high


@pytest.mark.parametrize(("transactions", "cells"), [(READ_ONLY, 17), (READ_WRITE, 22)])
def test_xfs_against_ext4_is_practically_equal(found: FactorVerdicts, transactions: str, cells: int) -> None:
    one = verdict(found, "filesystem", "xfs", transactions)
    assert (one.found.cells, one.found.sets, one.baseline) == (cells, None, "ext4")
    assert one.found.comparison.verdict is Verdict.EQUAL
    assert holds(one.found.comparison, 0.0)
    assert "ext4 and xfs are practically equal over" in describe_factor(one)


def test_btrfs_against_ext4_is_about_60_percent_slower_read_write(found: FactorVerdicts) -> None:
    one = verdict(found, "filesystem", "btrfs", READ_WRITE)
    assert (one.found.cells, one.found.sets) == (22, 3)
    for each in (one.found.comparison, one.found.over_cells):
        assert each.verdict is Verdict.LOWER
        assert holds(each, -0.60)
    assert describe_factor(one).startswith(
        "filesystem, simple-update: btrfs is 60.0 % slower than ext4 over 22"
    )
    assert "1 run in each, not interleaved" in describe_factor(one)


def test_tuned_zfs_against_default_is_about_12_percent_faster_read_write_and_equal_read_only(
    found: FactorVerdicts,
) -> None:
    written = verdict(found, "settings together", TUNED, READ_WRITE)
    assert written.found.comparison.verdict is Verdict.HIGHER
    assert holds(written.found.comparison, 0.12)
    read = verdict(found, "settings together", TUNED, READ_ONLY)
    assert read.found.comparison.verdict is Verdict.EQUAL
    assert holds(read.found.comparison, 0.0)


def test_of_zfs_against_ext4_three_sets_of_campaigns_tell_less_than_their_cells(
    found: FactorVerdicts,
) -> None:
    """Its cells alone would say 21 to 47 % slower; all of them share campaigns, in three sets."""
    one = verdict(found, "filesystem", "zfs", READ_WRITE)
    assert one.found.over_cells.verdict is Verdict.LOWER
    assert one.found.comparison.verdict is Verdict.INCONCLUSIVE


def test_what_changed_with_the_machine_is_no_factor(found: FactorVerdicts) -> None:
    assert not [each for each in found.verdicts if each.factor == "RAID" and each.candidate == "single"]
    assert {each.factor for each in found.verdicts} == {
        *("filesystem", "RAID", "full_page_writes", "wal_init_zero", "settings together", "Machine: name")
    }


def test_runs_at_a_rate_stand_apart(comparison: RunComparison, found: FactorVerdicts) -> None:
    assert describe_not_counted(found) == "Configurations that are in no cell: 14 at a rate."
    assert sum(run.tps is not None for run in comparison.runs) == 306


def test_each_pair_is_indicative_only_and_says_what_would_explain_it(comparison: RunComparison) -> None:
    rows = [row for row in comparison.rows[1:] if row.comparison is not None]
    assert {row.comparison.verdict for row in rows if row.comparison} == {Verdict.INDICATIVE}
    assert all(row.chance is not None and row.chance.known is None for row in rows)
    assert all("chance alone explains it only where such runs" in row.verdict for row in rows)
    assert find_fastest(comparison) is None
