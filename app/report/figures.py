"""Choose the charts of a report and their runs; every chart states its sources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from app.domain.text import tr
from app.report.blocks import Block, Grid, Key, TimeFigure, Trace
from app.report.report_data import ReportedConfiguration, ReportedRun
from app.runfile.series import RunData

SERIES_OF: Final = {
    "tps": "pgbench.tps",
    "latency": "latency.p99",
    "iops": "storage.writes",
    "throughput": "storage.write_bytes",
    "cpu": "process.cpu_user",
    "wal": "wal.bytes",
}
"""Charts by id with the series that they need."""
_OF_ONE_LINE: Final = {"cpu": "postgres"}
"""Charts by id with the instance of their main line, which is unknown for a server that already ran."""

MOST_LINES: Final = 6
"""More configurations than this get separate charts instead of one common chart."""
MOST_WITH_SECONDS: Final = 3
_LONGEST: Final = 320
"""Longest text of a figure's sources, in letters."""

MOST_DRAWN: Final = 40
"""With more configurations than this there are overlays of one metric, and none has its own charts."""

_GRID_COLUMNS: Final = 4
_GRID_HEIGHT_MM: Final = 27.0
_SMALL_COLUMNS: Final = 2
_SMALL_HEIGHT_MM: Final = 28.0


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
    known = list(runs)
    sentence = "; ".join(run.source for run in known)
    if len(sentence) > _LONGEST:
        sentence = tr("runs {tags}, listed under “Runs”").format(tags=", ".join(run.tag for run in known))
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
    if len(having) > MOST_LINES:
        return (_grid(having, chart, end_s),)
    seconds = sum(len(configuration.runs) for configuration in configurations) <= MOST_WITH_SECONDS
    traces = tuple(
        Trace(run.number, configuration.look, configuration.tag if place == 0 else "", seconds=seconds)
        for configuration, runs in having
        for place, run in enumerate(runs)
    )
    return (TimeFigure(chart, traces, height_mm=height_mm, end_s=end_s),)


def key_of(configurations: Sequence[ReportedConfiguration]) -> Key:
    """Return the line samples for overlays."""
    return Key(tuple((configuration.look, configuration.label) for configuration in configurations))


def _grid(
    having: Sequence[tuple[ReportedConfiguration, list[ReportedRun]]], chart: str, end_s: float
) -> Grid:
    figures = tuple(
        TimeFigure(
            chart,
            tuple(Trace(run.number, configuration.look, "", seconds=False) for run in runs),
            title=f"{configuration.tag} {configuration.label}",
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


def small_details(configuration: ReportedConfiguration) -> tuple[Block, ...]:
    """Return the two most informative charts of a configuration's representative run, in one row."""
    shown = configuration.shown
    figures = tuple(
        TimeFigure(
            chart,
            (Trace(shown.number, configuration.look, "", LATENCIES if chart == "latency" else ()),),
            height_mm=_SMALL_HEIGHT_MM,
            marks_of=shown.number,
        )
        for chart in charts_of([shown], ("tps", "latency"))
    )
    return (Grid(figures, _SMALL_COLUMNS, "", alike=False),) if figures else ()


LATENCIES: Final = ("p50", "p95", "p99")
ALL_CURVES: Final = {"iops": ("writes", "flushes", "reads"), "cpu": ("postgres", "pgbench", "iowait")}


def _detail_height(charts: int) -> float:
    return 46.0 if charts <= 2 else 30.0
