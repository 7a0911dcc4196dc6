"""Run files of somebody who means harm: refused or read, always in bounds, and never in the way of others."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from app.analysis.facts import read_run_facts
from app.cli.commands.runs.show import _show
from app.comparison.comparison import compare_runs
from app.comparison.warnings import comparison_warnings
from app.domain.errors import FootingError, RunFileError
from app.export.comparison import comparison_as_json
from app.export.runs import describe_run, export_runs, finite
from app.library.entries import UNREADABLE, read_entry
from app.library.files import Annotations, annotate, copy_into_library
from app.library.scan import LibraryIndex, LibraryScan, list_runs, read_listed
from app.live.campaign_follower import CampaignWatch, GrowingRun
from app.report.report import read_report
from app.runfile.reader import RunFile
from app.runfile.series import load_run_data
from app.runfile.summary import summarise
from app.runfile.writer import FORMAT, SCHEMAS, schema_of
from tests.fix_runs import Shape, write_run
from tests.hostile_files import DAMAGED, INSIDE, REFUSED, complete, mutate

SEED = 20260313
TABLES = (
    *("run", "phase", "event", "command", "series", "sample", "tick", "histogram", "fact", "output"),
    *("unavailable", "mark", "summary"),
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    return complete(write_run(folder / "good.footing", Shape(30, 5000, 1, checkpoint_every_s=10), "good"))


def read_everything(path: Path) -> None:
    """Read a run file as list, show, export, compare, report and the charts do."""
    with RunFile(path) as run:
        describe_run(run)
        summarise(run)
        for series in run.series():
            run.samples(series.metric, series.instance)
        list(run.latency_seconds())
        run.live_ticks(after=-1)
        run.totals(0, 2**62)
        for name in ("pgbench.stdout", "server.log"):
            run.output(name)
        run.check()
        _show(run, Console(file=io.StringIO()))
    comparison = compare_runs([read_run_facts(path)] * 2)
    comparison_warnings(comparison)
    json.dumps(finite(comparison_as_json(comparison)), allow_nan=False)
    read_report([path])
    data = load_run_data(path)
    data.percentile(99.0)
    data.stalls()
    data.checkpoints()


def test_schema_of_every_format() -> None:
    assert set(SCHEMAS) == set(range(1, FORMAT + 1))
    assert {(kind, name) for kind, name, _, _ in schema_of(1)} == {
        *(("table", name) for name in TABLES),
        ("view", "samples"),
        ("index", "sqlite_autoindex_phase_1"),
        ("index", "sqlite_autoindex_series_1"),
    }


@pytest.mark.parametrize("kind", REFUSED)
def test_unknown_schema_refused_before_reading(good: Path, tmp_path: Path, kind: str) -> None:
    path = shutil.copyfile(good, tmp_path / "hostile.footing")
    REFUSED[kind](path)
    with pytest.raises(RunFileError) as caught:
        RunFile(path)
    assert len(caught.value.message) < 500
    assert read_entry(path).state == UNREADABLE


@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_met_by_list(good: Path, tmp_path: Path, kind: str) -> None:
    path = shutil.copyfile(good, tmp_path / "hostile.footing")
    DAMAGED[kind](path)
    entry = read_entry(path)
    assert entry.state == UNREADABLE
    assert entry.problem is not None
    assert "hostile.footing" in entry.problem
    assert len(entry.problem) < 500
    with pytest.raises(RunFileError):
        read_everything(path)


@pytest.mark.parametrize("kind", INSIDE)
def test_damage_met_when_read(good: Path, tmp_path: Path, kind: str) -> None:
    path = shutil.copyfile(good, tmp_path / "hostile.footing")
    INSIDE[kind](path)
    read_listed(path)
    with pytest.raises(RunFileError) as caught:
        read_everything(path)
    assert len(caught.value.message) < 500


@pytest.mark.long
def test_bad_files_do_not_hide_good(good: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    bad = {**REFUSED, **DAMAGED}
    for number, change in enumerate(bad.values()):
        (library / f"{number:03}").mkdir(parents=True)
        path = shutil.copyfile(good, library / f"{number:03}" / "bad.footing")
        change(path)
    first, last = library / "000" / "a good.footing", library / f"{len(bad) - 1:03}" / "good.footing"
    for path in (first, last):
        shutil.copyfile(good, path)
    folders = sum(1 for path in library.rglob("*.footing") if path.is_dir() and not path.is_symlink())
    entries = list_runs(library)
    assert {Path(entry.path) for entry in entries if entry.problem is None} == {first, last}
    assert len(entries) == len(bad) + 2 - folders
    index = tmp_path / "index.sqlite"
    for _ in range(2):  # written, and read again
        scanned = list(LibraryScan(library, index=LibraryIndex(index)).read())
        assert {Path(run.entry.path) for run in scanned if run.entry.problem is None} == {first, last}
    adopted = copy_into_library(sorted(library.rglob("*.footing")), tmp_path / "mine")
    assert len(adopted.copies) == 1
    for folder in library.iterdir():
        CampaignWatch(folder).read()


def test_non_utf8_name_in_index(good: Path, tmp_path: Path) -> None:
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.footing")
    shutil.copyfile(good, strange)
    shutil.copyfile(good, tmp_path / "good.footing")
    for _ in range(2):
        scan = LibraryScan(tmp_path, index=LibraryIndex(tmp_path / "index.sqlite"))
        assert [run.entry.problem for run in scan.read()] == [None, None]


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_file_never_written(good: Path, tmp_path: Path, kind: str) -> None:
    path = shutil.copyfile(good, tmp_path / "hostile.footing")
    REFUSED[kind](path)
    is_plain = path.is_file() and not path.is_symlink()
    before = path.read_bytes() if is_plain else b""
    with pytest.raises(RunFileError):
        annotate(path, Annotations(name="x"))
    with pytest.raises(RunFileError):
        GrowingRun(path).refresh()
    assert not is_plain or path.read_bytes() == before


@pytest.mark.parametrize("count", [30, pytest.param(120, marks=pytest.mark.long)])
def test_random_changes_are_read_or_refused(good: Path, tmp_path: Path, count: int) -> None:
    draw = random.Random(SEED)  # noqa: S311 - data of a test
    refused = 0
    path = tmp_path / "mutant.footing"
    for number in range(count):
        shutil.copyfile(good, path)
        what = [mutate(path, draw) for _ in range(draw.choice((1, 1, 2)))] if number else []
        read_listed(path)
        try:
            read_everything(path)
        except FootingError as error:
            refused += len(error.message) < 1000
        except Exception as error:
            raise AssertionError((number, what)) from error
        for ending in ("csv", "json"):
            with suppress(FootingError):
                export_runs([path], tmp_path / f"out.{ending}", anonymous=number % 2 == 0, replace=True)
    assert 0 < refused < count
