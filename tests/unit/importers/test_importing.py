"""Runs by hand to run files: progress, full, sampled and aggregated logs, several runs together."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from app.postgres.pgbench.summary import parse_summary
from app.runfile.reader import RunFile
from tests.unit.importers.imports import (
    RECORDED,
    bring_in,
    only,
    recorded_folder,
    series,
    source_of,
)
from tests.unit.importers.made_logs import START_US, summary_text, write_log


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "17", "18"])
def test_progress_and_summary_tps_match_pgbench(tmp_path: Path, version: str) -> None:
    folder = recorded_folder(tmp_path / "run", version, "timestamp")
    imported = only(bring_in(tmp_path / "library", folder))
    printed = parse_summary((folder / "pgbench.out").read_text())
    assert imported.tps == printed.tps
    t_ms, tps = series(imported.path)
    assert 2 <= len(tps) <= 3
    assert t_ms[0] == pytest.approx(1000, abs=20)
    assert source_of(imported.path) == "pgbench --progress"
    assert ("latency percentiles", "there is no transaction log") in imported.missing
    with RunFile(imported.path) as run:
        assert run.values["started_epoch_s"] == pytest.approx(1795171000, abs=1000)
        assert run.values["workload"]["label"] == "simple-update"  # type: ignore[index,call-overload]
        assert run.output("pgbench.stdout") == (folder / "pgbench.out").read_text()


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "17", "18"])
def test_full_log_adds_up_to_summary(tmp_path: Path, version: str) -> None:
    folder = recorded_folder(tmp_path / "run", version, "rate")
    (folder / "pgbench.err").unlink()  # without progress, so that the seconds come from the log
    imported = only(bring_in(tmp_path / "library", folder))
    printed = parse_summary((folder / "pgbench.out").read_text())
    t_ms, tps = series(imported.path)
    assert float(np.sum(tps * np.diff(t_ms, prepend=0)) / 1000) == pytest.approx(
        printed.transactions, rel=1e-3
    )
    assert imported.marks == ("imported",)
    assert len(series(imported.path, "pgbench.lag")[0]) == len(tps)
    with RunFile(imported.path) as run:
        assert sum(second.transactions for second in run.latency_seconds()) == printed.transactions
        assert run.values["transaction_log_one_in"] == 1
        assert run.summary()["latency_p99_ms"] is not None
        assert run.summary()["missed_ticks"] is None


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "17", "18"])
def test_aggregated_log_without_percentiles(tmp_path: Path, version: str) -> None:
    folder = recorded_folder(tmp_path / "run", version, "aggregate")
    imported = only(bring_in(tmp_path / "library", folder))
    t_ms, tps = series(imported.path)
    # Both threads added up; the first interval began within its second and is left out.
    texts = [(folder / f"pgbench_log.4242{end}").read_text() for end in ("", ".1")]
    rows = [line.split() for text in texts for line in text.splitlines()]
    seconds = sorted({int(row[0]) for row in rows})[1:]
    assert tps.tolist() == [sum(int(row[1]) for row in rows if int(row[0]) == second) for second in seconds]
    assert t_ms.tolist() == [1000.0 * (number + 1) for number in range(len(seconds))]
    assert any("aggregated" in reason for what, reason in imported.missing if what == "latency percentiles")
    assert any("first interval" in note for note in imported.notes)
    with RunFile(imported.path) as run:
        assert run.summary()["latency_p99_ms"] is None


def test_skipped_and_failed_have_own_series(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "run", "15", "failures")
    (folder / "pgbench.err").unlink()
    imported = only(bring_in(tmp_path / "library", folder))
    printed = parse_summary((folder / "pgbench.out").read_text())
    assert sum(series(imported.path, "pgbench.failed")[1]) == printed.failed


def test_sampled_log_scaled_and_marked(tmp_path: Path) -> None:
    tps = [3000, 2000, 0, 4000] * 15
    made = write_log(tmp_path / "run", tps, rate=0.1)
    (tmp_path / "run" / "pgbench.log").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "sampled" in imported.marks
    assert imported.tps_source == "pgbench --log, 1 in 10, scaled"
    t_ms, found = series(imported.path)
    assert float(np.sum(found * np.diff(t_ms, prepend=0)) / 1000) == pytest.approx(10 * made.logged, rel=1e-3)
    assert np.abs(found - np.array(tps)).max() < 6 * np.sqrt(9 * 4000)  # binomial: six standard errors
    assert found[2] == 0  # a second without a line is one without a transaction
    with RunFile(imported.path) as run:
        assert run.values["tps_one_in"] == run.values["transaction_log_one_in"] == 10
        assert run.summary()["tps"] == pytest.approx(sum(tps) / len(tps))


def test_sampling_noise_is_not_jitter(tmp_path: Path) -> None:
    write_log(tmp_path / "run", [4000] * 120, rate=0.01)
    (tmp_path / "run" / "pgbench.log").write_text(summary_text(480_000, 4000.0, seconds=120))
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    _, found = series(imported.path)
    assert float(np.std(found) / np.mean(found)) > 0.1  # 40 lines a second
    with RunFile(imported.path) as run:
        assert run.summary()["jitter_cv"] is None


def test_rate_from_client_counters_without_summary(tmp_path: Path) -> None:
    write_log(tmp_path / "run", [2000] * 30, rate=0.05)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert imported.tps_source == "pgbench --log, 1 in 20, scaled"
    assert imported.tps == pytest.approx(2000, rel=0.1)
    assert ("pgbench summary", "none; TPS are computed from per-second data") in imported.missing


def test_missing_thread_log_gives_no_tps(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [1000] * 20)
    (tmp_path / "run" / "pgbench_log.4711.1").unlink()
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "partial-latencies" in imported.marks
    assert imported.tps == 1000
    assert imported.tps_source == ""
    assert any("in 1 files" in reason for _, reason in imported.missing)


def test_duplicate_files_are_one_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    report = bring_in(tmp_path / "library", tmp_path / "run", tmp_path / "copy", tmp_path / "run" / "out.txt")
    assert len(report.imported) == 2  # the output alone, without its log, is another thing
    assert len(report.present) == 1


def test_logs_and_outputs_paired_in_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    slow = write_log(folder, [100] * 12, pid=100)
    fast = write_log(folder, [300] * 12, pid=200, start_us=START_US + 60_000_000)
    (folder / "second.txt").write_text(fast.summary)
    (folder / "first.txt").write_text(slow.summary)
    report = bring_in(tmp_path / "library", folder)
    assert not report.problems
    assert sorted((each.tps, len(series(each.path)[0])) for each in report.imported) == [
        (100.0, 12),
        (300.0, 12),
    ]
    assert all(float(np.median(series(each.path)[1])) == each.tps for each in report.imported)


def test_unmatched_logs_imported_separately(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    write_log(folder, [100] * 12, pid=100)
    made = write_log(folder, [100] * 12, pid=200, start_us=START_US + 60_000_000)
    (folder / "first.txt").write_text(made.summary)
    (folder / "second.txt").write_text(made.summary.replace("connection time = 3", "connection time = 4"))
    report = bring_in(tmp_path / "library", folder)
    assert len(report.imported) == 4
    assert sum("imported alone" in each.reason for each in report.left) == 2


def test_several_runs_in_one_output(tmp_path: Path) -> None:
    text = "".join((RECORDED / "15" / f"{name}.out").read_text() for name in ("plain", "tpcb", "timestamp"))
    (tmp_path / "all.log").write_text(text)
    report = bring_in(tmp_path / "library", tmp_path / "all.log")
    names = ("plain", "tpcb", "timestamp")
    printed = [parse_summary((RECORDED / "15" / f"{name}.out").read_text()).tps for name in names]
    assert [each.tps for each in report.imported] == printed


def test_one_log_brings_other_threads(tmp_path: Path) -> None:
    write_log(tmp_path / "run", [500] * 12)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run" / "pgbench_log.4711"))
    assert imported.tps == pytest.approx(500, rel=0.01)
