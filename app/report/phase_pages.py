"""The phases of runs that measured several, in a report: a table of their own, and the verdicts in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from app.comparison.overall.phases import (
    EXPLANATION,
    PhaseRow,
    compare_phases,
    phase_columns,
    phase_rows,
)
from app.comparison.table import ComparisonColumn
from app.domain.columns import Column, choose, texts, with_cells, without
from app.domain.text import tr
from app.report.blocks import Block, ReportTable, TableRow, TableSize, Text, TextRole
from app.report.findings import Findings

_IN_EVERY_ROW: Final[dict[str, Callable[[PhaseRow], str]]] = {
    "phase": lambda each: each.phase.label,
    "transactions": lambda each: each.phase.transactions,
}
_WARNED: Final = frozenset({ComparisonColumn.MARKS})


def _tagged_first(columns: Sequence[Column[PhaseRow]]) -> tuple[Column[PhaseRow], ...]:
    """Return the columns with the configuration first, before which its tag stands."""
    name = ComparisonColumn.CONFIGURATION
    first = choose(columns, (name,))
    return with_cells((*first, *without(columns, (name,))), _IN_EVERY_ROW)


def phase_pages(found: Findings) -> Iterator[Block]:
    """Yield the phases that count, each with all configurations; nothing where no run has several."""
    phases = compare_phases(found.comparison)
    rows = phase_rows(phases)
    if not rows:
        return
    title = tr("Each phase for itself")
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=True)
    columns = _tagged_first(phase_columns(rows))
    looks = {each.group: each for each in found.configurations}
    yield ReportTable(
        columns,
        tuple(
            TableRow(
                texts(columns, row),
                looks[row.group].look,
                _WARNED & {column.id for column in columns} if looks[row.group].warning else frozenset(),
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
