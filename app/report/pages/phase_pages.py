"""The phases of runs that measured several: a separate table, and the verdicts in each phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from app.analysis.labels import format_figure
from app.comparison.figures import figure
from app.comparison.groups import ComparedGroup
from app.comparison.overall.phases import (
    AT_A_RATE,
    EXPLANATION,
    ComparedPhase,
    PhaseRow,
    compare_phases,
    phase_columns,
    phase_rows,
)
from app.comparison.table import ComparisonColumn
from app.domain.columns import Column, choose, texts, with_cells, without
from app.domain.text import tr
from app.report.blocks import Bar, BarFigure, Block, ReportTable, TableRow, TableSize, Text, TextRole
from app.report.findings import Findings
from app.report.report_data import ReportedConfiguration
from app.statistics.verdict import run_interval

_IN_EVERY_ROW: Final[dict[str, Callable[[PhaseRow], str]]] = {
    "phase": lambda each: each.phase.label,
    "transactions": lambda each: each.phase.transactions,
}
_WARNED: Final = frozenset({ComparisonColumn.MARKS})


def _tagged_first(columns: Sequence[Column[PhaseRow]]) -> tuple[Column[PhaseRow], ...]:
    """Return the columns with the configuration first, because its tag precedes the first cell."""
    name = ComparisonColumn.CONFIGURATION
    first = choose(columns, (name,))
    return with_cells((*first, *without(columns, (name,))), _IN_EVERY_ROW)


_CAPTION: Final = tr(
    "Bars: means over runs, each phase with an axis of its own, from zero: transactions per second, or the "
    "99th percentile of latency where a rate was offered; lines: 95 % intervals; rings: runs."
)


def _chart(phase: ComparedPhase, looks: Mapping[str, ReportedConfiguration]) -> BarFigure:
    """Return the configurations of a phase as bars."""
    name = phase.figure
    words = tr("transactions per second, more is better")
    if name == AT_A_RATE:
        words = tr("p99 in ms, less is better")
    unit = ", ".join(part for part in (phase.transactions, words) if part)
    bars = tuple(_bar(row.group, looks[row.group.name], name) for row in phase.having)
    return BarFigure(phase.label, unit, bars, "")


def _bar(group: ComparedGroup, configuration: ReportedConfiguration, name: str) -> Bar:
    values = tuple(group.values(name))
    mean = run_interval(values)
    return Bar(
        label=configuration.name,
        value=mean.mean,
        interval=mean.ends,
        points=values if len(values) > 1 else (),
        colour_index=configuration.look,
        tag=configuration.tag,
        value_text=tr("no result") if mean.mean is None else format_figure(figure(name), mean.mean),
        warning=configuration.warning,
    )


def phase_pages(found: Findings) -> Iterator[Block]:
    """Yield the phases that count, each with all configurations; nothing if no run has several."""
    phases = compare_phases(found.comparison)
    rows = phase_rows(phases)
    if not rows:
        return
    title = tr("Each phase for itself")
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=True)
    looks = {found.comparison.groups[each.group].name: each for each in found.configurations}
    for phase in phases:
        yield _chart(phase, looks)
    yield Text(TextRole.NOTE, _CAPTION)
    columns = _tagged_first(phase_columns(rows))
    yield ReportTable(
        columns,
        tuple(
            TableRow(
                texts(columns, row),
                looks[row.row.name].look,
                _WARNED & {column.id for column in columns} if looks[row.row.name].warning else frozenset(),
            )
            for row in rows
        ),
        lines=2,
        size=TableSize.SMALL,
    )
    for phase in phases:
        for verdict in phase.verdicts:
            yield Text(TextRole.BODY, verdict)
    yield Text(TextRole.NOTE, " ".join((EXPLANATION, tr("Source: the runs listed under “Runs”."))))
