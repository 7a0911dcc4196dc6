"""Tables of runs: results, costs of a transaction, latencies; and which charts show which runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from app.analysis.facts import RunFacts, property_of
from app.analysis.io_baseline import JOB_COLUMNS, sync_sentences
from app.analysis.labels import at_least, format_figure, format_tps, mark_words, one_line, state_words
from app.analysis.stability import CLOSED_LOOP_NOTE, is_closed_loop
from app.comparison.figures import LOADING, FigureComparison, compare_figures, figure, format_mean
from app.comparison.warnings import EXPLANATION, STORAGE_COLUMNS, storage_rows, storage_sentences
from app.domain.columns import CellKind, Column, texts
from app.domain.run import RunState
from app.domain.text import titled, tr, trn
from app.report.blocks import (
    Block,
    Grid,
    Key,
    ReportTable,
    TableRow,
    TableSize,
    Text,
    TextRole,
    TimeFigure,
    Trace,
    letters,
    plain_table,
)
from app.report.findings import Findings
from app.report.report_data import ReportedConfiguration, ReportedRun
from app.runfile.series import RunData
from app.runfile.summary import is_lower_bound
from app.statistics.verdict import RunInterval

# Sentences and cells common to several pages of a report. Pure.


def moment(epoch_s: float | None) -> str:
    """Return a time in UTC, so that a report reads the same everywhere; empty if unknown."""
    then = _in_utc(epoch_s)
    return "" if then is None else f"{_day(then)} {then:%H:%M} UTC"


def _in_utc(epoch_s: float | None) -> datetime | None:
    if epoch_s is None:
        return None
    try:
        return datetime.fromtimestamp(epoch_s, tz=UTC)
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may contain any number
        return None


def _day(then: date) -> str:
    day = tr("{year}-{month:02}-{day:02}")  # in the order of the language
    return day.format(year=then.year, month=then.month, day=then.day)


def days(runs: Iterable[RunFacts]) -> str:
    """Return the day, or the first and last day, on which runs started; empty if unknown."""
    moments = (_in_utc(run.started_epoch_s) for run in runs)
    found = sorted({then.date() for then in moments if then is not None})
    if not found:
        return ""
    first, last = _day(found[0]), _day(found[-1])
    return first if first == last else tr("{low} to {high}").format(low=first, high=last)


def more_under(count: int, section: str) -> str:
    """Return how many lines are only in another section."""
    return tr("{count} more: see “{section}”.").format(count=count, section=section)


def mean_words(mean: RunInterval, when: str = "") -> str:
    """Return a mean with its interval, the number of runs and their days, as a sentence."""
    tps = format_tps(mean.mean)
    if mean.low is None or mean.high is None:
        sentence = tr("{tps} TPS (indicative only: a confidence interval needs 3 runs).")
        return sentence.format(tps=tps)
    sentence = tr("{tps} TPS (95 % CI {low} to {high}, {count}).")
    count = trn("{count} run", "{count} runs", mean.runs).format(count=mean.runs)
    count = f"{count}, {when}" if when else count
    return sentence.format(tps=tps, low=format_tps(mean.low), high=format_tps(mean.high), count=count)


def common(runs: Iterable[RunFacts], topic: str, name: str) -> str:
    """Return the common value of a property; empty if runs differ."""
    values = {property_of(run, topic, name) for run in runs}
    return one_line(values.pop()) if len(values) == 1 else ""


def state_cell(run: ReportedRun) -> str:
    """Return the noteworthy end states of a run, and its marks."""
    state = run.facts.state
    words = [] if state == RunState.DONE else [state_words(state)]
    words += dict.fromkeys(mark_words(kind) for kind, _ in run.facts.marks)
    return ", ".join(words)


_SPEED: Final = (
    "tps",
    *("latency_mean_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms"),
    *("jitter_cv", "stall_s", "drift"),
)
_COSTS: Final = (
    *("device_write_bytes", "device_read_bytes", "device_writes", "device_flushes"),
    *("wal_bytes", "server_cpu_us", "kernel_cpu_us"),
)
_OF_DEVICES: Final = _COSTS[:4]
_COMPRESSION: Final = ("rows_ratio", "tables_compressed", "tables_on_disk")
_OF_COMPRESSION: Final = tr(
    "After loading: compressibility of the tables (zstd -3 over 128 KiB), and their compression by the "
    "filesystem."
)
_COMPARED: Final = (
    *("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms"),
    *("jitter_cv", "longest_stall_s"),
)
_MOST_WITH_CHARTS: Final = 6
"""Most configurations for which figures may start on the page of the charts."""
_MOST: Final = 24
"""Most configurations with a table of latencies and costs."""
_MOST_DEVICES: Final = 6
_MOST_NAMED: Final = 3

_DIFFERS: Final = "*"


_SMALL_FROM: Final = 7
_DENSE_FROM: Final = 14


def table_size(rows: int) -> TableSize:
    """Return the type size of a table of configurations: 24 fit on the first page with their chart."""
    if rows >= _DENSE_FROM:
        return TableSize.DENSE
    return TableSize.SMALL if rows >= _SMALL_FROM else TableSize.NORMAL


def speed_table(runs: Sequence[ReportedRun]) -> ReportTable:
    """Return the results of each run of a condition."""
    columns = (_RUN, *map(_figure_column, _SPEED), _STATE)
    return plain_table(columns, runs, size=TableSize.SMALL)


def cost_table(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield the cost of a transaction in each run; nothing if unknown."""
    costs = tuple(map(_figure_column, _COSTS))
    if any(column.cell(run) for column in costs for run in runs):
        yield plain_table((_RUN, *costs), runs, size=TableSize.SMALL)


