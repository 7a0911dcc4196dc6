"""Several runs compared: groups, pairs, one cut for all, what takes no part, what weakens it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import LABELS, WORKLOAD, Property
from app.analysis.stability import RunStability, describe_shape, own_interval_words
from app.cli.commands.run import judge_files
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.figures import compare_figure
from app.comparison.label_shortening import unique_names
from app.comparison.table import COMPARISON_COLUMNS
from app.comparison.warnings import comparison_notes, comparison_warnings
from app.domain.columns import texts
from app.domain.errors import CorruptRunFileError
from app.domain.metrics import Sample
from app.domain.run import RunState
from app.export.comparison import comparison_as_json
from app.postgres.pgbench.scale import ratio_words
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import LatencySecond
from app.statistics.verdict import Samples, Verdict, compare
from tests.fix_window import Trial, begin_trial, write_campaign, write_trial
from tests.made_runs import latencies


def facts(folder: Path, *trials: Trial) -> list[RunFacts]:
    return [
        read_run_facts(write_trial(folder / f"{trial.campaign}" / f"{number:02}.footing", trial))
        for number, trial in enumerate(trials)
    ]


def shape_of(tps: Sequence[float], checkpoints: Sequence[tuple[float, float]] = ()) -> RunStability:
    values = np.array(tps, dtype=np.float64)
    return RunStability(np.arange(1.0, len(values) + 1), values, float(len(values)), tuple(checkpoints))


def noisy(count: int, seed: int, warm_up: int = 0) -> list[float]:
    values = 1000 + 20 * np.random.default_rng(seed).standard_normal(count)
    values[:warm_up] *= np.linspace(0.3, 0.9, warm_up)
    return [float(value) for value in values]


def compared(folder: Path, *trials: Trial) -> RunComparison:
    return compare_runs(facts(folder, *trials))


# --- groups and verdicts --------------------------------------------------------------------------


def test_interleaved_runs_paired_without_warning(tmp_path: Path) -> None:
    found = compare_runs([read_run_facts(path) for path in write_campaign(tmp_path)])
    assert [group.name for group in found.groups] == ["ext4", "xfs"]
    assert found.rows[1].comparison is not None
    assert found.rows[1].comparison.paired
    assert found.verdicts[0].startswith("xfs is 10 % faster than ext4 (95 % CI")
    # The trials last five seconds, which is said; nothing else is.
    assert comparison_warnings(found) == (
        "The runs measured for 5 s or less, far too short to draw conclusions from.",
    )


def test_short_runs_named(tmp_path: Path) -> None:
    trials = [Trial("a", "a", seconds=4), Trial("b", "b", seconds=7), Trial("c", "c", seconds=20)]
    warnings = comparison_warnings(compared(tmp_path, *trials))
    assert "a, b measured for 7 s or less, far too short to draw conclusions from." in warnings
    warnings = comparison_warnings(compared(tmp_path / "others", *trials[1:]))
    assert "b measured for 7 s or less, far too short to draw conclusions from." in warnings


def test_campaign_remarks_first_and_once(tmp_path: Path) -> None:
    runs = [
        replace(each, remarks=("XFS is left out.\nIt has\x1b no such option.",))
        for each in facts(tmp_path, Trial("a", "a"), Trial("b", "b"))
    ]
    notes = comparison_notes(compare_runs(runs))
    assert notes[0] == "XFS is left out. It has no such option."
    assert len([each for each in notes if "left out" in each]) == 1


def test_no_verdict_between_campaigns(tmp_path: Path) -> None:
    one, two = (write_campaign(tmp_path, name, repeats=9) for name in ("one", "two"))
    found = compare_runs([read_run_facts(path) for path in (*one[::2], *two[1::2])])
    comparison = found.rows[1].comparison
    assert comparison is not None
    assert not comparison.paired
    assert comparison.verdict is Verdict.INDICATIVE
    assert (comparison.interval, comparison.p_value) == (None, None)
    assert comparison.ratio == pytest.approx(1104 / 1004, rel=1e-3)
    assert found.verdicts[0].startswith(
        "No verdict: xfs measured 10 % faster than ext4 (9 runs each, not interleaved"
    )
    assert "A verdict needs runs of one campaign" in found.verdicts[0]
    assert any("no verdict between them" in warning for warning in comparison_warnings(found))
    p99 = compare_figure(found, "latency_p99_ms").comparisons[1]
    assert p99 is not None
    assert p99.verdict is Verdict.INDICATIVE


def test_too_few_runs_between_campaigns(tmp_path: Path) -> None:
    one, two = (write_campaign(tmp_path, name, repeats=2) for name in ("one", "two"))
    found = compare_runs([read_run_facts(path) for path in (*one[::2], *two[1::2])])
    assert "2 runs each, not interleaved; a verdict needs 3" in found.verdicts[0]


def test_false_differences_between_identical_campaigns() -> None:
    """Welch on them called 35 % different with five runs each, 1 % within and 1 % between campaigns."""
    random = np.random.default_rng(11)
    apart = {True: 0, False: 0}
    for _ in range(200):
        levels = np.exp(0.01 * random.standard_normal(2))
        one, two = (tuple(map(float, level * np.exp(0.01 * random.standard_normal(5)))) for level in levels)
        for together in apart:
            found = compare(Samples(one, two, paired=False, together=together)).verdict
            apart[together] += found in {Verdict.HIGHER, Verdict.LOWER}
    assert apart[True] > 40
    assert apart[False] == 0


def test_same_configuration_two_campaigns_two_groups(tmp_path: Path) -> None:
    paths = [*write_campaign(tmp_path, "one")[::2], *write_campaign(tmp_path, "two")[::2]]
    found = compare_runs([read_run_facts(path) for path in paths])
    assert [group.name for group in found.groups] == ["ext4 (Trial) [1]", "ext4 (Trial) [2]"]
    comparison = found.rows[1].comparison
    assert comparison is not None
    assert comparison.verdict is Verdict.INDICATIVE
    assert comparison.ratio == pytest.approx(1)


def test_baseline_by_campaign_place_not_start(tmp_path: Path) -> None:
    ran = ("zfs", "xfs", "ext4", "ext4", "zfs", "xfs")
    places = {"ext4": 1, "xfs": 2, "zfs": 3}
    runs = facts(
        tmp_path,
        *(
            Trial(f"{name} #{at // 3 + 1}", name, at // 3, more={"place": places[name]})
            for at, name in enumerate(ran)
        ),
    )
    assert [group.name for group in compare_runs(runs).groups] == ["ext4", "xfs", "zfs"]
    assert [group.name for group in compare_runs(runs, as_given=True).groups] == ["zfs", "xfs", "ext4"]
    assert [group.name for group in compare_runs(runs, baseline="xfs").groups] == ["xfs", "ext4", "zfs"]


def test_campaign_order_given_older_by_run(tmp_path: Path) -> None:
    runs = facts(
        tmp_path,
        Trial("zfs", "zfs", campaign="B", more={"place": 2}),
        Trial("xfs", "xfs", campaign="A"),
        Trial("ext4", "ext4", campaign="A"),
        Trial("f2fs", "f2fs", campaign="B", more={"place": 1}),
    )
    assert [group.name for group in compare_runs(runs).groups] == ["f2fs", "zfs", "xfs", "ext4"]


def test_one_run_each_is_indicative_only(tmp_path: Path) -> None:
    found = compared(tmp_path, Trial(), Trial("xfs #1", "xfs", tps=1100, filesystem="xfs"))
    assert found.verdicts[0].startswith(
        "No verdict: xfs measured 10 % faster than ext4 (1 run each; a verdict needs 3); chance alone"
    )
    assert texts(COMPARISON_COLUMNS, found.rows[0])["interval"] == "indicative only"


def test_repeats_numbered_alike_are_no_pairs(tmp_path: Path) -> None:
    runs = [Trial(f"{fs} {n}", fs, 0, tps=1000 + n) for n in range(3) for fs in ("ext4", "xfs")]
    comparison = compared(tmp_path, *runs).rows[1].comparison
    assert comparison is not None
    assert not comparison.paired
    assert comparison.runs == (3, 3)


def test_verdict_names_unsafe_configuration(tmp_path: Path) -> None:
    marked = Trial("xfs #1", "xfs", tps=1100, marks=(("unsafe", "fsync = off"),))
    assert compared(tmp_path, Trial(), marked).verdicts[0].endswith("; UNSAFE options: xfs.")
    assert (
        compared(tmp_path, replace(marked, campaign="b"), Trial(campaign="b"))
        .verdicts[0]
        .endswith("; UNSAFE options: xfs.")
    )


def test_no_run_and_one_run(tmp_path: Path) -> None:
    assert compare_runs([]).rows == ()
    assert comparison_warnings(compare_runs([])) == ()
    assert compared(tmp_path, Trial(seconds=30)).verdicts == ()


def test_judge_files_with_baseline(tmp_path: Path) -> None:
    paths = [str(path) for path in write_campaign(tmp_path)]
    found = judge_files(paths, baseline="xfs")
    assert found is not None
    assert found.verdicts[0].startswith("ext4 is 9.1 % slower than xfs")
    some = judge_files([*paths, None])
    assert some is not None
    assert len(some.runs) == len(paths)
    Path(paths[2]).write_bytes(b"")
    fewer = judge_files(paths)
    assert fewer is not None
    assert len(fewer.runs) == len(paths) - 1
    assert judge_files([paths[2]]) is None


def test_shorten_common_words(tmp_path: Path) -> None:
    names = ("ext4 stripe scale 1000", "xfs stripe scale 1000")
    runs = facts(tmp_path, *(Trial(name, name) for name in names))
    assert [group.name for group in compare_runs(runs).groups] == list(names)
    assert [group.name for group in compare_runs(runs, shorten=True).groups] == ["ext4", "xfs"]
    assert compare_runs(runs, shorten=True, baseline="xfs").groups[0].name == "xfs"


# --- bad input ------------------------------------------------------------------------------------


def test_the_same_run_twice_counts_once(tmp_path: Path) -> None:
    run = facts(tmp_path, Trial(seconds=30))[0]
    found = compare_runs([run, replace(run, path="/copy.footing", campaign_key="elsewhere")])
    assert [each.left_out for each in found.runs] == ["", "it is the same run as ext4 #1"]
    assert found.rows[1].runs == 0
    assert any("is excluded: it is the same run as" in each for each in comparison_warnings(found))


def test_imported_beside_own_warning(tmp_path: Path) -> None:
    foreign = Trial("xfs #1", "xfs", marks=(("imported", "pgbench.log"),))
    found = comparison_warnings(compared(tmp_path, Trial(seconds=30), foreign))
    assert any(each.startswith("Imported, not measured by pgFooting: xfs #1.") for each in found)
    alone = comparison_warnings(compared(tmp_path / "b", foreign, replace(foreign, name="xfs #2", repeat=1)))
    assert not any("Imported" in each for each in alone)


@pytest.mark.parametrize("state", [RunState.STOPPED, RunState.FAILED])
def test_incomplete_run_excluded(tmp_path: Path, state: RunState) -> None:
    found = compared(tmp_path, Trial(), Trial("xfs #1", "xfs", state=state))
    assert found.runs[1].tps is None
    assert texts(COMPARISON_COLUMNS, found.rows[1])["runs"] == "0 of 1"
    assert "cannot be compared" in found.verdicts[0]


def test_a_live_run_takes_no_part(tmp_path: Path) -> None:
    path = tmp_path / "live.footing"
    writer = begin_trial(path, Trial("xfs #1", "xfs", state=RunState.RUNNING))
    found = compare_runs([*facts(tmp_path, Trial()), read_run_facts(path)])
    writer.close()
    assert found.runs[1].left_out.startswith("it is ")


@pytest.mark.parametrize("tps", [math.nan, math.inf, -5.0, None])
def test_imported_without_valid_tps_excluded(tmp_path: Path, tps: float | None) -> None:
    one, two = facts(tmp_path, Trial(), Trial("xfs #1", "xfs"))
    found = compare_runs([one, replace(two, summary={"tps": tps})])
    assert found.runs[1].left_out == "it has no TPS"
    assert "cannot be compared" in found.verdicts[0]


def test_all_zero_runs_not_compared(tmp_path: Path) -> None:
    found = compared(tmp_path, Trial(tps=0), Trial("xfs #1", "xfs", tps=0))
    assert found.rows[0].mean.mean == 0
    assert "cannot be compared" in found.verdicts[0]
    assert describe_shape(found.runs[0].facts.shape)


def test_lengths_that_differ_are_named(tmp_path: Path) -> None:
    long, short = shape_of(noisy(20_000, 1, warm_up=600)), shape_of(noisy(60, 2))
    one, two = facts(tmp_path, Trial(), Trial("xfs #1", "xfs"))
    found = compare_runs([replace(one, shape=long), replace(two, shape=short)])
    assert any(each.startswith("The runs lasted") for each in comparison_warnings(found))


@pytest.mark.parametrize("value", [-1.0, 1e300])
def test_invalid_tps_corrupt_file(tmp_path: Path, value: float) -> None:
    path = write_trial(tmp_path / "a.footing", Trial(tps=value))
    with pytest.raises(CorruptRunFileError, match="TPS"):
        read_run_facts(path)


def test_markup_and_newlines_in_names(tmp_path: Path) -> None:
    name = "<b>ext4</b>\n\x1b[31m{count}"
    found = compared(tmp_path, Trial(name, name), Trial("xfs #1", "xfs"))
    assert "than <b>ext4</b> [31m{count} (1 run each" in found.verdicts[0]


def test_unique_names_by_campaign_then_number() -> None:
    assert unique_names(["a", "b"], ["", ""]) == ["a", "b"]
    assert unique_names(["a", "a", "b"], ["x", "y", "y"]) == ["a (x)", "a (y)", "b"]
    assert unique_names(["a", "a", "a"], ["x", "x", ""]) == ["a (x) [1]", "a (x) [2]", "a"]


# --- the common cut -------------------------------------------------------------------------------


def test_own_interval_after_cut(tmp_path: Path) -> None:
    one, two = facts(tmp_path, Trial(), Trial("xfs #1", "xfs"))
    rising = shape_of([*noisy(300, 1), *(2 * value for value in noisy(900, 2))])
    found = compare_runs([replace(each, shape=rising) for each in (one, two)], cut_s=400).runs[0]
    assert found.tps is not None
    assert found.own_interval is not None
    assert found.own_interval.low < found.tps < found.own_interval.high
    later = rising.after(400)
    assert later is not None
    assert found.own_interval == later.own_interval() != rising.own_interval()


def test_row_figures_after_cut(tmp_path: Path) -> None:
    """A minute at 100 TPS and 40 ms, one dead second in it, then a minute at 1000 TPS and 2 ms."""
    paths = [two_minutes(tmp_path / f"{fs}.footing", fs) for fs in ("ext4", "xfs")]
    runs = [read_run_facts(path) for path in paths]
    whole, cut = (compare_runs(runs, cut_s=cut_s) for cut_s in (0.0, 60.0))
    names: tuple[str, ...] = ("latency_p50_ms", "latency_p99_ms", "latency_max_ms", "latency_mean_ms")
    names += ("jitter_cv", "stall_s")
    names += ("longest_stall_s", "drift", "transactions", "duration_s", "device_write_bytes", "wal_bytes")
    assert {name: whole.rows[0].values(name) for name in names} == {
        name: [pytest.approx(runs[0].summary[name])] for name in names
    }
    assert {name: cut.rows[0].values(name) for name in names} == {
        "latency_p50_ms": [pytest.approx(2, rel=0.01)],
        "latency_p99_ms": [pytest.approx(2, rel=0.01)],
        "latency_max_ms": [pytest.approx(2, rel=0.01)],
        "latency_mean_ms": [pytest.approx(2)],
        "jitter_cv": [0],
        "stall_s": [0],
        "longest_stall_s": [0],
        "drift": [0],
        "transactions": [pytest.approx(60_000)],
        "duration_s": [60],
        "device_write_bytes": [pytest.approx(8192)],
        "wal_bytes": [pytest.approx(500)],
    }
    for name in names:
        assert cut.groups[0].values(name) == cut.rows[0].values(name)[:1]
    document = comparison_as_json(cut)["runs"]
    assert isinstance(document, list)
    assert isinstance(document[0], dict)
    assert document[0]["figures"] == cut.runs[0].figures
    assert document[0]["tps_whole"] == pytest.approx(541.7, rel=0.02)
    assert "Mean after the first 01:00: 1,000 TPS" in cut.runs[0].sentences[0]
    assert "No stalled second." in cut.runs[0].sentences
    assert "Stalled in 1 of 120 s" in " ".join(whole.runs[0].sentences)
    table = texts(COMPARISON_COLUMNS, cut.rows[0])
    assert (table["p99"], table["jitter"]) == ("2.01", "0.0 %")


def two_minutes(path: Path, filesystem: str) -> Path:
    writer = begin_trial(path, Trial(f"{filesystem} #1", filesystem, seconds=0, filesystem=filesystem))
    for second in range(120):
        slow, t_ms = second < 60, 1000 * (second + 1)
        tps = (0 if second == 30 else 100) if slow else 1000
        latency_ms = 40 if slow else 2
        samples = [
            (t_ms, Sample("pgbench.tps", tps)),
            (t_ms, Sample("pgbench.latency_mean", latency_ms)),
            (t_ms, Sample("storage.write_bytes", 8192 * 1000 if not slow else 4e6)),
            (t_ms, Sample("wal.bytes", 500e3 if not slow else 1e6)),
        ]
        with writer.transaction():
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=samples)
            if tps:
                buckets = latencies(tps, 1000 * latency_ms)
                writer.put_latency_second(
                    LatencySecond(t_ms - 1000, tps, 1000 * latency_ms * tps, 0, 0, False, buckets)  # noqa: FBT003
                )
    with writer.transaction():
        writer.end_phase(120_000)
    writer.close()
    with RunFile(path) as run:
        summary = summarise(run)
    finish_run_file(path, RunState.DONE, summary, is_durable=False)
    return path


def test_file_gone_before_cut_excluded(tmp_path: Path) -> None:
    runs = [read_run_facts(two_minutes(tmp_path / f"{fs}.footing", fs)) for fs in ("ext4", "xfs")]
    (tmp_path / "xfs.footing").unlink()
    assert compare_runs(runs).runs[1].left_out == ""
    assert compare_runs(runs, cut_s=60).runs[1].left_out == "its file can no longer be read"


def test_never_settled_named_not_cut(tmp_path: Path) -> None:
    rising = shape_of(list(np.linspace(100, 1000, 600)))
    one, two = facts(tmp_path, Trial(), Trial("xfs #1", "xfs"))
    found = compare_runs([replace(one, shape=rising), two])
    assert [each for each in comparison_warnings(found) if "steady state" in each and one.name in each]
    assert found.runs[0].tps == one.summary["tps"]


def test_chosen_cut_may_leave_nothing(tmp_path: Path) -> None:
    runs = facts(tmp_path, Trial(seconds=30), Trial("xfs #1", "xfs", seconds=4))
    found = compare_runs(runs, cut_s=5)
    assert found.runs[0].tps is not None
    assert found.runs[1].left_out == "it has no data after the first 5 s"
    assert compare_runs(runs, cut_s=0).runs[1].tps == 1000


# --- one run --------------------------------------------------------------------------------------


def test_mean_weighted_by_report_duration() -> None:
    shape = RunStability(np.array([1.0, 2.0, 5.0]), np.array([10.0, 20.0, 50.0]), 5.0, ())
    assert shape.mean == pytest.approx((10 + 20 + 3 * 50) / 5)
    later = shape.after(1)
    assert later is not None
    assert later.mean == pytest.approx((20 + 150) / 4)
    assert later.duration_s == 4
    assert shape.after(0) is shape
    assert shape.after(5) is None
    assert np.isnan(shape.seconds).sum() == 2


def test_checkpoint_cost_needs_enough_cycles() -> None:
    cycle = np.concatenate([np.full(12, 600.0), np.linspace(700, 1000, 48)])
    spans = [(60.0 * number, 60.0 * number + 55) for number in range(6)]
    text = " ".join(describe_shape(shape_of([*np.tile(cycle, 6)], spans)))
    assert "TPS differ by -38 % from those before the next one" in text
    assert "over 5 cycles" in text
    assert "checkpoint" not in " ".join(describe_shape(shape_of([*np.tile(cycle, 6)], spans[:3])))
    assert "checkpoint" not in " ".join(describe_shape(shape_of(noisy(360, 3), spans)))


def test_own_interval_labelled_not_negative() -> None:
    shape = shape_of(noisy(300, 7))
    interval = shape.own_interval()
    assert interval is not None
    assert interval.low < float(np.mean(shape.tps)) < interval.high
    assert own_interval_words(interval).startswith("within this run ")
    assert shape_of([5.0]).own_interval() is None
    wild = shape_of([0.0, 0, 0, 0, 0, 900] * 4)
    assert (wild.own_interval() or interval).low >= 0


def test_stalls_and_drift_described() -> None:
    falling = [float(value) for value in np.linspace(1000, 400, 600)]
    falling[300:307] = [0.0] * 7
    text = " ".join(describe_shape(shape_of(falling)))
    assert "Stalled in 7 of 600 s (below 10 % of the rate nearby), at most 7 s in a row." in text
    assert "TPS changed by -56 % from the first to the last tenth" in text
    assert "No steady state" in text
    assert "No stalled second." in describe_shape(shape_of(noisy(60, 1)))


def test_that_pgbench_itself_was_blocked_is_told() -> None:
    ends_s = np.array([*range(1, 20), 23, *range(24, 61)], dtype=float)
    shape = RunStability(ends_s, np.full(len(ends_s), 1000.0), 60.0, ())
    assert "pgbench itself was blocked for 3 s; there is no data for those seconds." in describe_shape(shape)


# --- what was compressed


def _compressing(folder: Path, *ratios: float | None, effect: str = "compress=zstd:3") -> str:
    runs = facts(
        folder / f"{effect}{ratios}", *(Trial(f"a #{number}", f"a{number}") for number in range(len(ratios)))
    )
    rows = [
        (Property(WORKLOAD, LABELS["compressibility"], ratio_words(each)),) if each else () for each in ratios
    ]
    found = [
        replace(run, compression=effect, properties=(*run.properties, *each))
        for run, each in zip(runs, rows, strict=True)
    ]
    return " ".join(
        each for each in comparison_warnings(compare_runs(found)) if "filesystem compresses" in each
    )


def test_compressed_data_described(tmp_path: Path) -> None:
    blanks = _compressing(tmp_path, None, None)
    assert "mostly blanks" in blanks
    assert "zstd -3" not in blanks
    stated = _compressing(tmp_path, 2.0, 2.0)
    assert "(compress=zstd:3)" in stated
    assert "compress 2:1 (zstd -3 over 128 KiB)" in stated
    assert "blanks" not in stated
    both = _compressing(tmp_path, None, 1.4, 4.0)
    assert "blanks" in both
    assert "1.4:1, 4:1" in both
    assert _compressing(tmp_path, 2.0, effect="") == ""
