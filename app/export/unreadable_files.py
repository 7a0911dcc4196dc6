"""Doing something with several run files although one of them cannot be read: it is named and left out."""

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
    paths: Sequence[Path], work: Callable[[Sequence[Path]], T], tell: Callable[[str], object]
) -> T:
    """Return what `work` makes of these run files, or of those of them that can be read.

    Nothing is read twice unless one is damaged.

    Args:
        paths: run files.
        work: raises RunFileError where one cannot be read; is then called once more, with the others.
        tell: gets a sentence for each that is left out.

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
            tell(tr("Left out: {problem}").format(problem=problem.message))
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
    """Read everything that anybody reads of a run file.

    Raises:
        RunFileError: something of it is damaged.
    """
    with RunFile(path) as run:
        describe_run(run)
        for series in run.series():
            run.samples(series.metric, series.instance)
        percentiles([second.buckets for second in run.latency_seconds()], (50.0,))
    read_run_facts(path)
