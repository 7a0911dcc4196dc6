"""The content of the race window, computed in the background: race, chart lines, the runs' verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.analysis.facts import kept_run_facts
from app.analysis.labels import one_line
from app.comparison.label_shortening import identity_of
from app.domain.errors import FootingError
from app.domain.text import tr
from app.library.spreads import read_spreads
from app.live.race import Race, RacingRun, make_race, take_runs
from app.runfile.series import RunData, load_run_data, mean_width, running_mean
from ui.charts.data.curves import curve_samples
from ui.charts.data.min_max_pyramid import Array
from ui.charts.data.registry import CHARTS, ChartSpec, CurveSpec
from ui.charts.data.scale import Range, value_range
from ui.compare.content import Choices, Content, LoadedRun, compare_content

_PERCENTS: Final = (50.0, 95.0, 99.0)
_TO_LEFT_AND_RIGHT: Final = 2_000
"""Most points of a line that a projector can show."""


@dataclass(frozen=True)
class RaceLine:
    """A line of one run, smoothed.

    Attributes:
        run: of the line.
        t_s: ascending.
        values: in the chart's unit.
    """

    run: RacingRun
    t_s: Array = field(repr=False)
    values: Array = field(repr=False)


@dataclass(frozen=True)
class RaceChartData:
    """A chart of a race.

    Attributes:
        spec: of the chart.
        curve: the drawn one, a line per run.
        lines: of the runs with samples.
        width_s: of the running mean; 0 if not smoothed.
        values: range of the axis.
    """

    spec: ChartSpec
    curve: CurveSpec
    lines: tuple[RaceLine, ...]
    width_s: float
    values: Range


@dataclass(frozen=True)
class RaceContent:
    """A race with all content; no file is read any more.

    Attributes:
        race: the runs.
        charts: those with samples, in the requested order.
        content: the comparison of all chosen runs.
    """

    race: Race
    charts: tuple[RaceChartData, ...]
    content: Content


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
    return RaceContent(race, race_charts(race, series, order), content)


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


def race_charts(race: Race, series: Mapping[str, RunData], order: Sequence[str]) -> tuple[RaceChartData, ...]:
    """Return the charts with samples of these runs: first those in `order`, then the others.

    Args:
        race: the runs.
        series: their loaded data by path.
        order: ids of charts.
    """
    ids = dict.fromkeys([*(each for each in order if each in CHARTS), *CHARTS])
    made = (_chart(CHARTS[each], race, series) for each in ids)
    return tuple(chart for chart in made if chart is not None)


def _chart(spec: ChartSpec, race: Race, series: Mapping[str, RunData]) -> RaceChartData | None:
    curve = next((curve for curve in spec.curves if curve.main), None)
    if curve is None:
        return None
    width_s = mean_width(race.end_s) if curve.smooth else 0.0
    lines = [_line(spec, curve, run, series[run.run_id], width_s) for run in race.runs]
    known = [line for line in lines if len(line.t_s)]
    if not known:
        return None
    extremes = (
        min(float(each.values.min()) for each in known),
        max(float(each.values.max()) for each in known),
    )
    values = value_range(extremes, zero_based=spec.zero_based, is_log=spec.log_y)
    return RaceChartData(spec, curve, tuple(known), width_s, values)


def _line(spec: ChartSpec, curve: CurveSpec, run: RacingRun, data: RunData, width_s: float) -> RaceLine:
    t_s, samples = curve_samples(data, curve)
    measured = (t_s > 0) & (samples == samples)  # noqa: PLR0124 - a NaN is not itself
    t_s, values = t_s[measured], samples[measured] * spec.factor
    if width_s and len(t_s):
        values = running_mean(t_s, values, width_s)
    step = max(1, len(t_s) // _TO_LEFT_AND_RIGHT)
    return RaceLine(run, t_s[::step], values[::step])
