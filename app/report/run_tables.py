"""Tables of figures: what each run did, what a transaction cost, how configurations compare in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from app.domain.text import tr
from app.report.blocks import Block, Role, Row, Size, Table, Text
from app.report.findings import Findings
from app.report.reported import ReportedRun
from app.report.words import state_cell
from app.runs.comparison_table import format_tps
from app.runs.figure_comparison import FigureComparison, compare_figures, figure, format_mean
from app.runs.words import format_figure

_SPEED: Final = (
    ("tps", tr("TPS")),
    ("latency_mean_ms", tr("mean ms")),
    ("latency_p50_ms", tr("p50 ms")),
    ("latency_p95_ms", tr("p95 ms")),
    ("latency_p99_ms", tr("p99 ms")),
    ("latency_max_ms", tr("longest ms")),
    ("jitter_cv", tr("jitter")),
    ("stall_s", tr("stalled s")),
    ("drift", tr("drift")),
)
_COSTS: Final = (
    ("device_write_bytes", tr("written / tx")),
    ("device_read_bytes", tr("read / tx")),
    ("device_writes", tr("writes / tx")),
    ("device_flushes", tr("flushes / tx")),
    ("wal_bytes", tr("WAL / tx")),
    ("server_cpu_us", tr("server CPU / tx")),
    ("kernel_cpu_us", tr("kernel CPU / tx")),
)
_COMPARED: Final = (
    ("latency_p50_ms", tr("p50 ms")),
    ("latency_p95_ms", tr("p95 ms")),
    ("latency_p99_ms", tr("p99 ms")),
    ("latency_p999_ms", tr("p99.9 ms")),
    ("jitter_cv", tr("jitter")),
    ("longest_stall_s", tr("longest stall s")),
)
_MOST_WITH_CHARTS: Final = 6
"""Configurations whose figures may begin below the charts."""

_DIFFERS: Final = "*"


_SMALL_FROM: Final = 7
_DENSE_FROM: Final = 14


def table_size(rows: int) -> Size:
    """Return how large a table of configurations is set, so that 24 fit the first page with their chart."""
    if rows >= _DENSE_FROM:
        return Size.DENSE
    return Size.SMALL if rows >= _SMALL_FROM else Size.NORMAL


def speed_table(runs: Sequence[ReportedRun], *, compared: bool) -> Table:
    """Return what each run did.

    Args:
        runs: a row each.
        compared: whether the TPS that are compared are others than those of the whole measured phase.
    """
    after_cut = (tr("TPS compared"),) if compared else ()
    headings = (tr("Run"), *(label for _, label in _SPEED), *after_cut, tr("State and marks"))
    rows = tuple(
        Row(
            (
                run.tag,
                *(_cell(run, name) for name, _ in _SPEED),
                *((format_tps(run.compared.tps),) if compared else ()),
                state_cell(run),
            )
        )
        for run in runs
    )
    last = len(headings) - 1
    return Table(headings, rows, frozenset({0, last}), frozenset({last}), size=Size.SMALL)


def cost_table(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield what a transaction of each run cost; nothing where nothing is known."""
    costs = tuple(Row((run.tag, *(_cell(run, name) for name, _ in _COSTS))) for run in runs)
    if any(any(row.cells[1:]) for row in costs):
        headings = (tr("Run"), *(label for _, label in _COSTS))
        yield Table(headings, costs, frozenset({0}), frozenset(), size=Size.SMALL)


def _cell(run: ReportedRun, name: str) -> str:
    value = run.facts.summary.get(name)
    if value is None:
        return ""
    return format_tps(value) if name == "tps" else _without_unit(format_figure(figure(name), value))


def _without_unit(text: str) -> str:
    """Return a cell whose column's heading says the unit."""
    return text.removesuffix(" ms").removesuffix(" s")


def figure_pages(found: Findings) -> Iterator[Block]:
    """Yield latencies, evenness and costs of all configurations beside each other."""
    if len(found.configurations) < 2:
        return
    tables = [
        _compared(found, columns, compare_figures(found.comparison, [name for name, _ in columns]))
        for columns in (_COMPARED, _COSTS)
    ]
    if not any(tables):
        return
    title = tr("Latency and cost of a transaction")
    yield Text(Role.HEADING, title, bookmark=title, new_page=len(found.configurations) > _MOST_WITH_CHARTS)
    for table in tables:
        yield from table
    sentence = tr(
        "Means over runs. {sign} differs from the baseline by more than chance (95 %, Holm); without it "
        "nothing is said about a difference. Source: the runs listed under “Runs”."
    )
    yield Text(Role.NOTE, sentence.format(sign=_DIFFERS))


def _compared(
    found: Findings, columns: Sequence[tuple[str, str]], figures: Sequence[FigureComparison]
) -> list[Block]:
    known = {each.figure.name: each for each in figures}
    shown = [(known[name], label) for name, label in columns if name in known]
    if not shown:
        return []
    rows = []
    for configuration in found.configurations:
        cells = []
        for each, _ in shown:
            differs = _DIFFERS if each.better(configuration.group) is not None else ""
            cells.append(_without_unit(format_mean(each, configuration.group)) + differs)
        if any(cells):
            rows.append(Row((configuration.name, *cells), configuration.look))
    headings = (tr("Configuration"), *(label for _, label in shown))
    return [Table(headings, tuple(rows), frozenset({0}), frozenset({0}), lines=2, size=table_size(len(rows)))]
