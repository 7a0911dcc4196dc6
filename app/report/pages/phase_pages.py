"""The phases of runs that measured several: a separate table, and the verdicts in each phase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.comparison.overall.phases import (
    EXPLANATION,
    compare_phases,
    phase_columns,
    phase_rows,
)
from app.comparison.table import ComparisonColumn
from app.domain.columns import texts
from app.domain.text import tr
from app.report.blocks import Block, ReportTable, TableRow, TableSize, Text, TextRole
from app.report.findings import Findings

_WARNED: Final = frozenset({ComparisonColumn.MARKS})
_MOST_VERDICTS: Final = 12


def phase_pages(found: Findings) -> Iterator[Block]:
    """Yield the phases that count, each with all configurations; nothing if no run has several."""
    phases = compare_phases(found.comparison)
    rows = phase_rows(phases)
    if not rows:
        return
    title = tr("Each phase for itself")
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=True)
    warned = {each.full_name for each in found.configurations if each.warning}
    columns = phase_columns(rows)
    marks = _WARNED & {column.id for column in columns}
    lines = tuple(
        TableRow(texts(columns, row), warned=marks if row.row.group.name in warned else frozenset())
        for row in rows
    )
    yield ReportTable(columns, lines, lines=2, size=TableSize.SMALL)
    for verdict in [verdict for phase in phases for verdict in phase.verdicts][:_MOST_VERDICTS]:
        yield Text(TextRole.SMALL, verdict)
    yield Text(TextRole.NOTE, " ".join((EXPLANATION, tr("Source: the runs listed under “Runs”."))))