def compression_table(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield the compressibility of loaded rows and the achieved compression; nothing if not recorded."""
    columns = tuple(map(_figure_column, _COMPRESSION))
    filled = tuple(column for column in columns if any(column.cell(run) for run in runs))
    if filled:
        yield plain_table((_RUN, *filled), runs, size=TableSize.SMALL)
        yield Text(TextRole.NOTE, _OF_COMPRESSION)


def devices_sentence(runs: Sequence[ReportedRun]) -> str:
    """Return which devices the costs refer to; empty if no run has such costs."""
    having = [run for run in runs if any(run.facts.summary.get(name) is not None for name in _OF_DEVICES)]
    runs_by_devices: dict[str, list[str]] = {}
    for run in having:
        runs_by_devices.setdefault(
            one_line(run.facts.devices) or tr("devices not named in the run file"), []
        ).append(run.name)
    if not runs_by_devices:
        return ""
    word = tr("runs")
    parts = [
        f"{', '.join(names) if len(names) <= _MOST_NAMED else f'{len(names)} {word}'}: {each}"
        for each, names in list(runs_by_devices.items())[:_MOST_DEVICES]
    ]
    if len(runs_by_devices) == 1:
        parts = list(runs_by_devices)
    sentence = tr("Operations, bytes and flushes count all I/O of {devices}, including other programs.")
    return sentence.format(devices="; ".join(parts))


def _figure_column(name: str) -> Column[ReportedRun]:
    return Column(name, figure(name).heading, lambda run: _cell(run, name))


_RUN: Final[Column[ReportedRun]] = Column("run", tr("Run"), lambda run: run.name, CellKind.WORDS)
_STATE: Final[Column[ReportedRun]] = Column("state", tr("State and marks"), state_cell, CellKind.WORDS)


def _cell(run: ReportedRun, name: str) -> str:
    value = run.compared.figures.get(name)
    if value is None:
        return ""
    if name == "tps":
        return format_tps(value)
    text = _without_unit(format_figure(figure(name), value))
    return at_least(text, is_bound=is_lower_bound(run.compared.figures, name))


def _without_unit(text: str) -> str:
    """Return a cell without the unit, if the column's heading has it."""
    return text.removesuffix(" ms").removesuffix(" s")


def baseline_blocks(configuration: ReportedConfiguration) -> Iterator[Block]:
    """Yield the raw performance of a configuration's storage; nothing if not measured."""
    facts = next((run.facts for run in configuration.runs if run.facts.baseline is not None), None)
    if facts is None or facts.baseline is None:
        return
    yield Text(TextRole.SUBHEADING, tr("Raw storage benchmarks"))
    if facts.baseline.jobs:
        yield plain_table(JOB_COLUMNS, facts.baseline.jobs, size=TableSize.SMALL)
    sentences = (
        *sync_sentences(facts.baseline),
        *(each.sentence for each in facts.used),
        *facts.baseline.problems,
    )
    if sentences:
        yield Text(TextRole.NOTE, " ".join(map(one_line, sentences)))


def _storages(found: Findings) -> Iterator[Block]:
    """Yield the raw performance of all configurations' storages in one table."""
    labels = {each.group: each.label for each in found.configurations}
    rows = [
        replace(row, name=labels[row.group]) for row in storage_rows(found.comparison) if row.group in labels
    ]
    if rows:
        yield Text(TextRole.SUBHEADING, tr("Raw storage benchmarks"))
        yield plain_table(STORAGE_COLUMNS, rows, size=table_size(len(rows)))
        yield Text(TextRole.NOTE, " ".join((EXPLANATION, *map(one_line, storage_sentences(rows)))))


def figure_pages(found: Findings) -> Iterator[Block]:
    """Yield latencies, evenness and costs of all configurations in one table."""
    if not 1 < len(found.configurations) <= _MOST:
        return
    tables = [
        tuple(_compared(found.configurations, compare_figures(found.comparison, names)))
        for names in (_COMPARED, _COSTS, LOADING)
    ]
    if not any(tables):
        yield from _storages(found)
        return
    shown = [table for each in tables for table in each]
    ids = {column.id for table in shown for column in table.columns}
    title = tr("Variation and cost per transaction")
    if any(name.startswith("latency") for name in ids):
        title = tr("Latency and cost per transaction") if tables[1] else titled(tr("latency"))
    yield Text(
        TextRole.HEADING, title, bookmark=title, new_page=len(found.configurations) > _MOST_WITH_CHARTS
    )
    yield from shown
    sentence = tr("Means over runs. Source: the runs listed under “Runs”.")
    if any(cell.endswith(_DIFFERS) for table in shown for row in table.rows for cell in row.cells.values()):
        sentence = tr(
            "Means over runs. {sign}: significantly different from the baseline (95 %, Holm). Without it, "
            "no difference is claimed. Source: the runs listed under “Runs”."
        )
    devices = devices_sentence(found.runs)
    runs = [run.compared for run in found.runs]
    closed = any(is_closed_loop(run.facts.load, run.figures) for run in runs)
    notes = (sentence.format(sign=_DIFFERS), CLOSED_LOOP_NOTE if closed else "", devices)
    yield Text(TextRole.NOTE, " ".join(filter(None, notes)))
    yield from _storages(found)


def _compared(
    configurations: Sequence[ReportedConfiguration], figures: Sequence[FigureComparison]
) -> Iterator[ReportTable]:
    means = tuple(map(_mean_column, figures))
    known = [each for each in configurations if any(column.cell(each) for column in means)]
    if known:
        columns = (_CONFIGURATION, *means)
        rows = tuple(TableRow(texts(columns, each), each.look) for each in known)
        yield ReportTable(columns, rows, lines=2, size=table_size(len(rows)))


_CONFIGURATION: Final[Column[ReportedConfiguration]] = Column(
    "configuration", titled(tr("configuration")), lambda configuration: configuration.label, CellKind.WORDS
)


def _mean_column(found: FigureComparison) -> Column[ReportedConfiguration]:
    def cell(configuration: ReportedConfiguration) -> str:
        differs = _DIFFERS if found.better(configuration.group) is not None else ""
        return _without_unit(format_mean(found, configuration.group)) + differs

    return Column(found.figure.name, found.figure.heading, cell)


# Choose the charts of a report and their runs; every chart states its sources.


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
    return tr("Source: {source}").format(source=sentence) + "."


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
            title=f"TPS, {found}: {titles.get(each.full_name, each.name)}",
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
