"""Folders of another benchmark to run files: every folder, every row, and the facts around them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.analysis.facts import read_run_facts
from app.importers.importing import ImportReport, as_json
from app.library.entries import read_entry
from app.runfile.reader import RunFile
from tests.unit.importers.imports import (
    VONDRA,
    bring_in,
    by_name,
    only,
    series,
    source_of,
)
from tests.unit.importers.made_logs import tar_of


@pytest.fixture
def vondra(tmp_path: Path) -> ImportReport:
    return bring_in(tmp_path / "library", VONDRA)


def test_folders_and_loose_rows_become_runs(vondra: ImportReport) -> None:
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
def test_tps_equal_output_or_row(vondra: ImportReport, name: str, tps: float | None) -> None:
    found = [each.tps for each in vondra.imported if each.name == name]
    assert found == ([] if tps is None else [tps])


def test_truncated_log_marks_latencies_partial(vondra: ImportReport) -> None:
    xfs = by_name(vondra, "xfs stripe scale 1000 simple-update #1")
    assert "partial-latencies" in xfs.marks
    assert "sampled" in xfs.marks
    assert xfs.tps_source == "pg_stat_database: commits, usually at most 1 s late"
    with RunFile(xfs.path) as run:
        assert run.values["transaction_log_one_in"] == 100
        assert run.summary()["latency_p99_ms"] is not None
        assert [event.kind for event in run.events()][:2] == ["checkpoint-start", "checkpoint-complete"]
        assert run.events()[0].t_ms == pytest.approx(-75, abs=5)


def test_no_log_tps_are_commits(vondra: ImportReport) -> None:
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
    values = {
        (item.topic, item.name): item.value
        for item in read_run_facts(by_name(vondra, "zfs stripe scale 1000 simple-update #1").path).properties
    }
    assert values["Target", "filesystem"] == "zfs"
    assert values["Target", "dataset"] == (
        "recordsize=8K, compression=lz4, logbias=latency, redundant_metadata=most, atime=off, relatime=on"
    )
    assert values["Setting", "shared_buffers"] == "1GB"
    assert values["PostgreSQL", "version"] == "16devel"
    assert values["Machine", "name"] == "i5"
    assert values["Machine", "processor"] == "i5-2500K"
    assert values["Machine", "memory"] == "8 GiB"
    assert values["Machine", "kernel"] == "5.17.11"


def test_devices_and_profiles_from_tool_output(vondra: ImportReport) -> None:
    with RunFile(by_name(vondra, "btrfs stripe scale 1000 select-only #1").path) as run:
        raid = run.facts("before")["storage"]["raid"]  # type: ignore[index,call-overload]
    assert raid == {
        "level": "stripe",
        "assembler": "btrfs",
        "devices": 6,
        "detail": "data raid0, metadata raid1",
    }


def test_row_without_folder_is_a_mean(vondra: ImportReport) -> None:
    row = by_name(vondra, "zfs stripe no-fpw scale 250 read-only #1")
    assert row.tps == 70196.843108
    assert set(row.marks) == {"imported", "mean-only"}
    missing = dict(row.missing)
    assert missing["per-second TPS"] == "there is no per-second data"
    with RunFile(row.path) as run:
        assert run.series() == ()
        assert run.summary()["transactions"] is None
        assert run.values["data_bytes"] is None


def test_non_results_listed_with_reason(vondra: ImportReport) -> None:
    left = {Path(each.path).name: each.reason for each in vondra.left}
    assert left["fs.mount.log"] == "is empty"
    assert left["initdb.log"] == "was not written by pgbench or a known benchmark"
    assert "pgbench.log" not in left


def test_inner_folder_imported_alone(tmp_path: Path) -> None:
    report = bring_in(
        tmp_path / "library", VONDRA / "i5" / "20220907-mdraid" / "0" / "xfs" / "1000" / "run-rw-1"
    )
    imported = only(report)
    assert imported.tps == 7649.905238
    assert ("filesystem", "no file contains it") in imported.missing


def test_the_report_is_plain_json(vondra: ImportReport, tmp_path: Path) -> None:
    document = json.loads(json.dumps(as_json(vondra, tmp_path / "library")))
    assert {"library", "imported", "present", "left"} == document.keys()
    assert document["imported"][0]["marks"]


def test_configurations_unpaired_campaigns_named_by_folder(vondra: ImportReport) -> None:
    xfs, ext4 = (
        read_run_facts(by_name(vondra, f"{filesystem} stripe scale 1000 simple-update #1").path)
        for filesystem in ("xfs", "ext4")
    )
    assert xfs.campaign == ext4.campaign == "20220907-mdraid (vondra-2022/i5)"
    assert xfs.campaign_key != ext4.campaign_key


def test_tree_in_archive_read_without_unpacking(tmp_path: Path) -> None:
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


def test_reimport_makes_no_duplicates(tmp_path: Path) -> None:
    first = bring_in(tmp_path / "library", VONDRA)
    again = bring_in(tmp_path / "library", VONDRA)
    assert not again.imported
    assert sorted(path for _, path in again.present) == sorted(each.path for each in first.imported)
    assert len(list((tmp_path / "library").rglob("*.footing"))) == 30
