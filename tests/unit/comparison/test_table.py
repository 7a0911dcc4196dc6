"""The table at the end of a campaign and its sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.labels import format_tps
from app.comparison.groups import ComparedGroup, ComparedRun
from app.comparison.table import (
    COMPARISON_COLUMNS,
    ComparisonColumn,
    ComparisonRow,
    build_rows,
    columns_for,
)
from app.comparison.verdict import PairVerdict
from app.comparison.wording import format_difference, format_interval
from app.domain.columns import texts
from app.statistics.verdict import Comparison, Interval, Verdict
from tests.made_matrix import made_run


def describe(found: Comparison, baseline: str, candidate: str, comparisons: int = 1) -> str:
    return PairVerdict(baseline, candidate, found, comparisons).text


def made(repeat: int, tps: float | None, figures: Mapping[str, float | None] | None = None) -> ComparedRun:
    facts = made_run({}, tps, repeat=repeat)
    return ComparedRun(facts, facts.name, repeat, tps, figures={"tps": tps, **(figures or {})})


def measured(name: str, tps: Sequence[float | None], marks: tuple[str, ...] = ()) -> ComparedGroup:
    runs = tuple(
        made(repeat, value, {"latency_p99_ms": 5.0 + repeat, "jitter_cv": 0.05})
        for repeat, value in enumerate(tps)
    )
    return ComparedGroup(name, "one", runs, marks)


def cells(row: ComparisonRow) -> dict[str, str]:
    return texts(COMPARISON_COLUMNS, row)


EXT4 = measured("ext4", [7700, 7710, 7690, 7705, 7695])


def verdict(candidate: ComparedGroup, baseline: ComparedGroup = EXT4) -> str:
    return build_rows([baseline, candidate])[1].verdict


def comparison(verdict: Verdict, ratio: float, low: float, high: float, **more: object) -> Comparison:
    interval = Interval(low, high, 0.95)
    narrow = Interval(low, high, 0.9)
    made = Comparison(verdict, ratio, (5, 5), paired=True, effect=0.02, interval=interval, narrow=narrow)
    for name, value in more.items():
        object.__setattr__(made, name, value)
    return made


# --- sentences -----------------------------------------------------------------------------------


def test_faster_is_said_with_interval_and_runs() -> None:
    found = describe(comparison(Verdict.HIGHER, 1.031, 1.012, 1.05), "ext4", "xfs")
    assert found == "xfs is 3.1 % faster than ext4 (95 % CI 1.2 to 5.0 %, 5 runs each)"


def test_slower_interval_smaller_first() -> None:
    found = describe(comparison(Verdict.LOWER, 0.9, 0.85, 0.96), "ext4", "btrfs")
    assert found == "btrfs is 10 % slower than ext4 (95 % CI 4 to 15 %, 5 runs each)"


def test_from_twice_on_it_is_times() -> None:
    found = describe(comparison(Verdict.HIGHER, 3.14, 2.9, 3.4), "folder", "memory")
    assert found == "memory is 3.1 times as fast as folder (95 % CI 2.9 to 3.4 times, 5 runs each)"


def test_significant_but_irrelevant_difference() -> None:
    found = describe(comparison(Verdict.HIGHER, 1.004, 1.003, 1.005, equivalent=True), "a", "b")
    assert found.endswith("5 runs each), less than the smallest difference of interest (2 %)")


def test_practically_equal_bound_and_interval() -> None:
    found = describe(comparison(Verdict.EQUAL, 1.0, 0.996, 1.009), "ext4", "xfs")
    assert found == (
        "ext4 and xfs are practically equal: the difference is within 2 % "
        "(90 % CI -0.40 to +0.90 %, 5 runs each)"
    )


def test_not_distinguishable_says_what_would_help() -> None:
    one = comparison(Verdict.INCONCLUSIVE, 1.01, 0.97, 1.05, more_runs=8, effect=0.01)
    assert describe(one, "ext4", "xfs") == (
        "inconclusive: xfs measured 1.0 % faster than ext4 (95 % CI -3.0 to +5.0 %, 5 runs each). Detecting "
        "a difference of 1 % needs about 8 more of each"
    )
    many = comparison(Verdict.INCONCLUSIVE, 1.01, 0.5, 2, more_runs=4403)
    assert "about 4,400 more of each" in describe(many, "a", "b")
    hopeless = comparison(Verdict.INCONCLUSIVE, 1.01, 0.1, 10)
    assert "more than 10,000 runs of each" in describe(hopeless, "a", "b")
    seen = comparison(Verdict.INCONCLUSIVE, 1.2, 0.9, 1.6, more_runs=2, more_runs_for=0.2)
    assert describe(seen, "a", "b").endswith("Detecting the measured difference needs about 2 more of each")
    slower = comparison(Verdict.INCONCLUSIVE, 0.8, 0.6, 1.07, more_runs=2, more_runs_for=0.25)
    assert "b measured 20 % slower than a (95 % CI -40 to +7 %, 5 runs each)" in describe(slower, "a", "b")
    times = comparison(Verdict.INCONCLUSIVE, 2.5, 0.8, 7.8, more_runs=2, more_runs_for=1.5)
    assert "b measured 2.5 times as fast as a (95 % CI 0.8 to 7.8 times, 5 runs each)" in describe(
        times, "a", "b"
    )


def test_several_comparisons_adjusted() -> None:
    one = comparison(Verdict.HIGHER, 1.031, 1.012, 1.05, interval=Interval(1.01, 1.06, 1 - 0.05 / 3))
    found = describe(one, "ext4", "xfs", comparisons=3)
    assert "(1.0 to 6.0 %, 5 runs each)" in found


def test_different_numbers_of_runs_are_both_named() -> None:
    assert "(95 % CI 1.2 to 5.0 %, 5 and 4 runs)" in describe(
        comparison(Verdict.HIGHER, 1.031, 1.012, 1.05, runs=(5, 4)), "a", "b"
    )


def test_names_with_braces_stay_as_they_are() -> None:
    for found in (
        Verdict.HIGHER,
        Verdict.EQUAL,
        Verdict.INCONCLUSIVE,
        Verdict.INDICATIVE,
        Verdict.IMPOSSIBLE,
    ):
        sentence = describe(comparison(found, 1.1, 1.05, 1.15), "{a}", "{0} %s {{")
        assert "{a}" in sentence
        assert "{0} %s {{" in sentence


def test_difference_signs_no_minus_zero() -> None:
    assert format_difference(comparison(Verdict.HIGHER, 1.031, 1.0, 1.1)) == "+3 %"
    assert format_difference(comparison(Verdict.LOWER, 0.76, 0.7, 0.8)) == "-24 %"
    assert format_difference(comparison(Verdict.EQUAL, 0.9999, 0.9, 1.1)) == "0 %"
    assert format_difference(comparison(Verdict.EQUAL, 1.0001, 0.9, 1.1)) == "0 %"
    assert format_interval(comparison(Verdict.EQUAL, 1.0, 0.9999, 1.1)) == "0 to +10 %"
    assert format_interval(comparison(Verdict.HIGHER, 2.5, 2.4, 2.6)) == "2.4 to 2.6 times"
    assert format_interval(comparison(Verdict.INCONCLUSIVE, 0.8, 1e-8, 918.2)) == "<0.01 to 918 times"
    assert format_interval(comparison(Verdict.HIGHER, 1.0044, 1.0001, 1.0071)) == "+0.01 to +0.71 %"


# --- rows ----------------------------------------------------------------------------------------


def test_row_means_intervals_comparison() -> None:
    first, second = build_rows([EXT4, measured("xfs", [7939, 7948, 7930, 7943, 7935], ("client-bound",))])
    assert first.comparison is None
    assert first.verdict == ""
    values = {
        "configuration": "ext4",
        "runs": "5",
        "tps": "7,700",
        "interval": "7,690 to 7,710",
        "p99": "6.85",
        "jitter": "5.0 %",
        "difference": "",
        "difference_interval": "",
        "marks": "",
    }
    assert cells(first).items() >= values.items()
    assert second.verdict.startswith("xfs is 3.1 % faster than ext4 (95 % CI 3.1 %")
    assert cells(second)["difference"] == "+3.1 %"
    assert cells(second)["difference_interval"] == "+3.1 %"
    assert cells(second)["marks"] == "client-bound"


def test_row_p99_geometric_mean() -> None:
    runs = tuple(made(0, 1, {"latency_p99_ms": value_ms}) for value_ms in (2.0, 8.0))
    (row,) = build_rows([ComparedGroup("a", "one", runs)])
    assert (cells(row)["p99"], cells(row)["jitter"]) == ("4.00", "")


def test_missing_figures_excluded_from_mean() -> None:
    figures: list[dict[str, float | None]] = [
        {"latency_p99_ms": 2.0, "jitter_cv": 0.1},
        {"latency_p99_ms": None},
        {},
        {"latency_p99_ms": 0.0, "jitter_cv": 0.3},
    ]
    runs = tuple(made(repeat, 1, known) for repeat, known in enumerate(figures))
    (row,) = build_rows([ComparedGroup("a", "one", runs)])
    assert (cells(row)["p99"], cells(row)["jitter"]) == ("2.00", "20.0 %")


def test_below_three_runs_it_is_indicative_only() -> None:
    rows = build_rows([measured("a", [100, 101]), measured("b", [103, 104])])
    assert [cells(row)["interval"] for row in rows] == ["indicative only"] * 2
    assert rows[1].verdict == "no verdict: b measured 3.0 % faster than a (2 runs each; a verdict needs 3)"
    assert (cells(rows[1])["difference"], cells(rows[1])["difference_interval"]) == ("+3.0 %", "")


def test_failed_runs_counted_and_excluded() -> None:
    rows = build_rows([EXT4, measured("xfs", [7939, None, 7930, 7943, 7935])])
    assert cells(rows[1])["runs"] == "4 of 5"
    assert rows[1].comparison is not None
    assert (rows[1].comparison.paired, rows[1].comparison.runs) == (True, (4, 4))


def test_runs_paired_by_repeat() -> None:
    drifting = [1000.0, 900.0, 800.0, 700.0]
    better = [value * factor for value, factor in zip(drifting, (1.04, 1.05, 1.05, 1.06), strict=True)]
    turned = ComparedGroup("b", "one", tuple(reversed(measured("b", better).runs)))
    found = build_rows([measured("a", drifting), turned])[1].comparison
    assert found is not None
    assert (found.verdict, found.paired) == (Verdict.HIGHER, True)


def test_different_repeats_unpaired() -> None:
    later = ComparedGroup("b", "one", tuple(made(repeat, 8000 + repeat) for repeat in range(10, 14)))
    found = build_rows([EXT4, later])[1].comparison
    assert found is not None
    assert (found.paired, found.runs) == (False, (5, 4))


def test_configuration_without_result_has_row() -> None:
    rows = build_rows([EXT4, measured("zfs", [None, None, None]), measured("dead", [0, 0, 0])])
    assert {name for name, text in cells(rows[1]).items() if text} == {"configuration", "runs"}
    assert cells(rows[1])["runs"] == "0 of 3"
    assert "cannot be compared" in rows[1].verdict
    assert cells(rows[2])["tps"] == "0.0"
    assert "cannot be compared" in rows[2].verdict


def test_no_configuration_gives_no_rows() -> None:
    assert build_rows([]) == ()


def test_first_configuration_alone() -> None:
    (row,) = build_rows([EXT4])
    assert row.comparison is None


@pytest.mark.parametrize(
    ("tps", "text"),
    [
        *((None, ""), (0.0, "0.0"), (0.08, "0.08"), (0.0123, "0.012"), (0.96, "1.0"), (99.94, "99.9")),
        *((99.96, "100"), (12345.6, "12,346")),
    ],
)
def test_tps_have_thousands_separators(tps: float | None, text: str) -> None:
    assert format_tps(tps) == text


@pytest.mark.parametrize(
    ("ms", "text"), [(0.1234, "0.12"), (9.999, "10.0"), (99.96, "100"), (1234.6, "1,235")]
)
def test_latencies_have_three_digits(ms: float, text: str) -> None:
    (row,) = build_rows([ComparedGroup("a", "one", (made(0, 1.0, {"latency_p99_ms": ms}),))])
    assert cells(row)["p99"] == text


@settings(deadline=None)
@given(st.lists(st.lists(st.none() | st.floats(0, 1e6), max_size=6), max_size=5))
def test_any_campaign_gives_a_table_without_nan(campaign: list[list[float | None]]) -> None:
    rows = build_rows([measured(str(number), runs) for number, runs in enumerate(campaign)])
    assert len(rows) == len(campaign)
    for row in rows:
        text = " ".join(cells(row).values()) + row.verdict
        assert "nan" not in text
        assert "None" not in text
        assert row.mean.mean is None or math.isfinite(row.mean.mean)


# --- compression -----------------------------------------------------------------------------------


def test_compressibility_columns_only_if_known() -> None:
    def of(name: str, **figures: float) -> ComparedGroup:
        return ComparedGroup(name, "one", tuple(made(repeat, 1000.0, figures) for repeat in range(3)))

    plain = build_rows([of("ext4")])
    shown = {column.id for column in columns_for(COMPARISON_COLUMNS, plain)}
    assert shown.isdisjoint({ComparisonColumn.ROWS_RATIO, ComparisonColumn.COMPRESSED})
    rows = build_rows(
        [
            of("ext4", rows_ratio=2.04),
            of("btrfs", rows_ratio=2.0, tables_compressed=98.7),
            of("zfs", rows_ratio=2.0, tables_on_disk=52.2),
        ]
    )
    shown = {column.id for column in columns_for(COMPARISON_COLUMNS, rows)}
    assert {ComparisonColumn.ROWS_RATIO, ComparisonColumn.COMPRESSED} <= shown
    assert [cells(row)["rows_ratio"] for row in rows] == ["2.0:1", "2.0:1", "2.0:1"]
    assert [cells(row)["compressed"] for row in rows] == ["", "99 % of extents", "52 % on disk"]
