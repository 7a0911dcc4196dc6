"""The content of the race window, computed in the background: race, chart lines, the runs' verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.analysis.facts import RunFacts, kept_run_facts
from app.analysis.labels import one_line
from app.comparison.label_shortening import identity_of
from app.domain.errors import FootingError
from app.domain.text import titled, tr, trn
from app.library.spreads import read_spreads
from app.live.race import Race, make_race, take_runs
from app.report.run_tables import common, days
from app.runfile.series import RunData, load_run_data
from ui.charts.data.curves import curve_samples
from ui.charts.data.registry import CHARTS, ChartSpec, RunTrace
from ui.compare.content import Choices, Content, LoadedRun, compare_content

_PERCENTS: Final = (50.0, 95.0, 99.0)


@dataclass(frozen=True)
class RaceContent:
    """A race with all content; no file is read any more.

    Attributes:
        race: the runs.
        charts: ids of those with samples: first the requested ones, then the others.
        traces: the runs with their series.
        content: the comparison of all chosen runs.
        setting: the hardware that all have, the load, and where the runs come from; may be empty.
    """

    race: Race
    charts: tuple[str, ...]
    traces: tuple[RunTrace, ...]
    content: Content
    setting: str = ""


def load_race(
    paths: Sequence[Path],
    colours: Mapping[str, int] | None = None,
    library: Path | None = None,
    order: Sequence[str] = (),
) -> RaceContent:
    """Read runs for a race; not for the GUI thread.

    Args:
        paths: of run files.
        colours: number of each run's colour, by path; None: by configuration, in this order.
        library: with repeats that show the variation of runs.
        order: ids of the first charts.

    Raises:
        UsageError: they are too few or too many, or too few are readable or have samples.
        RunFileError: a file vanished during reading.
    """
    loaded, problems = _load([Path(each) for each in dict.fromkeys(map(str, paths))])
    chosen, note = take_runs(loaded)
    numbers = dict(colours) if colours is not None else _numbers(loaded)
    for data in chosen:
        data.load(data.series_keys(), _PERCENTS)
    content = _compared(loaded, numbers, library)
    is_ranked = content.comparison is None or len(content.comparison.parts) == 1
    coloured = [(data, numbers.get(str(data.path), 0)) for data in chosen]
    race = make_race(coloured, problems, note, is_ranked=is_ranked)
    series = {str(data.path): data for data in chosen}
    known = dict.fromkeys([*(each for each in order if each in CHARTS), *CHARTS])
    charts = [each for each in known if _has_lines(CHARTS[each], series.values())]
    traces = (
        RunTrace(run.run_id, series[run.run_id], run.colour_index, run.name, warning=run.warning)
        for run in race.runs
    )
    facts = [run.facts for run in content.runs if run.facts is not None]
    return RaceContent(race, tuple(charts), tuple(traces), content, setting_words(facts) if facts else "")


def setting_words(runs: Sequence[RunFacts]) -> str:
    """Return storage, machine, load and source of runs in one line: what all of them share."""
    machine, workload = titled(tr("machine")), tr("Workload")
    clients = common(runs, workload, "clients")
    devices, notes = {run.devices for run in runs}, {run.note for run in runs}
    source = re.split(r"[,.;](?:\s|$)", notes.pop(), maxsplit=1)[0] if len(notes) == 1 else ""
    parts = (
        common(runs, machine, tr("storage")) or (one_line(devices.pop()) if len(devices) == 1 else ""),
        common(runs, machine, tr("processor")),
        f"PostgreSQL {version}" if (version := common(runs, "PostgreSQL", "version")) else "",
        common(runs, workload, tr("transactions")),
        trn("{count} client", "{count} clients", int(clients)).format(count=clients)
        if clients.isdigit()
        else "",
        one_line(source) or days(runs),
    )
    return " \N{MIDDLE DOT} ".join(part for part in parts if part)


def _load(paths: Sequence[Path]) -> tuple[list[RunData], list[str]]:
    loaded, problems = [], []
    for path in paths:
        try:
            loaded.append(load_run_data(path))
        except FootingError as error:
            sentence = tr("{name} is not in the race: {reason}")
            problems.append(sentence.format(name=one_line(path.name), reason=one_line(error.message)))
    return loaded, problems


def _numbers(loaded: Sequence[RunData]) -> dict[str, int]:
    groups = {group: place for place, group in enumerate(dict.fromkeys(identity_of(d).group for d in loaded))}
    return {str(data.path): groups[identity_of(data).group] for data in loaded}


def _compared(loaded: Sequence[RunData], numbers: Mapping[str, int], library: Path | None) -> Content:
    """Return the comparison of all chosen runs; without one if their facts cannot be read."""
    runs = []
    for data in loaded:
        try:
            facts = kept_run_facts(data.path)
        except FootingError:
            continue  # removed since: the race continues with the others
        path = str(data.path)
        runs.append(LoadedRun(path, numbers.get(path, 0), one_line(data.name), facts=facts))
    content = Content(tuple(runs))
    return compare_content(content, Choices(), read_spreads(library)) if len(runs) > 1 else content


def _has_lines(spec: ChartSpec, runs: Iterable[RunData]) -> bool:
    """Return whether a chart has a main line of any run."""
    main = [curve for curve in spec.curves if curve.main]
    return any(len(curve_samples(data, curve)[0]) for data in runs for curve in main)
