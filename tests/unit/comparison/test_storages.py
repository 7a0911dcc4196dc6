"""Storages of compared configurations beside each other: in `compare`, its JSON and the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import read_run_facts
from app.cli.main import main
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.warnings import STORAGE_COLUMNS, StorageRow, storage_rows, storage_sentences
from app.domain.columns import texts
from app.domain.io_baseline import FLUSH_WORDS, FlushVerdict, IoBaseline, SyncMethod
from app.report.blocks import ReportTable, Text
from app.report.report import read_report
from app.runfile.metadata.typed_json import values_of
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.unit.analysis.test_io_baseline_words import KNOWN
from tests.unit.report.test_report_content import single_blocks

pytestmark = pytest.mark.usefixtures("own_folders")

ASKED = (("io_baseline", values_of(KNOWN)),)


def cases(folder: Path, *, asked: tuple[str, ...]) -> list[Path]:
    """Write two runs each of ext4 and xfs; some of their storages were asked."""
    return write_cases(
        folder,
        [
            Case(name, repeat, Shape(12), name, values=ASKED if name in asked else ())
            for repeat in range(2)
            for name in ("ext4", "xfs")
        ],
    )


def compared(paths: list[Path]) -> RunComparison:
    return compare_runs([read_run_facts(path) for path in paths])


def test_row_baseline_and_use(tmp_path: Path) -> None:
    [ext4, xfs] = storage_rows(compared(cases(tmp_path, asked=("ext4", "xfs"))))
    assert (ext4.name, xfs.name) == ("ext4", "xfs")
    assert ext4.baseline == KNOWN
    assert {each.metric for each in ext4.used} >= {"storage.flushes", "storage.writes"}
    cells = texts(STORAGE_COLUMNS, ext4)
    assert (cells["configuration"], cells["syncs"], cells["read_deep"]) == ("ext4", "9,800", "200,000")
    assert (cells["stream_write"], cells["read"], cells["used"]) == ("2,100", "", "")


def test_no_row_without_baseline(tmp_path: Path) -> None:
    assert [row.name for row in storage_rows(compared(cases(tmp_path / "one", asked=("xfs",))))] == ["xfs"]
    assert storage_rows(compared(cases(tmp_path / "none", asked=()))) == ()


def test_common_sentence_once_else_named() -> None:
    fast = StorageRow(0, "fast", KNOWN, ())
    few = replace(KNOWN, sync_methods=(SyncMethod(method="fdatasync", per_s=500),))
    slow = StorageRow(1, "slow", few, ())
    words = FLUSH_WORDS[FlushVerdict.PROTECTED_OR_NOT_FLUSHING]
    assert storage_sentences([fast, replace(fast, name="other")]) == (words,)
    assert storage_sentences([fast, slow]) == (f"fast: {words}",)
    assert storage_sentences([slow]) == storage_sentences([]) == ()
    assert storage_sentences([StorageRow(0, "empty", IoBaseline(), ())]) == ()


def test_compare_prints_storages_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in cases(tmp_path / "runs", asked=("ext4", "xfs"))]
    assert main(["compare", *paths]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "Raw storage benchmarks" in output
    assert FLUSH_WORDS[FlushVerdict.PROTECTED_OR_NOT_FLUSHING] in output
    assert main(["compare", *paths, "--json"]) == 0
    storages = json.loads(capsys.readouterr().out)["storages"]
    assert [each["name"] for each in storages] == ["ext4", "xfs"]
    assert storages[0]["io_baseline"] == values_of(KNOWN)
    assert storages[0]["flushes"] == "protected-or-not-flushing"
    assert 0.3 < storages[0]["used"]["storage.flushes"] < 0.6  # 4,200 of 9,900


def test_compare_without_baselines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in cases(tmp_path / "runs", asked=())]
    assert main(["compare", *paths]) == 0
    assert "Raw storage benchmarks" not in capsys.readouterr().out
    assert main(["compare", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["storages"] == []


def test_report_storage_and_job_tables(tmp_path: Path) -> None:
    report = read_report(cases(tmp_path / "asked", asked=("ext4", "xfs")))
    tables = [each for each in single_blocks(report) if isinstance(each, ReportTable)]
    headings = [[column.heading for column in each.columns] for each in tables]
    assert sum("Durable writes/s" in each for each in headings) == 1
    assert sum("Job" in each for each in headings) == 2
    words = [each.text for each in single_blocks(report) if isinstance(each, Text)]
    assert sum("The storage can do 9,900 flushes/s; the run used" in each for each in words) == 2
    silent = read_report(cases(tmp_path / "silent", asked=()))
    assert not [
        each
        for each in silent.blocks
        if isinstance(each, Text) and "storage" in each.text and "by itself" in each.text
    ]
