"""Factors over the cells of a matrix: what is paired, what is not counted, what may not be said."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import MACHINE, TARGET
from app.comparison.comparison import compare_runs
from app.comparison.overall.factor_verdicts import (
    FACTOR_COLUMNS,
    FactorVerdict,
    FactorVerdicts,
    describe_not_counted,
    judge_factors,
)
from app.domain.columns import texts
from app.domain.disturbances import DisturbanceKind, Disturbances
from app.export.comparison import comparison_as_json
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.run_metadata import IMPORTED
from app.runfile.metadata.safety import NOT_DURABLE
from app.statistics.verdict import Verdict
from tests.fix_window import write_matrix
from tests.made_matrix import made_run

OLD = Path(__file__).parents[3] / "data" / "runfile" / "format-1-of-db72dd2.footing"
RATIO = 1.1


def matrix(
    filesystems: Sequence[str] = ("ext4", "xfs"),
    scales: Sequence[int] = (10, 100, 1000),
    levels: Sequence[str] = ("single", "stripe"),
    campaign: str = "one",
) -> list[RunFacts]:
    """Return one run a cell; each filesystem is `RATIO` times as fast as the one before, give or take 1 %."""
    random = np.random.default_rng(4)
    return [
        made_run(
            {"filesystem": filesystem, "RAID": level, "chunk size": str(scale)},
            100_000 / scale * RATIO**place * math.exp(0.01 * float(random.standard_normal())),
            campaign=campaign,
        )
        for scale, level, (place, filesystem) in product(scales, levels, enumerate(filesystems))
    ]


def judged(runs: Sequence[RunFacts]) -> FactorVerdicts:
    return judge_factors(compare_runs(runs))


def of(found: FactorVerdicts, factor: str) -> list[FactorVerdict]:
    return [each for each in found.verdicts if each.factor == factor]


def cells_of(verdict: FactorVerdict) -> dict[str, str]:
    return texts(FACTOR_COLUMNS, verdict)


def test_single_runs_of_matrix() -> None:
    [one] = of(judged(matrix()), "filesystem")
    assert (one.baseline, one.candidate, one.condition) == ("ext4", "xfs", "")
    assert (one.found.cells, one.found.sets, one.runs, one.unpaired) == (6, None, (1, 1), (0, 0))
    assert one.found.comparison.verdict is Verdict.HIGHER
    assert one.found.comparison.ratio == pytest.approx(RATIO, rel=0.02)
    assert one.over == ("RAID", "chunk size")
    assert one.interleaved
    shown = cells_of(one)
    assert (shown["factor"], shown["level"], shown["against"], shown["cells"]) == (
        *("filesystem", "xfs", "ext4", "6"),
    )
    assert shown["difference"].startswith("+")
    assert " to " in shown["interval"]
    assert shown["remarks"] == ""


def test_conditions_have_verdicts_of_their_own() -> None:
    runs = [
        made_run(
            {"filesystem": filesystem, "RAID": level, "scale": scale, "transactions": kind},
            1000 * (factor if filesystem == "xfs" else 1) + len(level),
        )
        for kind, factor in (("select-only", 1.0), ("tpcb-like", 0.5))
        for scale, level, filesystem in product(("1", "2"), ("a", "bb", "ccc"), ("ext4", "xfs"))
    ]
    found = of(judged(runs), "filesystem")
    seen = [(each.condition, each.found.comparison.verdict) for each in found]
    assert seen == [
        ("select-only, scale 1", Verdict.EQUAL),
        ("select-only, scale 2", Verdict.EQUAL),
        ("tpcb-like, scale 1", Verdict.LOWER),
        ("tpcb-like, scale 2", Verdict.LOWER),
    ]
    assert cells_of(found[3])["difference"] == "-50 %"


def repeated(levels: Mapping[str, float], repeats: int = 3, noise: float = 0.01) -> list[RunFacts]:
    """Return runs of xfs and ext4 on levels, xfs so many times as fast."""
    random = np.random.default_rng(7)
    return [
        made_run(
            {"filesystem": filesystem, "RAID": level},
            1000 * (ratio if filesystem == "xfs" else 1) * math.exp(noise * float(random.standard_normal())),
            repeat=repeat,
        )
        for repeat, (level, ratio), filesystem in product(range(repeats), levels.items(), ("ext4", "xfs"))
    ]


def test_two_cells_of_repeats_give_a_verdict() -> None:
    """Half as fast in 6 of 6 pairs is no indication only."""
    [one] = of(judged(repeated({"single": 0.5, "stripe": 0.5})), "filesystem")
    assert (one.found.cells, one.found.comparison.verdict, one.found.depends) == (2, Verdict.LOWER, False)
    assert one.found.repeated


def test_interaction_is_told_and_not_averaged() -> None:
    [one] = of(judged(repeated({"single": 1.0, "stripe": 2.0})), "filesystem")
    assert (one.found.depends, one.found.comparison.verdict) == (True, Verdict.INDICATIVE)
    assert one.found.comparison.interval is None
    shown = cells_of(one)
    assert (shown["difference"], shown["interval"]) == ("", "depends on the cell")
    assert shown["range"] == "1.0 times (single) to 2.0 times (stripe)"


def test_single_run_cells_name_both_ends() -> None:
    [one] = of(judged(repeated({"single": 1.0, "stripe": 2.0, "mirror": 2.0}, repeats=1)), "filesystem")
    assert one.ends[0] == "single"
    assert (one.found.repeated, one.found.depends) == (False, False)


@pytest.mark.parametrize(
    ("repeats", "ratios", "has_mean"),
    [(1, (0.8, 1.2, 1.2), False), (1, (1.0, 1.2, 1.3), True), (3, (0.8, 1.2, 1.2), True)],
)
def test_opposite_single_cells_have_no_mean(
    repeats: int, ratios: tuple[float, ...], *, has_mean: bool
) -> None:
    levels = dict(zip(("single", "stripe", "mirror"), ratios, strict=True))
    noise = 0.001 if repeats == 1 else 0.4  # of repeats the noise explains the directions
    [one] = of(judged(repeated(levels, repeats, noise)), "filesystem")
    assert one.has_mean is has_mean
    assert bool(cells_of(one)["difference"]) is has_mean


def test_same_cells_are_one_comparison() -> None:
    chosen = (("on", "on"), ("on", "off"), ("off", "on"))
    runs = [
        made_run({"chunk size": str(scale), "full_page_writes": fpw, "wal_init_zero": zero}, 1000 + scale)
        for scale in (1, 2, 3)
        for fpw, zero in chosen
    ]
    found = [each for each in judged(runs).verdicts if each.factor != "chunk size"]
    assert [each.factor for each in found] == ["full_page_writes", "wal_init_zero"]


def test_several_levels_adjusted_for_comparisons() -> None:
    found = of(judged(matrix(("ext4", "xfs", "btrfs"))), "filesystem")
    assert [each.levels for each in found] == [2, 2]


def test_levels_without_verdict_are_no_comparisons() -> None:
    few = [run for run in matrix(("ext4", "xfs", "btrfs"), (10, 100), ("single",)) if "btrfs" in run.name]
    xfs, btrfs = of(judged([*matrix(), *few]), "filesystem")
    assert (xfs.found.comparison.verdict, btrfs.found.comparison.verdict) == (
        Verdict.HIGHER,
        Verdict.INDICATIVE,
    )
    assert (xfs.levels, btrfs.levels) == (1, 1)


def test_empty_and_one_level_cells_unpaired() -> None:
    runs = matrix()
    without = [run for run in runs if run.configuration not in {"xfs single 10", "ext4 stripe 1000"}]
    [one] = of(
        judged([run for run in without if "100 " not in run.name or "single" in run.name]), "filesystem"
    )
    assert one.unpaired == (1, 1)
    assert cells_of(one)["remarks"] == "1 more cell has ext4 only; 1 more cell has xfs only"


def test_one_and_two_cells_no_verdict() -> None:
    assert judged(matrix(scales=(10,), levels=("single",))) == FactorVerdicts()
    [one] = of(judged(matrix(scales=(10, 100), levels=("single",))), "filesystem")
    assert one.found.comparison.verdict is Verdict.INDICATIVE
    assert (cells_of(one)["cells"], cells_of(one)["interval"]) == ("2", "indicative only")


def test_level_in_one_cell_not_judged() -> None:
    runs = [*matrix(), made_run({"filesystem": "f2fs", "RAID": "single", "chunk size": "10"}, 9000)]
    assert [each.candidate for each in of(judged(runs), "filesystem")] == ["xfs"]


def test_nothing_to_compare_says_nothing() -> None:
    assert judge_factors(compare_runs([])) == FactorVerdicts()
    assert judged(matrix()[:1]) == FactorVerdicts()


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ({"tps": None}, "without a complete run"),
        ({"tps": math.nan}, "without a complete run"),
        ({"tps": 0.0}, "without a transaction"),
        ({"tps": 300.0, "rate": True}, "at a rate"),
        ({"tps": 1e6, "marks": ((NOT_DURABLE, "fsync off"),)}, "NOT DURABLE"),
        ({"tps": 500.0, "marks": ((DISTURBED, "others"),)}, "disturbed by others"),
    ],
)
def test_excluded_runs_in_no_cell(spoilt: dict[str, object], why: str) -> None:
    runs = matrix()
    place = next(at for at, run in enumerate(runs) if run.configuration == "xfs stripe 100")
    chosen = {"filesystem": "xfs", "RAID": "stripe", "chunk size": "100"}
    runs[place] = made_run(chosen, **spoilt)  # type: ignore[arg-type]
    found = judged(runs)
    [one] = of(found, "filesystem")
    assert one.found.cells == 5
    assert one.unpaired == (1, 0)
    assert one.found.comparison.ratio == pytest.approx(RATIO, rel=0.02)
    assert describe_not_counted(found) == f"Configurations that are in no cell: 1 {why}."


def test_verdict_when_nothing_durable() -> None:
    runs = [
        made_run(
            {"filesystem": filesystem, "chunk size": str(scale)},
            1000 * scale,
            marks=((NOT_DURABLE, "fsync off"),),
        )
        for scale in (1, 2, 3)
        for filesystem in ("ext4", "xfs")
    ]
    assert of(judged(runs), "filesystem")[0].found.cells == 3


def test_two_campaigns_one_set_indicative() -> None:
    runs = matrix()
    one = [run for run in runs if run.configuration.startswith("ext4")]
    two = [made_run(_chosen(run), run.summary["tps"], campaign="two") for run in runs if run not in one]
    [found] = of(judged([*one, *two]), "filesystem")
    assert (found.found.cells, found.found.sets) == (6, 1)
    assert found.found.comparison.verdict is Verdict.INDICATIVE
    assert cells_of(found)["remarks"] == "not interleaved; a verdict takes 3 sets of campaigns"


def _chosen(run: RunFacts) -> dict[str, str]:
    return {item.name: item.value for item in run.properties if item.name != "kind"}


def test_pairs_within_campaign_preferred() -> None:
    """The second campaign is 30 % slower in all, which its own pairs do not see."""
    runs = matrix()
    slower = [made_run(_chosen(run), 0.7 * (run.summary["tps"] or 0), campaign="two") for run in runs]
    [one] = of(judged([*runs, *slower, *slower[:1]]), "filesystem")
    assert (one.found.cells, one.found.sets) == (6, None)
    assert one.found.comparison.ratio == pytest.approx(RATIO, rel=0.02)
    [half] = of(
        judged([*runs, *(run for run in slower if run.configuration.startswith("xfs"))]), "filesystem"
    )
    assert half.found.sets is None
    assert half.found.comparison.ratio == pytest.approx(RATIO, rel=0.02)


def test_imported_folder_one_campaign_not_interleaved() -> None:
    runs = [
        made_run(_chosen(run), run.summary["tps"], campaign="results", marks=((IMPORTED, "elsewhere"),))
        for run in matrix()
    ]
    [one] = of(judged(runs), "filesystem")
    assert one.found.sets is None


def test_filesystem_option_confounded_and_named() -> None:
    runs = [
        made_run(
            {"filesystem": filesystem, "RAID": level, "chunk size": scale}
            | ({"ext4 stride": "16"} if filesystem == "ext4" and level == "stripe" else {}),
            1000 + len(level),
            topics={"ext4 stride": TARGET},
        )
        for level, scale, filesystem in product(("single", "stripe"), ("1", "2"), ("ext4", "xfs"))
    ]
    [one] = of(judged(runs), "filesystem")
    assert one.found.cells == 4
    assert one.goes_with == ("ext4 stride",)
    assert cells_of(one)["remarks"] == "with it differ: ext4 stride"


def test_free_option_equal_within_cell() -> None:
    runs = [
        made_run(
            {"filesystem": filesystem, "chunk size": scale} | ({"WAL": "own disk"} if wal else {}),
            2000.0 if wal else 1000.0,
            topics={"WAL": TARGET},
        )
        for scale, (filesystem, wal) in product(
            ("1", "2", "3"), (("ext4", False), ("ext4", True), ("xfs", False))
        )
    ]
    [one] = of(judged(runs), "filesystem")
    assert one.found.comparison.ratio == pytest.approx(1.0)
    assert one.unpaired == (3, 0)


def test_confounded_settings_one_factor() -> None:
    chosen = {"a": ("on", "on"), "b": ("off", "on"), "c": ("off", "off")}
    runs = [
        made_run(
            {"chunk size": str(scale), "full_page_writes": fpw, "wal_init_zero": zero, "wal_recycle": zero},
            tps,
        )
        for scale in (1, 2, 3)
        for (fpw, zero), tps in zip(chosen.values(), (1000 + scale, 1200 + scale, 1300 + scale), strict=True)
    ]
    found = [each for each in judged(runs).verdicts if each.factor != "chunk size"]
    assert [each.factor for each in found] == [*("full_page_writes", "wal_init_zero", "settings together")]
    single, zero, together = found
    assert single.found.comparison.ratio == pytest.approx(1.2, rel=1e-3)
    assert zero.goes_with == ("wal_recycle",)
    assert together.candidate == "full_page_writes off, wal_init_zero off, wal_recycle off"
    assert together.found.comparison.ratio == pytest.approx(1.3, rel=1e-3)


def test_machine_property_not_judged() -> None:
    runs = [
        made_run(
            {"filesystem": filesystem, "chunk size": str(scale), "processor": cpu},
            1000.0 * scale,
            topics={"processor": MACHINE},
        )
        for scale in (1, 2, 3)
        for filesystem, cpu in (("ext4", "old"), ("xfs", "new"), ("xfs", "newest"))
    ]
    assert not of(judged(runs), "filesystem")
    assert not of(judged(runs), "RAID")


def test_option_of_one_filesystem_not_judged() -> None:
    runs = [
        made_run(
            {"filesystem": filesystem, "chunk size": str(scale)} | ({"dataset": size} if size else {}),
            1000.0 * scale,
            topics={"dataset": TARGET},
        )
        for scale in (1, 2, 3)
        for filesystem, size in (("ext4", ""), ("xfs", ""), ("zfs", "8K"), ("zfs", "128K"))
    ]
    assert not of(judged(runs), "dataset")
    own = of(judged(runs[2:] + runs[:2]), "dataset")  # the first one is of ZFS now
    assert [(each.baseline, each.candidate) for each in own] == [("8K", "128K")]


def test_confounding_only_within_pairs() -> None:
    """On zfs a setting is also tried off, but what is compared with ext4 has it as ext4 has."""
    runs = [
        made_run(
            {"filesystem": filesystem, "chunk size": str(scale)}
            | ({"wal_init_zero": "off", "wal_recycle": "off"} if is_off else {}),
            1000.0 * scale,
        )
        for scale in (1, 2, 3)
        for filesystem, is_off in (("ext4", False), ("zfs", False), ("zfs", True))
    ]
    [one] = of(judged(runs), "filesystem")
    assert one.goes_with == ()
    assert one.unpaired == (0, 3)


def test_raid_levels_match_raidz() -> None:
    runs = [
        made_run({"filesystem": filesystem, "RAID": level, "chunk size": str(scale)}, 1000.0 * scale)
        for scale in (1, 2)
        for filesystem, levels in (("ext4", ("raid5", "raid6")), ("zfs", ("raidz1", "raidz2")))
        for level in levels
    ]
    assert of(judged(runs), "filesystem")[0].found.cells == 4


def test_unique_values_no_factor() -> None:
    runs = [
        made_run({"chunk size": str(scale), "serial": str(n)}, 1000.0) for n in range(13) for scale in (1, 2)
    ]
    assert not of(judged(runs), "serial")


def test_repeats_of_cell_averaged() -> None:
    runs = [
        made_run(_chosen(run), (run.summary["tps"] or 0) * (1 + repeat / 1000), repeat=repeat)
        for repeat in range(2)
        for run in matrix()
    ]
    [one] = of(judged(runs), "filesystem")
    assert (one.found.cells, one.runs) == (6, (2, 2))
    assert one.found.repeated


def test_inconclusive_has_difference_and_interval() -> None:
    runs = [
        made_run({"filesystem": filesystem, "chunk size": str(scale)}, tps)
        for scale, pair in enumerate(((1000, 1300), (1000, 1010), (1000, 1250)))
        for filesystem, tps in zip(("ext4", "xfs"), pair, strict=True)
    ]
    [one] = of(judged(runs), "filesystem")
    assert one.found.comparison.verdict is Verdict.INCONCLUSIVE
    assert cells_of(one)["difference"] == "+18 %"
    assert cells_of(one)["interval"].startswith("-")


def test_first_format_beside_current(tmp_path: Path) -> None:
    """Two formats in one comparison: the old one has no counterpart, and nothing else changes."""
    runs = [*(read_run_facts(path) for path in write_matrix(tmp_path)), read_run_facts(OLD)]
    found = judged(runs)
    assert [each.candidate for each in of(found, "filesystem")] == ["btrfs"]
    assert of(found, "filesystem")[0].found.cells == 4


def test_the_json_tells_every_factor() -> None:
    document = json.loads(json.dumps(comparison_as_json(compare_runs(matrix()))))
    [one] = [each for each in document["factors"] if each["factor"] == "filesystem"]
    assert (one["baseline"], one["candidate"], one["cells"], one["sets"]) == ("ext4", "xfs", 6, None)
    assert one["verdict"] == "higher"
    assert one["interval"]["low"] < one["ratio"] < one["interval"]["high"]
    assert one["over_cells"]["ratio"] == one["ratio"]
    assert one["least"] <= one["ratio"] <= one["most"]
    assert (one["over"], one["goes_with"], one["unpaired"], one["runs"]) == (
        ["RAID", "chunk size"],
        [],
        [0, 0],
        [1, 1],
    )
    assert document["in_no_cell"] == {}
    assert document["fastest"] is None


@pytest.mark.parametrize(
    ("levels", "noise", "interval"),
    [
        ({"single": 1.0, "stripe": 2.0}, 0.01, "depends on the cell"),
        ({"single": 1.0, "stripe": 1.0}, 0.2, " to "),
        ({"single": 2.0, "stripe": 2.0}, 0.01, "indicative only"),
    ],
)
def test_unknown_disturbance_is_said(levels: dict[str, float], noise: float, interval: str) -> None:
    unknown = Disturbances(unknown=((DisturbanceKind.OTHERS_CPU, "no samples"),))
    runs = [replace(run, disturbances=unknown) for run in repeated(levels, noise=noise)]
    [one] = of(judged(runs), "filesystem")
    assert interval in cells_of(one)["interval"]
    assert cells_of(one)["remarks"] == "it is not known whether the 12 runs were disturbed"
    assert one.found.over_cells.interval is None or one.found.over_cells.verdict is Verdict.INCONCLUSIVE
