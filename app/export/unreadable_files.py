"""Process several run files even if some are unreadable: report and skip those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from app.analysis.facts import read_run_facts
from app.domain.errors import RunFileError
from app.domain.text import tr
from app.export.runs import describe_run
from app.runfile.histogram_decoding import percentiles
from app.runfile.reader import RunFile

T = TypeVar("T")


def with_readable(
    paths: Sequence[Path], work: Callable[[Sequence[Path]], T], report: Callable[[str], object]
) -> T:
    """Return the result of `work` for the readable ones of these run files.

    Files are read only once unless one is damaged.

    Args:
        paths: run files.
        work: raises RunFileError for an unreadable file; then it is called again without those.
        report: called with a sentence for each skipped file.

    Raises:
        RunFileError: none can be read, or the only one.
    """
    try:
        return work(paths)
    except RunFileError:
        if len(paths) < 2:
            raise
        good, problems = _sort_out(paths)
        if not good or not problems:
            raise
        for problem in problems:
            report(tr("Left out: {problem}").format(problem=problem.message))
        return work(good)


def _sort_out(paths: Sequence[Path]) -> tuple[list[Path], list[RunFileError]]:
    good: list[Path] = []
    problems: list[RunFileError] = []
    for path in paths:
        try:
            _read_whole(path)
        except RunFileError as error:
            problems.append(error)
        else:
            good.append(path)
    return good, problems


def _read_whole(path: Path) -> None:
    """Read every part of a run file.

    Raises:
        RunFileError: a part is damaged.
    """
    with RunFile(path) as run:
        describe_run(run)
        for series in run.series():
            run.samples(series.metric, series.instance)
        percentiles([second.buckets for second in run.latency_seconds()], (50.0,))
    read_run_facts(path)
