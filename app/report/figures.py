"""Choose the charts of a report and their runs; every chart states its sources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from app.domain.text import tr
from app.report.blocks import Block, Grid, Key, TimeFigure, Trace, letters
from app.report.report_data import ReportedConfiguration, ReportedRun
from app.runfile.series import RunData

SERIES_OF: Final = {
    "tps": "pgbench.tps",
    "latency": "latency.p99",
    "iops": "storage.writes",
    "cpu": "process.cpu_user",
}
"""Charts by id with the series that they need."""
_OF_ONE_LINE: Final = {"cpu": "postgres"}
"""Charts by id with the instance of their main line, which is unknown for a server that already ran."""

MOST_LINES: Final = 6
"""More configurations than this get separate charts instead of one common chart."""
MOST_WITH_SECONDS: Final = 3
_LONGEST: Final = 320
"""Longest text of a figure's sources, in letters."""

MOST_DRAWN: Final = 12
"""Of more configurations than this only the best, the worst and the one that stalled most are drawn."""

_MOST_AT_A_LINE: Final = 24
"""Most letters of names at the ends of lines; for longer ones there are letters, with their names above."""

_GRID_COLUMNS: Final = 3
_FEWEST_COLUMNS: Final = 2
_GRID_HEIGHT_MM: Final = 23.0
_BESIDE_HEIGHT_MM: Final = 24.0


def has_chart(run: RunData, chart: str, *, one_line: bool = False) -> bool:
    """Return whether a run has data for a chart: a second of its measured phase.

    Args:
        run: the run.
        chart: its id.
        one_line: whether the chart draws only the main line per run; others, such as pgbench's CPU, are then
            ignored.
    """
    if chart == "latency":
        return bool((run.percentile(99.0)[0] > 0).any())
    metric, instance = SERIES_OF[chart], _OF_ONE_LINE.get(chart) if one_line else None
    keys = (key for key in run.series_keys() if key[0] == metric and instance in {None, key[1]})
    return any(bool((run.series(*key)[0] > 0).any()) for key in keys)


def charts_of(runs: Iterable[ReportedRun], wanted: Iterable[str], *, one_line: bool = False) -> list[str]:
    """Return those of the wanted charts that at least one run has data for, as in `has_chart`."""
    known = list(runs)
    return [chart for chart in wanted if any(has_chart(run.data, chart, one_line=one_line) for run in known)]


def longest_s(runs: Iterable[ReportedRun]) -> float:
    """Return the length of the longest measured phase of these runs, in s."""
    return max((run.data.end_s for run in runs if math.isfinite(run.data.end_s)), default=0.0)


def sources(runs: Iterable[ReportedRun]) -> str:
    """Return the sentence that ends every figure."""
    sentence = "; ".join(run.source for run in runs)
    if len(sentence) > _LONGEST:
        return tr("Source: the runs listed under “Runs”.")
    return tr("Source: {runs}.").format(runs=sentence)


def overlay(
    configurations: Sequence[ReportedConfiguration], chart: str, height_mm: float
) -> tuple[Block, ...]:
    """Return all runs in one chart, or a chart for each configuration if there are many."""
    having = [
        (configuration, [run for run in configuration.runs if has_chart(run.data, chart, one_line=True)])
        for configuration in configurations
    ]
    having = [(configuration, runs) for configuration, runs in having if runs]
    end_s = longest_s(run for configuration in configurations for run in configuration.runs)
    if len(configurations) > MOST_LINES:
        return (_grid(having, chart, end_s),) if having else ()
    seconds = sum(len(configuration.runs) for configuration in configurations) <= MOST_WITH_SECONDS
    tags = _tags(configurations)
    traces = tuple(
        Trace(run.number, configuration.look, tags[configuration.look] if place == 0 else "", seconds=seconds)
        for configuration, runs in having
        for place, run in enumerate(runs)
    )
    return (TimeFigure(chart, traces, height_mm=height_mm, end_s=end_s),)


