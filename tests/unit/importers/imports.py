"""Importing in tests, and what is asked of the outcome."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from app.importers.importing import ImportedRun, ImportReport, import_paths
from app.runfile.reader import RunFile

DATA = Path(__file__).resolve().parents[2] / "data"
VONDRA = DATA / "import" / "vondra-2022"
RECORDED = DATA / "pgbench"


def bring_in(library: Path, *paths: Path) -> ImportReport:
    return import_paths(paths, library, lambda _done, _total, _what: None)


def only(report: ImportReport) -> ImportedRun:
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


def by_name(report: ImportReport, name: str) -> ImportedRun:
    """The only run of this name."""
    (found,) = (each for each in report.imported if each.name == name)
    return found
