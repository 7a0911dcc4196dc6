"""306 published single runs through the comparison: their author's conclusions, each with an interval."""

from __future__ import annotations

import pytest

from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.overall.factor_verdicts import (
    FACTOR_COLUMNS,
    FactorVerdict,
    FactorVerdicts,
    describe_not_counted,
    judge_factors,
)
from app.comparison.overall.fastest import find_fastest
from app.domain.columns import texts
from app.statistics.verdict import Verdict
from tests.vondra_runs import published_facts

READ_ONLY, READ_WRITE = "select-only", "simple-update"


@pytest.fixture(scope="module")
def comparison() -> RunComparison:
    """The first run is one of ext4, so that ext4 is what others are compared with."""
    return compare_runs(sorted(published_facts(), key=lambda run: not run.configuration.startswith("ext4")))


@pytest.fixture(scope="module")
def found(comparison: RunComparison) -> FactorVerdicts:
    return judge_factors(comparison)


SCALES = (50, 250, 1000, 5000)


def verdicts(found: FactorVerdicts, factor: str, level: str, transactions: str) -> dict[int, FactorVerdict]:
    """Return the verdicts on a level of the i5 by scale."""
    values = {
        each.condition: each for each in found.verdicts if (each.factor, each.candidate) == (factor, level)
    }
    names = {scale: f"{transactions}, scale {scale}, i5" for scale in SCALES}
    return {scale: values[name] for scale, name in names.items() if name in values}


def ratios(found: dict[int, FactorVerdict]) -> list[float]:
    return [round(each.found.comparison.ratio or 0, 3) for each in found.values()]


def test_each_condition_is_one_workload(comparison: RunComparison) -> None:
    assert len(comparison.parts) == 16
    for part in comparison.parts:
        kinds = {item for run in part.own_runs for item in run.facts.properties if item.topic == "Workload"}
        assert len(kinds) == 2
        names = {group.name for group in part.groups}
        others = [group.name for group in comparison.groups if group.name not in names]
        assert not [name for name in others for row in part.rows if name in row.verdict]


def test_xfs_as_fast_as_ext4(found: FactorVerdicts) -> None:
    read, written = (verdicts(found, "filesystem", "xfs", each) for each in (READ_ONLY, READ_WRITE))
    assert [*read, *written] == [250, 1000, 5000, 50, 250, 1000, 5000]
    assert ratios(read) == [0.989, 0.993, 1.007]
    assert ratios(written) == [0.991, 0.998, 0.997, 1.034]
    assert {each.found.comparison.verdict for each in (*read.values(), *written.values())} == {
        Verdict.EQUAL,
        Verdict.INCONCLUSIVE,
    }


def test_btrfs_half_as_fast_writing(found: FactorVerdicts) -> None:
    assert ratios(verdicts(found, "filesystem", "btrfs", READ_WRITE)) == [0.373, 0.325, 0.546, 0.463]
    assert ratios(verdicts(found, "filesystem", "btrfs", READ_ONLY)) == [0.999, 0.820, 0.864]


def test_full_page_writes_effect_by_size(found: FactorVerdicts) -> None:
    written = verdicts(found, "full_page_writes", "off", READ_WRITE)
    assert ratios(written) == [1.008, 1.063, 1.243, 1.296]
    assert [each.found.comparison.verdict for each in written.values()] == [
        *(Verdict.EQUAL, Verdict.HIGHER, Verdict.HIGHER, Verdict.HIGHER)
    ]
    read = verdicts(found, "full_page_writes", "off", READ_ONLY)
    assert {each.found.comparison.verdict for each in read.values()} == {Verdict.EQUAL}


def test_cells_at_both_ends_are_named(found: FactorVerdicts) -> None:
    """On btrfs alone a stripe is no faster than a mirror, which is two copies there."""
    stripe = verdicts(found, "RAID", "stripe", READ_WRITE)[250]
    assert stripe.ends[0] == "btrfs, on, on, on"
    shown = texts(FACTOR_COLUMNS, stripe)
    assert (shown["difference"], shown["interval"]) == ("", "depends on the cell")
    assert shown["range"].startswith("1.0 times (btrfs, on, on, on) to ")


def test_machine_change_no_factor(found: FactorVerdicts) -> None:
    assert not [each for each in found.verdicts if each.factor == "RAID" and each.candidate == "single"]
    assert {each.factor for each in found.verdicts} == {
        *("filesystem", "RAID", "full_page_writes", "wal_init_zero", "settings together")
    }


def test_runs_at_a_rate_stand_apart(comparison: RunComparison, found: FactorVerdicts) -> None:
    assert describe_not_counted(found) == "Configurations that are in no cell: 14 at a rate."
    assert sum(run.tps is not None for run in comparison.runs) == 306


def test_pairs_indicative_with_chance(comparison: RunComparison) -> None:
    rows = [row for row in comparison.rows if row.comparison is not None]
    assert {row.comparison.verdict for row in rows if row.comparison} == {Verdict.INDICATIVE}
    assert all(row.judged.chance is not None and row.judged.chance.known is None for row in rows)
    assert all("chance alone explains it only where such runs" in row.verdict for row in rows)
    assert {find_fastest(part) for part in comparison.parts} == {None}