def _tags(configurations: Sequence[ReportedConfiguration]) -> dict[int, str]:
    """Return what is written at the ends of lines: names, or letters in the order shown if they are long."""
    if all(len(each.name) <= _MOST_AT_A_LINE for each in configurations):
        return {each.look: each.name for each in configurations}
    return {each.look: letters(place) for place, each in enumerate(configurations)}


def key_of(configurations: Sequence[ReportedConfiguration]) -> Key:
    """Return the line samples for overlays, with the letters at the ends of lines."""
    tags = _tags(configurations)
    return Key(
        tuple(
            (each.look, each.label if tags[each.look] == each.name else f"{tags[each.look]}  {each.label}")
            for each in configurations
        )
    )


def telling_figures(
    configurations: Sequence[ReportedConfiguration], titles: Mapping[str, str]
) -> tuple[Grid, ...]:
    """Return TPS over time of the best, the worst and the configuration that stalled most.

    Args:
        configurations: of a condition, the fastest first.
        titles: of the charts, by name of the configuration.
    """
    measured = [each for each in configurations if each.row.mean.mean is not None]
    if not measured:
        return ()
    ranked = [each for each in measured if each.row.is_ranked]
    worst = min(measured, key=lambda each: each.row.mean.mean or 0.0)
    stalled = max(measured, key=stalled_s)
    words = {tr("best"): (ranked or measured)[0], tr("slowest"): worst}
    if stalled_s(stalled):
        words[tr("stalled {seconds} s").format(seconds=stalled_s(stalled))] = stalled
    chosen: dict[int, list[str]] = {}
    for word, each in words.items():
        chosen.setdefault(each.group, []).append(word)
    by_group = {each.group: each for each in measured}
    drawn = [(by_group[group], ", ".join(found)) for group, found in chosen.items()]
    drawn = [(each, found) for each, found in drawn if has_chart(each.shown.data, "tps")]
    figures = tuple(
        TimeFigure(
            "tps",
            (Trace(each.shown.number, each.look, "", seconds=False),),
            title=tr("TPS, {what}: {name}").format(name=titles.get(each.full_name, each.name), what=found),
            height_mm=_BESIDE_HEIGHT_MM,
            marks_of=each.shown.number,
        )
        for each, found in drawn
    )
    columns = max(_FEWEST_COLUMNS, len(figures))
    return (Grid(figures, columns, "", headed=False),) if figures else ()


def stalled_s(configuration: ReportedConfiguration) -> int:
    """Return the stalled seconds of its middle run."""
    shape = configuration.shown.compared.shape
    return 0 if shape is None else shape.jitter.stall_seconds


def _grid(
    having: Sequence[tuple[ReportedConfiguration, list[ReportedRun]]], chart: str, end_s: float
) -> Grid:
    figures = tuple(
        TimeFigure(
            chart,
            tuple(Trace(run.number, configuration.look, "", seconds=False) for run in runs),
            title=configuration.label,
            height_mm=_GRID_HEIGHT_MM,
            end_s=end_s,
        )
        for configuration, runs in having
    )
    return Grid(figures, _GRID_COLUMNS, "")


def details(configuration: ReportedConfiguration) -> tuple[Block, ...]:
    """Return the charts of a configuration's representative run."""
    shown = configuration.shown
    charts = charts_of([shown], ("tps", "latency", "iops", "cpu"))
    blocks: list[Block] = []
    for chart in charts:
        curves = LATENCIES if chart == "latency" else ALL_CURVES.get(chart, ())
        trace = Trace(shown.number, configuration.look, "", curves)
        blocks.append(
            TimeFigure(chart, (trace,), height_mm=_detail_height(len(charts)), marks_of=shown.number)
        )
    return tuple(blocks)


LATENCIES: Final = ("p50", "p95", "p99")
ALL_CURVES: Final = {"iops": ("writes", "flushes", "reads"), "cpu": ("postgres", "pgbench", "iowait")}


def _detail_height(charts: int) -> float:
    return 46.0 if charts <= 2 else 30.0
