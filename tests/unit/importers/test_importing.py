"""From files of others to run files: what comes out, what is said to be missing, what is refused."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.errors import UsageError
from app.importers.importing import Imported, ImportReport, as_json, import_paths
from app.postgres.pgbench_summary import parse_summary
from app.runs.library import read_entry
from app.runs.run_facts import read_run_facts
from app.runs.runfile_reader import RunFile
from tests.unit.importers.made_logs import START_US, summary_text, tar_of, write_log

DATA = Path(__file__).resolve().parents[2] / "data"
VONDRA = DATA / "import" / "vondra-2022"
RECORDED = DATA / "pgbench"


def bring_in(library: Path, *paths: Path) -> ImportReport:
    return import_paths(paths, library, lambda _done, _total, _what: None)


def only(report: ImportReport) -> Imported:
    assert [each.reason for each in report.problems] == []
    (imported,) = report.imported
    return imported


def series(path: Path, metric: str = "pgbench.tps") -> tuple[Any, Any]:
    with RunFile(path) as run:
        return run.samples(metric)


def source_of(path: Path, metric: str = "pgbench.tps") -> str:
    with RunFile(path) as run:
        return next((each.source for each in run.series() if each.metric == metric), "")


def recorded_folder(folder: Path, version: str, scenario: str) -> Path:
    """The files of one recorded run as somebody would keep them."""
    folder.mkdir(parents=True)
    source = RECORDED / version
    shutil.copy(source / f"{scenario}.out", folder / "pgbench.out")
    shutil.copy(source / f"{scenario}.err", folder / "pgbench.err")
    for end in ("", ".1"):
        if (source / f"{scenario}.log{end}").exists():
            shutil.copy(source / f"{scenario}.log{end}", folder / f"pgbench_log.4242{end}")
    return folder


# --- runs by hand: every version


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "17", "18"])
def test_progress_and_summary_give_the_tps_that_pgbench_printed(tmp_path: Path, version: str) -> None:
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
def test_a_full_log_adds_up_to_the_transactions_of_the_summary(tmp_path: Path, version: str) -> None:
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
def test_an_aggregated_log_gives_seconds_without_percentiles(tmp_path: Path, version: str) -> None:
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


def test_skipped_and_failed_transactions_are_series_of_their_own(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "run", "15", "failures")
    (folder / "pgbench.err").unlink()
    imported = only(bring_in(tmp_path / "library", folder))
    printed = parse_summary((folder / "pgbench.out").read_text())
    assert sum(series(imported.path, "pgbench.failed")[1]) == printed.failed


# --- sampled logs


def test_a_sampled_log_is_scaled_by_its_rate_and_marked(tmp_path: Path) -> None:
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


def test_the_noise_of_the_sample_is_no_jitter(tmp_path: Path) -> None:
    write_log(tmp_path / "run", [4000] * 120, rate=0.01)
    (tmp_path / "run" / "pgbench.log").write_text(summary_text(480_000, 4000.0, seconds=120))
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    _, found = series(imported.path)
    assert float(np.std(found) / np.mean(found)) > 0.1  # 40 lines a second
    with RunFile(imported.path) as run:
        jitter = run.summary()["jitter_cv"]
    assert jitter is not None
    assert jitter < 0.06


def test_the_rate_is_told_by_the_clients_counters_where_there_is_no_summary(tmp_path: Path) -> None:
    write_log(tmp_path / "run", [2000] * 30, rate=0.05)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert imported.tps_source == "pgbench --log, 1 in 20, scaled"
    assert imported.tps == pytest.approx(2000, rel=0.1)
    assert ("summary of pgbench", "there is none; TPS are computed from the seconds") in imported.missing


def test_a_log_without_one_threads_file_gives_no_tps_by_the_second(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [1000] * 20)
    (tmp_path / "run" / "pgbench_log.4711.1").unlink()
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "partial-latencies" in imported.marks
    assert imported.tps == 1000
    assert imported.tps_source == ""
    assert any("in 1 files" in reason for _, reason in imported.missing)


# --- folders of another benchmark


@pytest.fixture
def vondra(tmp_path: Path) -> ImportReport:
    return bring_in(tmp_path / "library", VONDRA)


def by_name(report: ImportReport, name: str) -> Imported:
    (found,) = (each for each in report.imported if each.name == name)
    return found


def test_every_folder_and_every_row_without_a_folder_becomes_a_run(vondra: ImportReport) -> None:
    assert len(vondra.imported) == 30  # three tables of ten rows; three of the rows have a folder
    assert sum("mean-only" in each.marks for each in vondra.imported) == 28
    assert not vondra.problems


@pytest.mark.parametrize(
    ("name", "tps"),
    [
        ("xfs stripe scale 1000 simple-update #1", 7649.905238),
        ("zfs stripe scale 1000 simple-update #1", 5803.410436),
        ("btrfs stripe scale 1000 select-only #1", 47793.538149),
        ("ext4 stripe scale 1000 simple-update #1", 7707.131103),
        ("btrfs stripe scale 1000 rw #1", None),
    ],
)
def test_tps_are_exactly_those_of_the_output_or_the_row(
    vondra: ImportReport, name: str, tps: float | None
) -> None:
    found = [each.tps for each in vondra.imported if each.name == name]
    assert found == ([] if tps is None else [tps])


def test_a_cut_log_is_noticed_and_its_latencies_are_marked_partial(vondra: ImportReport) -> None:
    xfs = by_name(vondra, "xfs stripe scale 1000 simple-update #1")
    assert "partial-latencies" in xfs.marks
    assert "sampled" in xfs.marks
    assert xfs.tps_source == "pg_stat_database: commits, at most 1 s late"
    with RunFile(xfs.path) as run:
        assert run.values["transaction_log_one_in"] == 100
        assert run.summary()["latency_p99_ms"] is not None
        assert [event.kind for event in run.events()][:2] == ["checkpoint-start", "checkpoint-complete"]
        assert run.events()[0].t_ms == pytest.approx(-75, abs=5)


def test_without_a_log_tps_by_the_second_are_commits_and_say_so(vondra: ImportReport) -> None:
    btrfs = by_name(vondra, "btrfs stripe scale 1000 select-only #1")
    assert btrfs.marks == ("imported", "tps-from-statistics")
    t_ms, tps = series(btrfs.path)
    assert len(tps) == len(t_ms) > 50
    assert float(np.median(tps)) == pytest.approx(47793, rel=0.05)
    assert source_of(btrfs.path, "wal.bytes") == "pg_current_wal_lsn()"


def test_facts_for_filters_and_differences_are_there(vondra: ImportReport) -> None:
    entry = read_entry(by_name(vondra, "xfs stripe scale 1000 simple-update #1").path)
    assert (entry.filesystem, entry.raid, entry.scale, entry.clients) == ("xfs", "stripe", 1000, 16)
    assert (entry.workload, entry.target, entry.state) == ("simple-update", "imported", "done")
    told = {
        (item.topic, item.name): item.value
        for item in read_run_facts(by_name(vondra, "zfs stripe scale 1000 simple-update #1").path).properties
    }
    assert told["Target", "filesystem"] == "zfs"
    assert told["Target", "dataset"] == (
        "recordsize=8K, compression=lz4, logbias=latency, redundant_metadata=most, atime=off, relatime=on"
    )
    assert told["Setting", "shared_buffers"] == "1GB"
    assert told["PostgreSQL", "version"] == "16devel"
    assert told["Machine", "name"] == "i5"
    assert told["Machine", "processor"] == "i5-2500K"
    assert told["Machine", "memory"] == "8 GiB"
    assert told["Machine", "kernel"] == "5.17.11"


def test_devices_and_profiles_come_from_what_the_tools_printed(vondra: ImportReport) -> None:
    with RunFile(by_name(vondra, "btrfs stripe scale 1000 select-only #1").path) as run:
        raid = run.facts("before")["storage"]["raid"]  # type: ignore[index,call-overload]
    assert raid == {
        "level": "stripe",
        "assembler": "btrfs",
        "devices": 6,
        "detail": "data raid0, metadata raid1",
    }


def test_a_row_without_a_folder_is_a_mean_and_nothing_else(vondra: ImportReport) -> None:
    row = by_name(vondra, "zfs stripe no-fpw scale 250 read-only #1")
    assert row.tps == 70196.843108
    assert set(row.marks) == {"imported", "mean-only"}
    missing = dict(row.missing)
    assert missing["TPS by the second"] == "there is no progress, no usable log and no statistics"
    with RunFile(row.path) as run:
        assert run.series() == ()
        assert run.summary()["transactions"] is None
        assert run.values["data_bytes"] is None


def test_what_is_no_result_is_listed_with_the_reason(vondra: ImportReport) -> None:
    left = {Path(each.path).name: each.reason for each in vondra.left}
    assert left["fs.mount.log"] == "is empty"
    assert left["initdb.log"] == "is nothing that pgbench or a known benchmark writes"
    assert "pgbench.log" not in left


def test_a_folder_inside_the_layout_can_be_imported_alone(tmp_path: Path) -> None:
    report = bring_in(
        tmp_path / "library", VONDRA / "i5" / "20220907-mdraid" / "0" / "xfs" / "1000" / "run-rw-1"
    )
    imported = only(report)
    assert imported.tps == 7649.905238
    assert ("filesystem", "no file and no name of a folder tells it") in imported.missing


# --- again, several, mixed


def test_importing_the_same_again_makes_no_duplicates_and_says_so(tmp_path: Path) -> None:
    first = bring_in(tmp_path / "library", VONDRA)
    again = bring_in(tmp_path / "library", VONDRA)
    assert not again.imported
    assert sorted(path for _, path in again.present) == sorted(each.path for each in first.imported)
    assert len(list((tmp_path / "library").rglob("*.footing"))) == 30


def test_the_same_files_named_twice_or_copied_are_one_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    report = bring_in(tmp_path / "library", tmp_path / "run", tmp_path / "copy", tmp_path / "run" / "out.txt")
    assert len(report.imported) == 2  # the output alone, without its log, is another thing
    assert len(report.present) == 1


def test_logs_and_outputs_of_two_runs_in_one_folder_find_each_other(tmp_path: Path) -> None:
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


def test_logs_that_fit_no_output_alone_are_imported_apart_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    write_log(folder, [100] * 12, pid=100)
    made = write_log(folder, [100] * 12, pid=200, start_us=START_US + 60_000_000)
    (folder / "first.txt").write_text(made.summary)
    (folder / "second.txt").write_text(made.summary.replace("connection time = 3", "connection time = 4"))
    report = bring_in(tmp_path / "library", folder)
    assert len(report.imported) == 4
    assert sum("cannot be told" in each.reason for each in report.left) == 2


def test_several_runs_in_one_output_become_several_runs(tmp_path: Path) -> None:
    text = "".join((RECORDED / "15" / f"{name}.out").read_text() for name in ("plain", "tpcb", "timestamp"))
    (tmp_path / "all.log").write_text(text)
    report = bring_in(tmp_path / "library", tmp_path / "all.log")
    names = ("plain", "tpcb", "timestamp")
    printed = [parse_summary((RECORDED / "15" / f"{name}.out").read_text()).tps for name in names]
    assert [each.tps for each in report.imported] == printed


def test_one_log_file_brings_those_of_its_other_threads(tmp_path: Path) -> None:
    write_log(tmp_path / "run", [500] * 12)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run" / "pgbench_log.4711"))
    assert imported.tps == pytest.approx(500, rel=0.01)


# --- archives


def test_logs_in_an_archive_belong_to_the_folder_of_the_archive(tmp_path: Path) -> None:
    made = write_log(tmp_path / "plain", [700] * 12)
    members = {f"tmp/{path.name}": path.read_bytes() for path in sorted((tmp_path / "plain").iterdir())}
    folder = tmp_path / "run"
    folder.mkdir()
    tar_of(folder / "logs.tgz", members)
    (folder / "pgbench.log").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", folder))
    assert imported.tps_source == "pgbench --log"
    assert float(np.median(series(imported.path)[1])) == 700


def test_a_whole_tree_in_an_archive_is_read_without_unpacking_it(tmp_path: Path) -> None:
    members = {
        str(path.relative_to(VONDRA)): path.read_bytes()
        for path in sorted(VONDRA.rglob("*"))
        if path.is_file() and path.suffix != ".tgz"
    }
    path = tar_of(tmp_path / "all.tar.gz", members)
    report = bring_in(tmp_path / "library", path)
    xfs = by_name(report, "xfs stripe scale 1000 simple-update #1")
    assert xfs.tps == 7649.905238
    assert len(report.imported) == 30
    assert {each.name for each in tmp_path.iterdir()} == {"all.tar.gz", "library"}


def test_an_archive_in_an_archive_is_left_with_the_advice_to_unpack(tmp_path: Path) -> None:
    inner = tar_of(tmp_path / "inner.tgz", {"x": b"y"}).read_bytes()
    path = tar_of(
        tmp_path / "outer.tgz", {"inner.tgz": inner, "pgbench.log": summary_text(10, 1, seconds=10).encode()}
    )
    report = bring_in(tmp_path / "library", path)
    assert len(report.imported) == 1
    (problem,) = report.problems
    assert problem.path.endswith("outer.tgz: inner.tgz")
    assert "unpack" in problem.reason


@pytest.mark.parametrize("damage", ["cut", "climbs", "garbage"])
def test_a_bad_archive_is_told_and_the_rest_of_the_folder_imported(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "run"
    made = write_log(tmp_path / "plain", [700] * 12)
    folder.mkdir()
    (folder / "pgbench.log").write_text(made.summary)
    archive = folder / "pgbench_log.tgz"
    if damage == "climbs":
        tar_of(archive, {"../../pgbench_log.1": b"0 1 900 0 1700000000 250000\n"})
    elif damage == "cut":
        tar_of(archive, {"log.1": os.urandom(100_000)})
        archive.write_bytes(archive.read_bytes()[:-5000])
    else:
        archive.write_bytes(b"\x1f\x8b" + os.urandom(5000))
    report = bring_in(tmp_path / "library", folder)
    (problem,) = report.problems
    assert problem.path == str(archive)
    (imported,) = report.imported
    assert imported.tps == 700
    assert "mean-only" in imported.marks
    assert not (tmp_path / "pgbench_log.1").exists()


# --- strange but possible


def test_one_second_of_data_is_a_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [50])
    (tmp_path / "run" / "pgbench.log").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    t_ms, tps = series(imported.path)
    assert (t_ms.tolist(), tps.tolist()) == ([1000.0], [50.0])


def test_a_run_without_a_transaction_is_a_run_of_zeros(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    text = summary_text(0, 0, seconds=3).split("latency average")[0]
    lines = "".join(
        f"progress: {second}.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n" for second in range(1, 31)
    )
    (folder / "pgbench.log").write_text(lines + text)
    imported = only(bring_in(tmp_path / "library", folder))
    assert imported.tps == 0
    assert series(imported.path)[1].tolist() == [0.0] * 30
    with RunFile(imported.path) as run:
        assert run.summary()["stall_s"] == 30


def test_nan_is_left_out_and_the_rest_kept(tmp_path: Path) -> None:
    (tmp_path / "pgbench.err").write_text(
        "progress: 1.0 s, 100.0 tps, lat 1.000 ms stddev -nan, 0 failed\n"
        "progress: 2.0 s, nan tps, lat nan ms stddev nan, 0 failed\n"
        "progress: 3.0 s, 300.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n"
    )
    imported = only(bring_in(tmp_path / "library", tmp_path / "pgbench.err"))
    assert series(imported.path)[1].tolist() == [100.0, 300.0]
    assert series(imported.path, "pgbench.latency_stddev")[1].tolist() == [0.1]


def test_a_day_long_run_keeps_every_second(tmp_path: Path) -> None:
    rows = [
        f"{1_700_000_000 + second} 100 100000 100000000 900 1100 0 0 0 0 0 0 0 0 0\n"
        for second in range(86_400)
    ]
    (tmp_path / "pgbench_log.9").write_text("".join(rows))
    imported = only(bring_in(tmp_path / "library", tmp_path / "pgbench_log.9"))
    t_ms, tps = series(imported.path)
    assert len(tps) == 86_399
    assert (t_ms[-1], set(tps.tolist())) == (86_399_000.0, {100.0})
    assert imported.path.stat().st_size < 10 * 1024**2


def test_line_ends_of_windows_change_nothing(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    plain = only(bring_in(tmp_path / "one", tmp_path / "run"))
    for path in (tmp_path / "run").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    windows = only(bring_in(tmp_path / "two", tmp_path / "run"))
    assert windows.tps == plain.tps
    assert series(windows.path)[1].tolist() == series(plain.path)[1].tolist()


def test_bad_lines_of_a_log_are_told_and_mark_the_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    path = tmp_path / "run" / "pgbench_log.4711"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:7], b"\x00\xffgarbage\n", *lines[7:]]))
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "damaged-log" in imported.marks
    assert any(f"{path}, line 8: not understood" in note for note in imported.notes)
    assert imported.tps == 100


def test_times_in_another_unit_are_no_log(tmp_path: Path) -> None:
    path = tmp_path / "pgbench_log.1"
    path.write_text("0 1 900 0 1700000000250 0\n" * 50)  # milliseconds since 1970
    report = bring_in(tmp_path / "library", path)
    assert not report.imported
    assert report.left[0].reason == "is nothing that pgbench or a known benchmark writes"


def test_garbage_folders_links_and_run_files_are_left_with_reasons(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "noise").write_bytes(os.urandom(3000) + b"\0")
    (folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    (folder / "data.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (folder / "run.footing").write_bytes(b"SQLite format 3\0" + bytes(100))
    report = bring_in(tmp_path / "library", folder)
    reasons = {Path(each.path).name: each.reason for each in report.left}
    assert reasons == {
        "noise": "is neither text nor an archive",
        "link": "a link",
        "pipe": "no regular file",
        "data.zip": "an archive of a kind that is not read (or inside another): unpack it",
        "run.footing": "is a run file: open it, or copy it into the library",
    }
    assert not report.imported


def test_an_aborted_run_says_so(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "run", "15", "one_client_aborted")
    imported = only(bring_in(tmp_path / "library", folder))
    assert "aborted" in imported.marks


def test_an_output_without_result_is_told(tmp_path: Path) -> None:
    (tmp_path / "pgbench.out").write_text("pgbench (15.4)\ntransaction type: <builtin: select only>\n")
    report = bring_in(tmp_path / "library", tmp_path / "pgbench.out")
    (problem,) = report.problems
    assert "tps" in problem.reason


def test_unsafe_settings_mark_an_imported_run_like_one_of_ours(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    (tmp_path / "run" / "settings.csv").write_text(
        "name,setting,unit,source\nfsync,off,,configuration file\nwork_mem,4096,kB,default\n"
    )
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "unsafe" in imported.marks


def test_a_path_that_is_not_there_and_a_library_that_cannot_be_written_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no"):
        bring_in(tmp_path / "library", tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="library cannot be written"):
        bring_in(tmp_path / "file" / "library", VONDRA)


def test_a_failure_while_writing_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_more: object) -> None:
        raise UsageError("no room")

    monkeypatch.setattr("app.importers.writing.finish_run_file", fail)
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    report = bring_in(tmp_path / "library", tmp_path / "run")
    assert [each.reason for each in report.problems] == ["no room"]
    assert [path for path in (tmp_path / "library").rglob("*") if path.is_file()] == []


def test_the_report_is_plain_json(vondra: ImportReport, tmp_path: Path) -> None:
    told = json.loads(json.dumps(as_json(vondra, tmp_path / "library")))
    assert {"library", "imported", "present", "left"} == told.keys()
    assert told["imported"][0]["marks"]


def test_a_packed_single_log_and_its_plain_thread_belong_together(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    path = tmp_path / "run" / "pgbench_log.4711"
    path.with_name("pgbench_log.4711.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert imported.tps_source == "pgbench --log"
    assert float(np.median(series(imported.path)[1])) == 100


def test_imported_configurations_are_no_pairs_and_campaigns_are_called_by_their_folder(
    vondra: ImportReport,
) -> None:
    xfs, ext4 = (
        read_run_facts(by_name(vondra, f"{filesystem} stripe scale 1000 simple-update #1").path)
        for filesystem in ("xfs", "ext4")
    )
    assert xfs.campaign == ext4.campaign == "20220907-mdraid (vondra-2022/i5)"
    assert xfs.campaign_key != ext4.campaign_key
