"""Archives, damage, and runs of unusual shape: what comes out, what is missing, what is refused."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from app.domain.errors import UsageError
from app.importers.importing import as_json
from app.runfile.reader import RunFile
from tests.unit.importers.imports import (
    RECORDED,
    VONDRA,
    bring_in,
    only,
    recorded_folder,
    series,
)
from tests.unit.importers.made_logs import summary_text, tar_of, write_log


def test_archived_logs_belong_to_archive_folder(tmp_path: Path) -> None:
    made = write_log(tmp_path / "plain", [700] * 12)
    members = {f"tmp/{path.name}": path.read_bytes() for path in sorted((tmp_path / "plain").iterdir())}
    folder = tmp_path / "run"
    folder.mkdir()
    tar_of(folder / "logs.tgz", members)
    (folder / "pgbench.log").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", folder))
    assert imported.tps_source == "pgbench --log"
    assert float(np.median(series(imported.path)[1])) == 700


def test_nested_archive_skipped_with_advice(tmp_path: Path) -> None:
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
def test_bad_archive_reported_rest_imported(tmp_path: Path, damage: str) -> None:
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


def test_one_second_of_data_is_a_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [50])
    (tmp_path / "run" / "pgbench.log").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    t_ms, tps = series(imported.path)
    assert (t_ms.tolist(), tps.tolist()) == ([1000.0], [50.0])


def test_run_without_transactions(tmp_path: Path) -> None:
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


def test_nan_dropped_rest_kept(tmp_path: Path) -> None:
    (tmp_path / "pgbench.err").write_text(
        "progress: 1.0 s, 100.0 tps, lat 1.000 ms stddev -nan, 0 failed\n"
        "progress: 2.0 s, nan tps, lat nan ms stddev nan, 0 failed\n"
        "progress: 3.0 s, 300.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n"
    )
    imported = only(bring_in(tmp_path / "library", tmp_path / "pgbench.err"))
    assert series(imported.path)[1].tolist() == [100.0, 300.0]
    assert series(imported.path, "pgbench.latency_stddev")[1].tolist() == [0.1]


@pytest.mark.long
def test_day_long_run_keeps_every_second(tmp_path: Path) -> None:
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


def test_bad_log_lines_mark_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    path = tmp_path / "run" / "pgbench_log.4711"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:7], b"\x00\xffgarbage\n", *lines[7:]]))
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "damaged-log" in imported.marks
    assert any(f"{path}, line 8: cannot parse" in note for note in imported.notes)
    assert imported.tps == 100


def test_times_in_another_unit_are_no_log(tmp_path: Path) -> None:
    path = tmp_path / "pgbench_log.1"
    path.write_text("0 1 900 0 1700000000250 0\n" * 50)  # milliseconds since 1970
    report = bring_in(tmp_path / "library", path)
    assert not report.imported
    assert report.left[0].reason == "was not written by pgbench or a known benchmark"


def test_garbage_links_and_run_files_skipped(tmp_path: Path) -> None:
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
        "noise": "was not written by pgbench or a known benchmark",
        "link": "is not a regular file",
        "pipe": "is not a regular file",
        "data.zip": "an unsupported or nested archive: unpack it",
        "run.footing": "is a run file already: open it, or copy it into the library",
    }
    assert not report.imported


def test_an_aborted_run_says_so(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "run", "15", "one_client_aborted")
    imported = only(bring_in(tmp_path / "library", folder))
    assert "aborted" in imported.marks


def test_output_without_result(tmp_path: Path) -> None:
    (tmp_path / "pgbench.out").write_text("pgbench (15.4)\ntransaction type: <builtin: select only>\n")
    report = bring_in(tmp_path / "library", tmp_path / "pgbench.out")
    (problem,) = report.problems
    assert "tps" in problem.reason


def test_unsafe_settings_mark_imported_run(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    (tmp_path / "run" / "settings.csv").write_text(
        "name,setting,unit,source\nfsync,off,,configuration file\nwork_mem,4096,kB,default\n"
    )
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert "unsafe" in imported.marks


def test_missing_path_and_unwritable_library(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        bring_in(tmp_path / "library", tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="library cannot be written"):
        bring_in(tmp_path / "file" / "library", VONDRA)


def test_write_failure_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_more: object) -> None:
        raise UsageError("no room")

    monkeypatch.setattr("app.importers.importing.finish_run_file", fail)
    made = write_log(tmp_path / "run", [100] * 12)
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    report = bring_in(tmp_path / "library", tmp_path / "run")
    assert [each.reason for each in report.problems] == ["no room"]
    assert [path for path in (tmp_path / "library").rglob("*") if path.is_file()] == []


def test_packed_log_joins_plain_thread(tmp_path: Path) -> None:
    made = write_log(tmp_path / "run", [100] * 12)
    path = tmp_path / "run" / "pgbench_log.4711"
    path.with_name("pgbench_log.4711.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    (tmp_path / "run" / "out.txt").write_text(made.summary)
    imported = only(bring_in(tmp_path / "library", tmp_path / "run"))
    assert imported.tps_source == "pgbench --log"
    assert float(np.median(series(imported.path)[1])) == 100


def test_non_utf8_names_show_bytes(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/r\xffun"
    os.makedirs(folder)  # noqa: PTH103 - a name in bytes
    shutil.copy(os.fsencode(RECORDED / "15" / "plain.out"), folder + b"/o\xfe.out")
    Path(os.fsdecode(folder + b"/\xfdnote")).write_text("buy milk")
    report = bring_in(tmp_path / "library", Path(os.fsdecode(folder)))
    imported = only(report)
    assert "r\\xffun" in imported.campaign
    with RunFile(imported.path) as run:
        assert "/o\\xfe.out" in json.dumps(run.values["imported"]).replace("\\\\", "\\")
    assert "\\xfdnote" in json.dumps(as_json(report, tmp_path), ensure_ascii=False).encode().decode().replace(
        "\\\\", "\\"
    )
