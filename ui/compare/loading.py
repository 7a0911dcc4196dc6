"""Reading runs for the compare page, in the background: first what charts draw, then the facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.analysis.facts import read_run_facts
from app.analysis.labels import one_line
from app.domain.errors import FootingError
from app.library.scan import ListedRun
from app.runfile.series import load_run_data
from ui.charts.stack.stack import prefetch
from ui.compare.content import LoadedRun


def load_data(
    runs: Sequence[ListedRun], colours: Mapping[str, int], charts: Sequence[str]
) -> list[LoadedRun]:
    """Read what these charts draw of runs; a file that cannot be read has its problem, never an exception."""
    return [
        _load(run, colours.get(run.entry.path, place), charts, len(runs)) for place, run in enumerate(runs)
    ]


def _load(run: ListedRun, colour: int, charts: Sequence[str], shown: int) -> LoadedRun:
    path = run.entry.path
    name = one_line(run.entry.name or "") or Path(path).name
    try:
        data = prefetch(load_run_data(Path(path)), charts, shown)
    except FootingError as error:
        return LoadedRun(path, colour, name, problem=one_line(f"{name}: {error.message}"))
    return LoadedRun(path, colour, name, data)


def load_facts(runs: Sequence[LoadedRun]) -> list[LoadedRun]:
    """Read the facts of runs."""
    return [_with_facts(run) for run in runs]


def _with_facts(run: LoadedRun) -> LoadedRun:
    try:
        facts = read_run_facts(Path(run.path))
    except FootingError as error:
        return replace(run, problem=one_line(f"{run.name}: {error.message}"))
    if facts.shape is not None:
        _ = (
            facts.shape.warm_up,
            facts.shape.within,
            facts.shape.steady,
        )  # computed here, not in the GUI thread
    return replace(run, facts=facts)
