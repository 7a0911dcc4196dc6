"""The end of a report: its runs, and the exact commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from app.analysis.labels import one_line
from app.domain.columns import CellKind, Column, without
from app.domain.text import tr
from app.report.attachments import command_lines
from app.report.blocks import Block, ReportTable, TableSize, Text, TextRole, plain_table
from app.report.findings import Findings
from app.report.report_data import ReportedRun
from app.report.words import moment, state_cell

_NUMBERS: Final = re.compile(r"[0-9a-f]{8,}|\d+")


def run_list(found: Findings) -> Iterator[Block]:
    """Yield the list of runs, by whose tags every figure names its source."""
    yield Text(TextRole.HEADING, tr("Runs"), bookmark=tr("Runs"), new_page=True)
    yield _runs_table(found.runs)


def command_pages(found: Findings) -> Iterator[Block]:
    """Yield the commands of all runs; those that differ in numbers only are not repeated."""
    yield Text(TextRole.HEADING, tr("Exact commands"), bookmark=tr("Exact commands"), new_page=True)
    if not any(run.facts.commands for run in found.runs):
        yield Text(TextRole.BODY, tr("None is known: the run files hold none, as where others measured."))
        return
    told: dict[tuple[str, ...], list[ReportedRun]] = {}
    for run in found.runs:
        told.setdefault(tuple(_NUMBERS.sub("#", line) for line in command_lines(run)), []).append(run)
    for runs in told.values():
        yield from _commands(runs)


def _commands(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield the commands of the first of these runs, and whose they are too."""
    first, lines = runs[0], command_lines(runs[0])
    tags = ", ".join(run.tag for run in runs)
    if not lines:
        yield Text(TextRole.NOTE, tr("{tags}: the files hold no commands.").format(tags=tags))
        return
    yield Text(TextRole.SUBHEADING, f"{first.tag}  {one_line(first.facts.name)}")
    if len(runs) > 1:
        sentence = tr("The same, with other numbers (seeds, folders, names): {tags}.")
        others = ", ".join(run.tag for run in runs[1:])
        yield Text(TextRole.NOTE, sentence.format(tags=others))
    for line in lines:
        yield Text(TextRole.CODE, line)


_CAMPAIGN: Final = "campaign"
_MANY: Final = 40
"""Runs from which their list is set small."""

_RUN_COLUMNS: Final[tuple[Column[ReportedRun], ...]] = (
    Column("run", tr("Run"), lambda run: run.tag, CellKind.LABEL),
    Column("name", tr("Name"), lambda run: one_line(run.facts.name), CellKind.WORDS),
    Column(_CAMPAIGN, tr("Campaign"), lambda run: one_line(run.facts.campaign), CellKind.WORDS),
    Column("file", tr("File"), lambda run: one_line(run.facts.path.rpartition("/")[-1]), CellKind.WORDS),
    Column("identity", tr("Identity"), lambda run: one_line(run.facts.id[:16]), CellKind.LABEL),
    Column("started", tr("Started"), lambda run: moment(run.facts.started_epoch_s), CellKind.LABEL),
    Column("marks", tr("Marks"), state_cell, CellKind.WORDS),
)


def _runs_table(runs: Sequence[ReportedRun]) -> ReportTable:
    columns: tuple[Column[ReportedRun], ...] = _RUN_COLUMNS
    if len({run.facts.campaign for run in runs}) < 2:
        columns = without(columns, [_CAMPAIGN])
    size = TableSize.SMALL if len(runs) <= _MANY else TableSize.DENSE
    return plain_table(columns, runs, size=size)
