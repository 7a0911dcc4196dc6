"""Configurations as tables: which factor goes where, what a cell holds, who leads, what that depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest

from app.analysis.facts import RunFacts
from app.comparison.comparison import compare_runs
from app.comparison.matrix import (
    Matrix,
    describe_matrix,
    find_dependence,
    find_leaders,
    find_variants,
    lay_out,
    standing_columns,
)
from app.comparison.overall.answer import find_answer
from app.domain.columns import texts
from app.domain.errors import UsageError
from app.export.comparison import comparison_as_json
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.run_metadata import IMPORTED
from app.runfile.metadata.safety import NOT_DURABLE
from app.statistics.cells import CellComparison
from app.statistics.verdict import Verdict
from tests.made_matrix import made_run
from tests.vondra_runs import published_facts

TPS = {"ext4": 1000.0, "xfs": 990.0, "zfs": 700.0}


def runs(
    levels: tuple[str, ...] = ("mirror", "stripe"),
    scales: tuple[str, ...] = ("10",),
    filesystems: tuple[str, ...] = tuple(TPS),
) -> list[RunFacts]:
    return [
        made_run(
            {"filesystem": filesystem, "RAID": level, "scale": scale},
            TPS[filesystem] * (1 + 0.5 * levels.index(level)),
            repeat=repeat,
        )
        for filesystem, level, scale, repeat in product(filesystems, levels, scales, (1,))
    ]


def laid(facts: list[RunFacts]) -> Matrix:
    found = lay_out(compare_runs(facts))
    assert found is not None
    return found


def shown(matrix: Matrix, number: int = 0) -> dict[tuple[str, str], float]:
    block = matrix.blocks[number]
    return {at: cell.tps or 0.0 for at, cell in block.cells.items()}


def test_filesystem_across_and_raid_down() -> None:
    found = laid(runs())
    assert (found.across, found.down) == ("filesystem", "RAID")
    [block] = found.blocks
    assert (block.rows, block.columns) == (("stripe", "mirror"), ("ext4", "xfs", "zfs"))
    assert shown(found)["mirror", "zfs"] == pytest.approx(700)
    assert found.others == ()


def test_block_for_each_condition() -> None:
    found = laid(runs(scales=("10", "100")))
    assert [each.part.condition for each in found.blocks] == ["scale 10", "scale 100"]
    assert {each.columns for each in found.blocks} == {("ext4", "xfs", "zfs")}


def test_one_factor_is_a_list() -> None:
    assert lay_out(compare_runs(runs(levels=("stripe",)))) is None
    assert lay_out(compare_runs(runs(filesystems=("ext4",)))) is None
    assert lay_out(compare_runs(runs()[:1])) is None
    assert lay_out(compare_runs([])) is None


def test_hole_stays_empty() -> None:
    facts = runs()
    found = laid(facts[1:])
    assert len(shown(found)) == 5
    assert {each.level: each.cells for each in found.columns} == {"ext4": 1, "xfs": 2, "zfs": 2}


def test_option_of_one_filesystem_is_a_column() -> None:
    options = [
        made_run({"filesystem": "zfs", "RAID": level, "scale": "10", "recordsize": "8k"}, 800)
        for level in ("mirror", "stripe")
    ]
    found = laid([*runs(), *options])
    assert set(found.blocks[0].columns) == {"ext4", "xfs", "zfs", "zfs 8k"}
    assert found.blocks[0].rows == ("stripe", "mirror")


def test_variant_of_a_level_is_compared_with_it() -> None:
    options = [
        made_run(
            {"filesystem": "zfs", "RAID": level, "scale": "10", "recordsize": "8k"}, 770 * (1 + 0.5 * place)
        )
        for place, level in enumerate(("mirror", "stripe"))
    ]
    found = laid([*runs(), *options])
    (variant,) = find_variants(found, 0.02)
    assert (variant.level, variant.variant) == ("zfs", "zfs 8k")
    assert [round(each.comparison.ratio or 0, 3) for each in variant.gains.values()] == [1.1]
    assert any(each.startswith("zfs 8k compared with zfs: ") for each in describe_matrix(found, 0.02))
    assert find_variants(laid(runs()), 0.02) == ()


def test_third_crossed_factor_is_part_of_rows() -> None:
    facts = [
        made_run({"filesystem": filesystem, "RAID": level, "barrier": barrier}, 100)
        for filesystem, level, barrier in product(("ext4", "xfs"), ("mirror", "stripe"), ("on", "off"))
    ]
    found = laid(facts)
    assert len(found.blocks[0].rows) == 4
    assert found.blocks[0].columns == ("ext4", "xfs")
    assert all(len(cell.rows) == 1 for cell in found.blocks[0].cells.values())


def test_raidz1_is_raid5() -> None:
    facts = [
        made_run({"filesystem": filesystem, "RAID": level}, tps)
        for filesystem, level, tps in (
            ("ext4", "raid5", 100),
            ("ext4", "stripe", 200),
            ("zfs", "raidz1", 90),
            ("zfs", "stripe", 150),
        )
    ]
    assert laid(facts).blocks[0].rows == ("stripe", "raid5")


def test_no_raid_is_a_single_disk() -> None:
    facts = [
        made_run({"filesystem": filesystem} | ({"RAID": level} if level else {}), 1000)
        for filesystem, level in (("xfs", ""), ("xfs", "mirror"), ("zfs", "single"), ("zfs", "mirror"))
    ]
    [block] = laid(facts).blocks
    assert set(block.cells) == set(product(("single", "mirror"), ("xfs", "zfs")))


def test_leaders_and_their_worst() -> None:
    found = laid(runs(scales=("10", "100")))
    first, second, last = found.columns
    assert [first.level, second.level, last.level] == ["ext4", "xfs", "zfs"]
    assert (first.share, first.worst) == (1, 1)
    assert last.share == pytest.approx(0.7)
    assert last.cells == 4
    assert [each.level for each in find_leaders(found.columns, 0.02)] == ["ext4", "xfs"]
    assert [each.level for each in find_leaders(found.rows, 0.02)] == ["stripe"]


def test_dependence_on_the_condition() -> None:
    assert find_dependence(laid(runs()), of_columns=True) is None
    facts = [
        made_run({"filesystem": filesystem, "RAID": level, "transactions": kind}, tps)
        for level, (filesystem, kind, tps) in product(
            ("mirror", "stripe"),
            (("xfs", "reads", 100), ("btrfs", "reads", 100), ("xfs", "writes", 100), ("btrfs", "writes", 40)),
        )
    ]
    found = find_dependence(laid(facts), of_columns=True)
    assert found is not None
    assert (found.first, found.second) == ("xfs", "btrfs")
    assert [at for at, _ in found.ratios] == ["reads", "writes"]
    assert [ratio for _, ratio in found.ratios] == pytest.approx([1.0, 2.5])
    answers = describe_matrix(laid(facts), 0.02)
    assert "2.5 times" in answers[-1]


def test_conditions_too_small_for_a_table() -> None:
    alone = made_run({"filesystem": "xfs", "RAID": "stripe", "scale": "5000"}, 10)
    found = laid([*runs(), alone])
    assert [each.condition for each in found.others] == ["scale 5000"]


def test_tables_of_the_article() -> None:
    found = laid(list(published_facts()))
    [block] = [each for each in found.blocks if each.part.condition == "simple-update, scale 250, i5"]
    assert block.rows == ("stripe", "mirror", "raid10", "raid5", "raid6", "raidz3")
    assert set(block.columns) >= {"ext4", "xfs", "btrfs", "zfs"}
    tps = {at: round(cell.tps or 0) for at, cell in block.cells.items()}
    assert [tps[row, "ext4"] for row in block.rows[:5]] == [17335, 9596, 14914, 11650, 11035]
    assert (tps["mirror", "zfs"], tps["raidz3", "zfs"], tps["stripe", "btrfs"]) == (6386, 8109, 5020)
    assert {each.level for each in find_leaders(found.columns, 0.02)} == {"xfs", "ext4"}
    dependence = find_dependence(found, of_columns=False)
    assert dependence is not None
    assert (dependence.first, dependence.second) == ("stripe", "mirror")
    assert dependence.ratios[0][0] == "btrfs"


def test_chosen_rows_and_columns() -> None:
    facts = runs()
    found = lay_out(compare_runs(facts), columns="raid")
    assert found is not None
    assert (found.across, found.down) == ("RAID", "filesystem")
    assert found.blocks[0].rows == ("ext4", "xfs", "zfs")
    with pytest.raises(UsageError) as refused:
        lay_out(compare_runs(facts), rows="recordsize")
    assert "filesystem, RAID" in refused.value.hint


def test_json_is_ready_for_a_pivot() -> None:
    found = comparison_as_json(compare_runs(runs(scales=("10", "100"))))
    table, configurations = found["table"], found["configurations"]
    assert isinstance(table, dict)
    assert isinstance(configurations, list)
    cells = table["cells"]
    assert isinstance(cells, list)
    assert len(cells) == 12
    for cell in cells:
        [place] = cell["configurations"]
        assert configurations[place]["mean"] == cell["tps"]
        assert cell["column"] in configurations[place]["name"]
        assert cell["dimensions"] == configurations[place]["dimensions"]
    pivot = {(each["dimensions"]["scale"], each["row"], each["column"]): each["tps"] for each in cells}
    assert len(pivot) == 12
    assert {scale for scale, _, _ in pivot} == {10, 100}
    assert [each["level"] for each in table["standings"]] == ["ext4", "xfs", "zfs"]
    assert comparison_as_json(compare_runs(runs()[:1]))["table"] is None


def test_answer_of_several_conditions() -> None:
    answer = find_answer(compare_runs(runs(scales=("10", "100"))))
    assert answer.sentence.startswith("Which filesystem? ext4")


def test_rates_are_listed_and_not_ranked() -> None:
    facts = [
        made_run({"filesystem": filesystem, "RAID": level}, 300, rate=True)
        for filesystem, level in product(("ext4", "xfs"), ("mirror", "stripe"))
    ]
    assert lay_out(compare_runs(facts)) is None


def noisy(
    levels: Mapping[str, float], repeats: int = 1, campaigns: tuple[str, str] = ("one", "one")
) -> list[RunFacts]:
    """Return runs of ext4 and xfs on levels, xfs so many times as fast, give or take 1 %."""
    random = np.random.default_rng(7)
    return [
        made_run(
            {"filesystem": filesystem, "RAID": level},
            1000 * (ratio if filesystem == "xfs" else 1) * math.exp(0.01 * float(random.standard_normal())),
            repeat=repeat,
            campaign=campaign,
        )
        for repeat, (level, ratio), (filesystem, campaign) in product(
            range(repeats), levels.items(), zip(("ext4", "xfs"), campaigns, strict=True)
        )
    ]


def difference(facts: list[RunFacts]) -> CellComparison:
    """Return the only difference between two filesystems."""
    found = laid(facts)
    [against] = [each.against for each in found.columns if each.against]
    return next(iter(against.values()))


FOUR = {"single": 0.5, "mirror": 0.5, "stripe": 0.5, "raid10": 0.5}


def test_two_cells_of_repeats_give_a_verdict() -> None:
    """Half as fast in 6 of 6 pairs is no indication only."""
    found = difference(noisy({"single": 0.5, "stripe": 0.5}, 3))
    assert (found.cells, found.comparison.verdict, found.depends) == (2, Verdict.LOWER, False)


def test_two_cells_of_single_runs_give_none() -> None:
    found = difference(noisy({"single": 0.5, "stripe": 0.5}))
    assert (found.cells, found.comparison.verdict) == (2, Verdict.INDICATIVE)


def test_missing_interval_says_why() -> None:
    for facts, why in (
        (noisy({"single": 0.5, "stripe": 0.5}), "too few runs"),
        (noisy(FOUR, campaigns=("one", "two")), "too few campaigns"),
    ):
        matrix = laid(facts)
        column = next(each for each in standing_columns(matrix) if each.id.startswith("kind"))
        shown = [column.cell(each) for each in matrix.columns]
        assert shown[0] == ""
        assert shown[1].endswith(f"% ({why})")


def test_interaction_is_shown_and_not_averaged() -> None:
    matrix = laid(noisy({"single": 1.0, "stripe": 2.0}, 3))
    column = next(each for each in standing_columns(matrix) if each.id.startswith("kind"))
    assert [column.cell(each) for each in matrix.columns] == ["", "-50 to 0 %, depending on the row"]


def test_cells_of_two_campaigns_are_one_set() -> None:
    found = difference(noisy(FOUR, campaigns=("one", "two")))
    assert (found.cells, found.sets, found.comparison.verdict) == (4, 1, Verdict.INDICATIVE)


def test_pairs_within_a_campaign_preferred() -> None:
    """All runs of the second campaign are of one filesystem on a machine that is slower now."""
    slower = [made_run({"filesystem": "xfs", "RAID": level}, 300.0, campaign="two") for level in FOUR]
    found = difference([*noisy(FOUR), *slower])
    assert found.sets is None
    assert found.comparison.ratio == pytest.approx(0.5, rel=0.02)


def test_imported_folder_is_one_campaign() -> None:
    facts = [
        made_run(
            {"filesystem": filesystem, "RAID": level},
            1000.0 + len(level) - 500.0 * place,
            campaign="results",
            marks=((IMPORTED, "elsewhere"),),
        )
        for level, (place, filesystem) in product(FOUR, enumerate(("ext4", "xfs")))
    ]
    assert difference(facts).sets is None


def test_levels_are_adjusted_for_their_number() -> None:
    facts = noisy(dict.fromkeys(FOUR, 0.9))
    alone = difference(facts).comparison
    zfs = [made_run({"filesystem": "zfs", "RAID": level}, 850.0 + 9 * len(level)) for level in FOUR]
    both = [each for one in laid([*facts, *zfs]).columns for each in one.against.values()]
    assert alone.interval is not None
    assert {each.comparison.interval.confidence for each in both if each.comparison.interval} != {
        alone.interval.confidence
    }


@pytest.mark.parametrize(
    "spoilt",
    [
        {"tps": None},
        {"tps": 0.0},
        {"tps": 1e6, "marks": ((NOT_DURABLE, "fsync off"),)},
        {"tps": 100.0, "marks": ((DISTURBED, "others"),)},
    ],
)
def test_excluded_runs_are_in_no_difference(spoilt: dict[str, object]) -> None:
    facts = [run for run in noisy(FOUR) if run.configuration != "xfs mirror"]
    facts.append(made_run({"filesystem": "xfs", "RAID": "mirror"}, **spoilt))  # type: ignore[arg-type]
    found = difference(facts)
    assert found.cells == 3
    assert found.comparison.ratio == pytest.approx(0.5, rel=0.02)


def test_nothing_durable_is_ranked() -> None:
    facts = [
        made_run({"filesystem": name, "RAID": level}, 1000.0 * tps, marks=((NOT_DURABLE, "fsync off"),))
        for level, (tps, name) in product(FOUR, enumerate(("ext4", "xfs"), 1))
    ]
    assert difference(facts).cells == 4


def test_values_of_one_run_each_are_no_factor() -> None:
    facts = [
        made_run({"filesystem": name, "serial": str(n)}, 1000.0)
        for n in range(13)
        for name in ("ext4", "xfs")
    ]
    assert lay_out(compare_runs(facts)) is None


def test_ranking_as_cells() -> None:
    matrix = laid(noisy(FOUR))
    shown = [texts(standing_columns(matrix), each) for each in matrix.compared]
    assert [each["level"] for each in shown] == ["ext4", "xfs"]
    assert (shown[1]["behind"], shown[1]["cells"]) == ("50 %", "4")
