from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.domain.metrics import Sample
from app.domain.run import RunState
from app.library import scan as library_scan
from app.library.scan import SPARK_POINTS, LibraryScan, newest_first, read_listed, thin_out
from app.runfile.finalize import finish_run_file
from tests.fix_window import Trial, begin_trial, write_bad_files, write_campaign, write_trial


def test_a_missing_library_has_no_runs(tmp_path: Path) -> None:
    assert list(LibraryScan(tmp_path / "none").read()) == []


def test_every_run_comes_with_its_spark_line(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial(tps=1000, seconds=3))
    assert read_listed(path).spark == pytest.approx((990, 1000, 1010))


def test_long_run_thinned() -> None:
    thin = thin_out(np.arange(3600.0))
    assert len(thin) == SPARK_POINTS
    assert thin[0] == pytest.approx(29.5)
    assert thin[-1] == pytest.approx(3569.5)


def test_unknown_seconds_no_zeros() -> None:
    assert thin_out(np.array([1.0, np.nan, 3.0])) == (1.0, 3.0)


def test_unchanged_files_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_campaign(tmp_path)
    read: list[Path] = []

    def counted(path: Path) -> library_scan.ListedRun:
        read.append(path)
        return read_listed(path)

    monkeypatch.setattr(library_scan, "read_listed", counted)
    scan = LibraryScan(tmp_path)
    assert len(list(scan.read())) == 6
    assert len(read) == 6
    write_trial(tmp_path / "two" / "new.footing", Trial(name="new"))
    assert len(list(scan.read())) == 7
    assert [path.name for path in read[6:]] == ["new.footing"]


def test_growing_file_read_again(tmp_path: Path) -> None:
    path = tmp_path / "live.footing"
    writer = begin_trial(path, Trial(state=RunState.RUNNING, seconds=2))
    scan = LibraryScan(tmp_path)
    assert [len(run.spark) for run in scan.read()] == [2]
    with writer.transaction():
        writer.add_tick(2, 3000, lateness_us=0, missed=0, samples=[(3000, Sample("pgbench.tps", 5.0))])
    assert [len(run.spark) for run in scan.read()] == [3]
    writer.close()
    finish_run_file(path, RunState.DONE, {"tps": 7.0})
    assert [(run.entry.state, run.entry.tps) for run in scan.read()] == [("done", 7.0)]


def test_deleted_run_gone(tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    scan = LibraryScan(tmp_path)
    assert len(list(scan.read())) == 6
    paths[0].unlink()
    assert paths[0] not in [Path(run.entry.path) for run in scan.read()]


def test_bad_files_stand_last_with_their_reasons(tmp_path: Path) -> None:
    write_campaign(tmp_path)
    write_bad_files(tmp_path / "bad")
    runs = newest_first(LibraryScan(tmp_path).read())
    assert len(runs) == 10
    problems = [run.entry.problem or "" for run in runs]
    assert problems[:7] == [""] * 7
    assert sorted(
        "format 9" in found or "truncated" in found or "not a pgFooting" in found for found in problems[7:]
    )
    assert {run.entry.name: run.entry.state for run in runs}["left"] == "incomplete"


def test_newest_campaign_first_runs_by_start(tmp_path: Path) -> None:
    write_campaign(tmp_path, "old", started=1.7e9)
    write_campaign(tmp_path, "new", started=1.8e9)
    runs = newest_first(LibraryScan(tmp_path).read())
    assert [Path(run.entry.path).parent.name for run in runs] == ["new"] * 6 + ["old"] * 6
    assert [run.entry.name for run in runs[:3]] == ["ext4 #1", "xfs #1", "ext4 #2"]


def test_outside_files_listed_once(tmp_path: Path) -> None:
    inside = write_campaign(tmp_path / "library", repeats=1)
    outside = write_trial(tmp_path / "mail" / "his.footing", Trial(name="his"))
    scan = LibraryScan(tmp_path / "library", [inside[0], outside])
    assert sorted(run.entry.name or "" for run in scan.read()) == ["ext4 #1", "his", "xfs #1"]
